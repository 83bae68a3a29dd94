# compiled: mypyc
"""Members of modern groups: the epochs that heartbeats name, and the checks that groups of all types make alike.

The checks raise KafkaError with Kafka's codes and messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar

from barnabas.broker.coordinator.group.decisions.modern.group import ModernGroup
from barnabas.protocol.errors import ErrorCode, KafkaError

JOINING_EPOCH = 0
"""The epoch of a joining member, and until it has an assignment."""
LEAVING_EPOCH = -1
LEAVING_FOR_A_WHILE_EPOCH = -2
"""The epoch of a static member that leaves to come back; it keeps its partitions until its session ends."""
_JAVA_SPACE = "".join(map(chr, range(33)))  # the characters that String.trim removes


class AnyMember(Protocol):
    """A member of a modern group."""

    @property
    def member_id(self) -> str: ...

    @property
    def member_epoch(self) -> int: ...


class StaticMember(AnyMember, Protocol):
    """A member that may have an instance id."""

    @property
    def instance_id(self) -> str | None: ...


Member = TypeVar("Member", bound=AnyMember)
Static = TypeVar("Static", bound=StaticMember)
MemberOf = TypeVar("MemberOf", covariant=True)


class GroupWithMembers(Protocol[MemberOf]):
    """A modern group, with its members by their ids."""

    group_id: str

    @property
    def members(self) -> Mapping[str, MemberOf]: ...


class GroupWithInstances(Protocol[MemberOf]):
    """A modern group that has static members."""

    def static_member(self, instance_id: str | None) -> MemberOf | None: ...


def is_blank(text: str) -> bool:
    """Return whether Java's `String.trim` leaves nothing."""
    return not text.strip(_JAVA_SPACE)


def check_not_blank(value: str | None, field: str) -> None:
    """Raise INVALID_REQUEST for a text of a request that is there, and blank."""
    if value is not None and is_blank(value):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{field} can't be empty.")


def check_group_size(group: ModernGroup, member_id: str, max_size: int, *, takes_place: bool = False) -> None:
    """Raise GROUP_MAX_SIZE_REACHED if a joining member is one more than the group may have.

    takes_place: the member takes the place of a static one.
    """
    if not takes_place and member_id not in group.members and len(group.members) >= max_size:
        raise KafkaError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The {group.group_type} group has reached its maximum capacity of {max_size} members.",
        )


def known_member(group: GroupWithMembers[Member], member_id: str) -> Member:
    """Return the member with this id. Raise UNKNOWN_MEMBER_ID if there is none."""
    member = group.members.get(member_id)
    if member is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}.")
    return member


def known_static_member(group: GroupWithInstances[Static], member_id: str, instance_id: str) -> Static:
    """Return the member with this instance id and member id. Raise UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID."""
    member = group.static_member(instance_id)
    if member is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if member.member_id != member_id:
        raise KafkaError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member {member.member_id}.",
        )
    return member


def check_released(member: StaticMember, member_id: str) -> None:
    """Raise UNRELEASED_INSTANCE_ID unless the holder of the instance id has left temporarily."""
    if member.member_epoch != LEAVING_FOR_A_WHILE_EPOCH:
        raise KafkaError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {member.instance_id} cannot join the group because the "
            f"instance id is owned by {member.member_id} member.",
        )


def fenced(type_of_group: str, received: int, member_epoch: int, but: str = "") -> KafkaError:
    """Return FENCED_MEMBER_EPOCH for a heartbeat with another epoch than the member's."""
    which = "greater" if received > member_epoch else "smaller"
    return KafkaError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The {type_of_group} group member has a {which} member epoch ({received}) than the one known by the group "
        f"coordinator ({member_epoch}){but}. The member must abandon all its partitions and rejoin.",
    )
