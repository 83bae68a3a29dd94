# compiled: mypyc
"""Record batches of format v2, as views over bytes: the 61-byte header, its CRC, and the few fields a leader rewrites.

Nothing here reads a record; a batch may be compressed or damaged after its header, which only the CRC shows here.

    0  baseOffset i64 | 8  batchLength i32 | 12 partitionLeaderEpoch i32 | 16 magic i8 | 17 crc u32
    21 attributes i16 | 23 lastOffsetDelta i32 | 27 baseTimestamp i64 | 35 maxTimestamp i64
    43 producerId i64 | 51 producerEpoch i16 | 53 baseSequence i32 | 57 recordsCount i32 | 61 records

The CRC covers bytes 21 to the end, so base offset and leader epoch may be set without touching it. docs/formats/
record-batch.md shows the bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import Buffer
from barnabas.protocol.records.crc32c import crc32c

WritableBuffer = bytearray | memoryview

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
HEADER_SIZE: Final = 61
assert HEADER.size == HEADER_SIZE

MAGIC: Final = 2
LOG_OVERHEAD: Final = 12  # bytes before the counted part: base offset and batch length
LENGTH_POSITION: Final = 8
MAGIC_POSITION: Final = 16
BATCH_LENGTH_MIN: Final = HEADER_SIZE - LOG_OVERHEAD  # 49; formats before v2 could be as short as 14
_OLD_BATCH_LENGTH_MIN: Final = 14

COMPRESSION_MASK: Final = 0x07
TIMESTAMP_TYPE_MASK: Final = 0x08
TRANSACTIONAL_MASK: Final = 0x10
CONTROL_MASK: Final = 0x20
DELETE_HORIZON_MASK: Final = 0x40
_OTHER_TIMES_MASK: Final = TIMESTAMP_TYPE_MASK | CONTROL_MASK | DELETE_HORIZON_MASK

CREATE_TIME: Final = 0
LOG_APPEND_TIME: Final = 1

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_TIMESTAMP: Final = -1
NO_LEADER_EPOCH: Final = -1
SEQUENCE_MAX: Final = 0x7FFFFFFF

CRC_POSITION: Final = 17
ATTRIBUTES_POSITION: Final = 21
BASE_TIMESTAMP_POSITION: Final = 27  # the largest timestamp and the producer are behind it
_pack_crc_and_attributes: Final = struct.Struct(">Ih").pack_into
_pack_max_timestamp: Final = struct.Struct(">q").pack_into
_unpack_length: Final = struct.Struct(">i").unpack_from
_unpack_crc: Final = struct.Struct(">I").unpack_from


class UnsupportedMagic(DecodeError):
    """A message set of format v0 or v1: whole, but written before record batches; Kafka 4 refuses it too (KIP-724)."""

    def __init__(self, magic: int, position: int) -> None:
        super().__init__(f"message format v{magic} at {position}, only v2 is supported")
        self.magic = magic


class BatchHeader(NamedTuple):
    """The 61-byte header of every batch. Offsets and timestamps (ms) are absolute, `crc` is unsigned."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def size_in_bytes(self) -> int:
        """The size of the whole batch, header included."""
        return LOG_OVERHEAD + self.batch_length

    @property
    def last_offset(self) -> int:
        """The offset of the last record (of the last original record, if compaction removed it)."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The offset after this batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record, or -1 if the batch has none."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return increment_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def compression(self) -> int:
        """The codec: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd; 5 to 7 are undefined."""
        return self.attributes & COMPRESSION_MASK

    @property
    def timestamp_type(self) -> int:
        """The timestamp type: CREATE_TIME or LOG_APPEND_TIME."""
        return (self.attributes & TIMESTAMP_TYPE_MASK) >> 3

    @property
    def is_transactional(self) -> bool:
        """Whether it is data inside a transaction, or one of its markers."""
        return bool(self.attributes & TRANSACTIONAL_MASK)

    @property
    def is_control(self) -> bool:
        """Whether it is a marker or another control batch, which consumers do not see."""
        return bool(self.attributes & CONTROL_MASK)

    @property
    def has_delete_horizon(self) -> bool:
        """Whether the base timestamp holds a delete horizon (KIP-534)."""
        return bool(self.attributes & DELETE_HORIZON_MASK)

    @property
    def lacks_max_timestamp(self) -> bool:
        """Whether the largest timestamp is missing: it is below the first one, or -1 where there are any.

        Sarama before 1.45.1 sends such batches. If the largest timestamp, or the base timestamp, has another meaning
        (log-append time, a delete horizon) there is nothing to compare, and markers are written by brokers.
        """
        if NO_TIMESTAMP < self.max_timestamp >= self.base_timestamp or self.attributes & _OTHER_TIMES_MASK:
            return False
        return self.max_timestamp < self.base_timestamp or self.max_timestamp == NO_TIMESTAMP != self.base_timestamp

    @property
    def has_producer_id(self) -> bool:
        """Whether it is a batch of an idempotent or transactional producer, or a marker."""
        return self.producer_id > NO_PRODUCER_ID


def parse_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """Return the header at `position`. DecodeError if it is cut, claims too few bytes, or is not a v2 batch."""
    if position < 0 or len(buffer) - position < HEADER_SIZE:
        raise DecodeError(f"batch at {position}: {len(buffer) - position} bytes, a header has {HEADER_SIZE}")
    header = BatchHeader._make(HEADER.unpack_from(buffer, position))
    if header.magic != MAGIC:
        if header.magic in (0, 1):
            raise UnsupportedMagic(header.magic, position)
        raise DecodeError(f"batch at {position}: magic {header.magic}")
    if header.batch_length < BATCH_LENGTH_MIN:
        raise DecodeError(f"batch at {position}: length {header.batch_length} is below {BATCH_LENGTH_MIN}")
    return header


def next_batch_size(buffer: Buffer, position: int, end: int, size_max: int = SEQUENCE_MAX) -> int | None:
    """Return the bytes of the whole batch at `position`, or None if `end` comes before the batch is complete.

    DecodeError when the length or the magic is invalid (Kafka: CORRUPT_MESSAGE). A cut tail is not an error: log files
    and Fetch responses often end in one. Batches of every magic are measured, also those that parse_header refuses.
    """
    if end - position < LOG_OVERHEAD:
        return None
    batch_length: int = _unpack_length(buffer, position + 8)[0]
    if batch_length < _OLD_BATCH_LENGTH_MIN:
        raise DecodeError(f"batch at {position}: length {batch_length} is below {_OLD_BATCH_LENGTH_MIN}")
    if batch_length > size_max - LOG_OVERHEAD:
        raise DecodeError(f"batch at {position}: length {batch_length} is above the limit of {size_max}")
    if end - position <= MAGIC_POSITION:
        return None
    if buffer[position + MAGIC_POSITION] > MAGIC:  # as an unsigned byte: negative ones are large
        raise DecodeError(f"batch at {position}: magic byte {buffer[position + MAGIC_POSITION]}")
    size = LOG_OVERHEAD + batch_length
    return size if size <= end - position else None


def iter_batches(buffer: Buffer, size_max: int = SEQUENCE_MAX) -> Iterator[tuple[int, BatchHeader]]:
    """Yield (position, header) of every complete batch in `buffer`; an incomplete one at the end is ignored.

    DecodeError if the bytes cannot be a batch; its subclass UnsupportedMagic for a message set of format v0 or v1.
    """
    position, end = 0, len(buffer)
    while (size := next_batch_size(buffer, position, end, size_max)) is not None:
        if buffer[position + MAGIC_POSITION] != MAGIC:
            raise UnsupportedMagic(buffer[position + MAGIC_POSITION], position)
        yield position, parse_header(buffer, position)
        position += size


def compute_crc(batch: Buffer) -> int:
    """Return the CRC-32C from attributes to end; `batch` is exactly one batch. No copy of a memoryview or bytearray."""
    return crc32c(memoryview(batch)[ATTRIBUTES_POSITION:])


def verify_crc(batch: Buffer) -> bool:
    """Return whether the stored CRC matches the bytes; `batch` is exactly one batch, header included."""
    stored: int = _unpack_crc(batch, CRC_POSITION)[0]
    return crc32c(memoryview(batch)[ATTRIBUTES_POSITION:]) == stored


def set_max_timestamp(buffer: WritableBuffer, position: int, timestamp_type: int, max_timestamp: int) -> bool:
    """Set timestamp type and max timestamp in place; return whether either changed and the CRC was recomputed.

    With LOG_APPEND_TIME every record's timestamp becomes `max_timestamp`, without its bytes being touched.
    """
    header = parse_header(buffer, position)
    if header.timestamp_type == timestamp_type and header.max_timestamp == max_timestamp:
        return False
    attributes = header.attributes & ~TIMESTAMP_TYPE_MASK | timestamp_type << 3
    _pack_max_timestamp(buffer, position + 35, max_timestamp)
    _pack_crc_and_attributes(buffer, position + CRC_POSITION, 0, attributes)
    crc = compute_crc(memoryview(buffer)[position : position + header.size_in_bytes])
    _pack_crc_and_attributes(buffer, position + CRC_POSITION, crc, attributes)
    return True


def encode_batch(header: BatchHeader, records: Buffer) -> bytearray:
    """Return a batch from a header and its (possibly compressed) record area; length, magic and CRC are computed."""
    batch = bytearray(HEADER_SIZE + len(records))
    batch[HEADER_SIZE:] = records
    header = header._replace(batch_length=len(batch) - LOG_OVERHEAD, magic=MAGIC, crc=0)
    HEADER.pack_into(batch, 0, *header)
    _pack_crc_and_attributes(batch, CRC_POSITION, compute_crc(batch), header.attributes)
    return batch


def increment_sequence(sequence: int, increment: int) -> int:
    """Add to a sequence number, which wraps: after 2147483647 comes 0."""
    if sequence > SEQUENCE_MAX - increment:
        return increment - (SEQUENCE_MAX - sequence) - 1
    return sequence + increment


def decrement_sequence(sequence: int, decrement: int) -> int:
    """Subtract from a sequence number: the inverse of increment_sequence."""
    if sequence < decrement:
        return SEQUENCE_MAX - (decrement - sequence) + 1
    return sequence - decrement
