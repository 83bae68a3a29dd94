# compiled: mypyc
"""Searching for a time in the batches of a log file, in steps.

A batch that, by its header, cannot hold such a record is skipped; the others are read, each a chunk at a time. The
largest timestamp in a header is trusted, except where there is clearly none (docs/decisions/0010).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import Buffer
from barnabas.protocol.records.batch import BatchHeader
from barnabas.protocol.records.compression import DECOMPRESSED_BYTES_MAX
from barnabas.protocol.records.record_times import iter_times
from barnabas.storage.disk.disk_file import DiskFile
from barnabas.storage.segment.scan import headers
from barnabas.storage.steps import Steps

FILLED_IN_BYTES_MAX: Final = 1 << 26  # of records read for an index; a larger batch has its first record's

_RECORDS_MASK: Final = 63  # records read between two pauses, less one


class FoundRecord(NamedTuple):
    """A record found by its timestamp (ms)."""

    timestamp: int
    offset: int
    leader_epoch: int


def first_record_at(
    file: DiskFile, position: int, end: int, timestamp: int, start_offset: int
) -> Steps[FoundRecord | None]:
    """Return the first record in [position, end) not older than `timestamp` and not below `start_offset`."""
    for at, header in headers(file, position, end):
        yield
        if header.last_offset < start_offset:
            continue
        if header.max_timestamp < timestamp and not header.lacks_max_timestamp:
            continue
        for count, found in enumerate(iter_times(file.pread(header.size_in_bytes, at))):
            if found is None or not count & _RECORDS_MASK:
                yield
            if found is not None and found[1] >= timestamp and found[0] >= start_offset:
                return FoundRecord(found[1], found[0], header.partition_leader_epoch)
    return None


def largest_timestamp_from(file: DiskFile, position: int, end: int, start_offset: int) -> Steps[int]:
    """Return the largest timestamp of records in [position, end) not below `start_offset`; -1 if none has one."""
    largest = -1
    for at, header in headers(file, position, end):
        yield
        if header.last_offset < start_offset:
            continue
        if header.base_offset >= start_offset and not header.lacks_max_timestamp:
            largest = max(largest, header.max_timestamp)
        elif header.max_timestamp > largest or header.lacks_max_timestamp:
            batch = file.pread(header.size_in_bytes, at)
            largest = max(largest, (yield from _largest_in(batch, start_offset, DECOMPRESSED_BYTES_MAX)))
    return largest


def max_timestamp_of(batch: Buffer, header: BatchHeader) -> Steps[int]:
    """Return the timestamp for the index of a batch whose header lacks its largest timestamp.

    For a batch that cannot be read, or is larger than usual batches, that is the timestamp of its first record.
    """
    try:
        return (yield from _largest_in(batch, header.base_offset, FILLED_IN_BYTES_MAX))
    except DecodeError:
        return header.base_timestamp


def _largest_in(batch: Buffer, start_offset: int, max_bytes: int) -> Steps[int]:
    largest = -1
    for count, found in enumerate(iter_times(batch, max_bytes=max_bytes)):
        if found is None or not count & _RECORDS_MASK:
            yield
        if found is not None and found[1] > largest and found[0] >= start_offset:
            largest = found[1]
    return largest
