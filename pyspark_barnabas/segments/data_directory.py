"""Which partitions and segments a data directory holds: names and sizes, and no byte of a log.

A directory is ours or Kafka's, of a broker that is stopped, was killed, or runs. Invariants: only live partitions and
live segments are told (what is being deleted, moved or cleaned is not the log), and every size is the one that was
found: what a running broker appends later is not read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.checkpoints import decode_offsets
from barnabas.protocol.files.names import (
    LOG_START_CHECKPOINT,
    META_PROPERTIES,
    DirectoryState,
    FileKind,
    FileState,
    parse_partition_directory,
    parse_segment_file,
    segment_file,
)


class NoDataDirectory(ValueError):
    """A path holds nothing of a broker's; the message is a sentence."""


class Segment(NamedTuple):
    """A `.log` file: the offset it begins at, and its size in bytes when the directory was listed."""

    base_offset: int
    size: int


class PartitionFiles(NamedTuple):
    """A partition's directory. `log_start_offset`: the first offset that readers are given, 0 where nothing says so."""

    topic: str
    partition: int
    directory: str
    segments: tuple[Segment, ...]
    log_start_offset: int = 0

    def log_path(self, segment: int) -> str:
        """The path of a segment's log, by its number in `segments`."""
        return self.path(segment, FileKind.LOG)

    def path(self, segment: int, kind: FileKind) -> str:
        """The path of one of a segment's files, which may not be there."""
        return os.path.join(self.directory, segment_file(self.segments[segment].base_offset, kind))

    def limit(self, segment: int) -> int | None:
        """The offset that the next segment begins at; None for the last."""
        return self.segments[segment + 1].base_offset if segment + 1 < len(self.segments) else None


def read_layout(path: str, is_wanted: Callable[[str, int], bool]) -> list[PartitionFiles]:
    """The wanted partitions with their segments, by topic and partition.

    path: a data directory, or the directory of one partition. NoDataDirectory where it is neither.
    """
    path = os.path.abspath(path)
    try:
        names = [entry.name for entry in os.scandir(path) if entry.is_dir()]
    except OSError as error:
        raise NoDataDirectory(
            f"{path} cannot be listed: {error.strerror}. Give the path of a data directory"
        ) from error
    alone = parse_partition_directory(os.path.basename(path))
    if alone is not None and _segments(path):
        return [_read_partition(alone.topic, alone.partition, path, {})] if is_wanted(*alone[:2]) else []
    found = [(place, name) for name in names if (place := parse_partition_directory(name)) is not None]
    if not found and not os.path.exists(os.path.join(path, META_PROPERTIES)):
        raise NoDataDirectory(
            f"{path} is no data directory: it has neither {META_PROPERTIES} nor a directory like orders-0"
        )
    starts = _log_starts(path)
    return [
        _read_partition(place.topic, place.partition, os.path.join(path, name), starts)
        for place, name in sorted(found)
        if place.state is DirectoryState.LIVE and is_wanted(place.topic, place.partition)
    ]


def _read_partition(topic: str, partition: int, directory: str, starts: dict[tuple[str, int], int]) -> PartitionFiles:
    return PartitionFiles(topic, partition, directory, tuple(_segments(directory)), starts.get((topic, partition), 0))


def _segments(directory: str) -> Iterable[Segment]:
    """The live segments, by base offset. A file that goes while one looks was being deleted."""
    found = []
    try:
        for entry in os.scandir(directory):
            file = parse_segment_file(entry.name)
            if file is not None and file.kind is FileKind.LOG and file.state is FileState.LIVE:
                found.append(Segment(file.base_offset, entry.stat().st_size))
    except FileNotFoundError:
        return []
    return sorted(found)


def _log_starts(path: str) -> dict[tuple[str, int], int]:
    """What the checkpoint says; nothing where it is not there or cannot be read, as it only ever hides records."""
    try:
        with open(os.path.join(path, LOG_START_CHECKPOINT), "rb") as file:
            return decode_offsets(file.read())
    except (FileNotFoundError, DecodeError):
        return {}
