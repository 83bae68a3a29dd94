"""The transaction coordinator's record as `__transaction_state` has it: a value to bytes and back.

Knows which version is written: 1 from transaction.version 1 on, so that Kafka 4.0 to 4.3 read it, and 0 below, which
Kafka from 0.11 on reads and which has no room for the producer ids before and after. Partitions are written in order;
Kafka writes them in any.
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter

from broker.coordinator.transaction.model import TopicPartition, Transaction, TransactionStored
from broker.coordinator.transaction.states import TransactionState
from protocol.errors import DecodeError
from protocol.log_records.prefixed import decode_key, decode_value, encode_key, encode_value
from protocol.log_records.transaction import KEYS, PartitionsSchema, TransactionLogKey, TransactionLogValue

_STATES = {state.id: state for state in TransactionState}
# A fence that is begun has not closed the transaction: its timeout will.
_STATES[TransactionState.PREPARE_EPOCH_FENCE.id] = TransactionState.ONGOING


def encode(record: TransactionStored, transaction_version: int) -> tuple[bytes, bytes | None]:
    """Key and value; a value of None is a tombstone. Raises EncodeError for names that do not fit the format."""
    key = encode_key(TransactionLogKey(transactional_id=record.transactional_id))
    txn = record.stored
    if txn is None:
        return key, None
    value = TransactionLogValue(
        producer_id=txn.producer_id,
        producer_epoch=txn.producer_epoch,
        transaction_timeout_ms=txn.timeout_ms,
        transaction_status=txn.state.id,
        transaction_partitions=None if txn.state is TransactionState.EMPTY else _by_topic(txn.partitions),
        transaction_last_update_timestamp_ms=txn.last_update_timestamp_ms,
        transaction_start_timestamp_ms=txn.start_timestamp_ms,
    )
    if transaction_version < 1:
        return key, encode_value(value, 0)
    value.previous_producer_id = txn.previous_producer_id
    value.next_producer_id = txn.next_producer_id
    value.next_producer_epoch = txn.next_producer_epoch
    value.client_transaction_version = txn.client_transaction_version
    return key, encode_value(value, 1)


def decode(key: bytes | None, value: bytes | None) -> TransactionStored | None:
    """The record, or None for one of a kind that is not known here. Raises DecodeError for damage."""
    if key is None:
        raise DecodeError("a record of __transaction_state has no key")
    decoded = decode_key(KEYS, key)
    if not isinstance(decoded, TransactionLogKey):
        return None
    transactional_id = decoded.transactional_id
    return TransactionStored(transactional_id, None if value is None else _stored(transactional_id, value))


def _stored(transactional_id: str, data: bytes) -> Transaction | None:
    value = decode_value(TransactionLogValue, data)
    state = _STATES.get(value.transaction_status)
    if state is None:
        raise DecodeError(f"{transactional_id!r} has the unknown transaction status {value.transaction_status}")
    if state is TransactionState.DEAD:
        return None
    return Transaction(
        transactional_id=transactional_id,
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        next_producer_epoch=value.next_producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        state=state,
        partitions=frozenset(
            (topic.topic, partition)
            for topic in value.transaction_partitions or ()
            for partition in topic.partition_ids
        ),
        start_timestamp_ms=value.transaction_start_timestamp_ms,
        last_update_timestamp_ms=value.transaction_last_update_timestamp_ms,
        client_transaction_version=value.client_transaction_version,
    )


def _by_topic(partitions: frozenset[TopicPartition]) -> list[PartitionsSchema]:
    return [
        PartitionsSchema(topic=topic, partition_ids=[partition for _, partition in group])
        for topic, group in groupby(sorted(partitions), key=itemgetter(0))
    ]
