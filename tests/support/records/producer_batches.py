"""Headers of idempotent producers' batches, for tests of the producer rules."""

from barnabas.protocol.records.batch import TRANSACTIONAL_MASK, BatchHeader

PID = 4000


def batch(
    sequence: int,
    count: int = 1,
    *,
    offset: int = 0,
    epoch: int = 0,
    producer_id: int = PID,
    transactional: bool = False,
    timestamp: int = 1000,
) -> BatchHeader:
    return BatchHeader(
        base_offset=offset,
        batch_length=100,
        partition_leader_epoch=0,
        magic=2,
        crc=0,
        attributes=TRANSACTIONAL_MASK if transactional else 0,
        last_offset_delta=count - 1,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        records_count=count,
    )
