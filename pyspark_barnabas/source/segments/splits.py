"""Cutting logs into parts that are read in parallel: byte ranges that begin where a batch begins.

The segment's `.index` gives the beginnings of batches, and is verified: at each chosen position there has to be a
whole batch that ends with the offset in the index. An index that is missing (that of an active segment is in the
broker's memory) or wrong is ignored, and the headers are walked instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from barnabas.logfiles.data_directory import PartitionFiles
from barnabas.logfiles.entries import offset_entries
from barnabas.logfiles.log_file import LogFile
from barnabas.logfiles.reading import DISK
from barnabas.logfiles.walk import Bounds, walk_headers, whole_batch
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.names import FileKind
from barnabas.protocol.files.offset_index import OffsetIndexEntry

OPEN_COST_BYTES = 1 << 18  # the cost of opening a file, in bytes that could be read meanwhile


class OffsetBounds(NamedTuple):
    """Offsets from `start` up to, and not with, `end`; None: up to the end of the log."""

    start: int = 0
    end: int | None = None

    def overlaps(self, first: int, last: int) -> bool:
        """Return whether any of the offsets first to last is wanted."""
        return last >= self.start and (self.end is None or first < self.end)


class Piece(NamedTuple):
    """A stretch of one segment's log: the bytes [start, end), and which offsets of it are wanted."""

    files: PartitionFiles
    segment: int
    start: int
    end: int
    offsets: OffsetBounds

    @property
    def bounds(self) -> Bounds:
        """The offsets that the segment's batches may have."""
        return Bounds(self.files.segments[self.segment].base_offset, self.files.limit(self.segment))

    @property
    def path(self) -> str:
        """The path of the segment's log."""
        return self.files.log_path(self.segment)

    def open(self) -> LogFile:
        """Open the segment's log, limited to the size that was listed."""
        return LogFile(self.path, self.files.segments[self.segment].size)


def plan(
    partitions: Iterable[tuple[PartitionFiles, OffsetBounds]], *, split_bytes: int, parts_min: int
) -> list[tuple[Piece, ...]]:
    """Return the parts, each of one or more pieces: none is much larger than `split_bytes`, and there are `parts_min`
    of them if the data is enough for that.
    """
    segments = [piece for piece in whole_segments(partitions) if piece.end]
    total = sum(piece.end + OPEN_COST_BYTES for piece in segments)
    target = max(1, min(split_bytes, -(-total // max(1, parts_min))))
    parts: list[tuple[Piece, ...]] = []
    gathered: list[Piece] = []
    size = 0
    for piece in (part for whole in segments for part in _cut(whole, target)):
        cost = piece.end - piece.start + OPEN_COST_BYTES
        if gathered and size + cost > target:
            parts.append(tuple(gathered))
            gathered, size = [], 0
        gathered.append(piece)
        size += cost
    return [*parts, tuple(gathered)] if gathered else parts


def whole_segments(partitions: Iterable[tuple[PartitionFiles, OffsetBounds]]) -> list[Piece]:
    """Return every segment that may hold wanted offsets, uncut. Empty ones, too: an empty one may be a finding.

    A partition without segments has a piece without bytes, for the other files of its directory.
    """
    return [piece for files, offsets in partitions for piece in _wanted_segments(files, offsets)]


def _wanted_segments(files: PartitionFiles, offsets: OffsetBounds) -> Iterator[Piece]:
    if not files.segments:
        yield Piece(files, 0, 0, 0, offsets)
    for number, segment in enumerate(files.segments):
        limit = files.limit(number)
        last = segment.base_offset + (1 << 31) if limit is None else limit - 1
        if offsets.overlaps(segment.base_offset, last):
            yield Piece(files, number, 0, segment.size, offsets)


def _cut(whole: Piece, target: int) -> Iterator[Piece]:
    """Yield the segment in pieces of about `target` bytes."""
    start = 0
    if whole.end > 2 * target:
        for boundary in _boundaries(whole, target):
            yield whole._replace(start=start, end=boundary)
            start = boundary
    yield whole._replace(start=start)


def _boundaries(whole: Piece, target: int) -> list[int]:
    """Return positions at which batches begin, about `target` bytes apart."""
    with whole.open() as file:
        indexed = _indexed_boundaries(whole, file, target)
        if indexed is not None:
            return indexed
        found, wanted = [], target
        for position, _ in walk_headers(file, 0, whole.end, whole.bounds):
            if position >= wanted:
                if whole_batch(file, position) is not None:
                    found.append(position)
                wanted = position + target
        return found


def _indexed_boundaries(whole: Piece, file: LogFile, target: int) -> list[int] | None:
    """Return the positions of the offset index, if it is right; None if it is missing, too short to help, or wrong."""
    base_offset = whole.files.segments[whole.segment].base_offset
    found, wanted = [], target
    for entry in _indexed(whole.files, whole.segment):
        if wanted <= entry.position < whole.end:
            header = whole_batch(file, entry.position)
            if header is None or header.last_offset != base_offset + entry.relative_offset:
                return None
            found.append(entry.position)
            wanted = entry.position + target
    return found if found and whole.end - found[-1] <= 2 * target else None


def _indexed(files: PartitionFiles, segment: int) -> Iterable[OffsetIndexEntry]:
    """Return the entries of a segment's offset index, unverified; none if it has none that can be read."""
    data = DISK.content(files.path(segment, FileKind.OFFSET_INDEX))
    try:
        return offset_entries(data or b"")
    except DecodeError:
        return ()
