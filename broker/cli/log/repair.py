"""`barnabas log repair DIR [TOPIC-PARTITION…]`: take unreadable data out of a stopped directory's partitions.

First prints the losses of each file, and changes nothing without consent. Holds the directory's lock. The bytes taken
out are stored beside the log in files that end in `.broken`. Partitions without damage are not touched, and the
metadata log never: it lists the existing partitions, so it must be restored or stays closed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from barnabas.broker.cli.doctor.directory import topics_of
from barnabas.broker.cli.doctor.partitions import missing
from barnabas.broker.cli.log.repair_plan import Loss, Planner, RepairPlan, orphans
from barnabas.broker.cli.log.repair_work import carry_out, open_and_close
from barnabas.broker.cli.terminal.failures import FAILURE, UsageError
from barnabas.broker.metadata.image.image import TopicImage
from barnabas.client.clock import SystemClientClock
from barnabas.client.near_names import did_you_mean
from barnabas.logfiles.data_directory import NoDataDirectory, PartitionFiles, read_layout
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files import meta_properties, names
from barnabas.protocol.files.checkpoints import decode_leader_epochs, decode_offsets
from barnabas.protocol.files.meta_properties import MetaProperties
from barnabas.storage.config import LogConfig
from barnabas.storage.directories.data_root import lock_root, take_inventory
from barnabas.storage.directories.log_checkpoints import LogCheckpoints
from barnabas.storage.directories.partition_metadata import read_topic_id, write_topic_id
from barnabas.storage.directories.recovered_logs import ClosedLog
from barnabas.storage.disk.checkpoints import LogCheckpoint, TopicPartition
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from barnabas.storage.disk.files import RealFiles
from barnabas.storage.errors import CorruptFile, NotADataDirectory
from barnabas.storage.recovery.report import Recovered
from barnabas.storage.segment.segment_checksums import SegmentChecksums

_CHECKPOINTS = {
    names.RECOVERY_POINT_CHECKPOINT: "after a kill, the logs are read from their beginning",
    names.LOG_START_CHECKPOINT: "records that were deleted by offset may appear again",
    names.HIGH_WATERMARK_CHECKPOINT: "the high watermarks become the logs' end offsets",
    names.CLEANER_CHECKPOINT: "compacted logs are cleaned from their beginning again",
}


class _Known(NamedTuple):
    """The contents of the root's files."""

    meta: MetaProperties
    was_clean: bool
    rows: dict[str, dict[TopicPartition, int]]
    unreadable: dict[str, str]
    """Unreadable checkpoints: the reasons, by name."""
    topics: dict[str, TopicImage]
    """By name; empty if the catalogue is unreadable."""
    missing: list[TopicPartition]
    """Partitions of existing topics with synced records, but without a directory."""

    def checkpoint(self, key: TopicPartition) -> LogCheckpoint:
        rows = self.rows
        return LogCheckpoint(
            rows.get(names.RECOVERY_POINT_CHECKPOINT, {}).get(key, 0),
            rows.get(names.LOG_START_CHECKPOINT, {}).get(key, 0),
            rows.get(names.HIGH_WATERMARK_CHECKPOINT, {}).get(key),
            self.was_clean,
            self.meta.tells_all_times,
            self.meta.tells_log_starts,
            key in rows.get(names.CLEANER_CHECKPOINT, {}),
        )


