# compiled: mypyc
"""How decisions about groups are carried out: one after the other for each group, those that take long in slices.

A decision that computes a target for many members takes longer than a turn of the event loop may. It is a generator: it
runs in slices of the upkeep scheduler and is carried out in its last step. Other requests to the group wait behind it
(`DecisionQueue`), and if the group was changed all the same, by a load for example, it starts again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol, TypeVar

from barnabas.broker.coordinator.group.decisions.classic.model import Group
from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupState
from barnabas.broker.coordinator.group.decisions.group_types import AnyGroup, AnyOutcome
from barnabas.broker.coordinator.group.decisions.modern.group import ModernGroup
from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord, is_large
from barnabas.broker.coordinator.group.group_partition import GroupPartition
from barnabas.broker.coordinator.runtime.decision_queue import CompletedDecision, Decision, DecisionQueue
from barnabas.broker.runtime.replies import Reply
from barnabas.broker.runtime.scheduler import CooperativeScheduler
from barnabas.protocol.errors import EncodeError, ErrorCode, KafkaError
from barnabas.protocol.log_records.group import ConsumerGroupMetadataValue
from barnabas.protocol.log_records.share_group import ShareGroupMetadataValue
from barnabas.protocol.log_records.streams_group import StreamsGroupMetadataValue
from barnabas.storage.steps import Steps

T = TypeVar("T")

RECORDS_AT_ONCE = 200
"""Records of one decision: more are prepared in steps; the rest of the work then takes some ms for thousands."""
_DECIDED_AT_ONCE = RECORDS_AT_ONCE  # records of a request for which a count is known in advance


_BEGINS_REBALANCE: dict[type[object], str] = {
    ConsumerGroupMetadataValue: "consumer",
    ShareGroupMetadataValue: "share",
    StreamsGroupMetadataValue: "streams",
}
"""The record of a new group epoch -> the protocol of the group."""


class GroupPartitions(Protocol):
    """The partitions of the group coordinator: `runtime.ownership.CoordinatorPartitions`."""

    def of(self, entity_id: str) -> GroupPartition:
        """Return the loaded partition of a group. KafkaError."""

    def loaded(self) -> Iterable[GroupPartition]:
        """Return the partitions that are loaded."""


class GroupDecisions:
    """The decisions about the groups of this broker, of every type."""

    def __init__(self, partitions: GroupPartitions, upkeep: CooperativeScheduler) -> None:
        self._partitions = partitions
        self._queue = DecisionQueue(upkeep)
        self.is_deciding = self._queue.is_deciding
        self.rebalances: Counter[str] = Counter()
        """The group epochs that began in this run, by protocol."""

    def made(self, group_id: str, decide: Callable[[AnyGroup | None], AnyOutcome], count: int = 1) -> Reply[T]:
        """Decide about a group, and carry it out: after earlier requests, as Kafka's coordinator does.

        count: of records. Very many records are prepared in steps, and then written at once.
        """
        if count > _DECIDED_AT_ONCE:
            return self.in_steps(group_id, partial(_in_one_step, decide))
        return self._queue.made_at_once(group_id, partial(self._made_at_once, group_id, decide))

    def in_steps(self, group_id: str, decide: Callable[[AnyGroup | None], Steps[AnyOutcome]]) -> Reply[T]:
        """Decide about the current group in steps, after decisions already running for it; carry the decision out."""
        return self._queue.made(group_id, partial(self._made, group_id, decide))

    def _made_at_once(self, group_id: str, decide: Callable[[AnyGroup | None], AnyOutcome]) -> Reply[T]:
        partition = self._partitions.of(group_id)
        return self._executed(partition, group_id, decide(partition.machine.group(group_id)))

    def _made(self, group_id: str, decide: Callable[[AnyGroup | None], Steps[AnyOutcome]]) -> Decision[T]:
        """Decide in steps, and carry it out in the last step. Start again if the group was changed in between."""
        while True:
            partition = self._partitions.of(group_id)
            group = partition.machine.group(group_id)
            try:
                steps = _prepared(partition, group_id, decide(group))
                outcome = yield from _unless_changed(partition, group, group_id, steps)
            except EncodeError as unfit:  # a client's name is longer than a record can carry
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(unfit)) from unfit
            if outcome is not None:
                return CompletedDecision(self._executed(partition, group_id, outcome))

    def _executed(self, partition: GroupPartition, group_id: str, outcome: AnyOutcome) -> Reply[T]:
        reply: Reply[T] = partition.shard.execute(group_id, outcome)
        for record in outcome.records:
            protocol = _BEGINS_REBALANCE.get(type(record.value)) if isinstance(record, KeyedRecord) else None
            if protocol is not None:
                self.rebalances[protocol] += 1
        return reply


def _in_one_step(decide: Callable[[AnyGroup | None], AnyOutcome], group: AnyGroup | None) -> Steps[AnyOutcome]:
    """Yield before and after a decision with long follow-up work: it gets a turn of the event loop for itself."""
    yield
    outcome = decide(group)
    yield
    return outcome


def _prepared(partition: GroupPartition, group_id: str, steps: Steps[AnyOutcome]) -> Steps[AnyOutcome]:
    """Return the outcome of the steps; many or large records are encoded and replayed before they are written."""
    outcome = yield from steps
    if len(outcome.records) <= RECORDS_AT_ONCE and not any(map(is_large, outcome.records)):
        return outcome
    prepared = yield from partition.machine.prepared(group_id, outcome.records)
    yield
    return outcome._replace(prepared=prepared)


def _unless_changed(
    partition: GroupPartition, group: AnyGroup | None, group_id: str, steps: Steps[AnyOutcome]
) -> Steps[AnyOutcome | None]:
    """Return the outcome of the steps; None if the group is no longer the one that they began with."""
    changes = group.changes if isinstance(group, ModernGroup) else 0
    while True:
        try:
            next(steps)
        except StopIteration as over:
            outcome: AnyOutcome = over.value
            return outcome
        yield
        if _is_another(group, partition.machine.group(group_id)):
            return None
        if partition.shard.is_closed or (isinstance(group, ModernGroup) and group.changes != changes):
            return None


def _is_another(group: AnyGroup | None, now: AnyGroup | None) -> bool:
    """Return whether the group was replaced. An empty classic group is built from its record at each call."""
    if isinstance(group, Group) and group.state is ClassicGroupState.EMPTY:
        return now != group
    return now is not group
