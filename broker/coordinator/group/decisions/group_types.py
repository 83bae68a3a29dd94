"""Groups of any type: the operations that are the same for the machine, offsets and the coordinator."""

from __future__ import annotations

from typing import TypeAlias

from barnabas.broker.coordinator.group.decisions.classic.model import Group, GroupRecord, GroupStored
from barnabas.broker.coordinator.group.decisions.modern.group import MetadataSeen, ModernGroup, VolatileState
from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord
from barnabas.broker.coordinator.runtime.outcome import Outcome
from barnabas.broker.coordinator.runtime.partition_for import KEY_BYTES_MAX, fits_a_key
from barnabas.protocol.errors import ErrorCode, KafkaError

AnyGroup: TypeAlias = Group | ModernGroup
AnyRecord: TypeAlias = GroupRecord | KeyedRecord
AnyVolatile: TypeAlias = Group | MetadataSeen | VolatileState
AnyOutcome: TypeAlias = Outcome[AnyRecord, AnyVolatile]

CLASSIC_TYPE, CONSUMER_TYPE, STREAMS_TYPE = "classic", "consumer", "streams"


def type_of(group: AnyGroup) -> str:
    """Return the type that ListGroups names."""
    return group.group_type if isinstance(group, ModernGroup) else CLASSIC_TYPE


def tombstones(group: AnyGroup) -> list[AnyRecord]:
    """Return the records that delete the group, without its offsets."""
    if isinstance(group, ModernGroup):
        return [*group.tombstones()]
    return [GroupStored(group.group_id, None)]


def check_group_id(group_id: str, *, may_be_empty: bool = False) -> None:
    """Raise INVALID_GROUP_ID for an id too long for a record, or empty (the offset APIs accept an empty one)."""
    if not group_id and not may_be_empty:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID, "the group id is empty")
    if not fits_a_key(group_id):
        raise KafkaError(ErrorCode.INVALID_GROUP_ID, f"the group id is longer than {KEY_BYTES_MAX} bytes")
