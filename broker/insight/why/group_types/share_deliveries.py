"""Facts about a record in the share groups that read its partition: its present state, and the events about it.

A share partition that members fetch from has its state in memory. Of the others the stored state is read, as far as the
share coordinator has loaded it. After a start the first question begins that, and does not wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from barnabas.broker.insight.inspection.share_partitions import (
    UsedSharePartition,
    stored_share_states,
    used_share_partitions,
)
from barnabas.broker.insight.why.held_requests import held_share_steps
from barnabas.broker.insight.why.rules.deliveries import DeliveryStatus, DeliveryStep, GroupDelivery
from barnabas.broker.insight.why.rules.held_requests import HeldFacts
from barnabas.broker.metadata.config_resources.groups import GroupConfigs
from barnabas.broker.partitions.share.persister import FINISHED_STATES, NOT_STARTED, DeliveryState, StoredShareState
from barnabas.broker.runtime.events import kinds
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.insight.why.sources.why_sources import WhySources

GROUPS_MAX = 20
"""Maximum number of share groups examined."""
STEPS_MAX = 20
_KINDS = (
    kinds.SHARE_ACQUIRED.name,
    kinds.SHARE_ACKNOWLEDGED.name,
    kinds.SHARE_RELEASED.name,
    kinds.SHARE_LOCK_ENDED.name,
    kinds.SHARE_ARCHIVED.name,
    kinds.SHARE_RESET.name,
    kinds.SHARE_DEAD_LETTERS_WRITTEN.name,
    kinds.SHARE_DEAD_LETTERS_LOST.name,
)
_STATE_STEPS = (kinds.SHARE_WRITING.name, kinds.SHARE_WRITTEN.name)
_LETTER_STEPS = (kinds.SHARE_DEAD_LETTERS_WRITING.name, kinds.SHARE_DEAD_LETTERS_WRITTEN.name)
_STATUS = {
    DeliveryState.AVAILABLE: DeliveryStatus.AVAILABLE,
    DeliveryState.ACQUIRED: DeliveryStatus.ACQUIRED,
    DeliveryState.ACKNOWLEDGED: DeliveryStatus.ACKNOWLEDGED,
    DeliveryState.ARCHIVING: DeliveryStatus.ARCHIVING,
    DeliveryState.ARCHIVED: DeliveryStatus.ARCHIVED,
}


def share_deliveries(known: WhySources, topic: str, partition: int, offset: int) -> Steps[tuple[GroupDelivery, ...]]:
    """Return, in steps, the record's state in each share group that reads the partition, by group."""
    services = known.services
    found: dict[str, GroupDelivery] = {}
    image = services.catalogue.topics.get(topic)
    if image is None:
        return ()
    for used in used_share_partitions(services):
        if (used.topic, used.partition) == (topic, partition) and len(found) < GROUPS_MAX:
            found[used.group_id] = _used(used, offset)
            yield
    stored = yield from stored_share_states(services, image.topic_id, partition)
    for group_id, state in stored.items():
        if group_id not in found and state.start_offset != NOT_STARTED and len(found) < GROUPS_MAX:
            found[group_id] = _stored(group_id, state, offset)
    configs = GroupConfigs(services.catalogue, services.config)
    paused = held_share_steps(known, topic, partition)
    for group_id, facts in list(found.items()):
        limit = configs.share_group(group_id).delivery_count_limit
        steps = _steps(known, group_id, topic, partition, offset)
        if facts.status is not DeliveryStatus.NOT_REACHED or _was_reached(steps):
            facts = facts._replace(steps=steps)
        yield
        found[group_id] = facts._replace(delivery_count_limit=limit, held=_held(facts, paused.get(group_id, ())))
    return tuple(found[group_id] for group_id in sorted(found))


def _held(facts: GroupDelivery, paused: Iterable[HeldFacts]) -> HeldFacts | None:
    """Return the step at which the work that the record's state waits for is paused."""
    if facts.is_being_stored or facts.status is DeliveryStatus.LOADING:
        points = _STATE_STEPS
    elif facts.status is DeliveryStatus.ARCHIVING:
        points = _LETTER_STEPS
    else:
        return None
    return next((each for each in paused if each.point in points), None)