def repair(path: Path, wanted: Sequence[str], *, is_agreed: Callable[[], bool]) -> int:
    """Return the exit status: 0 if nothing is damaged or all was repaired, 1 without consent. StorageError."""
    with _locked(str(path)) as root:
        known = _read_root(root)
        plans = [plan for files in _partitions(path, wanted, known) if not (plan := _plan(files, root, known)).is_empty]
        for name, why in known.unreadable.items():
            print(f"{root.path_of(name)}: {why}. It is renamed: {_CHECKPOINTS[name]}")
        for plan in plans:
            for line in (*(loss.line for loss in plan.losses), *plan.notes):
                print(line)
        if not plans and not known.unreadable:
            print(f"{path}: nothing to repair")
            return 0
        lost = [loss for plan in plans for loss in plan.losses]
        print(
            f"{len(plans)} partitions to repair: {sum(loss.size for loss in lost)} bytes and "
            f"{sum(max(0, loss.after - loss.first) for loss in lost)} offsets are lost"
        )
        if not is_agreed():
            print("nothing was changed: --yes repairs")
            return FAILURE
        _carry_out(root, known, plans)
    return 0


@contextmanager
def _locked(path: str) -> Iterator[Directory]:
    if not os.path.exists(os.path.join(path, names.META_PROPERTIES)):
        raise NotADataDirectory(path, f"not a data directory: it has no {names.META_PROPERTIES}")
    root = Directory(Disk(RealFiles(), path), path)
    lock = lock_root(root)
    try:
        yield root
    finally:
        root.disk.close()
        with suppress(OSError):  # the name stays, as after a kill; the lock itself is released anyway
            lock.release()


def _read_root(root: Directory) -> _Known:
    try:
        meta = meta_properties.decode(root.read(names.META_PROPERTIES) or b"")
    except DecodeError as error:
        raise NotADataDirectory(root.path, f"{error}. It cannot be repaired: restore it from a backup") from error
    rows: dict[str, dict[TopicPartition, int]] = {}
    unreadable: dict[str, str] = {}
    for name in _CHECKPOINTS:
        data = root.read(name)
        try:
            rows[name] = decode_offsets(data or b"")
        except DecodeError as error:
            unreadable[name] = str(error)
    topics = topics_of(root, meta)
    synced = [key for key, offset in rows.get(names.RECOVERY_POINT_CHECKPOINT, {}).items() if offset > 0]
    gone = missing(synced, take_inventory(root), topics, meta)
    return _Known(meta, root.exists(names.CLEAN_SHUTDOWN), rows, unreadable, topics, gone)


def _partitions(path: Path, wanted: Sequence[str], known: _Known) -> list[PartitionFiles]:
    try:
        found = read_layout(str(path), lambda topic, _: topic != names.CLUSTER_METADATA_TOPIC)
    except NoDataDirectory as error:
        raise UsageError(str(error)) from error
    for key in known.missing:
        directory = str(path / names.partition_directory(*key))
        checkpoint = known.checkpoint(key)
        start, synced = checkpoint.log_start_offset, checkpoint.recovery_point
        found.append(PartitionFiles(*key, directory, (), start, recovery_point=synced))
    by_name = {names.partition_directory(files.topic, files.partition): files for files in found}
    for name in wanted:
        if name.startswith(names.CLUSTER_METADATA_TOPIC):
            raise UsageError(f"{name} is not repaired: restore it, because it lists the partitions")
        if name not in by_name:
            raise UsageError(f"there is no partition {name} in {path}{did_you_mean(name, by_name)}")
    return [by_name[name] for name in dict.fromkeys(wanted or by_name)]


def _plan(files: PartitionFiles, root: Directory, known: _Known) -> RepairPlan:
    key = files.topic, files.partition
    checkpoint = known.checkpoint(key)
    directory = root.subdirectory(os.path.basename(files.directory))
    planner = Planner(files, checkpoint, () if key in known.missing else _gone(files, directory, known))
    planner.walk()
    plan = planner.plan
    if key in known.missing:
        plan.notes.append(
            f"{files.directory}: the directory is missing. It is created again, empty, and starts at offset "
            f"{checkpoint.recovery_point}"
        )
        return plan
    bases = [segment.base_offset for segment in files.segments]
    for base_offset, name in orphans(directory.names()):
        after = min((base for base in bases if base > base_offset), default=None)
        if after is None:
            continue  # above the last segment: opening removes it
        plan.set_aside.append(name)
        plan.losses.append(
            Loss(directory.path_of(name), 0, 0, base_offset, after, "the segment of this index is missing")
        )
    _plan_epochs(plan, directory, planner, checkpoint)
    try:
        topic = known.topics.get(files.topic)
        read_topic_id(directory, b"" if topic is None else topic.topic_id)
    except CorruptFile as error:
        plan.set_aside.append(names.PARTITION_METADATA)
        plan.notes.append(f"{error.path}: {error.what}. It is renamed, and written again")
    end = planner.next_offset if plan.ends_in is None else plan.ends_in[2]
    if end < checkpoint.log_start_offset and known.was_clean:
        plan.notes.append(
            f"{files.directory}: the log starts at {checkpoint.log_start_offset}, and ends at {end}: its start is "
            "set to the first offset in the log"
        )
    return plan


