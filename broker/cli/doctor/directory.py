"""The data directory: is it accessible, does it belong to this broker, is it unlocked and readable? Changes nothing."""

from __future__ import annotations

import errno
import os
from datetime import timedelta
from pathlib import Path

from barnabas.broker.cli.doctor import partitions
from barnabas.broker.cli.doctor.finding import CheckResult, note, ok, problem, warning
from barnabas.broker.cli.doctor.machine import examine_volume
from barnabas.broker.cli.doctor.processes import named
from barnabas.broker.cli.doctor.read_only_files import ReadOnlyFiles
from barnabas.broker.config import BrokerConfig
from barnabas.broker.control.time_control import clock_offset_file
from barnabas.broker.metadata.image.image import Image, TopicImage
from barnabas.broker.metadata.image.node_identity import NodeIdentity
from barnabas.broker.metadata.log.metadata_log import CatalogueError, MetadataLog
from barnabas.broker.metadata.log.quorum import Quorum
from barnabas.broker.metadata.log.replaying import Replaying
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files import meta_properties, names
from barnabas.protocol.files.meta_properties import MetaProperties
from barnabas.storage.directories.data_root import take_inventory
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from barnabas.storage.disk.file_lock import lock_holder
from barnabas.storage.errors import StorageError

_CHECK = "data directory"
_WRITABLE = os.W_OK | os.X_OK


def examine(config: BrokerConfig) -> list[CheckResult]:
    """Return what a start would find in the directories of the configuration."""
    every = dict.fromkeys((config.metadata_dir, *config.data_dirs))
    return [finding for path in every for finding in _examine(Path(path), config)]


def _examine(path: Path, config: BrokerConfig) -> list[CheckResult]:
    root = Directory(Disk(ReadOnlyFiles(), str(path)), str(path))
    try:
        if not path.exists():
            return [_examine_missing(path), _room(path)]
        if not path.is_dir():
            return [problem(_CHECK, f"{path} is a file, not a directory")]
        entries = {entry.name for entry in root.entries()} - {names.LOCK}
    except (StorageError, PermissionError) as failed:
        return [problem(_CHECK, f"{path} cannot be read: {failed}")]
    if not os.access(path, _WRITABLE):
        return [problem(_CHECK, f"{path} is not writable for this user", "chown it, or choose another directory")]
    if not entries:
        return [ok(_CHECK, f"{path} is empty: a new cluster will be created there"), _room(path)]
    return [*_examine_used(root, config, entries), _room(path)]


def topics_of(root: Directory, meta: MetaProperties) -> dict[str, TopicImage]:
    """Return the topics of the catalogue in the directory; empty if it is missing or unreadable."""
    image = _catalogue_in(root, meta)
    return {} if image is None else dict(image.topics)


def catalogue_of(path: str) -> Image | None:
    """Return the catalogue in the directory; None if it is missing or unreadable."""
    root = Directory(Disk(ReadOnlyFiles(), path), path)
    try:
        data = root.read(names.META_PROPERTIES)
        return None if data is None else _catalogue_in(root, meta_properties.decode(data))
    except (StorageError, OSError, DecodeError):
        return None


def _catalogue_in(root: Directory, meta: MetaProperties) -> Image | None:
    path = names.partition_directory(names.CLUSTER_METADATA_TOPIC, 0)
    catalogue = Directory(Disk(ReadOnlyFiles(), root.path), root.path_of(path))
    image = Image(meta.node_id)
    try:
        Replaying(image, Quorum(NodeIdentity(meta.node_id, meta.directory_id or bytes(16)))).run(MetadataLog(catalogue))
    except (CatalogueError, StorageError):
        return None
    return image


def newest_change_s(path: str) -> float | None:
    """Return the latest change of a direct entry of the directory, in seconds since 1970; None if none is visible."""
    try:
        return max((entry.stat(follow_symlinks=False).st_mtime for entry in os.scandir(path)), default=None)
    except OSError:
        return None


def _examine_missing(path: Path) -> CheckResult:
    parent = next(each for each in path.absolute().parents if each.exists())
    if not os.access(parent, _WRITABLE):
        return problem(_CHECK, f"{path} does not exist, and {parent} is not writable for this user")
    return ok(_CHECK, f"{path} does not exist yet: a new cluster will be created there")


def _room(path: Path) -> CheckResult:
    existing = next(each for each in (path.absolute(), *path.absolute().parents) if each.exists())
    try:
        return examine_volume(str(path), ReadOnlyFiles().volume(str(existing)))
    except OSError as error:
        return problem("disk", f"the free space at {path} cannot be determined: {error.strerror or error}")


