# compiled: mypyc
"""The share coordinator's records in `__share_group_state`: values to bytes and back."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.coordinator.share.decisions.batches import in_order
from barnabas.broker.coordinator.share.decisions.model import ShareRecord, ShareState, SnapshotWritten, UpdateWritten
from barnabas.broker.partitions.share.persister import SharePartitionKey, StateBatch, as_state_batch
from barnabas.protocol.hot.share_state import SNAPSHOT_HEAD, UPDATE_HEAD, Range, read_value, write_value
from barnabas.protocol.log_records.share_state import (
    KEYS,
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
    StoredStateBatch,
)
from barnabas.protocol.log_records.versioned_messages import decode_key, decode_value, encode_key


def encode(record: ShareRecord) -> tuple[bytes, bytes | None]:
    """Return key and value; a value of None is a tombstone. Raises EncodeError for names that do not fit the format."""
    group_id, topic_id, partition = record.key
    if isinstance(record, UpdateWritten):
        key = encode_key(ShareUpdateKey(group_id=group_id, topic_id=topic_id, partition=partition))
        _, snapshot_epoch, leader_epoch, start_offset, count, batches = record
        return key, write_value(UPDATE_HEAD, (snapshot_epoch, leader_epoch, start_offset), batches, count)
    key = encode_key(ShareSnapshotKey(group_id=group_id, topic_id=topic_id, partition=partition))
    return key, None if record.state is None else _snapshot(record.state)


def decode(key: bytes | None, value: bytes | None) -> ShareRecord | None:
    """Return the record; None for one to skip: of an unknown type, or without a key. Raises DecodeError."""
    decoded = None if key is None else decode_key(KEYS, key)
    if isinstance(decoded, ShareUpdateKey):
        partition = SharePartitionKey(decoded.group_id, decoded.topic_id, decoded.partition)
        return None if value is None else _update(partition, value)
    if not isinstance(decoded, ShareSnapshotKey):
        return None
    partition = SharePartitionKey(decoded.group_id, decoded.topic_id, decoded.partition)
    return SnapshotWritten(partition, None if value is None else _state(value))


def _snapshot(state: ShareState) -> bytes:
    snapshot_epoch, state_epoch, leader_epoch, start_offset, count, batches, created_ms, written_ms = state
    fields = snapshot_epoch, state_epoch, leader_epoch, start_offset, created_ms, written_ms
    return write_value(SNAPSHOT_HEAD, fields, batches, count)


def _state(value: bytes) -> ShareState:
    usual = read_value(SNAPSHOT_HEAD, value)
    if usual is not None:
        (snapshot_epoch, state_epoch, leader_epoch, start_offset, created_ms, written_ms), ranges, count = usual
        batches = in_order(_batches(ranges))
        return ShareState(
            snapshot_epoch, state_epoch, leader_epoch, start_offset, count, batches, created_ms, written_ms
        )
    snapshot = decode_value(ShareSnapshotValue, value)
    return ShareState(
        snapshot.snapshot_epoch,
        snapshot.state_epoch,
        snapshot.leader_epoch,
        snapshot.start_offset,
        snapshot.delivery_complete_count,
        in_order(_batches(map(_range, snapshot.state_batches))),
        snapshot.create_timestamp,
        snapshot.write_timestamp,
    )


def _update(partition: SharePartitionKey, value: bytes) -> UpdateWritten:
    usual = read_value(UPDATE_HEAD, value)
    if usual is not None:
        (snapshot_epoch, leader_epoch, start_offset), ranges, count = usual
        return UpdateWritten(partition, snapshot_epoch, leader_epoch, start_offset, count, _batches(ranges))
    update = decode_value(ShareUpdateValue, value)
    return UpdateWritten(
        partition,
        update.snapshot_epoch,
        update.leader_epoch,
        update.start_offset,
        update.delivery_complete_count,
        _batches(map(_range, update.state_batches)),
    )


def _batches(ranges: Iterable[Range]) -> tuple[StateBatch, ...]:
    return tuple(map(as_state_batch, ranges))


def _range(stored: StoredStateBatch) -> Range:
    return stored.first_offset, stored.last_offset, stored.delivery_state, stored.delivery_count
