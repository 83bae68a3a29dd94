"""The partitions and segments of a data directory: names and sizes. Reads no log.

The directory is ours or Kafka's; the broker may be stopped, killed or running. Invariants: only live segments are
listed (files that are being deleted or cleaned are not part of the log), of partitions in the requested states. A size
is that at the time of listing: later appends of a running broker are not read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from typing import NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.checkpoints import decode_offsets
from barnabas.protocol.files.meta_properties import decode
from barnabas.protocol.files.names import (
    CLEAN_SHUTDOWN,
    CLEANER_CHECKPOINT,
    LEADER_EPOCH_CHECKPOINT,
    LOG_START_CHECKPOINT,
    META_PROPERTIES,
    PARTITION_METADATA,
    RECOVERY_POINT_CHECKPOINT,
    DirectoryState,
    FileKind,
    FileState,
    first_given_up,
    parse_partition_directory,
    parse_segment_file,
    segment_file,
)

_OFFSET_MAX = (1 << 63) - 1


class NoDataDirectory(ValueError):
    """A path is neither a data directory nor a partition's directory. The message is a sentence for the user."""


class ListedSegment(NamedTuple):
    """A `.log` file: its base offset, and its size in bytes when the directory was listed."""

    base_offset: int
    size: int


class PartitionFiles(NamedTuple):
    """A partition's directory.

    log_start_offset: the first offset that readers get; 0 if no checkpoint has it. cleaned_to: the first offset that
    compaction has not reached, as far as its checkpoint knows; below it, missing offsets are normal. None if the log
    was never compacted. snapshots: the offsets of the producer snapshots. recovery_point: below it everything was
    synced; 0 if no checkpoint has it. was_clean: the broker was stopped, and not started since. deleted_from: the base
    offset of the first segment that is being deleted, if any is; 0 where a kill may have left no trace of it.
    """

    topic: str
    partition: int
    directory: str
    segments: tuple[ListedSegment, ...]
    log_start_offset: int = 0
    cleaned_to: int | None = None
    snapshots: tuple[int, ...] = ()
    recovery_point: int = 0
    was_clean: bool = False
    deleted_from: int | None = None

    def log_path(self, segment: int) -> str:
        """Return the path of a segment's log, by its number in `segments`."""
        return self.path(segment, FileKind.LOG)

    def path(self, segment: int, kind: FileKind) -> str:
        """Return the path of one of a segment's files, which may not exist."""
        return self.beside(segment_file(self.segments[segment].base_offset, kind))

    def beside(self, name: str) -> str:
        """Return the path of a file of this name in the partition's directory, which may not exist."""
        return os.path.join(self.directory, name)

    @property
    def leader_epochs_path(self) -> str:
        """The path of the leader epochs, which may not exist."""
        return self.beside(LEADER_EPOCH_CHECKPOINT)

    def is_deleted(self, offset: int) -> bool:
        """Return whether retention may be deleting the segment with this offset, which is before the first."""
        return self.deleted_from is not None and self.deleted_from <= offset

    def limit(self, segment: int) -> int | None:
        """Return the base offset of the next segment; None for the last."""
        return self.segments[segment + 1].base_offset if segment + 1 < len(self.segments) else None


class _Checkpoints(NamedTuple):
    """The content of the checkpoints of the data directory, by topic and partition."""

    log_starts: dict[tuple[str, int], int]
    cleaned: dict[tuple[str, int], int]
    recovery_points: dict[tuple[str, int], int]
    was_clean: bool = False
    tells_log_starts: bool = True


