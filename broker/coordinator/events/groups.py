# compiled: mypyc, as a traced broker runs it for each event
"""The events of groups: derived from each decision, and from the group before and after it.

Classic groups here, beside the offsets of groups of either protocol; consumer groups in `consumer_groups.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.broker.coordinator.events.consumer_groups import ConsumerSeen, consumer_happened, consumer_seen
from barnabas.broker.coordinator.events.members import rebalance_why, report_gone, report_joined
from barnabas.broker.coordinator.group.decisions.classic.model import Group, OffsetCommitted
from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupState
from barnabas.broker.coordinator.group.decisions.group_machine import GroupMachine
from barnabas.broker.coordinator.group.decisions.group_types import AnyOutcome, AnyRecord
from barnabas.broker.coordinator.runtime.outcome import TransactionProducer
from barnabas.broker.runtime.events import kinds
from barnabas.broker.runtime.events.bounded_facts import some
from barnabas.broker.runtime.events.events import Events

_FORMED = (ClassicGroupState.COMPLETING_REBALANCE, ClassicGroupState.STABLE)
_SETTLED = (ClassicGroupState.EMPTY, ClassicGroupState.STABLE, ClassicGroupState.DEAD)


class GroupEvents:
    """The events of one partition of `__consumer_offsets`. A `DecisionListener`."""

    def __init__(self, machine: GroupMachine, events: Events) -> None:
        self._machine = machine
        self._events = events

    def seen(self, entity_id: str, outcome: AnyOutcome) -> Group | ConsumerSeen | None:
        """Implement `DecisionListener.seen`."""
        if isinstance(outcome.volatile, Group):
            return self._machine.classic(entity_id)
        if not outcome.records or _are_offsets(outcome.records):
            return None
        return consumer_seen(self._machine.durable.consumer(entity_id), outcome.records)

    def writing(self, entity_id: str, records: Sequence[AnyRecord]) -> None:
        """Implement `DecisionListener.writing`."""
        if not _are_offsets(records):
            self._events.emit(kinds.GROUP_WRITING, {"group": entity_id, "records_count": len(records)})

    def written(self, entity_id: str, records: Sequence[AnyRecord], partition: int, offset: int) -> None:
        """Implement `DecisionListener.written`."""
        if not _are_offsets(records):
            facts = {"group": entity_id, "records_count": len(records), "partition": partition, "offset": offset}
            self._events.emit(kinds.GROUP_WRITTEN, facts)

    def happened(self, entity_id: str, seen: Group | ConsumerSeen | None, outcome: AnyOutcome) -> None:
        """Implement `DecisionListener.happened`."""
        if isinstance(outcome.volatile, Group):
            assert not isinstance(seen, ConsumerSeen), "a classic group was seen"
            self._report_classic(seen or Group(entity_id), outcome.volatile)
        elif isinstance(seen, ConsumerSeen):
            config = self._machine.consumer.config_of(entity_id)
            group = self._machine.durable.consumer(entity_id)
            consumer_happened(self._events, entity_id, seen, group, config.session_timeout_of)
        offsets = [each for each in outcome.records if isinstance(each, OffsetCommitted)]
        if offsets:
            self._report_offsets(offsets, outcome.producer)

    def _report_classic(self, before: Group, after: Group) -> None:
        events, count = self._events, len(after.members)
        joined = [member for member_id, member in after.members.items() if member_id not in before.members]
        gone = [member for member_id, member in before.members.items() if member_id not in after.members]
        for left in gone:
            successor = after.instances.get(left.group_instance_id or "")
            report_gone(events, after.group_id, left.member_id, count, left.session_timeout_ms, successor)
        for member in joined:
            report_joined(events, after.group_id, member.member_id, member.client_id, count)
        where = {"group": after.group_id, "generation": after.generation_id, "members_count": count}
        has_formed = after.generation_id > before.generation_id
        if before.state is not ClassicGroupState.PREPARING_REBALANCE and (
            after.state is ClassicGroupState.PREPARING_REBALANCE or has_formed
        ):
            why = rebalance_why(
                events.cause, joined=[each.member_id for each in joined], gone=[each.member_id for each in gone]
            )
            facts = {**where, "protocol": "classic", "generation": before.generation_id, "why": why}
            events.emit(kinds.REBALANCE_BEGUN, facts)
        if has_formed and after.state in _FORMED:
            facts = {**where, "leader_id": after.leader_id, "assignor": after.protocol_name}
            events.emit(kinds.GENERATION_FORMED, facts)
        if before.state is ClassicGroupState.COMPLETING_REBALANCE and after.state is ClassicGroupState.STABLE:
            events.emit(kinds.ASSIGNMENT_MADE, {**where, "protocol": "classic"})
        if after.state in _SETTLED and before.state not in _SETTLED:
            events.emit(kinds.REBALANCE_COMPLETED, {**where, "protocol": "classic"})

    def _report_offsets(self, records: Sequence[OffsetCommitted], producer: TransactionProducer | None) -> None:
        """Notify of offsets; they are of one group, unless the offsets of a deleted topic are deleted."""
        by_group: dict[str, list[OffsetCommitted]] = {}
        for record in records:
            by_group.setdefault(record.group_id, []).append(record)
        for group_id, own in by_group.items():
            committed = [record for record in own if record.committed is not None]
            deleted = [record for record in own if record.committed is None]
            if committed:
                producer_id, producer_epoch = producer or (None, None)
                facts = {"producer_id": producer_id, "producer_epoch": producer_epoch}
                self._events.emit(kinds.OFFSETS_COMMITTED, {"group": group_id, **_offsets(committed), **facts})
            if deleted:
                self._events.emit(kinds.OFFSETS_DELETED, {"group": group_id, **_offsets(deleted)})


def _are_offsets(records: Sequence[AnyRecord]) -> bool:
    """Return whether these are committed offsets, which come without other records, or before them."""
    return isinstance(records[0], OffsetCommitted)


def _offsets(records: Sequence[OffsetCommitted]) -> dict[str, object]:
    return {"offsets": some(map(_offset_text, records)), "offsets_count": len(records)}


def _offset_text(record: OffsetCommitted) -> str:
    where = f"{record.topic}-{record.partition}"
    return where if record.committed is None else f"{where}:{record.committed.offset}"
