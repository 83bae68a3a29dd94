# compiled: mypyc
"""The transaction coordinator's record in `__transaction_state`: a value to bytes and back.

Chooses the version: 1 from transaction.version 1 on, which Kafka 4.0 to 4.4 read, and 0 below, which Kafka from 0.11 on
reads and which has no fields for the previous and next producer ids. Partitions are written in order; Kafka writes them
in any.

Version 1 is encoded by hand: every transaction writes three of them. A test compares it with the schema.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from struct import Struct
from typing import Final

from barnabas.broker.coordinator.transaction.decisions.model import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    TopicPartition,
    TransactionMetadata,
    TransactionStored,
)
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.log_records.transaction import KEYS, PartitionsSchema, TransactionLogKey, TransactionLogValue
from barnabas.protocol.log_records.versioned_messages import decode_key, decode_value, encode_key, encode_value
from barnabas.protocol.primitives import nullable_string, uvarint

_STATES = {state.id: state for state in TransactionState}
# An epoch fence that has begun has not closed the transaction: its timeout will.
_STATES[TransactionState.PREPARE_EPOCH_FENCE.id] = TransactionState.ONGOING

_KEY_VERSION = b"\0\0"
_head = Struct(">hqhib").pack  # version, producer id, epoch, timeout, status
_times = Struct(">qq").pack  # last update, start
_long_tag = Struct(">BBq").pack  # tag, size, value
_short_tag = Struct(">BBh").pack
_int32 = Struct(">i").pack
_COUNTS = [uvarint(count) for count in range(5)]
_usual_tail = Struct(">qqBBBqBBh").pack  # times; two tags: the previous producer id, the client's version
_usual_older_tail = Struct(">qqBBBq").pack  # times; one tag: the previous producer id
_EMPTY: Final = TransactionState.EMPTY  # compiled, the look-up of an enum's member takes as long as a call
_KEYS_REMEMBERED = 4096
_TOPICS_REMEMBERED = 1024
_PARTITIONS_REMEMBERED_MAX = 4  # of one transaction
_LARGE_REMEMBERED = 8
_LARGE_PARTITIONS_REMEMBERED_MAX = 1024


def encode(record: TransactionStored, transaction_version: int) -> tuple[bytes, bytes | None]:
    """Return key and value; a value of None is a tombstone. Raises EncodeError for names that do not fit the format."""
    txn = record.stored
    if txn is None or transaction_version < 1:
        key = encode_key(TransactionLogKey(transactional_id=record.transactional_id))
        return key, None if txn is None else _value_0(txn)
    return _key(record.transactional_id), _value_1(txn)


@lru_cache(_KEYS_REMEMBERED)
def _key(transactional_id: str) -> bytes:
    return _KEY_VERSION + nullable_string(transactional_id)


def _value_0(txn: TransactionMetadata) -> bytes:
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


def _value_1(txn: TransactionMetadata) -> bytes:
    partitions = txn.partitions
    if not partitions:
        topics = b"\0" if txn.state is _EMPTY else b"\1"  # null, or a compact array
    elif len(partitions) <= _PARTITIONS_REMEMBERED_MAX:
        topics = _few_topics(partitions)
    elif len(partitions) <= _LARGE_PARTITIONS_REMEMBERED_MAX:
        topics = _many_topics(partitions)
    else:
        topics = _topics(partitions)
    return _head(1, txn.producer_id, txn.producer_epoch, txn.timeout_ms, txn.state.id) + topics + _tail_1(txn)


def _tail_1(txn: TransactionMetadata) -> bytes:
    """Return times and tags; most transactions have the same two tags, or the first of them: those of older clients."""
    version, previous_id = txn.client_transaction_version, txn.previous_producer_id
    updated_ms, begun_ms = txn.last_update_timestamp_ms, txn.start_timestamp_ms
    has_next = txn.next_producer_id != NO_PRODUCER_ID or txn.next_producer_epoch != NO_PRODUCER_EPOCH
    if previous_id != NO_PRODUCER_ID and not has_next:
        if version:
            return _usual_tail(updated_ms, begun_ms, 2, 0, 8, previous_id, 2, 2, version)
        return _usual_older_tail(updated_ms, begun_ms, 1, 0, 8, previous_id)
    tags = [_times(updated_ms, begun_ms), b""]
    if txn.previous_producer_id != NO_PRODUCER_ID:
        tags.append(_long_tag(0, 8, txn.previous_producer_id))
    if txn.next_producer_id != NO_PRODUCER_ID:
        tags.append(_long_tag(1, 8, txn.next_producer_id))
    if txn.client_transaction_version:
        tags.append(_short_tag(2, 2, txn.client_transaction_version))
    if txn.next_producer_epoch != NO_PRODUCER_EPOCH:
        tags.append(_short_tag(3, 2, txn.next_producer_epoch))
    tags[1] = _COUNTS[len(tags) - 2]
    return b"".join(tags)


def _topics(partitions: frozenset[TopicPartition]) -> bytes:
    """Return topics with their partitions, each with an empty tag section."""
    topics = []
    for topic, group in groupby(sorted(partitions) if len(partitions) > 1 else partitions, key=itemgetter(0)):
        indexes = [_int32(partition) for _, partition in group]
        name = topic.encode()
        topics.append(b"".join((uvarint(len(name) + 1), name, uvarint(len(indexes) + 1), *indexes, b"\0")))
    return uvarint(len(topics) + 1) + b"".join(topics)


_few_topics = lru_cache(_TOPICS_REMEMBERED)(_topics)
"""Most producers write to the same few partitions again and again."""
_many_topics = lru_cache(_LARGE_REMEMBERED)(_topics)
"""The partitions of a transaction are in its first record and again in that of its end."""


def decode(key: bytes | None, value: bytes | None) -> TransactionStored | None:
    """Return the record, or None for an unknown type. Raises DecodeError if it is corrupt."""
    if key is None:
        raise DecodeError("a record of __transaction_state has no key")
    decoded = decode_key(KEYS, key)
    if not isinstance(decoded, TransactionLogKey):
        return None
    transactional_id = decoded.transactional_id
    return TransactionStored(transactional_id, None if value is None else _stored(transactional_id, value))


def _stored(transactional_id: str, data: bytes) -> TransactionMetadata | None:
    value = decode_value(TransactionLogValue, data)
    state = _STATES.get(value.transaction_status)
    if state is None:
        raise DecodeError(f"{transactional_id!r} has the unknown transaction status {value.transaction_status}")
    if state is TransactionState.DEAD:
        return None
    return TransactionMetadata(
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
