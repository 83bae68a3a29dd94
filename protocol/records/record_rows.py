# compiled: mypyc
"""Records of a batch as rows: the data that compaction needs of each, and the positions of the bytes to copy.

The iteration is that of record.py and holds no more: one decompressed chunk, and one record. It yields pieces of many
records, so that reading millions of records takes one generator step for a hundred of them; between two pieces, and
before each chunk, other work may run. Headers of records are not checked, and neither is the CRC.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Protocol

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import read_varlong
from barnabas.protocol.records.batch import HEADER_SIZE, LOG_APPEND_TIME, BatchHeader
from barnabas.protocol.records.compression import NONE, decompress_chunks
from barnabas.protocol.records.record import RECORD_BYTES_MAX, read_short_varint

if TYPE_CHECKING:
    from mypy_extensions import i64  # positions and sizes, which are checked before anything is added to them

Row = tuple[int, int, bytes | None, bool, int, int]
"""(offset, timestamp in ms, key, whether there is a value, position of the key's length, end of the record)."""

Piece = tuple[bytes, list[Row]]
"""The bytes, and the rows with positions in them."""

ROWS_MAX: Final = 128
UNWANTED: Final = 1
_NO_LIMIT: Final = 1 << 62  # of the whole batch: only one chunk of it is held at a time
_LENGTH_BYTES: Final = 5
_MARKED_MAX: Final = 1024  # records of a piece, if most of them are only passed over


class RecordTaker(Protocol):
    """Takes records before they become rows."""

    def take(
        self, buffer: bytes, position: int, left: int, last_offset: int, header: BatchHeader
    ) -> tuple[int, int, int]:
        """Take some of the `left` records from `position` on, or none; the last one before had `last_offset`.

        Return the position behind them, their number, and the offset of the last one.
        """


def row_pieces(
    batch: bytes,
    header: BatchHeader,
    *,
    max_record_bytes: int = RECORD_BYTES_MAX,
    marks: bytes = b"",
    taker: RecordTaker | None = None,
) -> Iterator[Piece | None]:
    """Yield every record of a batch, in order, some dozens to a piece; None before each new chunk is decompressed.

    Those that `taker` takes are left out, and None is yielded in their place unless they end the batch.

    `batch` is exactly one batch. DecodeError on damage, if a record is larger than `max_record_bytes`, and if
    offsets do not increase within the batch's range. `marks` has a byte for each record of a batch without gaps that
    was read before: of those marked UNWANTED only the length is read.
    """
    assert not marks or len(marks) == header.records_count, "a mark for each record"
    if header.records_count < 0:
        raise DecodeError(f"batch at offset {header.base_offset}: {header.records_count} records")
    chunks: Iterator[bytes] = iter(())
    buffer, position = batch, HEADER_SIZE
    if header.compression != NONE:
        buffer, position = b"", 0
        if len(batch) > HEADER_SIZE or header.records_count:
            chunks = decompress_chunks(header.compression, memoryview(batch)[HEADER_SIZE:], _NO_LIMIT)
    left, last_offset = header.records_count, header.base_offset - 1
    while left > 0:
        if taker is not None:
            position, taken, last_offset = taker.take(buffer, position, left, last_offset, header)
            left -= taken
            if taken:
                if left:
                    yield None
                continue
        rows: list[Row] = []
        count_max = min(left, _MARKED_MAX if marks else ROWS_MAX)
        after, count = _parse_rows(buffer, position, count_max, max_record_bytes, last_offset, header, rows, marks)
        if count:
            position = after
            last_offset = last_offset + count if marks else rows[-1][0]
            left -= count
            yield buffer, rows
            continue
        parts, size, needed = [buffer[position:]], len(buffer) - position, _bytes_needed(buffer, position)
        while size < needed:
            yield None
            chunk = next(chunks, None)
            if chunk is None:
                raise DecodeError(f"batch at offset {header.base_offset} ends {left} records too early")
            parts.append(chunk)
            size += len(chunk)
        buffer, position = b"".join(parts), 0
    if position < len(buffer) or any(chunks):
        raise DecodeError(f"batch at offset {header.base_offset}: bytes behind its {header.records_count} records")


def _bytes_needed(buffer: bytes, position: int) -> int:
    """Return the size of the next record from `position`, one more than the available bytes if it is unknown."""
    if len(buffer) - position >= _LENGTH_BYTES:
        length, start = read_short_varint(buffer, position)
        return start - position + length
    return len(buffer) - position + 1


def _parse_rows(
    buffer: bytes,
    position: int,
    count_max: int,
    max_record_bytes: int,
    offset: int,
    header: BatchHeader,
    rows: list[Row],
    marks: bytes,
) -> tuple[int, int]:
    """Add the records that are whole in `buffer` from `position` on, and are wanted.

    Return the position of the first record that is not whole, and the number of those before it.
    """
    base_offset, base_timestamp, last_offset = header.base_offset, header.base_timestamp, header.last_offset
    has_append_time, append_time = header.timestamp_type == LOG_APPEND_TIME, header.max_timestamp
    size, count, has_marks = len(buffer), 0, len(marks) > 0
    while count < count_max and len(rows) < ROWS_MAX:
        if has_marks and marks[offset + 1 - base_offset] == UNWANTED:
            position, passed = _pass_over(
                buffer, position, marks, offset + 1 - base_offset, count_max - count, max_record_bytes
            )
            if passed:
                offset += passed
                count += passed
                continue
        try:
            length, start = read_short_varint(buffer, position)
        except (IndexError, DecodeError):
            if size - position >= _LENGTH_BYTES:
                raise DecodeError(f"batch at offset {base_offset}: no record behind offset {offset}") from None
            return position, count  # cut by the end of the chunk
        end = start + length
        if not 0 < length <= max_record_bytes:
            raise DecodeError(f"the record behind offset {offset} claims {length} bytes")
        if end > size:
            return position, count
        count += 1
        if has_marks and marks[offset + 1 - base_offset] == UNWANTED:
            offset += 1
            position = end
            continue
        try:
            raw = buffer[start + 1]  # after the attributes, which are unused
            if raw < 0x80:
                delta, at = (raw >> 1) ^ -(raw & 1), start + 2
            else:
                delta, at = read_varlong(buffer, start + 1)
            offset_delta, tail = read_short_varint(buffer, at)
            key_size, at = read_short_varint(buffer, tail)
            key: bytes | None = None
            if key_size >= 0:
                key = buffer[at : at + key_size]
                at += key_size
            value_size, at = read_short_varint(buffer, at)
        except IndexError:
            raise DecodeError(f"the record behind offset {offset} ends too early") from None
        if key_size < -1 or value_size < -1 or at + max(value_size, 0) >= end:  # a count of headers follows
            raise DecodeError(f"the record behind offset {offset} has a key or a value beyond its end")
        if not offset < base_offset + offset_delta <= last_offset:
            raise DecodeError(f"batch at offset {base_offset}: offset {base_offset + offset_delta} behind {offset}")
        offset = base_offset + offset_delta
        timestamp = append_time if has_append_time else base_timestamp + delta
        rows.append((offset, timestamp, key, value_size >= 0, tail, end))
        position = end
    return position, count


def _pass_over(
    buffer: bytes, position: int, marks: bytes, index: int, count_max: int, max_record_bytes: int
) -> tuple[int, int]:
    """Pass over unwanted records that are whole and have a length of up to three bytes.

    Return the position behind them and their number, which may be 0.
    """
    at: i64 = position
    mark_at: i64 = index
    mark_end: i64 = index + count_max
    size: i64 = len(buffer)
    bytes_max: i64 = max_record_bytes
    while mark_at < mark_end and marks[mark_at] == UNWANTED and at + 3 <= size:
        length: i64 = buffer[at]
        start: i64 = at + 1
        if length >= 0x80:
            byte: i64 = buffer[start]
            start += 1
            length += (byte - 1) << 7
            if byte >= 0x80:
                byte = buffer[start]
                if byte >= 0x80:
                    break
                start += 1
                length += (byte - 1) << 14
        if length & 1 or not 0 < length >> 1 <= bytes_max or start + (length >> 1) > size:
            break
        at = start + (length >> 1)
        mark_at += 1
    return at, mark_at - index
