"""The durable state of the groups in one partition of `__consumer_offsets`: the state that replay builds.

Knows nothing of members that wait, of timers, or of the format of records on disk. Only `replay` changes it, at run
time and at start alike; the same records in the same order always give the same state.

Offsets committed in a transaction wait in `PendingOffsets` until its marker comes. A commit then counts only if its
record is newer than the committed one: a later plain OffsetCommit wins, even if the transaction ends after it.

A group that never had members exists from its first commit on (also one in a transaction, whether it commits or aborts)
until it is deleted; it still exists when all its offsets are deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Mapping

from barnabas.broker.coordinator.group.decisions.classic.model import (
    CommittedOffset,
    GroupStored,
    OffsetCommitted,
    StoredGroup,
)
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup
from barnabas.broker.coordinator.group.decisions.consumer.replay import CONSUMER_REPLAY
from barnabas.broker.coordinator.group.decisions.group_types import AnyRecord
from barnabas.broker.coordinator.group.decisions.modern.group import ModernGroup, ReplayTable
from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord
from barnabas.broker.coordinator.group.decisions.offsets.by_topic import GroupsByTopic
from barnabas.broker.coordinator.group.decisions.offsets.pending import Key, Pending, PendingOffsets
from barnabas.broker.coordinator.group.decisions.share.replay import SHARE_REPLAY
from barnabas.protocol.codec.schema import Stored

NO_PRODUCER_ID = -1
NO_OFFSET = -1
_REPLAYS: dict[type[Stored], ReplayTable] = {
    key: table for table in (CONSUMER_REPLAY, SHARE_REPLAY) for key in table.apply
}
_NOTHING: Mapping[str, Mapping[int, CommittedOffset]] = {}


def _replay_table(key: type[Stored]) -> ReplayTable:
    """Return the table for the records with this key. Tables that few brokers need are imported at their first use."""
    table = _REPLAYS.get(key)
    if table is None:
        from barnabas.broker.coordinator.group.decisions.streams.replay import STREAMS_REPLAY

        _REPLAYS.update(dict.fromkeys(STREAMS_REPLAY.apply, STREAMS_REPLAY))
        table = _REPLAYS[key]
    return table


class DurableGroups:
    """The durable state of all groups of one partition."""

    def __init__(self) -> None:
        self._stored: dict[str, StoredGroup] = {}
        self.modern: dict[str, ModernGroup] = {}
        """All groups but the classic ones. None of them is in `_stored`."""
        self._offsets: dict[str, dict[str, dict[int, CommittedOffset]]] = {}
        self._record_offsets: dict[Key, int] = {}  # of offsets that were committed while a transaction was open
        self._pending = PendingOffsets()
        self._by_topic = GroupsByTopic()  # counts committed offsets: one for each group and topic

    def __eq__(self, other: object) -> bool:
        """Return whether both are equal in everything that a client could see."""
        if not isinstance(other, DurableGroups):
            return NotImplemented
        return self._visible() == other._visible()

    __hash__ = None  # type: ignore[assignment]  # because it changes

    def _visible(self) -> tuple[object, ...]:
        return self._stored, self.modern, self._offsets, self._pending

    def group_ids(self) -> Iterator[str]:
        """Yield the id of every group: stored, or known only by its commits."""
        yield from self._stored
        yield from self.modern
        yield from (
            group_id for group_id in self._offsets if group_id not in self._stored and group_id not in self.modern
        )

    def __contains__(self, group_id: str) -> bool:
        return group_id in self._stored or group_id in self.modern or group_id in self._offsets

    def stored(self, group_id: str) -> StoredGroup | None:
        """Return the last finished generation; None for a group that only commits offsets, or is unknown."""
        return self._stored.get(group_id)

    def consumer(self, group_id: str) -> ConsumerGroup | None:
        """Return the group if it is a consumer group."""
        group = self.modern.get(group_id)
        return group if isinstance(group, ConsumerGroup) else None

    def offsets(self, group_id: str) -> Mapping[str, Mapping[int, CommittedOffset]]:
        """Return a map of topic -> partition -> committed offset."""
        return self._offsets.get(group_id, _NOTHING)

    def offsets_count(self, group_id: str) -> int:
        """Return how many offsets the group committed, including those in open transactions."""
        return sum(map(len, self.offsets(group_id).values())) + len(self.unstable(group_id))

    def committed(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        """Return the offset that the group committed for one partition, or None."""
        return self.offsets(group_id).get(topic, {}).get(partition)

    def unstable(self, group_id: str) -> Collection[tuple[str, int]]:
        """Return (topic, partition) of the group with an offset in an open transaction."""
        return self._pending.unstable(group_id)

    def pending_producers(self, group_id: str, topic: str, partition: int) -> Collection[int]:
        """Return the producers in whose open transactions the group committed an offset for the partition."""
        return self._pending.producers_of(group_id, topic, partition)

    def pending(self, group_id: str, topic: str) -> Iterator[tuple[int, CommittedOffset]]:
        """Return (partition, offset) of all offsets that the group committed for the topic in open transactions."""
        return self._pending.of_topic(group_id, topic)

    def groups_in_transaction(self, producer_id: int) -> set[str]:
        """Return the groups with offsets of this producer in a transaction that has not ended."""
        return self._pending.groups_of(producer_id)

    def topics(self) -> set[str]:
        """Return every topic that a group has an offset for, committed or in an open transaction."""
        return {*self._by_topic.topics(), *self._pending.by_topic.topics()}

    def has_offsets_for(self, topic: str) -> bool:
        """Return whether any group has an offset for the topic, committed or in an open transaction."""
        return bool(self._by_topic.groups(topic)) or bool(self._pending.by_topic.groups(topic))

    def groups_of(self, topic: str) -> set[str]:
        """Return the groups that have an offset for the topic, committed or in an open transaction."""
        return {*self._by_topic.groups(topic), *self._pending.by_topic.groups(topic)}

    def replay(self, record: AnyRecord, record_offset: int, producer_id: int = NO_PRODUCER_ID) -> None:
        """Apply one record of the log."""
        if isinstance(record, GroupStored):
            self._replay_group(record)
            return
        if isinstance(record, KeyedRecord):
            self._replay_modern(record)
            return
        group_id, topic, partition, committed = record
        if committed is None:
            self._forget(group_id, topic, partition)
        elif producer_id == NO_PRODUCER_ID:
            self._commit(group_id, topic, partition, committed)
            if self._pending:
                self._record_offsets[group_id, topic, partition] = record_offset
        else:
            self._offsets.setdefault(group_id, {})
            self._pending.add(producer_id, (group_id, topic, partition), Pending(committed, record_offset))

    def replay_on_copy(self, group_id: str, records: Iterable[AnyRecord]) -> Generator[None, None, DurableGroups]:
        """Return a copy of one group with these records of its members replayed, in steps: only for `adopt`."""
        copied = DurableGroups()
        copied._offsets[group_id] = {}
        if group_id in self._stored:
            copied._stored[group_id] = self._stored[group_id]
        if group_id in self.modern:
            copied.modern[group_id] = self.modern[group_id].copy()
        yield
        for record in records:
            assert not isinstance(record, OffsetCommitted), "offsets are not copied"
            copied.replay(record, NO_OFFSET)
            yield
        return copied

    def adopt(self, group_id: str, copied: DurableGroups) -> None:
        """Replace the group by its copy: the replayed records are in the log now; the group has not changed since."""
        self._stored.pop(group_id, None)
        self._stored.update(copied._stored)
        if group_id in copied.modern:
            self.modern[group_id] = copied.modern[group_id]
        else:
            self.modern.pop(group_id, None)
        if group_id not in copied._offsets:
            self._forget_if_bare(group_id)

    def replay_marker(self, producer_id: int, *, is_commit: bool) -> None:
        """Apply the end of a transaction."""
        self._end(self._pending.end(producer_id), is_commit)

    def hold_marker(self, producer_id: int) -> None:
        """Hold the offsets of a transaction: its marker is in the log, and `release_marker` will apply it."""
        self._pending.hold(producer_id)

    def release_marker(self, producer_id: int, *, is_commit: bool) -> None:
        """Apply the end of the transaction that was held."""
        self._end(self._pending.release(producer_id), is_commit)

    def _end(self, ended: Mapping[Key, Pending], is_commit: bool) -> None:
        for key, (committed, record_offset) in ended.items() if is_commit else ():
            if record_offset > self._record_offsets.get(key, -1):
                group_id, topic, partition = key
                self._commit(group_id, topic, partition, committed)
                self._record_offsets[key] = record_offset
        if not self._pending:
            self._record_offsets.clear()

    def _replay_group(self, record: GroupStored) -> None:
        if record.stored is not None:
            self._stored[record.group_id] = record.stored
            self.modern.pop(record.group_id, None)
            return
        self._stored.pop(record.group_id, None)
        self._forget_if_bare(record.group_id)

    def _replay_modern(self, record: KeyedRecord) -> None:
        group_id: str = record.key.group_id  # type: ignore[attr-defined]  # every key of _REPLAYS has it
        table = _replay_table(type(record.key))
        table.replay(self.modern, group_id, record)
        if group_id in self.modern:
            self._stored.pop(group_id, None)
        elif isinstance(record.key, table.group_key):
            self._forget_if_bare(group_id)

    def _forget_if_bare(self, group_id: str) -> None:
        """Forget a group that is deleted and has no offsets left."""
        if not self._offsets.get(group_id, True):
            del self._offsets[group_id]

    def _commit(self, group_id: str, topic: str, partition: int, committed: CommittedOffset) -> None:
        topics = self._offsets.get(group_id)
        if topics is None:
            topics = self._offsets[group_id] = {}
        partitions = topics.get(topic)
        if partitions is None:
            partitions = topics[topic] = {}
            self._by_topic.add(topic, group_id)
        partitions[partition] = committed

    def _forget(self, group_id: str, topic: str, partition: int) -> None:
        if self._pending:
            self._pending.forget((group_id, topic, partition))
        if self._record_offsets:
            self._record_offsets.pop((group_id, topic, partition), None)
        topics = self._offsets.get(group_id, {})
        partitions = topics.get(topic)
        if partitions is not None:
            partitions.pop(partition, None)
            if not partitions:
                del topics[topic]
                self._by_topic.remove(topic, group_id)
