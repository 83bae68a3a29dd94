"""The records of the transaction coordinator, `__transaction_state`.

One type: the key is a transactional id, the value the whole state of its transaction, or null once the id has expired.
`versioned_messages.py` reads and writes both. Value version 1 belongs to transaction.version 1 and above (KIP-890).
"""

from barnabas.protocol.codec.schema import INT8, INT16, INT32, INT64, STRING, Stored, array, field


class TransactionLogKey(Stored, key=0, versions="0"):
    transactional_id: str = field(STRING)


class PartitionsSchema(Stored):
    topic: str = field(STRING)
    partition_ids: list[int] = field(array(INT32))


class TransactionLogValue(Stored, key=0, versions="0-1", flexible="1+"):
    producer_id: int = field(INT64)
    # the id of the last completed transaction
    previous_producer_id: int = field(INT64, versions="1+", default=-1, tag=0)
    next_producer_id: int = field(INT64, versions="1+", default=-1, tag=1)  # the newest id sent to the producer
    producer_epoch: int = field(INT16)
    next_producer_epoch: int = field(INT16, versions="1+", default=-1, tag=3)
    transaction_timeout_ms: int = field(INT32)
    # 0 Empty, 1 Ongoing, 2 PrepareCommit, 3 PrepareAbort, 4 CompleteCommit, 5 CompleteAbort
    transaction_status: int = field(INT8)
    # null in Empty
    transaction_partitions: list[PartitionsSchema] | None = field(array(PartitionsSchema), nullable="0+")
    transaction_last_update_timestamp_ms: int = field(INT64)
    transaction_start_timestamp_ms: int = field(INT64)  # -1 in Empty
    # the client's protocol: 0, 1 or 2
    client_transaction_version: int = field(INT16, versions="1+", default=0, tag=2)


KEYS: dict[int, type[Stored]] = {0: TransactionLogKey}
VALUES: dict[int, type[Stored]] = {0: TransactionLogValue}
