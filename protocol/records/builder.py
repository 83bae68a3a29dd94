# compiled: mypyc
"""Building record batches: from new records, or from the records of a batch that is being rewritten.

The result is a bytearray so that the appending code can set offset and leader epoch in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Final, NamedTuple

from barnabas.protocol.primitives import Buffer, uvarint, write_varint, write_varlong
from barnabas.protocol.records import batch as batches
from barnabas.protocol.records.batch import BatchHeader, encode_batch
from barnabas.protocol.records.compression import NONE, compress
from barnabas.protocol.records.crc32c import crc32c
from barnabas.protocol.records.record import BatchRecord

_pack_crc: Final = Struct(">I").pack_into
_pack_header: Final = batches.HEADER.pack_into
_NO_HEADER: Final = bytes(batches.HEADER_SIZE)
# fmt: off
_SINGLE_HEADER: Final = batches.HEADER.pack(
    0, 0, batches.NO_LEADER_EPOCH, batches.MAGIC, 0, 0, 0, 0, 0,
    batches.NO_PRODUCER_ID, batches.NO_PRODUCER_EPOCH, batches.NO_SEQUENCE, 1,
)
# fmt: on
_pack_length: Final = Struct(">i").pack_into
_pack_timestamps: Final = Struct(">qq").pack_into


class NewRecord(NamedTuple):
    """A record before it has an offset; a plain tuple in this order is accepted. `timestamp` in ms, -1 for none."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()
    timestamp: int = batches.NO_TIMESTAMP


RecordLike = NewRecord | BatchRecord | tuple[bytes | None, bytes | None, Sequence[tuple[str, bytes | None]], int]


def build_batch(
    records: Sequence[RecordLike],
    *,
    base_offset: int = 0,
    leader_epoch: int = batches.NO_LEADER_EPOCH,
    compression: int = NONE,
    producer_id: int = batches.NO_PRODUCER_ID,
    producer_epoch: int = batches.NO_PRODUCER_EPOCH,
    base_sequence: int = batches.NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
    timestamp_type: int = batches.CREATE_TIME,
    level: int | None = None,
) -> bytearray:
    """Build a batch of at least one record, numbered from `base_offset` without gaps (a BatchRecord's offset is
    ignored).

    `level` is the codec's compression level, None for its default.
    """
    if not records:
        raise ValueError("a new batch has at least one record")
    rows = [
        NewRecord(record.key, record.value, record.headers, record.timestamp)
        if isinstance(record, BatchRecord)
        else NewRecord._make(record)
        for record in records
    ]
    attributes = (
        timestamp_type * batches.TIMESTAMP_TYPE_MASK
        | transactional * batches.TRANSACTIONAL_MASK
        | control * batches.CONTROL_MASK
    )
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=0,
        partition_leader_epoch=leader_epoch,
        magic=batches.MAGIC,
        crc=0,
        attributes=attributes,
        last_offset_delta=len(rows) - 1,
        base_timestamp=rows[0].timestamp,
        max_timestamp=max(row.timestamp for row in rows),
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        records_count=len(rows),
    )
    return _seal(header, enumerate(rows), compression, level)


def encode_records(
    records: Sequence[NewRecord], *, first: int = 0, compression: int = NONE, level: int | None = None
) -> Buffer:
    """Return the record area of a batch of at least one record, numbered without gaps.
    Or a part of it, whose `first` record has that number.
    """
    return _encode(enumerate(records, first), records[0].timestamp, compression, level)


def seal_records(area: Buffer, count: int, timestamp_ms: int, *, base_offset: int, leader_epoch: int) -> bytearray:
    """Build a batch from the record area of encode_records, as build_batch; all records have one timestamp."""
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=0,
        partition_leader_epoch=leader_epoch,
        magic=batches.MAGIC,
        crc=0,
        attributes=0,
        last_offset_delta=count - 1,
        base_timestamp=timestamp_ms,
        max_timestamp=timestamp_ms,
        producer_id=batches.NO_PRODUCER_ID,
        producer_epoch=batches.NO_PRODUCER_EPOCH,
        base_sequence=batches.NO_SEQUENCE,
        records_count=count,
    )
    return encode_batch(header, area)


