# compiled: mypyc
"""The share coordinator's records in `__share_group_state`: values to bytes and back."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.broker.coordinator.share.decisions.batches import in_order
from barnabas.broker.coordinator.share.decisions.model import ShareRecord, ShareState, SnapshotWritten, UpdateWritten
from barnabas.broker.partitions.share.persister import SharePartitionKey, StateBatch
from barnabas.protocol.log_records.share_state import (
    KEYS,
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
    StoredStateBatch,
)
from barnabas.protocol.log_records.versioned_messages import decode_key, decode_value, encode_key, encode_value

_VERSION = 0


def encode(record: ShareRecord) -> tuple[bytes, bytes | None]:
    """Return key and value; a value of None is a tombstone. Raises EncodeError for names that do not fit the format."""
    group_id, topic_id, partition = record.key
    if isinstance(record, UpdateWritten):
        update = ShareUpdateValue(
            snapshot_epoch=record.snapshot_epoch,
            leader_epoch=record.leader_epoch,
            start_offset=record.start_offset,
            delivery_complete_count=record.delivery_complete_count,
            state_batches=_stored(record.batches),
        )
        key = encode_key(ShareUpdateKey(group_id=group_id, topic_id=topic_id, partition=partition))
        return key, encode_value(update, _VERSION)
    key = encode_key(ShareSnapshotKey(group_id=group_id, topic_id=topic_id, partition=partition))
    state = record.state
    return key, None if state is None else encode_value(_snapshot(state), _VERSION)


def decode(key: bytes | None, value: bytes | None) -> ShareRecord | None:
    """Return the record; None for one to skip: of an unknown type, or without a key. Raises DecodeError."""
    decoded = None if key is None else decode_key(KEYS, key)
    if isinstance(decoded, ShareUpdateKey):
        partition = SharePartitionKey(decoded.group_id, decoded.topic_id, decoded.partition)
        if value is None:
            return None
        update = decode_value(ShareUpdateValue, value)
        return UpdateWritten(
            partition,
            update.snapshot_epoch,
            update.leader_epoch,
            update.start_offset,
            update.delivery_complete_count,
            _batches(update.state_batches),
        )
    if not isinstance(decoded, ShareSnapshotKey):
        return None
    partition = SharePartitionKey(decoded.group_id, decoded.topic_id, decoded.partition)
    return SnapshotWritten(partition, None if value is None else _state(decode_value(ShareSnapshotValue, value)))


def _snapshot(state: ShareState) -> ShareSnapshotValue:
    return ShareSnapshotValue(
        snapshot_epoch=state.snapshot_epoch,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
        create_timestamp=state.created_ms,
        write_timestamp=state.written_ms,
        state_batches=_stored(state.batches),
    )


def _state(snapshot: ShareSnapshotValue) -> ShareState:
    return ShareState(
        snapshot.snapshot_epoch,
        snapshot.state_epoch,
        snapshot.leader_epoch,
        snapshot.start_offset,
        snapshot.delivery_complete_count,
        in_order(_batches(snapshot.state_batches)),
        snapshot.create_timestamp,
        snapshot.write_timestamp,
    )


def _stored(batches: Sequence[StateBatch]) -> list[StoredStateBatch]:
    return [
        StoredStateBatch(first_offset=first, last_offset=last, delivery_state=state, delivery_count=count)
        for first, last, state, count in batches
    ]


def _batches(stored: Sequence[StoredStateBatch]) -> tuple[StateBatch, ...]:
    return tuple(
        StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count) for each in stored
    )
