"""Batches for tests of the log: of a given size, with given timestamps, one record or many."""

import struct
from collections.abc import Iterable, Sequence

from barnabas.protocol.records.batch import CREATE_TIME, HEADER_SIZE, NO_TIMESTAMP, BatchHeader, set_max_timestamp
from barnabas.protocol.records.builder import Rebuilding, build_batch
from barnabas.protocol.records.record import BatchRecord

RECORD_OVERHEAD = 7  # of a record with a short value and neither key nor headers


def batch_of(
    timestamps: Sequence[int],
    *,
    base_offset: int = 0,
    value_bytes: int = 10,
    compression: int = 0,
    leader_epoch: int = 0,
) -> bytearray:
    """A batch of one record for each timestamp (ms)."""
    return build_batch(
        [(None, b"v" * value_bytes, [], timestamp) for timestamp in timestamps],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        compression=compression,
    )


def batch_sized(size: int, *, base_offset: int = 0) -> bytearray:
    """A batch of one record that is exactly `size` bytes long."""
    for overhead in range(RECORD_OVERHEAD, RECORD_OVERHEAD + 8):
        batch = batch_of([1_000], base_offset=base_offset, value_bytes=size - HEADER_SIZE - overhead)
        if len(batch) == size:
            return batch
    raise ValueError(f"no batch of one record is {size} bytes long")


def without_max_timestamp(batch: bytearray, max_timestamp: int = NO_TIMESTAMP) -> bytearray:
    """The batch as Sarama sent it before 1.45.1: without its largest timestamp. The CRC is right."""
    set_max_timestamp(batch, 0, CREATE_TIME, max_timestamp)
    return batch


def patch_offset_and_epoch(batch: bytearray, base_offset: int, leader_epoch: int) -> None:
    """Set the two fields that the leader assigns, in place. The CRC does not cover them."""
    struct.pack_into(">q", batch, 0, base_offset)
    struct.pack_into(">i", batch, 12, leader_epoch)


def rebuild_batch(header: BatchHeader, records: Iterable[BatchRecord], *, compression: int) -> bytearray:
    """A batch of these records with the header's fields, as compaction or a conversion leaves it."""
    rebuilding = Rebuilding(header)
    for record in records:
        rebuilding.add(record)
    return rebuilding.seal(compression, None)
