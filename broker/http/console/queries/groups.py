"""Groups of every type: their members with their assignments, and their lag."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.coordinator.group.decisions.classic.model import Group
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup
from barnabas.broker.coordinator.group.decisions.share.group import ShareGroup
from barnabas.broker.coordinator.group.decisions.streams.group import StreamsGroup
from barnabas.broker.insight.inspection.groups import LoadedGroup, loaded_groups
from barnabas.broker.insight.inspection.lag import Lag, lag
from barnabas.broker.insight.why.group_types.streams_groups import tasks_partitions
from barnabas.protocol.codec.compile import codec
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.log_records.consumer_protocol import ConsumerProtocolAssignment
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.coordinator.group.decisions.group_types import AnyGroup
    from barnabas.broker.services import Services

GROUPS_MAX = 200
SORTED_MAX = 2_000
"""Groups that are looked at for a table that is sorted by a column."""
_PARTITIONS_MAX = 1_000
_PARTITIONS_IN_A_STEP = 50
Place = tuple[str, int]


class Behind(NamedTuple):
    """A partition for which a group committed an offset. lag: None if the log's end is not known."""

    topic: str
    partition: int
    offset: int
    lag: Lag | None


class MemberSeen(NamedTuple):
    """A member of a group. epoch: the member epoch in the new protocol, the group's generation in the classic one."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    epoch: int
    assigned: list[Place]
    to_give_up: list[Place]


class GroupSeen(NamedTuple):
    """Summary of a group. lag: of all its partitions whose lag is known."""

    group_id: str
    state: str
    protocol: str
    generation: int
    members_count: int
    partitions_count: int
    lag: Lag


def every_group(
    services: Services, needle: str = "", looked_at: int = GROUPS_MAX
) -> Steps[tuple[list[GroupSeen], int]]:
    """Return, in steps, the first groups by name whose name contains the needle, and how many there are."""
    found = [group for group in loaded_groups(services) if needle in group.group_id]
    seen = []
    for group in found[:looked_at]:
        whole = group.whole()
        behind = yield from behind_of(services, group)
        if whole is not None:
            seen.append(_seen(group.group_id, whole, behind))
        yield
    return seen, len(found)


def find(services: Services, group_id: str) -> LoadedGroup | None:
    """Return the group, if it is loaded."""
    return next((group for group in loaded_groups(services) if group.group_id == group_id), None)


def behind_of(services: Services, group: LoadedGroup) -> Steps[list[Behind]]:
    """Return, in steps, its committed offsets, partition by partition, with the lag."""
    found: list[Behind] = []
    for committed in group.committed():
        found.append(Behind(committed.topic, committed.partition, committed.offset, lag(services, committed)))
        if len(found) == _PARTITIONS_MAX:
            break
        if len(found) % _PARTITIONS_IN_A_STEP == 0:
            yield
    return found


def described(services: Services, group: LoadedGroup) -> Steps[tuple[GroupSeen, list[MemberSeen], list[Behind]] | None]:
    """Return, in steps, everything about one group; None if it is gone."""
    behind = yield from behind_of(services, group)
    whole = group.whole()
    if whole is None:
        return None
    members = _members(services, whole)
    if isinstance(whole, StreamsGroup):
        members = yield from _with_tasks(services, whole, members)
    return _seen(group.group_id, whole, behind), members, behind


def _with_tasks(services: Services, whole: StreamsGroup, members: list[MemberSeen]) -> Steps[list[MemberSeen]]:
    """Return, in steps, the members with the source partitions of their active tasks."""
    reads: dict[str, list[Place]] = {}
    for place, member_id in sorted((yield from tasks_partitions(services, whole)).items()):
        reads.setdefault(member_id, []).append(place)
    return [each._replace(assigned=reads.get(each.member_id, [])) for each in members]


def _seen(group_id: str, whole: AnyGroup, behind: list[Behind]) -> GroupSeen:
    lags = [each.lag for each in behind if each.lag is not None]
    total = Lag(sum(each.read_uncommitted for each in lags), sum(each.read_committed for each in lags))
    if isinstance(whole, Group):
        protocol = f"classic{f', {whole.protocol_name}' if whole.protocol_name else ''}"
        generation = whole.generation_id
    else:
        protocol, generation = whole.group_type, whole.group_epoch
    return GroupSeen(group_id, whole.state.value, protocol, generation, len(whole.members), len(behind), total)


def _members(services: Services, whole: AnyGroup) -> list[MemberSeen]:
    if isinstance(whole, Group):
        return [
            MemberSeen(
                each.member_id,
                each.group_instance_id,
                each.client_id,
                each.client_host,
                whole.generation_id,
                _classic_assignment(each.assignment),
                [],
            )
            for each in whole.members.values()
        ]
    names = {topic_id: topic.name for topic_id, topic in services.catalogue.topics_by_id.items()}

    def places(owned: Iterable[tuple[bytes, Iterable[int]]]) -> list[Place]:
        there = ((names[topic_id], numbers) for topic_id, numbers in owned if topic_id in names)
        return sorted((name, number) for name, numbers in there for number in numbers)

    if isinstance(whole, ShareGroup):
        return [
            MemberSeen(
                each.member_id,
                None,
                each.client_id,
                each.client_host,
                each.member_epoch,
                places(each.assigned.items()),
                [],
            )
            for each in whole.members.values()
        ]
    if not isinstance(whole, ConsumerGroup):
        return [
            MemberSeen(each.member_id, None, each.client_id, each.client_host, each.member_epoch, [], [])
            for each in whole.members.values()
        ]
    return [
        MemberSeen(
            each.member_id,
            each.instance_id,
            each.client_id,
            each.client_host,
            each.member_epoch,
            places(each.assigned.items()),
            places(each.pending_revocation.items()),
        )
        for each in whole.members.values()
    ]


def _classic_assignment(data: bytes) -> list[Place]:
    """Decode the assignment of a consumer; empty if it has another format, as that of Connect."""
    try:
        version = min(int.from_bytes(data[:2], "big"), ConsumerProtocolAssignment.__schema__.valid_versions[-1])
        found, _ = codec(ConsumerProtocolAssignment, version).decode(data, 2)
    except (DecodeError, ValueError, LookupError):
        return []
    return sorted((each.topic, number) for each in found.assigned_partitions for number in each.partitions)
