"""Carries out the plan of repair_plan.py for a partition, and opens it: the result is the state after a clean stop.

The caller holds the data directory's lock. All bytes to take out are first copied durably to a `.broken` file. After
an interruption the partition is as damaged as before or less, and the repair can be repeated.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from barnabas.broker.cli.log.repair_plan import CutStretch, RepairPlan
from barnabas.protocol.files.names import (
    LEADER_EPOCH_CHECKPOINT,
    SEGMENT_CHECKSUMS,
    FileKind,
    FileState,
    parse_segment_file,
    segment_file,
)
from barnabas.protocol.records.batch import (
    MAGIC,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    BatchHeader,
    encode_batch,
)
from barnabas.storage.config import LogConfig
from barnabas.storage.disk.checkpoints import LogCheckpoint
from barnabas.storage.disk.deletion import Deletions
from barnabas.storage.disk.directory import Directory
from barnabas.storage.log.log import PartitionLog
from barnabas.storage.recovery.log_loader import load_log
from barnabas.storage.recovery.opening import open_at_once
from barnabas.storage.recovery.segment_recovery import BROKEN_SUFFIX

_PIECE_BYTES = 1 << 20
_REPAIRED_SUFFIX = ".repaired"


def carry_out(plan: RepairPlan, directory: Directory) -> list[str]:
    """Change the files; return the paths of the files with the removed data. StorageError."""
    kept: list[str] = []
    for name in plan.set_aside:
        kept.append(_move_aside(directory, name))
    if LEADER_EPOCH_CHECKPOINT in plan.set_aside and plan.files.segments:
        first: int | None = plan.files.segments[0].base_offset
    else:
        first = min((*plan.stretches, *plan.dropped, *(plan.ends_in or ())[:1]), default=None)
    for base_offset, stretches in plan.stretches.items():
        kept.append(_copy_aside(directory, base_offset, stretches[0].position))
        _take_out(directory, base_offset, stretches)
    if plan.ends_in is not None:
        base_offset, position, _ = plan.ends_in
        if base_offset not in plan.stretches:
            kept.append(_copy_aside(directory, base_offset, position))
        else:
            position -= sum(each.size - len(_filler(each)) for each in plan.stretches[base_offset])
        log = directory.open(segment_file(base_offset, FileKind.LOG))
        log.truncate(position)
        log.sync()
        log.close()
    for base_offset in plan.dropped:
        kept.append(_move_aside(directory, segment_file(base_offset, FileKind.LOG)))
    directory.remove(SEGMENT_CHECKSUMS)
    if first is not None:
        _remove_what_is_made_again(directory, first)
    directory.sync()
    return kept


def open_and_close(
    directory: Directory, topic: str, partition: int, config: LogConfig, checkpoint: LogCheckpoint, now_ms: int
) -> PartitionLog:
    """Open the partition as after a clean stop, and close it: its indexes, snapshot and epochs are written and synced.

    StorageError if it cannot be opened.
    """
    trusted = checkpoint._replace(was_clean=True, recovery_point=0)
    loaded = open_at_once(load_log(directory, config, trusted, now_ms))
    log = PartitionLog(directory, topic, partition, bytes(16), config, loaded, trusted, Deletions())
    log.close()
    return log


def _copy_aside(directory: Directory, base_offset: int, position: int) -> str:
    """Copy a log from `position` on to a `.broken` file."""
    name = segment_file(base_offset, FileKind.LOG)
    target = _free(directory, name)
    source, copy = directory.open(name), directory.open(target, create=True)
    try:
        for at in range(position, source.size(), _PIECE_BYTES):
            copy.pwrite(source.pread(min(_PIECE_BYTES, source.size() - at), at), at - position)
        copy.sync()
    finally:
        source.close()
        copy.close()
    directory.sync()
    return directory.path_of(target)


def _move_aside(directory: Directory, name: str) -> str:
    target = _free(directory, name)
    directory.rename(name, target)
    return directory.path_of(target)


def _free(directory: Directory, name: str) -> str:
    target, number = name + BROKEN_SUFFIX, 1
    while directory.exists(target):
        number += 1
        target = f"{name}{BROKEN_SUFFIX}.{number}"
    return target


def _take_out(directory: Directory, base_offset: int, stretches: list[CutStretch]) -> None:
    """Replace the log by a copy without the stretches."""
    name = segment_file(base_offset, FileKind.LOG)
    source, fresh = directory.open(name), directory.open(name + _REPAIRED_SUFFIX, create=True)
    try:
        fresh.truncate(0)
        at = 0
        for data in _without(source.pread, source.size(), stretches):
            fresh.pwrite(data, at)
            at += len(data)
        fresh.sync()
    finally:
        source.close()
        fresh.close()
    directory.rename(name + _REPAIRED_SUFFIX, name)


def _without(read: object, size: int, stretches: list[CutStretch]) -> Iterator[bytes]:
    assert callable(read)
    position = 0
    for stretch in (*stretches, CutStretch(size, 0, 0, 0, 0, 0)):
        while position < stretch.position:
            data: bytes = read(min(_PIECE_BYTES, stretch.position - position), position)
            yield data
            position += len(data)
        if filler := _filler(stretch):
            yield filler
        position += stretch.size


def _filler(stretch: CutStretch) -> bytes:
    """Return a batch without records, as compaction leaves them, with the offsets of the removed bytes."""
    if stretch.after <= stretch.first:
        return b""
    header = BatchHeader(
        stretch.first,
        0,
        stretch.epoch,
        MAGIC,
        0,
        0,
        stretch.after - stretch.first - 1,
        stretch.timestamp,
        stretch.timestamp,
        NO_PRODUCER_ID,
        NO_PRODUCER_EPOCH,
        NO_SEQUENCE,
        0,
    )
    return bytes(encode_batch(header, b""))


def _remove_what_is_made_again(directory: Directory, first: int) -> None:
    """Remove the indexes of the segments from `first` on, and the snapshots above."""
    for name in directory.names():
        file = parse_segment_file(name)
        if file is None or file.state is not FileState.LIVE or file.kind is FileKind.LOG:
            continue
        is_snapshot = file.kind is FileKind.PRODUCER_SNAPSHOT
        if file.base_offset > first or (file.base_offset == first and not is_snapshot):
            directory.remove(os.path.basename(name))
