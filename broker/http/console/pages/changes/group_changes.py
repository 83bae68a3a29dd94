"""The offsets of a group reset by a form, as `barnabas groups reset` does: of a topic, or of each that the group has.

A share group has start offsets in their place. While there are members nothing is reset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.control.time_control.movable_clock import ClockRefused
from barnabas.broker.control.time_control.time_text import moment_ms
from barnabas.broker.coordinator.group.decisions.classic.model import CommitRequest, OffsetToCommit
from barnabas.broker.coordinator.group.decisions.share.group import ShareGroup
from barnabas.broker.http.console.console_context import ConsoleContext
from barnabas.broker.http.console.page import Action
from barnabas.broker.http.console.pages.why import when_there
from barnabas.broker.http.console.params import CONFLICT, NOT_FOUND, Refused, RequestParams, whole
from barnabas.broker.http.console.queries.groups import Place, find
from barnabas.broker.http.console.queries.records import offset_at
from barnabas.broker.http.console.rendering import url
from barnabas.broker.insight.inspection.groups import coordinator_of
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.client.admin.offset_resets import has_members, nearest_offset
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from barnabas.broker.coordinator.group.decisions.group_types import AnyGroup
    from barnabas.broker.insight.inspection.groups import LoadedGroup
    from barnabas.broker.services import Services
    from barnabas.storage.log.log import PartitionLog

_log = logger("control")
_EARLIEST, _LATEST, _OFFSET, _TIME = "earliest", "latest", "offset", "time"
_Goal = tuple[str, int]
"""One of these words, and the offset, or the time in ms."""


async def _reset(observed: ConsoleContext, params: RequestParams) -> str:
    """Reset the offsets, and return the page of the group. Raises KafkaError."""
    services, group_id = observed.services, params.needed("id")
    goal = _goal(params.needed("to"))
    group = find(services, group_id)
    present = None if group is None else group.whole()
    if group is None or present is None:
        raise Refused(f"there is no group {group_id}", NOT_FOUND)
    if present.members:
        raise _refused(has_members(group_id, present.state.value, len(present.members)))
    places = _places(services, group, present, params.word("topic"))
    offsets = await observed.in_turns(lambda: _offsets(services, places, goal))
    try:
        await (_start_at if isinstance(present, ShareGroup) else commit)(services, group_id, offsets)
    except KafkaError as refusal:
        raise _refused(refusal) from refusal
    _log.info(line("offsets reset by hand", group=group_id, partitions=len(offsets)))
    return url("/group", id=group_id)


def _goal(text: str) -> _Goal:
    """Parse `earliest`, `latest`, an offset or a time. Raise Refused for other text."""
    if text in (_EARLIEST, _LATEST):
        return text, 0
    if text.removeprefix("-").isdecimal():
        return _OFFSET, whole("the offset", text)
    try:
        return _TIME, max(0, moment_ms(text))
    except ClockRefused:
        raise Refused("to is earliest, latest, an offset, or a time such as 2026-11-24T13:20:00Z") from None


def _places(services: Services, group: LoadedGroup, present: AnyGroup, topic: str) -> list[Place]:
    """Return the partitions of the topic, or, if it is empty, each partition for which the group has an offset."""
    if topic:
        if topic not in services.catalogue.topics:
            raise Refused(f"there is no topic {topic}", NOT_FOUND)
        return [(topic, number) for number in range(len(services.catalogue.topics[topic].partitions))]
    if isinstance(present, ShareGroup):
        begun = [*present.states.initializing.values(), *present.states.initialized.values()]
        found = {(each.name, number) for each in begun for number in each.partitions}
    else:
        found = {(each.topic, each.partition) for each in group.committed()}
    places = sorted(place for place in found if place[0] in services.catalogue.topics)
    if not places:
        raise Refused(f"group {group.group_id} has no offsets yet: name a topic", CONFLICT)
    return places


def _offsets(services: Services, places: Collection[Place], goal: _Goal) -> Steps[dict[Place, int]]:
    """Return, in steps, the new offset of each partition, within those that its log has."""
    offsets = {}
    for topic, number in places:
        log = services.partitions.get_if_written(topic, number)
        offsets[topic, number] = 0 if log is None else (yield from _offset(log, goal))
        yield
    return offsets


def _offset(log: PartitionLog, goal: _Goal) -> Steps[int]:
    to, number = goal
    if to == _EARLIEST:
        return log.log_start_offset
    if to == _LATEST:
        return log.high_watermark
    if to == _OFFSET:
        return nearest_offset(number, log.log_start_offset, log.high_watermark)
    return (yield from offset_at(log, number, committed=False))


async def commit(services: Services, group_id: str, offsets: Mapping[Place, int]) -> None:
    """Commit the offsets, as a client without membership does. Raises KafkaError."""
    topics = services.catalogue.topics
    wanted = tuple(
        OffsetToCommit(topic, topics[topic].topic_id, number, offset, -1, "")
        for (topic, number), offset in offsets.items()
        if topic in topics
    )
    coordinator = coordinator_of(services, group_id)
    assert coordinator is not None  # the group is there
    request = CommitRequest(group_id, -1, "", None, wanted)
    codes = await when_there(coordinator.commit_offsets(request, missing_group=ErrorCode.GROUP_ID_NOT_FOUND))
    for code in codes:
        if code is not ErrorCode.NONE:
            raise KafkaError(code)


async def _start_at(services: Services, group_id: str, offsets: Mapping[Place, int]) -> None:
    """Set where a share group starts. Raises KafkaError."""
    topics = services.catalogue.topics
    wanted = {
        (topics[topic].topic_id, number): offset for (topic, number), offset in offsets.items() if topic in topics
    }
    coordinator = coordinator_of(services, group_id)
    assert coordinator is not None  # the group is there
    for refusal in (await when_there(coordinator.share.alter(group_id, wanted))).values():
        raise refusal


def _refused(refusal: KafkaError) -> Refused:
    return Refused(f"{refusal.code.name}: {refusal.message or 'the coordinator refused'}", CONFLICT)


ACTIONS = (Action("/console/group/offsets", _reset),)
