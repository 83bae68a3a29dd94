"""A stopped directory, or several of one node, by its small files: its owner and its catalogue.

Reads the files in the roots and the catalogue's log, but no partition. If Apache Kafka could not start at all, a
problem is found here, and no catalogue is returned.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import NamedTuple

from barnabas.broker.cli.doctor.finding import CheckResult, note, problem
from barnabas.broker.cli.doctor.processes import named
from barnabas.broker.cli.doctor.read_only_files import ReadOnlyFiles
from barnabas.broker.metadata.image.image import Image
from barnabas.broker.metadata.image.node_identity import NodeIdentity
from barnabas.broker.metadata.log.metadata_log import CatalogueError, MetadataLog
from barnabas.broker.metadata.log.quorum import Quorum, read_quorum_state
from barnabas.broker.metadata.log.replaying import Replaying
from barnabas.broker.metadata.log.unchanged_records import UnchangedRecords
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files import meta_properties, names
from barnabas.protocol.files.meta_properties import MetaProperties
from barnabas.protocol.primitives import ZERO_UUID
from barnabas.storage.directories.data_root import Inventory, take_inventory
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from barnabas.storage.disk.file_lock import lock_holder
from barnabas.storage.errors import StorageError

_CHECK = "directory"
CATALOGUE_CHECK = "catalogue"
_METADATA = names.partition_directory(names.CLUSTER_METADATA_TOPIC, 0)


class Root(NamedTuple):
    """One data directory: its owner, and its contents by their names."""

    directory: Directory
    meta: MetaProperties
    inventory: Inventory


class Stopped(NamedTuple):
    """All directories of the node, and the contents of the catalogue in one of them."""

    roots: list[Root]
    image: Image
    carried: UnchangedRecords
    has_voters: bool
    """Whether the voters are in the log: else Kafka needs a setting for them."""

    @property
    def meta(self) -> MetaProperties:
        return self.roots[0].meta


def open_stopped(paths: Sequence[str], metadata_dir: str) -> tuple[Stopped | None, list[CheckResult]]:
    """Return the contents, None if Kafka would not start; and the findings.

    metadata_dir: the path that has the catalogue. StorageError or OSError for unreadable files.
    """
    findings: list[CheckResult] = []
    roots = []
    for path in paths:
        root, found = _open_root(path)
        findings += found
        if root is not None:
            roots.append(root)
    if len(roots) < len(paths):
        return None, findings
    for root in roots[1:]:
        findings += _belong_together(roots[0], root)
    if findings:
        return None, findings
    holder = next(root for root in roots if root.directory.path == metadata_dir)
    catalogue, complaints = _read_catalogue(holder)
    if catalogue is None:
        return None, complaints
    return Stopped(roots, *catalogue), [*complaints, *_how_stopped(roots)]


def _open_root(path: str) -> tuple[Root | None, list[CheckResult]]:
    root = Directory(Disk(ReadOnlyFiles(), path), path)
    try:
        data = root.read(names.META_PROPERTIES)
    except (StorageError, OSError) as failed:
        return None, [problem(_CHECK, f"{path} cannot be read: {failed}")]
    if data is None:
        return None, [problem(_CHECK, f"{path} is not a data directory: it has no {names.META_PROPERTIES}")]
    holder = lock_holder(root.path_of(names.LOCK))
    if holder is not None:
        who = "another process" if holder.pid is None else named(holder.pid)
        return None, [problem(_CHECK, f"{path} is in use by {who}: its contents change", "stop it first")]
    try:
        return Root(root, meta_properties.decode(data), take_inventory(root)), []
    except (StorageError, DecodeError) as refused:
        return None, [problem(_CHECK, str(refused))]


def _belong_together(first: Root, other: Root) -> list[CheckResult]:
    mine, theirs = first.meta, other.meta
    if (theirs.cluster_id, theirs.node_id) != (mine.cluster_id, mine.node_id):
        says = f"{other.directory.path} belongs to another cluster or node than {first.directory.path}"
        return [problem(_CHECK, says, "give the directories of one node")]
    if theirs.directory_id == mine.directory_id:
        says = f"{other.directory.path} has the directory.id of {first.directory.path}: one is a copy of the other"
        return [problem(_CHECK, says, "give only one of them")]
    return []


def _read_catalogue(root: Root) -> tuple[tuple[Image, UnchangedRecords, bool] | None, list[CheckResult]]:
    if not root.directory.exists(_METADATA):
        says = f"{root.directory.path} has no {_METADATA}: no broker has finished its first start there"
        return None, [problem(CATALOGUE_CHECK, says, "start and stop the broker once, or give the metadata.log.dir")]
    identity = NodeIdentity(root.meta.node_id, root.meta.directory_id or ZERO_UUID)
    log = root.directory.subdirectory(_METADATA)
    replaying = Replaying(Image(identity.node_id), Quorum(identity))
    found = []
    try:
        read_quorum_state(log, identity)
        replaying.run(MetadataLog(log, was_clean=root.directory.exists(names.CLEAN_SHUTDOWN)))
    except CatalogueError as refused:
        return None, [problem(CATALOGUE_CHECK, str(refused))]
    except StorageError as failed:
        if failed.errno != errno.EROFS:  # a torn tail would be truncated, but nothing is changed here
            return None, [problem(CATALOGUE_CHECK, str(failed))]
        found.append(note(CATALOGUE_CHECK, "the last change is incomplete: it is removed, and has no effect"))
    if not replaying.image.metadata_version:
        says = f"{root.directory.path} was only formatted: its catalogue is empty"
        return None, [problem(CATALOGUE_CHECK, says, "start and stop the broker once")]
    return (replaying.image, replaying.carried, replaying.quorum.has_voters), found


def _how_stopped(roots: Sequence[Root]) -> list[CheckResult]:
    return [
        note(
            "stop",
            f"{root.directory.path} was not stopped cleanly: Kafka reads all segments above the recovery points",
            "to save that time, start and stop barnabas serve once",
        )
        for root in roots
        if not root.directory.exists(names.CLEAN_SHUTDOWN)
    ]
