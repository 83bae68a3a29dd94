# compiled: mypyc
"""Batches after compaction: with some of their records, or with none.

Both keep offsets, leader epoch, producer id, epoch and base sequence, and the flags, so that the batch's data about its
producer stay valid. docs/formats/record-batch.md shows the bytes; KIP-98 has the empty batch, KIP-534 the horizon.
"""

from __future__ import annotations

from typing import Final

from barnabas.protocol.primitives import varint_size, write_varint, write_varlong
from barnabas.protocol.records import batch as batches
from barnabas.protocol.records.batch import BatchHeader, encode_batch
from barnabas.protocol.records.compression import Compressor, new_compressor

NO_HORIZON: Final = -1
_FEED_BYTES: Final = 1 << 16
_EMPTY_CLEARS: Final = ~(batches.COMPRESSION_MASK | batches.DELETE_HORIZON_MASK)


def delete_horizon_of(header: BatchHeader) -> int:
    """Return the time (ms) when the batch's tombstones or marker may be removed, NO_HORIZON if it is not set yet."""
    return header.base_timestamp if header.has_delete_horizon else NO_HORIZON


def empty_batch(header: BatchHeader) -> bytearray:
    """Return the 61 bytes of an emptied batch whose producer state must stay. It has no records and no codec."""
    attributes = header.attributes & _EMPTY_CLEARS
    return encode_batch(
        header._replace(attributes=attributes, base_timestamp=batches.NO_TIMESTAMP, records_count=0), b""
    )


class Rewriting:
    """A batch with some of the records of another, added one by one in order; at least one.

    `delete_horizon_ms` is NO_HORIZON, or replaces the base timestamp. Holds the records in compressed form.
    """

    def __init__(self, header: BatchHeader, delete_horizon_ms: int) -> None:
        self._header = header
        self._has_horizon = delete_horizon_ms >= 0
        self._base_timestamp = delete_horizon_ms
        self._max_timestamp = batches.NO_TIMESTAMP
        self._records_count = 0
        self._area = bytearray()  # records not compressed yet
        self._compressor: Compressor | None = new_compressor(header.compression)
        self._compressed: list[bytes] = []
        self._compressed_bytes = 0

    @property
    def size(self) -> int:
        """The number of bytes held."""
        return len(self._area) + self._compressed_bytes

    def add(self, offset: int, timestamp: int, tail: bytes) -> None:
        """Add the next record: `tail` is everything after its offset, key to headers, as in the original batch."""
        if not self._records_count and not self._has_horizon:
            self._base_timestamp = timestamp
        if timestamp > self._max_timestamp:
            self._max_timestamp = timestamp
        self._records_count += 1
        timestamp_delta, offset_delta = timestamp - self._base_timestamp, offset - self._header.base_offset
        area = self._area
        write_varint(area, 1 + varint_size(timestamp_delta) + varint_size(offset_delta) + len(tail))
        area.append(0)  # the attributes, unused
        write_varlong(area, timestamp_delta)
        write_varint(area, offset_delta)
        area += tail
        if self._compressor is not None and len(area) >= _FEED_BYTES:
            compressed = self._compressor.compress(bytes(area))
            self._compressed.append(compressed)
            self._compressed_bytes += len(compressed)
            area.clear()

    def seal(self) -> tuple[BatchHeader, bytearray]:
        """Return the batch, and its header except length and CRC."""
        assert self._records_count, "a batch without records is an empty one"
        header = self._header
        records = self._area
        if self._compressor is not None:
            self._compressed.append(self._compressor.compress(bytes(self._area)))
            self._compressed.append(self._compressor.flush())
            records = bytearray().join(self._compressed)
        attributes = header.attributes & ~batches.DELETE_HORIZON_MASK
        if self._has_horizon:
            attributes |= batches.DELETE_HORIZON_MASK
        is_append_time = header.timestamp_type == batches.LOG_APPEND_TIME
        header = header._replace(
            batch_length=batches.BATCH_LENGTH_MIN + len(records),
            attributes=attributes,
            base_timestamp=self._base_timestamp,
            max_timestamp=header.max_timestamp if is_append_time else self._max_timestamp,
            records_count=self._records_count,
        )
        return header, encode_batch(header, records)