def build_single(key: bytes, value: bytes | None, timestamp_ms: int) -> bytearray:
    """Build a batch of one record with a key and no headers, as build_batch, faster: the usual one of coordinators."""
    key_size = uvarint(2 * len(key))  # sizes are never negative, so zig-zag is doubling
    value_size, value = (b"\1", b"") if value is None else (uvarint(2 * len(value)), value)
    size = 4 + len(key_size) + len(key) + len(value_size) + len(value)
    # The record: attributes, zero deltas of timestamp and offset, key, value, no headers.
    batch = bytearray(b"%b%b\0\0\0%b%b%b%b\0" % (_SINGLE_HEADER, uvarint(2 * size), key_size, key, value_size, value))
    _pack_length(batch, batches.LENGTH_POSITION, len(batch) - batches.LOG_OVERHEAD)
    _pack_timestamps(batch, batches.BASE_TIMESTAMP_POSITION, timestamp_ms, timestamp_ms)
    _pack_crc(batch, batches.CRC_POSITION, crc32c(memoryview(batch)[batches.ATTRIBUTES_POSITION :]))
    return batch


def build_plain(records: Sequence[tuple[bytes, bytes | None]], timestamp_ms: int) -> bytearray:
    """Build a batch of records with keys, no headers and one timestamp, as build_batch, in a third of the time."""
    batch = bytearray(_NO_HEADER)
    known: dict[int, bytes] = {}  # encoded sizes, of which there are few different ones
    for offset_delta, (key, value) in enumerate(records):
        key_size = known.get(len(key)) or known.setdefault(len(key), uvarint(2 * len(key)))
        value_size = b"\1"
        if value is None:
            value = b""
        else:
            value_size = known.get(len(value)) or known.setdefault(len(value), uvarint(2 * len(value)))
        delta = uvarint(2 * offset_delta)
        size = 3 + len(delta) + len(key_size) + len(key) + len(value_size) + len(value)
        record_size = known.get(size) or known.setdefault(size, uvarint(2 * size))
        batch += b"%b\0\0%b%b%b%b%b\0" % (record_size, delta, key_size, key, value_size, value)
    # The fields in their order, several on a line.
    # fmt: off
    _pack_header(
        batch, 0, 0, len(batch) - batches.LOG_OVERHEAD, batches.NO_LEADER_EPOCH, batches.MAGIC, 0, 0,
        len(records) - 1, timestamp_ms, timestamp_ms, batches.NO_PRODUCER_ID, batches.NO_PRODUCER_EPOCH,
        batches.NO_SEQUENCE, len(records),
    )
    # fmt: on
    _pack_crc(batch, batches.CRC_POSITION, crc32c(memoryview(batch)[batches.ATTRIBUTES_POSITION :]))
    return batch


class Rebuilding:
    """A batch of some records of another, with the fields of its header except length, CRC, count and codec.

    Records keep their offsets, which may have gaps, and their timestamps. `last_offset_delta`, base and max timestamp
    are those of the header, so the batch covers the same offsets and sequences as before.
    """

    def __init__(self, header: BatchHeader) -> None:
        self._header = header
        self._area = bytearray()
        self._records_count = 0

    @property
    def size(self) -> int:
        """The bytes of the records before compression."""
        return len(self._area)

    def add(self, record: BatchRecord) -> None:
        """Add the next record."""
        row = NewRecord(record.key, record.value, record.headers, record.timestamp)
        _write_record(self._area, row, record.offset - self._header.base_offset, self._header.base_timestamp)
        self._records_count += 1

    def seal(self, compression: int, level: int | None) -> bytearray:
        """Return the batch."""
        attributes = self._header.attributes & ~batches.COMPRESSION_MASK | compression
        return encode_batch(
            self._header._replace(attributes=attributes, records_count=self._records_count),
            self._area if compression == NONE else compress(compression, self._area, level),
        )


def _seal(header: BatchHeader, rows: Iterable[tuple[int, NewRecord]], compression: int, level: int | None) -> bytearray:
    attributes = header.attributes & ~batches.COMPRESSION_MASK | compression
    return encode_batch(
        header._replace(attributes=attributes), _encode(rows, header.base_timestamp, compression, level)
    )


def _encode(rows: Iterable[tuple[int, NewRecord]], base_timestamp: int, compression: int, level: int | None) -> Buffer:
    area = bytearray()
    for offset_delta, row in rows:
        _write_record(area, row, offset_delta, base_timestamp)
    return area if compression == NONE else compress(compression, area, level)


def _write_record(out: bytearray, record: NewRecord, offset_delta: int, base_timestamp: int) -> None:
    key, value, headers, timestamp = record
    body = bytearray(1)  # the attributes, unused
    write_varlong(body, timestamp - base_timestamp)
    write_varint(body, offset_delta)
    _write_bytes(body, key)
    _write_bytes(body, value)
    write_varint(body, len(headers))
    for name, content in headers:
        _write_bytes(body, name.encode("utf-8", "surrogateescape"))
        _write_bytes(body, content)
    write_varint(out, len(body))
    out += body


def _write_bytes(out: bytearray, data: bytes | None) -> None:
    if data is None:
        out.append(1)  # length -1
    else:
        write_varint(out, len(data))
        out += data
