"""What is wrong with a partition's files: every segment read from end to end, and the files beside it held against it.

A log without findings has batches from its first byte to its last, whole and in order, and indexes that say the truth
about them. Which finding is an accident and which is a kill's ordinary trace is the reader's to say: a torn tail is cut
off when the partition is opened, an index is made anew.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from enum import StrEnum
from typing import NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files import producer_snapshot, time_index
from barnabas.protocol.files.names import FileKind
from barnabas.protocol.files.preallocation import trimmed_size
from barnabas.protocol.files.txn_index import ENTRY_SIZE
from barnabas.protocol.records.batch import BatchHeader
from pyspark_barnabas.segments.data_directory import PartitionFiles
from pyspark_barnabas.segments.outcomes import marker_at, read_txn_index
from pyspark_barnabas.segments.splits import Piece, read_offset_index
from pyspark_barnabas.segments.walk import Damage, Found, walk_batches


class Kind(StrEnum):
    """What a finding is about."""

    CRC = Damage.CRC
    OFFSET = Damage.OFFSET
    NO_BATCH = Damage.NO_BATCH
    TORN = Damage.TORN
    ZEROS = Damage.ZEROS
    HOLE = "hole"  # between two segments: offsets of which the log knows nothing
    OFFSET_INDEX = "offset index"
    TIME_INDEX = "time index"
    TRANSACTION_INDEX = "transaction index"
    PRODUCER_SNAPSHOT = "producer snapshot"


class Finding(NamedTuple):
    """Something wrong: where, and a sentence. `position` is in the file named, `offset` the nearest that is known."""

    kind: Kind
    path: str
    position: int | None
    offset: int | None
    detail: str


class _Seen(NamedTuple):
    """What the walk through a segment met.

    starts: its whole batches, by position. aborts: the producers of its ABORT markers, by offset; with_data: the
    offsets of those whose transaction has data in this very segment, and so has to be in the index.
    """

    starts: dict[int, BatchHeader]
    aborts: dict[int, int]
    with_data: set[int]
    next_offset: int
    is_whole: bool


def findings(piece: Piece) -> Iterator[Finding]:
    """All that is wrong with a segment; `piece` is all of it."""
    seen = yield from _walk(piece)
    files, number = piece.files, piece.segment
    limit = files.limit(number)
    if limit is not None and seen.next_offset < limit and seen.is_whole:
        yield Finding(
            Kind.HOLE,
            files.log_path(number),
            piece.end,
            seen.next_offset,
            f"the segment ends with offset {seen.next_offset - 1}, and the next begins at {limit}",
        )
    yield from _check_offset_index(files, number, seen)
    yield from _check_time_index(files, number, seen)
    yield from _check_txn_index(files, number, seen)
    yield from _check_snapshot(files, number)


def _walk(piece: Piece) -> Generator[Finding, None, _Seen]:
    """The batches that are damaged; what was seen of the others is returned."""
    path = piece.files.log_path(piece.segment)
    starts: dict[int, BatchHeader] = {}
    aborts: dict[int, int] = {}
    pending, with_data = set[int](), set[int]()
    next_offset, is_whole = piece.bounds.base_offset, True
    with piece.open() as file:
        for found in walk_batches(file, piece.start, piece.end, piece.bounds):
            header = found.header
            if found.damage is not None or header is None:
                kind = Kind(found.damage or Damage.NO_BATCH)
                yield Finding(kind, path, found.position, next_offset, describe(found))
                is_whole = False
                continue
            starts[found.position] = header
            next_offset = header.next_offset
            if not header.is_transactional:
                continue
            if not header.is_control:
                pending.add(header.producer_id)
            elif (marker := marker_at(file, found.position, header)) is not None:
                if not marker.commit:
                    aborts[marker.offset] = marker.producer_id
                    with_data |= {marker.offset} if marker.producer_id in pending else set()
                pending.discard(marker.producer_id)
    return _Seen(starts, aborts, with_data, next_offset, is_whole)


def describe(found: Found) -> str:
    """A sentence about a damaged stretch."""
    claimed = "" if found.header is None else f" (its header says: from offset {found.header.base_offset})"
    if found.damage is Damage.CRC:
        return f"the CRC of this batch of {found.size} bytes{claimed} is not that of its bytes"
    if found.damage is Damage.OFFSET:
        return f"a whole batch of {found.size} bytes{claimed}, where that offset cannot be"
    if found.damage is Damage.TORN:
        return f"the file ends inside a batch{claimed}, {found.size} bytes behind its beginning"
    if found.damage is Damage.ZEROS:
        return f"the file ends in {found.size} zeros"
    return f"{found.size} bytes are no batch{claimed}"


def _check_offset_index(files: PartitionFiles, number: int, seen: _Seen) -> Iterator[Finding]:
    path, base_offset = files.path(number, FileKind.OFFSET_INDEX), files.segments[number].base_offset
    for at, entry in enumerate(read_offset_index(files, number)):
        header, offset = seen.starts.get(entry.position), base_offset + entry.relative_offset
        if header is None and seen.is_whole:
            detail = f"entry {at} says that a batch begins at {entry.position}, and none does"
        elif header is not None and header.last_offset != offset:
            detail = (
                f"entry {at} says that the batch at {entry.position} ends at {offset}: it does at {header.last_offset}"
            )
        else:
            continue
        yield Finding(Kind.OFFSET_INDEX, path, at * 8, offset, detail)


def _check_time_index(files: PartitionFiles, number: int, seen: _Seen) -> Iterator[Finding]:
    path, base_offset = files.path(number, FileKind.TIME_INDEX), files.segments[number].base_offset
    try:
        with open(path, "rb") as file:
            data = file.read()
        entries = time_index.decode(data[: trimmed_size(data, time_index.ENTRY_SIZE)])
    except FileNotFoundError:
        return
    except DecodeError as error:
        yield Finding(Kind.TIME_INDEX, path, None, None, str(error))
        return
    batches = iter(sorted(seen.starts.values(), key=lambda header: header.base_offset))
    header, largest, is_told = next(batches, None), -1, True
    for at, entry in enumerate(entries):
        offset = base_offset + entry.relative_offset
        while header is not None and header.base_offset <= offset:
            largest = max(largest, header.max_timestamp)
            is_told = is_told and not header.lacks_max_timestamp  # else the records alone know
            header = next(batches, None)
        if seen.is_whole and is_told and entry.timestamp != largest and entry.timestamp >= 0:
            detail = (
                f"entry {at} has {entry.timestamp} for the largest timestamp up to offset {offset}: it is {largest}"
            )
            yield Finding(Kind.TIME_INDEX, path, at * time_index.ENTRY_SIZE, offset, detail)


def _check_txn_index(files: PartitionFiles, number: int, seen: _Seen) -> Iterator[Finding]:
    """Each entry has its marker; and in a segment that is not the last, each marker has its entry."""
    path = files.path(number, FileKind.TXN_INDEX)
    try:
        entries = read_txn_index(files, number)
    except DecodeError as error:
        yield Finding(Kind.TRANSACTION_INDEX, path, None, None, str(error))
        return
    for at, entry in enumerate(entries):
        if seen.aborts.get(entry.last_offset) != entry.producer_id and seen.is_whole:
            detail = (
                f"entry {at} tells of an abort of producer {entry.producer_id} at {entry.last_offset}: there is none"
            )
            yield Finding(Kind.TRANSACTION_INDEX, path, at * ENTRY_SIZE, entry.last_offset, detail)
    known = {entry.last_offset for entry in entries}
    for offset in sorted(seen.with_data - known) if files.limit(number) is not None else ():
        detail = f"the abort of producer {seen.aborts[offset]} at offset {offset} is missing"
        yield Finding(Kind.TRANSACTION_INDEX, path, None, offset, detail)


def _check_snapshot(files: PartitionFiles, number: int) -> Iterator[Finding]:
    """The snapshot at the segment's beginning can be read; what it says of producers nobody but recovery believes."""
    path = files.path(number, FileKind.PRODUCER_SNAPSHOT)
    try:
        with open(path, "rb") as file:
            producer_snapshot.decode(file.read())
    except FileNotFoundError:
        return
    except DecodeError as error:
        yield Finding(Kind.PRODUCER_SNAPSHOT, path, None, files.segments[number].base_offset, str(error))
