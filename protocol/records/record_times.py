# compiled: mypyc
"""Offset and timestamp of each record of a batch, for code that needs no more.

The iteration is that of record.py, but it skips keys, values and headers: it holds one chunk, however large a record
is, and costs a third. It also yields pauses, at which the caller may let other work run. The rest of a record after its
timestamp and offset is not checked, and neither is the CRC.

`largest_timestamp` is for uncompressed batches, and reads even less: a length, a timestamp, and then the next record.
It runs for nearly every batch that a client appends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import Buffer, read_varint, read_varlong
from barnabas.protocol.records.batch import LOG_APPEND_TIME, BatchHeader
from barnabas.protocol.records.compression import DECOMPRESSED_BYTES_MAX
from barnabas.protocol.records.record import RECORD_BYTES_MAX, open_batch, read_short_varint, refill

_PIECE_BYTES: Final = 1 << 16
_DELTA_MIN: Final = -(1 << 64)
_HEAD_BYTES: Final = 21  # at most: body length 5, attributes 1, timestamp delta 10, offset delta 5


def largest_timestamp(records: bytes, base_timestamp: int, count: int) -> int | None:
    """Return the largest timestamp in ms of a batch's `count` uncompressed records.
    None if their layout is invalid. `records` has nothing after them, and `count` is not 0.
    """
    position, largest = 0, _DELTA_MIN  # twice a delta, as for one that is not negative
    try:
        for _ in range(count):
            length = records[position]
            if length < 0x80:
                position += 1
            elif (more := records[position + 1]) < 0x80:
                length += (more - 1) << 7
                position += 2
            else:
                zigzag, position = read_varint(records, position)
                length = zigzag * 2
            if length & 1 or length < 4:
                return None
            delta = records[position + 1]
            if delta >= 0x80:
                if (more := records[position + 2]) < 0x80:
                    delta += (more - 1) << 7
                else:
                    zigzag, _ = read_varlong(records, position + 1)
                    delta = zigzag * 2 if zigzag >= 0 else -2 * zigzag - 1
            if delta & 1:
                delta = -1 - delta
            if delta > largest:
                largest = delta
            position += length >> 1
    except (IndexError, DecodeError):
        return None
    return base_timestamp + (largest >> 1) if position == len(records) else None


def iter_times(
    batch: Buffer, *, max_bytes: int = DECOMPRESSED_BYTES_MAX, max_record_bytes: int = RECORD_BYTES_MAX
) -> Iterator[tuple[int, int] | None]:
    """Yield (offset, timestamp in ms) of every record of the batch at the start of `batch`; None before each new chunk.

    DecodeError on damage, as `record.iter_records`, if the records decompress to more than `max_bytes`, and for a
    record of more than `max_record_bytes`.
    """
    header, chunks = open_batch(batch, max_bytes, _PIECE_BYTES)
    yield from _walk(header, chunks, max_record_bytes)


def _walk(header: BatchHeader, chunks: Iterator[bytes], max_record_bytes: int) -> Iterator[tuple[int, int] | None]:
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    append_time = header.max_timestamp if header.timestamp_type == LOG_APPEND_TIME else None
    buffer, position = b"", 0
    for index in range(header.records_count):
        if len(buffer) - position < _HEAD_BYTES:
            yield None
            buffer, position = refill(buffer, position, _HEAD_BYTES, chunks), 0
        try:
            length, start = read_short_varint(buffer, position)
            position = start + 1  # after the attributes, which are unused
            if (raw := buffer[position]) < 0x80:
                timestamp_delta, position = (raw >> 1) ^ -(raw & 1), position + 1
            else:
                timestamp_delta, position = read_varlong(buffer, position)
            offset_delta, position = read_short_varint(buffer, position)
        except IndexError:
            raise DecodeError(f"record {index} of batch at offset {base_offset} is missing") from None
        after = start + length
        if position > after or length > max_record_bytes:
            raise DecodeError(f"record {index} of batch at offset {base_offset} claims {length} bytes")
        yield base_offset + offset_delta, base_timestamp + timestamp_delta if append_time is None else append_time
        while after > len(buffer):
            yield None
            after -= len(buffer)
            if (chunk := next(chunks, None)) is None:
                raise DecodeError(f"record {index} of batch at offset {base_offset} is cut")
            buffer = chunk
        position = after
    if position < len(buffer) or any(chunks):
        raise DecodeError(f"batch at offset {base_offset}: bytes behind its {header.records_count} records")