def read_layout(
    path: str,
    is_wanted: Callable[[str, int], bool],
    states: Container[DirectoryState] = frozenset((DirectoryState.LIVE,)),
) -> list[PartitionFiles]:
    """Return the wanted partitions with their segments, by topic and partition.

    path: a data directory, or the directory of one partition. Raises NoDataDirectory where it is neither.
    """
    path = os.path.abspath(path)
    try:
        names = [entry.name for entry in os.scandir(path) if entry.is_dir()]
    except OSError as error:
        raise NoDataDirectory(
            f"{path} cannot be listed: {error.strerror}. Give the path of a data directory"
        ) from error
    alone = parse_partition_directory(os.path.basename(path))
    if alone is not None and _is_partition(path):
        if not is_wanted(alone.topic, alone.partition):
            return []
        root = os.path.dirname(path)
        known = _Checkpoints(
            {},
            _offsets(root, CLEANER_CHECKPOINT),
            _offsets(root, RECOVERY_POINT_CHECKPOINT),
            _was_clean(root),
            _tells_log_starts(root),
        )
        return [_read_partition(alone.topic, alone.partition, path, known)]
    found = [(place, name) for name in names if (place := parse_partition_directory(name)) is not None]
    if not found and not os.path.exists(os.path.join(path, META_PROPERTIES)):
        raise NoDataDirectory(
            f"{path} is not a data directory: it has neither {META_PROPERTIES} nor a directory like orders-0"
        )
    known = _Checkpoints(
        _offsets(path, LOG_START_CHECKPOINT),
        _offsets(path, CLEANER_CHECKPOINT),
        _offsets(path, RECOVERY_POINT_CHECKPOINT),
        _was_clean(path),
        _tells_log_starts(path),
    )
    return [
        _read_partition(
            place.topic,
            place.partition,
            os.path.join(path, name),
            known if place.state is DirectoryState.LIVE else _nothing_known(place.topic, place.partition),
        )
        for place, name in sorted(found, key=lambda each: (each[0].topic, each[0].partition, each[1]))
        if place.state in states and is_wanted(place.topic, place.partition)
    ]


def _nothing_known(topic: str, partition: int) -> _Checkpoints:
    """Return the checkpoints for a renamed directory of a partition: any of its offsets may have been cleaned away."""
    return _Checkpoints({}, {(topic, partition): _OFFSET_MAX}, {})


def _was_clean(root: str) -> bool:
    return os.path.exists(os.path.join(root, CLEAN_SHUTDOWN))


def _tells_log_starts(root: str) -> bool:
    """Return whether leader epochs that begin below the first segment mean that segments are lost."""
    try:
        with open(os.path.join(root, META_PROPERTIES), "rb") as file:
            return decode(file.read()).tells_log_starts
    except (OSError, DecodeError):
        return True


def _is_partition(directory: str) -> bool:
    """Return whether a directory with a partition's name is one, and not a data directory with such a name."""
    names = os.listdir(directory)
    if PARTITION_METADATA in names or LEADER_EPOCH_CHECKPOINT in names:
        return True
    return any(file is not None and file.kind is FileKind.LOG for file in map(parse_segment_file, names))


def _read_partition(topic: str, partition: int, directory: str, known: _Checkpoints) -> PartitionFiles:
    sizes = _sizes(directory)
    segments, snapshots = live_files(sizes)
    place = topic, partition
    return PartitionFiles(
        topic,
        partition,
        directory,
        segments,
        known.log_starts.get(place, 0),
        known.cleaned.get(place),
        snapshots,
        known.recovery_points.get(place, 0),
        known.was_clean,
        first_given_up(sizes) if known.was_clean or known.tells_log_starts else 0,
    )


def live_files(sizes: Mapping[str, int]) -> tuple[tuple[ListedSegment, ...], tuple[int, ...]]:
    """Return the live segments and the snapshots, by offset, among the files of a partition; sizes by name."""
    files = [(file, size) for name, size in sizes.items() if (file := parse_segment_file(name)) is not None]
    live = sorted((file.base_offset, file.kind.value, size) for file, size in files if file.state is FileState.LIVE)
    segments = tuple(ListedSegment(offset, size) for offset, kind, size in live if kind == FileKind.LOG.value)
    return segments, tuple(offset for offset, kind, _ in live if kind == FileKind.PRODUCER_SNAPSHOT.value)


def _sizes(directory: str) -> dict[str, int]:
    """Return sizes by name. A file that disappears meanwhile was being deleted."""
    sizes: dict[str, int] = {}
    with suppress(FileNotFoundError):  # the partition was deleted
        for entry in os.scandir(directory):
            with suppress(FileNotFoundError):  # the file was deleted
                sizes[entry.name] = entry.stat().st_size
    return sizes


def _offsets(path: str, checkpoint: str) -> dict[tuple[str, int], int]:
    """Return the offsets of a checkpoint; none if it does not exist or cannot be read."""
    try:
        with open(os.path.join(path, checkpoint), "rb") as file:
            return decode_offsets(file.read())
    except (FileNotFoundError, DecodeError):
        return {}
