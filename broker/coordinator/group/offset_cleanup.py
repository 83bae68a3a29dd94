"""The deletion of committed offsets of deleted topics: a bounded number in each turn of the event loop.

Knows which topics to examine and when; `group/decisions/offset_removal.py` decides which offsets are deleted. Kafka
does the same after the topic is deleted: one batch of tombstones per partition of `__consumer_offsets`.

Theory of operation: a topic is searched in one partition of `__consumer_offsets` when it is deleted, all topics are
when a partition was loaded. The groups to examine come from the partition's index, so a topic costs as much as its
commits. The first slice is done at once, the rest in later turns. In the meantime a new topic of this name may get
commits. The topic id in a commit distinguishes the two topics. Until all offsets are deleted, `visible` omits them.

A tombstone deletes the committed offset of a partition and the pending ones in open transactions. If only one of the
two has to be deleted, because the other was committed for a topic created again, nothing is written before the
transaction has ended.

Invariant: an offset that stays is never deleted; an offset to delete is invisible, deleted or not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from barnabas.broker.coordinator.group.decisions.classic.model import CommittedOffset, OffsetCommitted
from barnabas.broker.coordinator.group.decisions.offset_removal import leaving, staying_ids
from barnabas.broker.coordinator.group.group_partition import GroupPartition
from barnabas.broker.coordinator.runtime.outcome import Outcome
from barnabas.broker.runtime.log_lines import Seldom, logger
from barnabas.broker.runtime.scheduler import CooperativeScheduler, Work, WorkClass
from barnabas.protocol.errors import KafkaError

if TYPE_CHECKING:
    from barnabas.broker.coordinator.group.decisions.group_types import AnyOutcome
    from barnabas.broker.runtime.clock import Clock, Timer

REMOVED_IN_A_TURN = 500
"""How many offsets are deleted in a turn of the event loop: some milliseconds."""
LOOKED_AT_IN_A_TURN = 2_000
"""How many offsets are examined in a turn of the event loop."""
_REMOVAL = WorkClass(steps_max=1, may_begin_again=False)
RETRY_MS = 1_000
"""The delay before offsets that could not be deleted are examined again."""


class _Search:
    """A search for some topics in one partition."""

    __slots__ = ("even_without_id", "kept_back", "partition", "places", "todo", "topics")

    def __init__(self, partition: GroupPartition, topics: Collection[str], *, even_without_id: bool) -> None:
        self.partition = partition
        self.topics = set(topics)
        self.even_without_id = even_without_id
        self.todo = list(topics)
        """Topics whose groups are still to be found."""
        self.places: list[tuple[str, str]] = []
        """(topic, group id) still to be examined."""
        self.kept_back: dict[tuple[str, str], None] = {}
        """(topic, group id) to be examined again later."""

    def next_place(self) -> tuple[str, str] | None:
        """Return the next (topic, group id) to examine; None when all were."""
        while not self.places and self.todo and not self.partition.shard.is_closed:
            topic = self.todo.pop()
            self.places += [(topic, group_id) for group_id in self.partition.machine.durable.groups_of(topic)]
        return self.places.pop() if self.places and not self.partition.shard.is_closed else None

    def keep_back(self, place: tuple[str, str]) -> None:
        """Postpone a place where nothing can be deleted now."""
        self.kept_back[place] = None
        if self.places and self.places[-1] == place:
            self.places.pop()

    def look_again(self) -> None:
        """Start again with the postponed places."""
        self.places, self.kept_back = list(self.kept_back), {}


class _Turn:
    """The deletions of one turn of the event loop."""

    def __init__(self) -> None:
        self.look_left = LOOKED_AT_IN_A_TURN
        self.remove_left = REMOVED_IN_A_TURN
        self.tombstones: dict[GroupPartition, dict[OffsetCommitted, None]] = {}
        self.worked_on: list[tuple[_Search, tuple[str, str]]] = []

    @property
    def is_over(self) -> bool:
        return self.look_left <= 0 or self.remove_left <= 0

    def look_at(self, search: _Search, place: tuple[str, str], staying: Collection[bytes]) -> None:
        """Choose the offsets to delete, as many as there still is room for."""
        topic, group_id = place
        found = leaving(search.partition.machine.durable, group_id, topic, staying)
        self.look_left -= found.looked_at
        if found.is_held_up:
            search.keep_back(place)
        if not found.partitions:
            return
        chosen = found.partitions[: self.remove_left]
        self.remove_left -= len(chosen)
        if len(chosen) < len(found.partitions):
            search.places.append(place)
        records = self.tombstones.setdefault(search.partition, {})
        records.update(dict.fromkeys(OffsetCommitted(group_id, topic, number, None) for number in chosen))
        self.worked_on.append((search, place))


class OffsetCleanup:
    """The pending deletions in the partitions of one broker."""

    def __init__(
        self,
        clock: Clock,
        upkeep: CooperativeScheduler,
        topic_ids: Callable[[str], bytes | None],
        execute: Callable[[GroupPartition, AnyOutcome], object],
    ) -> None:
        """Create it empty. `topic_ids` returns the id of the topic of that name, or None. `execute`: KafkaError."""
        self._clock = clock
        self._upkeep = upkeep
        self._topic_ids = topic_ids
        self._execute = execute
        self._searches: deque[_Search] = deque()
        self._kept_back: list[_Search] = []
        self._of_partition: dict[GroupPartition, list[_Search]] = {}  # all searches, postponed or not
        self._is_removing = False
        self._retry: Timer | None = None
        self._refusals = Seldom(logger("coordinator").warning)

    def topic_deleted(self, partitions: Iterable[GroupPartition], topic: str) -> None:
        """Delete the offsets committed for a deleted topic, with or without a topic id in the commit."""
        for partition in partitions:
            if partition.machine.durable.has_offsets_for(topic):
                self._add(_Search(partition, (topic,), even_without_id=True))
        self._begin()

    def loaded(self, partition: GroupPartition) -> None:
        """Delete the offsets of a loaded partition whose topic is deleted, or was replaced by one of the same name."""
        topics = partition.machine.durable.topics()
        if topics:
            self._add(_Search(partition, topics, even_without_id=False))
        self._begin()

    def visible(self, partition: GroupPartition, group_id: str) -> Mapping[str, Mapping[int, CommittedOffset]]:
        """Return topic -> partition -> committed offset of the group, without the offsets to delete."""
        offsets = partition.machine.durable.offsets(group_id)
        searches = self._of_partition.get(partition, ())
        if all(search.topics.isdisjoint(offsets) for search in searches):
            return offsets
        shown = {}
        for topic, committed in offsets.items():
            for search in searches:
                if topic in search.topics:
                    ids = self._staying_ids(search, topic)
                    committed = {number: each for number, each in committed.items() if each.topic_id in ids}
            if committed:
                shown[topic] = committed
        return shown

    def close(self) -> None:
        """Stop with the broker; the remaining offsets are found when the partition is loaded again."""
        if self._retry is not None:
            self._retry.cancel()
        self._searches.clear()
        self._kept_back.clear()
        self._of_partition.clear()

    def _staying_ids(self, search: _Search, topic: str) -> tuple[bytes, ...]:
        return staying_ids(self._topic_ids(topic), even_without_id=search.even_without_id)

    def _add(self, search: _Search) -> None:
        self._searches.append(search)
        self._of_partition.setdefault(search.partition, []).append(search)

    def _begin(self) -> None:
        if not self._is_removing and self._searches:
            self._is_removing = True
            self._upkeep.in_slices(self._remove, _REMOVAL)

    def _remove(self) -> Work[None]:
        try:
            while self._searches:
                self._take_turn()
                yield self._upkeep.next_turn()  # and not before, even if more work is added in between
        finally:
            self._is_removing = False

    def _take_turn(self) -> None:
        turn = _Turn()
        over: list[_Search] = []
        while self._searches and not turn.is_over:
            search = self._searches[0]
            place = search.next_place()
            if place is None:
                over.append(self._searches.popleft())
            else:
                turn.look_at(search, place, self._staying_ids(search, place[0]))
        refused = {partition for partition, records in turn.tombstones.items() if not self._write(partition, records)}
        for search, place in turn.worked_on:
            if search.partition in refused:
                search.keep_back(place)
        for search in over:
            self._end(search)

    def _write(self, partition: GroupPartition, records: Iterable[OffsetCommitted]) -> bool:
        try:
            self._execute(partition, Outcome(records=tuple(records)))
        except KafkaError as refusal:
            self._refusals.line(
                refusal.code, self._clock.now_ms(), "offsets not deleted", partition=partition.index, error=refusal
            )
            return False
        return True

    def _end(self, search: _Search) -> None:
        """End a search after all places were examined; if some were postponed, schedule it again."""
        if search.kept_back and not search.partition.shard.is_closed:
            search.topics = {topic for topic, _ in search.kept_back}
            self._kept_back.append(search)
            if self._retry is None:
                self._retry = self._clock.call_later(RETRY_MS, self._look_again)
            return
        searches = self._of_partition[search.partition]
        searches.remove(search)
        if not searches:
            del self._of_partition[search.partition]

    def _look_again(self) -> None:
        self._retry = None
        for search in self._kept_back:
            search.look_again()
        self._searches.extend(self._kept_back)
        self._kept_back.clear()
        self._begin()
