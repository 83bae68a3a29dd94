"""A batch before it has a producer, sealing it for a producer, and splitting one that is too large. Pure.

Records are encoded (and compressed) once, without a producer; `seal` puts the header with producer and sequence number
in front of them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from barnabas.client.metadata import TopicPartition
from barnabas.client.transaction_requests import NO_PRODUCER, ProducerIdentity
from barnabas.protocol.errors import EncodeError, ErrorCode, KafkaError
from barnabas.protocol.primitives import Buffer
from barnabas.protocol.records import batch as batches
from barnabas.protocol.records.batch import (
    NO_SEQUENCE,
    BatchHeader,
    encode_batch,
    increment_sequence,
    parse_header,
)
from barnabas.protocol.records.builder import NewRecord, build_batch, encode_records
from barnabas.protocol.records.compression import NONE
from barnabas.protocol.records.record import iter_records

CANNOT_BE_ENCODED = (TypeError, ValueError, OverflowError, struct.error)
"""The errors of `encode` and `seal` for a record with a timestamp of more than 64 bits, or one that is no number."""

_TIMESTAMP_MIN = -(1 << 63)


@dataclass(frozen=True, slots=True)
class NewBatch:
    """Records of one partition, encoded (and compressed by the codec of that number), without a producer yet."""

    topic: str
    partition: int
    records: Buffer
    count: int
    base_timestamp: int
    max_timestamp: int
    compression: int = NONE


def encode(
    where: TopicPartition, records: Sequence[NewRecord], *, compression: int = NONE, level: int | None = None
) -> NewBatch:
    """Return a batch of at least one record; `level` is on the codec's scale, None for its default."""
    earliest = min(record.timestamp for record in records)
    if earliest < _TIMESTAMP_MIN:  # it does not fit in a header
        raise EncodeError(f"timestamp {earliest} has more than 64 bits")
    return NewBatch(
        *where,
        records=encode_records(records, compression=compression, level=level),
        count=len(records),
        base_timestamp=records[0].timestamp,
        max_timestamp=max(record.timestamp for record in records),
        compression=compression,
    )


def seal(batch: NewBatch, identity: ProducerIdentity, sequence: int, *, transactional: bool) -> bytearray:
    """Return the batch to send: of this producer, with this sequence number (NO_SEQUENCE without a producer id)."""
    header = BatchHeader(
        base_offset=0,
        batch_length=0,
        partition_leader_epoch=batches.NO_LEADER_EPOCH,
        magic=batches.MAGIC,
        crc=0,
        attributes=batch.compression | transactional * batches.TRANSACTIONAL_MASK,
        last_offset_delta=batch.count - 1,
        base_timestamp=batch.base_timestamp,
        max_timestamp=batch.max_timestamp,
        producer_id=identity.producer_id,
        producer_epoch=identity.producer_epoch,
        base_sequence=sequence,
        records_count=batch.count,
    )
    return encode_batch(header, batch.records)


def unencodable(where: TopicPartition, records: Sequence[NewRecord]) -> dict[int, KafkaError]:
    """Return the index of each record that cannot be encoded, and the error."""
    found: dict[int, KafkaError] = {}
    for index, record in enumerate(records):
        try:
            seal(encode(where, [record]), NO_PRODUCER, NO_SEQUENCE, transactional=False)
        except CANNOT_BE_ENCODED as error:
            reason = f"{where[0]}-{where[1]}: a record cannot be encoded: {error}"
            found[index] = KafkaError(ErrorCode.INVALID_RECORD, reason)
    return found


def split(data: bytearray) -> list[bytearray]:
    """Split a sealed batch into two, with half its records each, and unchanged sequence numbers."""
    header = parse_header(data)
    records = list(iter_records(data))
    middle = len(records) // 2
    return [
        build_batch(
            part,
            compression=header.compression,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=_sequence_of(header, start),
            transactional=header.is_transactional,
        )
        for start, part in ((0, records[:middle]), (middle, records[middle:]))
    ]


def _sequence_of(header: BatchHeader, index: int) -> int:
    return increment_sequence(header.base_sequence, index) if header.has_producer_id else NO_SEQUENCE