def _examine_used(root: Directory, config: BrokerConfig, entries: set[str]) -> list[CheckResult]:
    data = root.read(names.META_PROPERTIES)
    if data is None:
        text = f"{root.path} is not a data directory: it has no {names.META_PROPERTIES}, but it has {min(entries)}"
        return [problem(_CHECK, text, "choose another directory")]
    try:
        meta = meta_properties.decode(data)
    except DecodeError as error:
        advice = "a Kafka with ZooKeeper wrote it: migrate it to KRaft with Apache Kafka 3.9 first"
        return [problem(_CHECK, f"{root.path}: {error}", advice if b"version=0" in data else None)]
    findings = [*_examine_owner(root, config, meta), *_set_aside(root), *_clock(root)]
    holder = lock_holder(root.path_of(names.LOCK))
    if holder is not None:
        who = "a process that is not visible from here" if holder.pid is None else named(holder.pid)
        advice = "stop it, or choose another directory; barnabas doctor --bootstrap-server … examines a running broker"
        findings.append(problem(_CHECK, f"{root.path} is locked by {who}", advice))
    else:
        findings += _examine_content(root, meta)
    return findings


def _set_aside(root: Directory) -> list[CheckResult]:
    """Return warnings about partitions that the last log cleaner, or the one that runs, could not compact."""
    lines = (root.read(names.UNCLEANABLE_PARTITIONS) or b"").decode(errors="replace").splitlines()
    advice = "barnabas log verify shows the details; the next start tries again"
    return [
        warning("compaction", f"{where} is not compacted any more: {reason}", advice)
        for where, _, reason in (line.partition(" ") for line in lines)
    ]


def _clock(root: Directory) -> list[CheckResult]:
    """Return a warning if the clock of brokers in this directory is ahead of the machine's."""
    try:
        ahead_ms = clock_offset_file.read(root)
    except StorageError as unreadable:
        return [problem("clock", str(unreadable))]
    if not ahead_ms:
        return []
    ahead = timedelta(seconds=ahead_ms // 1000)
    advice = "to use the machine's time, start with another directory"
    return [warning("clock", f"it is {ahead} ahead of the machine's clock, and stays so in {root.path}", advice)]


def _examine_owner(root: Directory, config: BrokerConfig, meta: MetaProperties) -> list[CheckResult]:
    findings = []
    if meta.node_id != config.node_id:
        text = f"{root.path} belongs to node.id {meta.node_id}, and node.id is {config.node_id}"
        findings.append(problem(_CHECK, text, f"set node.id={meta.node_id}, or choose another directory"))
    if config.cluster_id not in (None, meta.cluster_id):
        text = f"{root.path} belongs to cluster {meta.cluster_id}: CLUSTER_ID has no effect"
        findings.append(warning(_CHECK, text, f"for cluster {config.cluster_id} choose another directory"))
    return findings


def _examine_content(root: Directory, meta: MetaProperties) -> list[CheckResult]:
    image = Image(meta.node_id)
    try:
        inventory = take_inventory(root)
        catalogue = root.subdirectory(names.partition_directory(names.CLUSTER_METADATA_TOPIC, 0))
        if root.exists(names.partition_directory(names.CLUSTER_METADATA_TOPIC, 0)):
            quorum = Quorum(NodeIdentity(meta.node_id, meta.directory_id or bytes(16)))
            Replaying(image, quorum).run(MetadataLog(catalogue, was_clean=root.exists(names.CLEAN_SHUTDOWN)))
        damaged = list(partitions.examine(root.path, inventory, image, meta))
    except CatalogueError as error:
        advice = "if a newer Apache Kafka wrote it, only that version, or a newer Barnabas, can open it"
        return [problem(_CHECK, str(error), advice)]
    except StorageError as error:
        if error.errno == errno.EROFS:
            return [note(_CHECK, "the catalogue's last change is incomplete: the next start removes it")]
        return [problem(_CHECK, str(error))]
    counted = f"{len(inventory.live)} partitions of cluster {meta.cluster_id}"
    findings = [*(note(_CHECK, notice) for notice in inventory.notices), *damaged]
    if root.exists(names.CLEAN_SHUTDOWN):
        return [*findings, ok(_CHECK, f"{root.path} was stopped cleanly, with {counted}")]
    return [
        *findings,
        note(_CHECK, f"{root.path} was not stopped cleanly: {counted} will be recovered by the next start"),
    ]
