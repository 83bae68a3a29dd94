"""The share partitions that are in use (KIP-932): what is in flight, who holds it and until when, and how far it is.

A share partition is loaded at the first ShareFetch of its group. Until then its state is only stored, and nothing of it
is in flight; inspection does not load it, but what is stored: `begin_loading_share_states` starts that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.insight.inspection.logs import ends
from barnabas.broker.insight.inspection.topics import topic_name
from barnabas.broker.partitions.share.deliveries import ArchiveReason
from barnabas.broker.partitions.share.persister import DeliveryState, StoredShareState
from barnabas.protocol.acknowledge_type import AcknowledgeType
from barnabas.protocol.files.names import SHARE_GROUP_STATE_TOPIC
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.partitions.share.in_flight_records import DeliveryCell
    from barnabas.broker.partitions.share.led_share_partition import LedSharePartition
    from barnabas.broker.partitions.share.share_partition import SharePartition
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.services import Services

_STATES_A_STEP = 2_000


class DeliveryRange(NamedTuple):
    """Records of a share partition that are in one state."""

    first_offset: int
    last_offset: int
    state: DeliveryState
    delivery_count: int
    member_id: str | None
    """The member that holds the records; None if there is none."""
    lock_left_ms: int | None
    """The time until the records are released; None if no member holds them."""
    is_being_stored: bool
    """Whether the change to this state is not stored yet: until it is, fetches do not see it."""

    @property
    def size(self) -> int:
        """The number of offsets."""
        return self.last_offset - self.first_offset + 1


class SharePartitionSummary(NamedTuple):
    """The present state of a share partition, counted in offsets."""

    start_offset: int
    end_offset: int
    """The offset after the records in flight."""
    available: int
    """Records in flight that a fetch may acquire, because they were released or not taken with their batch."""
    acquired: int
    finished: int
    """Records in flight that are acknowledged or archived, and wait for earlier ones."""
    by_member: dict[str, int]
    """The records that each member holds."""
    next_lock_left_ms: int | None
    """The time until the first lock ends; None without locks."""
    lag: int | None
    """Records up to the high watermark that are not finished; None if the end of the log is unknown."""
    span: int
    """The offsets in flight, finished ones among them."""
    batches_count: int
    """The batches in which they were acquired."""
    lock_timeouts: int
    """Records whose lock ended, since the share partition was loaded."""


class UsedSharePartition:
    """One share partition in use, read later by its methods."""

    __slots__ = ("_led", "_services", "group_id", "partition", "topic")

    def __init__(self, services: Services, topic: str, led: LedSharePartition) -> None:
        self._services = services
        self._led = led
        self.group_id = led.key.group_id
        self.topic = topic
        self.partition = led.key.partition

    @property
    def _state(self) -> SharePartition | None:
        return self._led.state

    @property
    def span(self) -> int:
        """The offsets in flight, finished ones among them; none while it is loaded."""
        return 0 if self._state is None else self._state.span

    def summary(self) -> SharePartitionSummary | None:
        """Return the present state; None while it is loaded."""
        state = self._state
        if state is None:
            return None
        counts: Counter[DeliveryState] = Counter()
        by_member: Counter[str] = Counter()
        for cell in state.cells():
            counts[cell.state] += cell.size
            if cell.member:
                by_member[cell.member] += cell.size
        finished = sum(cell.size for cell in state.cells() if cell.is_finished)
        end = ends(self._services, self.topic, self.partition)
        return SharePartitionSummary(
            state.start_offset,
            state.end_offset,
            counts[DeliveryState.AVAILABLE],
            counts[DeliveryState.ACQUIRED],
            finished,
            dict(by_member),
            _left_ms(state.next_deadline, self._services.clock),
            None if end is None else max(0, end.high_watermark - state.start_offset - finished),
            state.span,
            state.batches_count,
            self._led.deliveries.lock_timeouts,
        )

    def ranges(self, count: int) -> list[DeliveryRange]:
        """Return the first `count` ranges of records in flight, in order; none while it is loaded."""
        state = self._state
        clock = self._services.clock
        return [] if state is None else [_range(cell, clock) for cell in islice(state.cells(), count)]

    def range_of(self, offset: int) -> DeliveryRange | None:
        """Return the range in flight that has this offset; None if it is not in flight."""
        state = self._state
        found = (cell for cell in (() if state is None else state.cells()) if cell.first <= offset <= cell.last)
        cell = next(found, None)
        return None if cell is None else _range(cell, self._services.clock)


class OpenShareSession(NamedTuple):
    """The share session of a member: the partitions that it fetches."""

    group_id: str
    member_id: str
    partitions_count: int
    epoch: int
    """The epoch that the next request must have."""


def begin_loading_share_states(services: Services) -> bool:
    """Start to load the stored states that were not used in this run. Return whether some are still being loaded."""
    if SHARE_GROUP_STATE_TOPIC not in services.catalogue.topics:
        return False
    on_disk = services.partitions.directory.partitions  # the others contain no state
    used = [index for topic, index in on_disk if topic == SHARE_GROUP_STATE_TOPIC]
    is_loading = False
    for node in services.every_node:
        led = [index for index in used if node.cluster.leads(SHARE_GROUP_STATE_TOPIC, index)]
        if led:
            is_loading |= node.deferred_shares.get().load_in_background(led)
    return is_loading


def stored_share_states(services: Services, topic_id: bytes, partition: int) -> Steps[dict[str, StoredShareState]]:
    """Return, in steps, the stored states of a partition by group, as far as they are loaded."""
    found: dict[str, StoredShareState] = {}
    for node in services.every_node:
        coordinator = node.deferred_shares.built
        for number, (key, state) in enumerate(() if coordinator is None else coordinator.every_state()):
            if (key.topic_id, key.partition) == (topic_id, partition):
                found[key.group_id] = StoredShareState(state.state_epoch, state.start_offset, state.batches)
            if number % _STATES_A_STEP == _STATES_A_STEP - 1:
                yield
    return found


class DeliveryTotals(NamedTuple):
    """The outcomes of deliveries in this run, in records."""

    acknowledged: Counter[AcknowledgeType]
    archived: dict[str, int]
    """Records that no member accepted, by reason: rejected, limit."""


def used_share_partitions(services: Services, group_id: str | None = None) -> Iterator[UsedSharePartition]:
    """Yield the share partitions in use, of one group or of all."""
    for node in services.every_node:
        manager = node.deferred_share_partitions.built
        for led in () if manager is None else manager.every_led():
            topic = topic_name(services, led.key.topic_id) if group_id in (None, led.key.group_id) else None
            if topic is not None:
                yield UsedSharePartition(node, topic, led)


def share_sessions(services: Services) -> Iterator[OpenShareSession]:
    """Yield the open share sessions."""
    for node in services.every_node:
        manager = node.deferred_share_partitions.built
        for session in () if manager is None else manager.sessions.every():
            yield OpenShareSession(*session.key, len(session.partitions), session.epoch)


def delivery_totals(services: Services) -> DeliveryTotals:
    """Return what became of the records of share groups in this run."""
    acknowledged: Counter[AcknowledgeType] = Counter()
    archived: Counter[ArchiveReason] = Counter()
    for node in services.every_node:
        manager = node.deferred_share_partitions.built
        if manager is not None:
            acknowledged.update(manager.counts.acknowledged)
            archived.update(manager.counts.archived)
    return DeliveryTotals(acknowledged, {each.name.lower(): archived[each] for each in ArchiveReason})


class ShareCoordinatorTotals(NamedTuple):
    """The share coordinators of all nodes."""

    writes: int
    """Changes of states that they stored in this run."""
    partitions_by_state: Counter[str]
    """The partitions of `__share_group_state` in use: active, loading, failed."""


def share_coordinators(services: Services) -> ShareCoordinatorTotals:
    """Return what the share coordinators did in this run, and the partitions that they have."""
    writes, by_state = 0, Counter[str]()
    for node in services.every_node:
        coordinator = node.deferred_shares.built
        if coordinator is not None:
            writes += coordinator.writes_count
            by_state.update(coordinator.partitions_by_state())
    return ShareCoordinatorTotals(writes, by_state)


class DeadLetterTotals(NamedTuple):
    """The dead letters of one share group in this run."""

    group_id: str
    written: int
    lost: int
    appends: int
    """Of one batch each."""
    failed_appends: int


def dead_letters(services: Services) -> list[DeadLetterTotals]:
    """Return the dead letters of each share group that has had some, by group."""
    found: dict[str, DeadLetterTotals] = {}
    for node in services.every_node:
        manager = node.deferred_share_partitions.built
        for group_id, counts in () if manager is None else manager.dead_letters.counts.items():
            before = found.get(group_id, DeadLetterTotals(group_id, 0, 0, 0, 0))
            found[group_id] = DeadLetterTotals(
                group_id,
                before.written + counts.records,
                before.lost + counts.lost,
                before.appends + counts.requests,
                before.failed_appends + counts.failed_requests,
            )
    return [found[group_id] for group_id in sorted(found)]


def _range(cell: DeliveryCell, clock: Clock) -> DeliveryRange:
    is_being_stored = cell.change is not None
    member_id, left_ms = cell.member or None, _left_ms(cell.deadline, clock)
    return DeliveryRange(cell.first, cell.last, cell.state, cell.count, member_id, left_ms, is_being_stored)


def _left_ms(deadline: float, clock: Clock) -> int | None:
    return None if deadline == float("inf") else max(0, round((deadline - clock.monotonic()) * 1000))