def _gone(files: PartitionFiles, directory: Directory, known: _Known) -> list[int]:
    """Return base offsets of segments that were sealed once and are missing. Compaction removes some as intended."""
    topic = known.topics.get(files.topic)
    policy = "" if topic is None else topic.configs.get("cleanup.policy", "")
    if "compact" in policy or known.checkpoint((files.topic, files.partition)).was_cleaned:
        return []
    there = {segment.base_offset for segment in files.segments}
    return [base_offset for base_offset in SegmentChecksums(directory).base_offsets if base_offset not in there]


def _plan_epochs(plan: RepairPlan, directory: Directory, planner: Planner, checkpoint: LogCheckpoint) -> None:
    """Plan to rebuild impossible or unreadable leader epochs from the batches."""
    path, files = directory.path_of(names.LEADER_EPOCH_CHECKPOINT), plan.files
    try:
        data = directory.read(names.LEADER_EPOCH_CHECKPOINT)
        entries = [] if data is None else decode_leader_epochs(data)
    except DecodeError as error:
        why = str(error)
    else:
        start = max(entries[0].start_offset, checkpoint.log_start_offset) if entries else 0
        first = files.segments[0].base_offset if files.segments else 0
        if entries and start < first and not files.is_deleted(start):
            plan.losses.append(Loss(files.log_path(0), 0, 0, start, first, "the segments before this one are missing"))
            why = "it starts below the first segment"
        elif planner.has_other_epochs(entries):
            why = "the batches have other leader epochs"
        else:
            return
    plan.set_aside.append(names.LEADER_EPOCH_CHECKPOINT)
    plan.notes.append(f"{path}: {why}. It is renamed, and built again from the batches")


def _carry_out(root: Directory, known: _Known, plans: list[RepairPlan]) -> None:
    for name in known.unreadable:
        root.rename(name, f"{name}.broken")
    root.sync()
    checkpoints = LogCheckpoints(root)
    for plan in plans:
        topic, partition = plan.files.topic, plan.files.partition
        directory = root.subdirectory(os.path.basename(plan.files.directory))
        checkpoint = known.checkpoint((topic, partition))
        if (topic, partition) in known.missing:
            end = checkpoint.recovery_point
            checkpoints.note({(topic, partition): ClosedLog(Recovered(end), end, end, end, 0)})
            checkpoints.write()  # before the directory: a second repair also begins there
            directory.create()
            write_topic_id(directory, known.topics[topic].topic_id)
            checkpoint = checkpoint._replace(log_start_offset=checkpoint.recovery_point)
        kept = carry_out(plan, directory)
        if any("its start is set" in note for note in plan.notes):
            checkpoint = checkpoint._replace(log_start_offset=0)
        log = open_and_close(directory, topic, partition, LogConfig(), checkpoint, SystemClientClock().now_ms())
        checkpoints.note({(topic, partition): log})
        checkpoints.write()
        print(f"{log.name}: repaired, offsets {log.log_start_offset} to {log.log_end_offset - 1}")
        for path in kept:
            print(f"  {path} has the removed bytes")
    root.sync()
