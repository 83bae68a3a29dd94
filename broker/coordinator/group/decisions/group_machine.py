# compiled: mypyc
"""The groups of one partition: their durable state, their working state, their timers and their loading.

Driven by the runtime (`runtime.Machine`). Working groups are made from stored ones at their first use, so a group that
only commits offsets costs nothing beyond its offsets.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from functools import partial
from typing import TypeVar

from barnabas.broker.coordinator.group.decisions import records
from barnabas.broker.coordinator.group.decisions.classic import sessions
from barnabas.broker.coordinator.group.decisions.classic.draft import from_stored, stored_state
from barnabas.broker.coordinator.group.decisions.classic.model import Group, GroupConfig, OffsetCommitted
from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupState
from barnabas.broker.coordinator.group.decisions.consumer import leaving
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup
from barnabas.broker.coordinator.group.decisions.consumer.model import ConsumerContext
from barnabas.broker.coordinator.group.decisions.durable_groups import DurableGroups
from barnabas.broker.coordinator.group.decisions.group_types import AnyGroup, AnyOutcome, AnyRecord, AnyVolatile
from barnabas.broker.coordinator.group.decisions.modern.group import ModernGroup
from barnabas.broker.coordinator.group.decisions.share.group import ShareGroup
from barnabas.broker.coordinator.group.decisions.share.leaving import share_group_loaded
from barnabas.broker.coordinator.group.decisions.share.model import ShareContext
from barnabas.broker.coordinator.runtime.outcome import Outcome, PreparedRecords, TimerKey
from barnabas.broker.runtime.log_lines import line, logger

_log = logger("coordinator")
_ENCODED_AT_ONCE = 100

G = TypeVar("G", bound=ModernGroup)


class GroupMachine:
    """All groups of one partition of `__consumer_offsets`."""

    records_are_whole = False
    """Offsets committed in a transaction count from its marker on."""

    def __init__(self, config: GroupConfig, consumer: ConsumerContext, share: ShareContext | None = None) -> None:
        self.config = config
        self.consumer = consumer
        self._share = share
        self.durable = DurableGroups()
        self.replay = self.durable.replay  # without a step in between: a load calls it for each record
        self._working: dict[str, Group] = {}

    def group(self, group_id: str) -> AnyGroup | None:
        """Return the current group, or None if there is none."""
        modern = self.durable.modern.get(group_id)
        return self.classic(group_id) if modern is None else modern

    def classic(self, group_id: str) -> Group | None:
        """Return the current classic group, or None if there is none."""
        working = self._working.get(group_id)
        if working is None and group_id in self.durable:
            working = from_stored(group_id, self.durable.stored(group_id))
            if working.members:
                self._working[group_id] = working
        return working

    def group_ids(self) -> list[str]:
        """Return the ids of all groups."""
        return list(dict.fromkeys([*self.durable.group_ids(), *self._working]))

    def groups(self) -> Iterator[AnyGroup]:
        """Yield all groups."""
        for group_id in self.group_ids():
            group = self.group(group_id)
            if group is not None:
                yield group

    def groups_of_type(self, group_class: type[G]) -> Iterator[G]:
        """Yield all groups of one of the modern types; they must not change in between."""
        return (group for group in self.durable.modern.values() if isinstance(group, group_class))

    # Called by the runtime

    def encode(self, record: AnyRecord) -> tuple[bytes, bytes | None]:
        return records.encode(record)

    decode = staticmethod(records.decode)

    def prepared(self, entity_id: str, records: Sequence[AnyRecord]) -> Generator[None, None, PreparedRecords]:
        """Encode many records of a group in steps, and replay them on a copy of the group; return the rest of the
        work. Committed offsets are encoded, but not replayed on a copy. EncodeError.
        """
        encoded: list[tuple[bytes, bytes | None]] = []
        are_offsets = isinstance(records[0], OffsetCommitted)  # these are short
        for record in records:
            encoded.append(self.encode(record))
            if not are_offsets or not len(encoded) % _ENCODED_AT_ONCE:
                yield
        if are_offsets:
            return PreparedRecords(encoded, None)
        copied = yield from self.durable.replay_on_copy(entity_id, records)
        return PreparedRecords(encoded, partial(self.durable.adopt, entity_id, copied))

    def replay_marker(self, producer_id: int, *, is_commit: bool) -> None:
        self.durable.replay_marker(producer_id, is_commit=is_commit)

    def install(self, entity_id: str, volatile: AnyVolatile) -> None:
        """Store the working state, unless the group is dead or equal to its stored state."""
        if not isinstance(volatile, Group):
            self._working.pop(entity_id, None)  # of the empty classic group that it replaced
            modern = self.durable.modern.get(entity_id)
            if modern is not None:
                modern.install(volatile)
            return
        if volatile.state is not self._state(entity_id):
            _log.info(_line_of(volatile))
        if volatile.state is ClassicGroupState.DEAD or self._is_as_stored(volatile):
            self._working.pop(entity_id, None)
        else:
            self._working[entity_id] = volatile

    def _state(self, group_id: str) -> ClassicGroupState:
        """Return the state of the classic group, without making a working group from the stored one."""
        working = self._working.get(group_id)
        return stored_state(self.durable.stored(group_id)) if working is None else working.state

    def _is_as_stored(self, group: Group) -> bool:
        return group.state is ClassicGroupState.EMPTY and group == from_stored(
            group.group_id, self.durable.stored(group.group_id)
        )

    def timer_fired(self, entity_id: str, timer: TimerKey, now_ms: int) -> AnyOutcome:
        if entity_id in self.durable.modern:
            return Outcome()  # its members' timers are decided in steps, for example by `ConsumerGroups.fire`
        return sessions.timer_fired(self.classic(entity_id), timer, now_ms=now_ms, config=self.config)

    def loaded(self, now_ms: int) -> Iterator[tuple[str, AnyOutcome]]:
        """Yield what to do after the log was replayed: the members' sessions start."""
        for group_id in list(self.durable.group_ids()):
            stored = self.durable.stored(group_id)
            if stored is not None and stored.members:
                group = from_stored(group_id, stored)
                yield group_id, sessions.loaded(group, now_ms=now_ms, config=self.config)
        for group_id, modern in list(self.durable.modern.items()):
            if isinstance(modern, ConsumerGroup):
                yield group_id, leaving.loaded(modern, config=self.consumer.config_of(group_id))
            elif isinstance(modern, ShareGroup) and self._share is not None:
                yield group_id, share_group_loaded(modern, config=self._share.config_of(group_id))


def _line_of(group: Group) -> str:
    return line(
        "group",
        group=group.group_id,
        state=group.state.value,
        generation=group.generation_id,
        members=len(group.members),
    )
