# compiled: mypyc
"""Records inside a batch, read one at a time.

The iteration decompresses step by step and holds one chunk and one record, so a batch that claims to be huge costs
nothing and one that is huge costs its largest record. The header is trusted as little as possible: any contradiction (a
length, a count, bytes left over) is a DecodeError. The CRC is not checked: see batch.verify_crc.

A record: varint body length, then i8 attributes, varlong timestamp delta, varint offset delta, varint key length (-1:
null) and key, varint value length (-1: null) and value, varint header count, and for each header varint key length, key
(UTF-8), varint value length (-1: null), value.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Final, NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import Buffer, read_varint, read_varlong
from barnabas.protocol.records.batch import HEADER_SIZE, TIMESTAMP_TYPE_MASK, BatchHeader, parse_header
from barnabas.protocol.records.compression import DECOMPRESSED_BYTES_MAX, NONE, decompress_chunks

RECORD_BYTES_MAX: Final = 100 * 1024 * 1024
"""The default limit of one record: uncompressed, nothing larger fits into a request."""

_IN_ONE_PIECE: Final = 1 << 31  # no batch is longer

Headers = list[tuple[str, bytes | None]]

_new_tuple: Final = tuple.__new__  # half the cost of a NamedTuple's constructor


class BatchRecord(NamedTuple):
    """One record. `offset` and `timestamp` (ms) are absolute; header keys keep undecodable bytes as surrogates."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


def iter_records(
    batch: Buffer, *, max_bytes: int = DECOMPRESSED_BYTES_MAX, max_record_bytes: int = RECORD_BYTES_MAX
) -> Iterator[BatchRecord]:
    """Yield every record of the batch at the start of `batch`, in order; control records too.

    DecodeError on any damage, and if the record area decompresses to more than `max_bytes` or one record is larger
    than `max_record_bytes`. Records before the damage may have been yielded by then.
    """
    return _iter_records(batch, max_bytes, max_record_bytes, has_pauses=False)  # type: ignore[return-value]  # no None


def iter_records_with_pauses(
    batch: Buffer, *, max_bytes: int = DECOMPRESSED_BYTES_MAX, max_record_bytes: int = RECORD_BYTES_MAX
) -> Iterator[BatchRecord | None]:
    """Yield every record as iter_records, and None before each new chunk, also within a record, for pauses.

    One chunk has many small records: the caller may also count them and pause between any two.
    """
    return _iter_records(batch, max_bytes, max_record_bytes, has_pauses=True)


def _iter_records(
    batch: Buffer, max_bytes: int, max_record_bytes: int, *, has_pauses: bool
) -> Iterator[BatchRecord | None]:
    header, chunks = open_batch(batch, max_bytes, _IN_ONE_PIECE)
    yield from _walk(header, chunks, max_record_bytes, has_pauses)


def open_batch(batch: Buffer, max_bytes: int, piece_bytes: int) -> tuple[BatchHeader, Iterator[bytes]]:
    """Return the header of the batch at the start of `batch`, and its decompressed records, chunk after chunk.

    Without compression a chunk has `piece_bytes`. DecodeError when the batch is cut or has a negative number of
    records; the chunks raise it on damage, and beyond `max_bytes`.
    """
    header = parse_header(batch)
    if header.size_in_bytes > len(batch):
        raise DecodeError(f"batch of {header.size_in_bytes} bytes is cut to {len(batch)}")
    if header.records_count < 0:
        raise DecodeError(f"batch at offset {header.base_offset}: {header.records_count} records")
    area = memoryview(batch)[HEADER_SIZE : header.size_in_bytes]
    if header.compression == NONE:
        return header, (bytes(area[start : start + piece_bytes]) for start in range(0, len(area), piece_bytes))
    if header.records_count == 0 and not area:
        return header, iter(())  # emptied by compaction
    return header, decompress_chunks(header.compression, area, max_bytes)


