"""The checks of a ShareGroupHeartbeat: of the request alone, and of the member that sends it (KIP-932).

Raise KafkaError with Kafka's codes and messages, in Kafka's order.
"""

from __future__ import annotations

from barnabas.broker.coordinator.group.decisions.group_types import AnyGroup
from barnabas.broker.coordinator.group.decisions.modern.members import (
    JOINING_EPOCH,
    LEAVING_EPOCH,
    check_not_blank,
    fenced,
    is_blank,
)
from barnabas.broker.coordinator.group.decisions.share.group import ShareGroup
from barnabas.broker.coordinator.group.decisions.share.model import ShareGroupMember, ShareHeartbeatRequest
from barnabas.protocol.errors import ErrorCode, KafkaError

_MEMBER_ID_LENGTH_MAX = 36


def check_share_request(request: ShareHeartbeatRequest) -> None:
    """Raise INVALID_REQUEST for a request that is invalid for every group."""
    if len(request.member_id) > _MEMBER_ID_LENGTH_MAX or is_blank(request.member_id):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    check_not_blank(request.group_id, "GroupId")
    check_not_blank(request.rack_id, "RackId")
    if request.member_epoch == JOINING_EPOCH and not request.topic_names:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "SubscribedTopicNames must be set in first request.")
    if request.member_epoch < LEAVING_EPOCH:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "MemberEpoch is invalid.")


def share_group_of(group: AnyGroup | None, group_id: str, *, may_create: bool = False) -> ShareGroup:
    """Return the share group; a new one if `may_create` and there is none. Raises GROUP_ID_NOT_FOUND."""
    if isinstance(group, ShareGroup):
        return group
    if group is not None:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a share group.")
    if may_create:
        return ShareGroup(group_id)
    raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Share group {group_id} not found.")


def check_share_epoch(member: ShareGroupMember, received: int) -> None:
    """Raise FENCED_MEMBER_EPOCH unless the member names its epoch, or the previous one: a reply may have been lost."""
    known, previous = member.member_epoch, member.previous_member_epoch
    if received in (known, previous):
        return
    but = "" if received > known else f", and it does not match the previous member epoch ({previous})"
    raise fenced("share", received, known, but)
