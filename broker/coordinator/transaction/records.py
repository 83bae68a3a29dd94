"""The transaction coordinator's record as `__transaction_state` has it: a value to bytes and back.

Knows which version is written: 1 from transaction.version 1 on, so that Kafka 4.0 to 4.3 read it, and 0 below, which
Kafka from 0.11 on reads and which has no room for the producer ids before and after. Partitions are written in order;
Kafka writes them in any.

Version 1 is put together by hand: every transaction writes three of them. A test compares it with what the schema says.
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from struct import Struct

from broker.coordinator.transaction.model import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    TopicPartition,
    Transaction,
    TransactionStored,
)
from broker.coordinator.transaction.states import TransactionState
from protocol.errors import DecodeError
from protocol.log_records.prefixed import decode_key, decode_value, encode_key, encode_value
from protocol.log_records.transaction import KEYS, PartitionsSchema, TransactionLogKey, TransactionLogValue
from protocol.primitives import nullable_string, uvarint

_STATES = {state.id: state for state in TransactionState}
# A fence that is begun has not closed the transaction: its timeout will.
_STATES[TransactionState.PREPARE_EPOCH_FENCE.id] = TransactionState.ONGOING

_KEY_VERSION = b"\0\0"
_head = Struct(">hqhib").pack  # version, producer id, epoch, timeout, status
_times = Struct(">qq").pack  # last update, start
_long_tag = Struct(">BBq").pack  # tag, size, value
_short_tag = Struct(">BBh").pack
_int32 = Struct(">i").pack
_COUNTS = [uvarint(count) for count in range(5)]


def encode(record: TransactionStored, transaction_version: int) -> tuple[bytes, bytes | None]:
    """Key and value; a value of None is a tombstone. Raises EncodeError for names that do not fit the format."""
    txn = record.stored
    if txn is None or transaction_version < 1:
        key = encode_key(TransactionLogKey(transactional_id=record.transactional_id))
        return key, None if txn is None else _value_0(txn)
    return _KEY_VERSION + nullable_string(record.transactional_id), _value_1(txn)


def _value_0(txn: Transaction) -> bytes:
    value = TransactionLogValue(
        producer_id=txn.producer_id,
        producer_epoch=txn.producer_epoch,
        transaction_timeout_ms=txn.timeout_ms,
        transaction_status=txn.state.id,
        transaction_partitions=None if txn.state is TransactionState.EMPTY else _by_topic(txn.partitions),
        transaction_last_update_timestamp_ms=txn.last_update_timestamp_ms,
        transaction_start_timestamp_ms=txn.start_timestamp_ms,
    )
    return encode_value(value, 0)


def _value_1(txn: Transaction) -> bytes:
    tags = []
    if txn.previous_producer_id != NO_PRODUCER_ID:
        tags.append(_long_tag(0, 8, txn.previous_producer_id))
    if txn.next_producer_id != NO_PRODUCER_ID:
        tags.append(_long_tag(1, 8, txn.next_producer_id))
    if txn.client_transaction_version:
        tags.append(_short_tag(2, 2, txn.client_transaction_version))
    if txn.next_producer_epoch != NO_PRODUCER_EPOCH:
        tags.append(_short_tag(3, 2, txn.next_producer_epoch))
    return b"".join(
        (
            _head(1, txn.producer_id, txn.producer_epoch, txn.timeout_ms, txn.state.id),
            b"\0" if txn.state is TransactionState.EMPTY else _topics(txn.partitions),  # null, or a compact array
            _times(txn.last_update_timestamp_ms, txn.start_timestamp_ms),
            _COUNTS[len(tags)],
            *tags,
        )
    )


def _topics(partitions: frozenset[TopicPartition]) -> bytes:
    """Topics with their partitions, each with an empty section of tags."""
    if not partitions:
        return b"\1"
    topics = []
    for topic, group in groupby(sorted(partitions) if len(partitions) > 1 else partitions, key=itemgetter(0)):
        indexes = [_int32(partition) for _, partition in group]
        name = topic.encode()
        topics.append(b"".join((uvarint(len(name) + 1), name, uvarint(len(indexes) + 1), *indexes, b"\0")))
    return uvarint(len(topics) + 1) + b"".join(topics)


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