def _walk(
    header: BatchHeader, chunks: Iterator[bytes], max_record_bytes: int, has_pauses: bool
) -> Iterator[BatchRecord | None]:
    buffer, position = b"", 0
    for index in range(header.records_count):
        if len(buffer) - position < 5:  # a body length may be cut
            if has_pauses:
                yield None
            buffer, position = refill(buffer, position, 5, chunks), 0
        try:
            length, start = read_short_varint(buffer, position)
        except IndexError:
            raise DecodeError(f"record {index} of batch at offset {header.base_offset} is missing") from None
        if not 0 <= length <= max_record_bytes:
            raise DecodeError(f"record {index} of batch at offset {header.base_offset} claims {length} bytes")
        if length > len(buffer) - start:
            if has_pauses:
                buffer, start = (yield from _refill_with_pauses(buffer, start, length, chunks)), 0
            else:
                buffer, start = refill(buffer, start, length, chunks), 0
            if length > len(buffer):
                raise DecodeError(f"record {index} of batch at offset {header.base_offset} is cut")
        position = start + length
        yield _parse_body(buffer, start, position, header)
    if position < len(buffer) or any(chunks):
        raise DecodeError(f"batch at offset {header.base_offset}: bytes behind its {header.records_count} records")


def refill(buffer: bytes, position: int, needed: int, chunks: Iterator[bytes]) -> bytes:
    """Return the rest of `buffer` and as many chunks as make `needed` bytes, fewer if there are no more."""
    parts = [buffer[position:]]
    size = len(parts[0])
    while size < needed and (chunk := next(chunks, None)) is not None:
        parts.append(chunk)
        size += len(chunk)
    return b"".join(parts)


def _refill_with_pauses(
    buffer: bytes, position: int, needed: int, chunks: Iterator[bytes]
) -> Generator[None, None, bytes]:
    parts = [buffer[position:]]
    size = len(parts[0])
    while size < needed:
        yield
        if (chunk := next(chunks, None)) is None:
            break
        parts.append(chunk)
        size += len(chunk)
    return b"".join(parts)


def _parse_body(buffer: bytes, position: int, end: int, header: BatchHeader) -> BatchRecord:
    # Byte `position` is the attributes, unused since v2 was defined. Deltas of one byte, by far the most common,
    # are read inline.
    position += 1
    try:
        if (raw := buffer[position]) < 0x80:
            timestamp_delta, position = (raw >> 1) ^ -(raw & 1), position + 1
        else:
            timestamp_delta, position = read_varlong(buffer, position)
        offset_delta, position = read_short_varint(buffer, position)
        key, position = _parse_bytes(buffer, position, end)
        value, position = _parse_bytes(buffer, position, end)
        if buffer[position] == 0:
            headers: Headers = []
            position += 1
        else:
            headers, position = _parse_headers(buffer, position, end)
    except IndexError:
        raise DecodeError(f"a record of the batch at offset {header.base_offset} ends too early") from None
    if position != end:
        raise DecodeError(f"record at offset {header.base_offset + offset_delta}: {end - position} bytes left over")
    log_append_time = header.attributes & TIMESTAMP_TYPE_MASK
    timestamp = header.max_timestamp if log_append_time else header.base_timestamp + timestamp_delta
    return _new_tuple(BatchRecord, (header.base_offset + offset_delta, timestamp, key, value, headers))


def _parse_bytes(buffer: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    length, position = read_short_varint(buffer, position)
    if length < 0:
        if length != -1:
            raise DecodeError(f"length {length} at {position}")
        return None, position
    after = position + length
    if after > end:
        raise DecodeError(f"length {length} at {position} runs past the end of its record")
    return buffer[position:after], after


def read_short_varint(buffer: bytes, position: int) -> tuple[int, int]:
    """Read a varint as primitives.read_varint, faster for one or two bytes; IndexError where the bytes end."""
    raw = buffer[position]
    if raw >= 0x80:
        second = buffer[position + 1]
        if second >= 0x80:
            return read_varint(buffer, position)
        raw += (second - 1) << 7
        position += 1
    return (raw >> 1) ^ -(raw & 1), position + 1


def _parse_headers(buffer: bytes, position: int, end: int) -> tuple[Headers, int]:
    count, position = read_varint(buffer, position)
    if not 0 <= count <= end - position:
        raise DecodeError(f"{count} headers in the {end - position} bytes left of a record")
    headers: Headers = []
    for _ in range(count):
        key, position = _parse_bytes(buffer, position, end)
        if key is None:
            raise DecodeError(f"header without a key at {position}")
        value, position = _parse_bytes(buffer, position, end)
        headers.append((key.decode("utf-8", "surrogateescape"), value))
    return headers, position
