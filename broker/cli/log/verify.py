"""`barnabas log verify`: is every byte of a data directory what the formats say it must be?

Reads; never repairs, never locks. What the broker takes on trust when it appends (that a batch's records agree
with its header, see docs/decisions) is looked at here record by record. A finding names the file, the place and
what was expected. Two things are normal after a kill and are notes, not findings: an unfinished batch at the end
of the last segment, and indexes that end early; the next start mends both.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from barnabas.broker.cli.log.scan import SegmentScan, offset_entries, time_entries
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files import names, producer_snapshot, txn_index
from barnabas.protocol.files.checkpoints import decode_leader_epochs
from barnabas.protocol.primitives import Buffer
from barnabas.protocol.records.batch import CREATE_TIME, HEADER_SIZE, BatchHeader, verify_crc
from barnabas.protocol.records.compression import LZ4, lz4_blocks_are_independent
from barnabas.protocol.records.record import iter_records
from barnabas.storage.segment.time_search import max_timestamp_of
from barnabas.storage.steps import finish


class Finding(NamedTuple):
    """One thing that is not as it must be. `is_note`: normal after a kill."""

    path: Path
    place: str
    text: str
    is_note: bool = False

    def __str__(self) -> str:
        return f"{self.path} @ {self.place}: {'note: ' if self.is_note else ''}{self.text}"


class BatchMark(NamedTuple):
    """What the indexes of a segment are checked against."""

    last_offset: int
    position: int
    max_timestamp: int


class Totals:
    """How much was read, for the closing line and the progress."""

    def __init__(self) -> None:
        self.partitions = self.segments = self.batches = self.records = self.size_bytes = 0


def partition_directories(directory: Path) -> list[Path]:
    """The partition directories in a data directory, or the directory itself if it is one."""
    if names.parse_partition_directory(directory.name) is not None and not (directory / names.META_PROPERTIES).exists():
        return [directory]
    return sorted(path for path in directory.iterdir() if path.is_dir() and names.parse_partition_directory(path.name))


def verify(directory: Path, progress: Callable[[Totals], None]) -> tuple[list[Finding], Totals]:
    """Everything found below `directory`; `progress` is called after each segment."""
    totals = Totals()
    findings: list[Finding] = []
    for partition in partition_directories(directory):
        totals.partitions += 1
        findings += verify_partition(partition, totals, lambda: progress(totals))
    return findings, totals


def verify_partition(partition: Path, totals: Totals, segment_done: Callable[[], None]) -> Iterator[Finding]:
    """All segments of one partition in order, their companions, and the leader epochs."""
    segments = sorted(partition.glob("*.log"))
    next_offset = 0
    for path in segments:
        marks: list[BatchMark] = []
        base_offset = int(path.stem)
        if base_offset < next_offset:
            yield Finding(
                path, "name", f"base offset {base_offset} lies below {next_offset}, where the segment before it ends"
            )
        yield from verify_segment(path, marks, totals, is_last=path == segments[-1])
        next_offset = marks[-1].last_offset + 1 if marks else base_offset
        yield from verify_indexes(path, marks)
        totals.segments += 1
        segment_done()
    yield from _decoded(partition / names.LEADER_EPOCH_CHECKPOINT, lambda path: decode_leader_epochs(path.read_bytes()))
    for snapshot in sorted(partition.glob("*.snapshot")):
        yield from _decoded(snapshot, lambda path: producer_snapshot.decode(path.read_bytes()))


def verify_segment(path: Path, marks: list[BatchMark], totals: Totals, *, is_last: bool) -> Iterator[Finding]:
    """Batches in order: offsets rise, epochs do not fall, CRCs hold, records agree with their header."""
    next_offset, leader_epoch = int(path.stem), -1
    with SegmentScan(path) as scan:
        for position, header, batch in scan.batches():
            totals.batches += 1
            if header.base_offset < next_offset:
                yield Finding(path, str(position), f"base offset {header.base_offset} after offset {next_offset - 1}")
            if header.partition_leader_epoch < leader_epoch:
                yield Finding(path, str(position), f"leader epoch {header.partition_leader_epoch} after {leader_epoch}")
            if not verify_crc(batch):
                yield Finding(path, str(position), f"batch at offset {header.base_offset}: CRC does not match")
            else:
                for text in record_findings(header, batch, totals):
                    yield Finding(path, str(position), f"batch at offset {header.base_offset}: {text}")
            next_offset, leader_epoch = header.next_offset, header.partition_leader_epoch
            largest = header.max_timestamp
            if header.lacks_max_timestamp:  # an index that tells of it has the largest of the records
                largest = finish(max_timestamp_of(batch, header))
            marks.append(BatchMark(header.last_offset, position, largest))
        totals.size_bytes += scan.size
        if scan.problem is not None:
            unfinished = scan.problem.startswith("the last")
            yield Finding(path, str(scan.valid_bytes), scan.problem, is_note=is_last and unfinished)


def record_findings(header: BatchHeader, batch: Buffer, totals: Totals) -> Iterator[str]:
    """Where the records disagree with the header that the broker trusted."""
    last_offset, count, largest = header.base_offset - 1, 0, -1
    if header.compression == LZ4 and not lz4_blocks_are_independent(memoryview(batch)[HEADER_SIZE:]):
        yield "lz4 blocks depend on each other, which the Java client does not read"
    try:
        for record in iter_records(batch):
            count += 1
            if record.offset <= last_offset or record.offset > header.last_offset:
                yield f"record {count - 1} has offset {record.offset}, which is out of its place"
            last_offset = record.offset
            largest = max(largest, record.timestamp)
    except DecodeError as error:
        yield str(error)
        return
    totals.records += count
    if count and header.timestamp_type == CREATE_TIME and not header.is_control and largest != header.max_timestamp:
        yield f"the header says the largest timestamp is {header.max_timestamp}, the records say {largest}"


def verify_indexes(log: Path, marks: list[BatchMark]) -> Iterator[Finding]:
    """The three index files beside a `.log`, where they exist, against its batches."""
    positions = {mark.position: mark.last_offset for mark in marks}
    base_offset = int(log.stem)

    def offsets(path: Path) -> None:
        for entry in offset_entries(path):
            offset = base_offset + entry.relative_offset
            if positions.get(entry.position) != offset:
                raise DecodeError(f"no batch at position {entry.position} ends at offset {offset}")

    def timestamps(path: Path) -> None:
        for entry in time_entries(path):
            offset = base_offset + entry.relative_offset
            at = bisect_left(marks, offset, key=lambda mark: mark.last_offset)
            if at == len(marks) or marks[at].max_timestamp != entry.timestamp:
                raise DecodeError(f"offset {offset} lies in no batch whose largest timestamp is {entry.timestamp}")

    def aborted(path: Path) -> None:
        for entry in txn_index.decode(path.read_bytes()):
            if entry.last_offset < base_offset:
                raise DecodeError(f"a transaction ends at offset {entry.last_offset}, below the segment")

    yield from _decoded(log.with_suffix(".index"), offsets)
    yield from _decoded(log.with_suffix(".timeindex"), timestamps)
    yield from _decoded(log.with_suffix(".txnindex"), aborted)


def _decoded(path: Path, read: Callable[[Path], object]) -> Iterator[Finding]:
    """Nothing if the file is absent or `read` takes it, else why it did not."""
    if not path.exists():
        return
    try:
        read(path)
    except DecodeError as error:
        yield Finding(path, "content", str(error))