def _used(used: UsedSharePartition, offset: int) -> GroupDelivery:
    summary, place = used.summary(), used.range_of(offset)
    if summary is None:
        return GroupDelivery(used.group_id, DeliveryStatus.LOADING, is_used=True)
    if place is None or (place.state is DeliveryState.AVAILABLE and not place.delivery_count):
        is_done = offset < summary.start_offset
        status = DeliveryStatus.DONE if is_done else DeliveryStatus.NOT_REACHED
        return GroupDelivery(used.group_id, status, is_used=True, start_offset=summary.start_offset)
    return GroupDelivery(
        used.group_id,
        _STATUS[place.state],
        is_used=True,
        start_offset=summary.start_offset,
        delivery_count=place.delivery_count,
        member_id=place.member_id,
        lock_left_ms=place.lock_left_ms,
        is_being_stored=place.is_being_stored,
    )


def _after_finished(state: StoredShareState) -> int:
    """Return the start offset that the state will have when it is loaded: after the finished records at its front."""
    start_offset = state.start_offset
    for batch in state.batches:
        if batch.first_offset > start_offset or batch.delivery_state not in FINISHED_STATES:
            break
        start_offset = max(start_offset, batch.last_offset + 1)
    return start_offset


def _stored(group_id: str, state: StoredShareState, offset: int) -> GroupDelivery:
    start_offset = _after_finished(state)
    facts = GroupDelivery(group_id, DeliveryStatus.NOT_REACHED, is_used=False, start_offset=start_offset)
    if offset < state.start_offset:
        return facts._replace(status=DeliveryStatus.DONE)
    for batch in state.batches:
        if batch.first_offset <= offset <= batch.last_offset:
            status = _STATUS[DeliveryState(batch.delivery_state)]
            return facts._replace(status=status, delivery_count=batch.delivery_count)
    return facts


def _steps(known: WhySources, group_id: str, topic: str, partition: int, offset: int) -> tuple[DeliveryStep, ...]:
    """Return the last events about the record, the newest first."""
    found = []
    for event in known.ring.of_share_partition(group_id, topic, partition, _KINDS):
        if event.kind == kinds.SHARE_RESET.name or _has(event.facts, offset):
            found.append(
                DeliveryStep(
                    event.kind.rpartition(".")[2],
                    event.at_ms,
                    member_id=event.facts.get("member_id"),
                    client_id=event.cause.get("client_id"),
                    delivery_count=event.facts.get("delivery_count"),
                    type=event.facts.get("type"),
                    why=event.facts.get("why"),
                    start_offset=event.facts.get("start_offset"),
                    skips=(event.facts.get("start_offset") or 0) > offset,
                    dead_letter=_dead_letter(event.facts, offset),
                )
            )
            if len(found) == STEPS_MAX:
                break
    return tuple(found)


def _was_reached(steps: tuple[DeliveryStep, ...]) -> bool:
    """Return whether the record was delivered before its group was reset."""
    return bool(steps) and steps[0].kind == "reset" and any(each.kind == "acquired" for each in steps)


def _has(facts: Mapping[str, Any], offset: int) -> bool:
    return any(first <= offset <= last for first, last in _ranges(facts))


def _dead_letter(facts: Mapping[str, Any], offset: int) -> str | None:
    """Return where the record's dead letter is: those of a batch are in the order of its ranges."""
    if "dead_letter_offset" not in facts:
        return None
    at = facts["dead_letter_offset"]
    for first, last in _ranges(facts):
        if first <= offset <= last:
            return f"{facts['dead_letter_topic']}:{facts['dead_letter_partition']}:{at + offset - first}"
        at += last - first + 1
    return None


def _ranges(facts: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    for text in facts["ranges"]:
        first, _, last = text.partition("-")
        yield int(first), int(last)
