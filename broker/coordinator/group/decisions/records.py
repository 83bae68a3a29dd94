# compiled: mypyc
"""The group coordinator's records in `__consumer_offsets`: values to bytes and back.

Chooses the versions, so that Kafka 4.0 to 4.4 read them: offsets as version 4 (version 1 if the client set an
expiration time), classic groups as version 3. All older ones are read. Those of modern groups are in
`modern/records.py`; records of unknown types are skipped. A key starts with the record's type, a value with its
version, both i16.
"""

from __future__ import annotations

from functools import cache

from barnabas.broker.coordinator.group.decisions.classic.model import (
    NO_EXPIRY_MS,
    NO_TOPIC_ID,
    CommittedOffset,
    GroupStored,
    OffsetCommitted,
    StoredGroup,
    StoredMember,
)
from barnabas.broker.coordinator.group.decisions.group_types import AnyRecord
from barnabas.broker.coordinator.group.decisions.modern import records as modern_records
from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord
from barnabas.broker.coordinator.group.decisions.shared_texts import shared
from barnabas.protocol.codec.schema import Stored
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.hot.committed_offset import UsualCommit, read_usual_commit, write_usual_commit
from barnabas.protocol.log_records.group import (
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from barnabas.protocol.log_records.versioned_messages import decode_key, decode_value, encode_key, encode_value

_KEYS: dict[int, type[Stored]] = {
    0: LegacyOffsetCommitKey,
    1: OffsetCommitKey,
    2: GroupMetadataKey,
    **modern_records.KEYS,
}
_OFFSET_VERSION = 4
_OFFSET_WITH_EXPIRY_VERSION = 1
_GROUP_VERSION = 3
_new_tuple = tuple.__new__  # half the cost of a NamedTuple's constructor


def encode(record: AnyRecord) -> tuple[bytes, bytes | None]:
    """Return key and value; a value of None is a tombstone. Raises EncodeError for names that do not fit the format."""
    if isinstance(record, GroupStored):
        key = encode_key(GroupMetadataKey(group=record.group_id))
        return key, None if record.stored is None else encode_value(_group_value(record.stored), _GROUP_VERSION)
    if isinstance(record, KeyedRecord):
        return modern_records.encode(record)
    committed = record.committed
    if committed is not None and (usual := _usual(record, committed)) is not None:
        return usual
    key = encode_key(OffsetCommitKey(group=record.group_id, topic=record.topic, partition=record.partition))
    if committed is None:
        return key, None
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_timestamp_ms,
        expire_timestamp=committed.expire_timestamp_ms,
        topic_id=committed.topic_id,
    )
    has_expiry = committed.expire_timestamp_ms != NO_EXPIRY_MS
    return key, encode_value(value, _OFFSET_WITH_EXPIRY_VERSION if has_expiry else _OFFSET_VERSION)


def decode(key: bytes | None, value: bytes | None) -> AnyRecord | None:
    """Return the record, or None for an unsupported group type. Raises DecodeError if it is corrupt."""
    if key is None:
        raise DecodeError("a record of __consumer_offsets has no key")
    usual = read_usual_commit(key, value)
    if usual is not None:
        group, topic, partition, offset, leader_epoch, timestamp_ms, topic_id = usual
        fields = offset, leader_epoch, "", timestamp_ms, NO_EXPIRY_MS, _shared(topic_id)
        return _new_tuple(OffsetCommitted, (group, topic, partition, _new_tuple(CommittedOffset, fields)))
    decoded = decode_key(_KEYS, key)
    if isinstance(decoded, OffsetCommitKey | LegacyOffsetCommitKey):
        return OffsetCommitted(
            decoded.group, decoded.topic, decoded.partition, None if value is None else _committed(value)
        )
    if isinstance(decoded, GroupMetadataKey):
        return GroupStored(decoded.group, None if value is None else _stored(value))
    return None if decoded is None else modern_records.decode(decoded, value)


def _usual(record: OffsetCommitted, committed: CommittedOffset) -> tuple[bytes, bytes] | None:
    """Return key and value of a commit with only the usual fields; None for any other."""
    offset, leader_epoch, metadata, commit_timestamp_ms, expire_timestamp_ms, topic_id = committed
    if metadata or expire_timestamp_ms != NO_EXPIRY_MS or topic_id == NO_TOPIC_ID:
        return None
    return write_usual_commit(
        UsualCommit(
            record.group_id, record.topic, record.partition, offset, leader_epoch, commit_timestamp_ms, topic_id
        )
    )


def _committed(value: bytes) -> CommittedOffset:
    stored = decode_value(OffsetCommitValue, value)
    return CommittedOffset(
        stored.offset,
        stored.leader_epoch,
        stored.metadata,
        stored.commit_timestamp,
        stored.expire_timestamp,
        _shared(stored.topic_id),
    )


@cache
def _shared(topic_id: bytes) -> bytes:
    """Return one object per topic id, however many offsets name it."""
    return topic_id


def _group_value(stored: StoredGroup) -> GroupMetadataValue:
    return GroupMetadataValue(
        protocol_type=stored.protocol_type,
        generation=stored.generation_id,
        protocol=stored.protocol_name,
        leader=stored.leader_id,
        current_state_timestamp=stored.state_timestamp_ms,
        members=[
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.subscription,
                assignment=member.assignment,
            )
            for member in stored.members
        ],
    )


def _stored(value: bytes) -> StoredGroup:
    group = decode_value(GroupMetadataValue, value)
    return StoredGroup(
        group.protocol_type,
        group.generation,
        group.protocol,
        group.leader,
        group.current_state_timestamp,
        tuple(
            StoredMember(
                member.member_id,
                member.group_instance_id,
                shared(member.client_id),
                shared(member.client_host),
                # Version 0 had one timeout for both.
                member.session_timeout if member.rebalance_timeout < 0 else member.rebalance_timeout,
                member.session_timeout,
                member.subscription,
                member.assignment,
            )
            for member in group.members
        ),
    )
