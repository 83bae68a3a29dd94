"""Checks one batch whose CRC is right: its header by itself, and its records against its header.

A broker does not check that the two agree (docs/decisions/0010). Knows no file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.logfiles.findings import FindingKind
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import Buffer
from barnabas.protocol.records.batch import CREATE_TIME, HEADER_SIZE, BatchHeader
from barnabas.protocol.records.compression import LZ4, lz4_blocks_are_independent
from barnabas.protocol.records.control import EndTxnMarker, parse_control_key, read_marker
from barnabas.protocol.records.record import iter_records
from barnabas.protocol.records.record_times import iter_times

_FILLED_IN_BYTES_MAX = 1 << 26  # of records that a broker reads for an index, as storage/segment/time_search.py does


class Defect(NamedTuple):
    """One defect of a batch."""

    kind: FindingKind
    detail: str


class BatchCheck(NamedTuple):
    """The result for one batch.

    largest: its timestamp in a time index. marker: of a batch that ends a transaction. records: how many were read; 0
    if they were not requested or cannot be read.
    """

    defects: tuple[Defect, ...]
    largest: int
    marker: EndTxnMarker | None
    records: int


def check_batch(header: BatchHeader, batch: Buffer, *, with_records: bool) -> BatchCheck:
    """Check the header, the records if requested, and the marker of a control batch in any case."""
    defects = list(_of_header(header))
    records, marker = 0, None
    if with_records and not defects:
        records, found = _of_records(header, batch)
        defects += found
    if header.is_control and not defects:
        try:
            marker = read_marker(batch) if header.has_producer_id else None
        except DecodeError as error:
            defects.append(Defect(FindingKind.CONTROL, f"the marker cannot be read: {error}"))
    largest = _filled_in(header, batch) if header.lacks_max_timestamp else header.max_timestamp
    return BatchCheck(tuple(defects), largest, marker, records)


def _of_header(header: BatchHeader) -> Iterator[Defect]:
    """Yield the defects of a header. Compaction can leave fewer records than offsets, nothing leaves more."""
    if header.last_offset_delta < 0:
        yield Defect(FindingKind.HEADER, f"the last offset {header.last_offset} is below the first")
    elif not 0 <= header.records_count <= header.last_offset_delta + 1:
        detail = f"{header.records_count} records for the offsets {header.base_offset} to {header.last_offset}"
        yield Defect(FindingKind.HEADER, detail)


def _of_records(header: BatchHeader, batch: Buffer) -> tuple[int, list[Defect]]:
    """Return the number of records and their defects. Of records that are out of place only the first is reported."""
    defects: list[Defect] = []
    if header.compression == LZ4 and not lz4_blocks_are_independent(memoryview(batch)[HEADER_SIZE:]):
        defects.append(
            Defect(FindingKind.COMPRESSION, "lz4 blocks depend on each other, which the Java client does not read")
        )
    last_offset, count, largest = header.base_offset - 1, 0, -1
    is_in_place, is_control = True, header.is_control
    try:
        for record in iter_records(batch):
            if is_in_place and not last_offset < record.offset <= header.last_offset:
                is_in_place = False
                detail = f"record {count} has offset {record.offset}, which is out of place"
                defects.append(Defect(FindingKind.RECORDS, detail))
            count += 1
            last_offset = record.offset
            largest = max(largest, record.timestamp)
            if is_control:
                parse_control_key(record.key)
    except DecodeError as error:
        return 0, [*defects, Defect(FindingKind.CONTROL if is_control else FindingKind.RECORDS, str(error))]
    if count and header.timestamp_type == CREATE_TIME and not is_control and largest != header.max_timestamp:
        detail = f"the largest timestamp is {header.max_timestamp} in the header, {largest} in the records"
        defects.append(Defect(FindingKind.TIMESTAMP, detail))
    return count, defects


def _filled_in(header: BatchHeader, batch: Buffer) -> int:
    """Return the timestamp in a broker's index for a batch whose header lacks the largest (docs/decisions/0010)."""
    try:
        times = iter_times(batch, max_bytes=_FILLED_IN_BYTES_MAX)
        return max((each[1] for each in times if each is not None), default=-1)
    except DecodeError:
        return header.base_timestamp
