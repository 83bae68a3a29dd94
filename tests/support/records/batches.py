"""Batches for tests of the log: of a given size, with given timestamps, one record or many."""

from collections.abc import Sequence

from barnabas.protocol.records.batch import CREATE_TIME, HEADER_SIZE, NO_TIMESTAMP, set_max_timestamp
from barnabas.protocol.records.builder import build_batch

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


def batch_sized(size: int, *, base_offset: int = 0, timestamp: int = 1_000) -> bytearray:
    """A batch of one record that is exactly `size` bytes long."""
    for overhead in range(RECORD_OVERHEAD, RECORD_OVERHEAD + 8):
        batch = batch_of([timestamp], base_offset=base_offset, value_bytes=size - HEADER_SIZE - overhead)
        if len(batch) == size:
            return batch
    raise ValueError(f"no batch of one record is {size} bytes long")


def without_max_timestamp(batch: bytearray, max_timestamp: int = NO_TIMESTAMP) -> bytearray:
    """The batch as Sarama sent it before 1.45.1: without its largest timestamp. The CRC is right."""
    set_max_timestamp(batch, 0, CREATE_TIME, max_timestamp)
    return batch
