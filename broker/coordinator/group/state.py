"""The durable state of the groups in one partition of `__consumer_offsets`: what replaying its records builds.

Knows nothing of members that wait, of timers, or of how records look on disk. `replay` is its only writer, at run
time and at start alike; the same records in the same order always give the same state.

Offsets committed inside a transaction wait in `_pending` until its marker comes. A commit then counts only if its
record is younger than what is committed: a later plain OffsetCommit wins, even when the transaction ends after it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from broker.coordinator.group.model import CommittedOffset, GroupRecord, GroupStored, OffsetCommitted, StoredGroup

NO_PRODUCER_ID = -1
_NOTHING: Mapping[str, Mapping[int, CommittedOffset]] = {}

_Position = tuple[CommittedOffset, int]
"""A committed offset and the log offset of its record."""


class DurableGroups:
    """All groups of one partition."""

    def __init__(self) -> None:
        self._stored: dict[str, StoredGroup] = {}
        self._offsets: dict[str, dict[str, dict[int, CommittedOffset]]] = {}
        self._record_offsets: dict[tuple[str, str, int], int] = {}  # of what was committed while a transaction was open
        self._pending: dict[int, dict[tuple[str, str, int], _Position]] = {}

    def __eq__(self, other: object) -> bool:
        """Whether both say the same of every group: what a client could ever see."""
        if not isinstance(other, DurableGroups):
            return NotImplemented
        return (self._stored, self._offsets, self._pending) == (other._stored, other._offsets, other._pending)

    __hash__ = None  # type: ignore[assignment]  # because it changes

    def group_ids(self) -> Iterator[str]:
        """Every group there is: stored, or known by its offsets alone."""
        yield from self._stored
        yield from (group_id for group_id in self._offsets if group_id not in self._stored)

    def __contains__(self, group_id: str) -> bool:
        return group_id in self._stored or group_id in self._offsets

    def stored(self, group_id: str) -> StoredGroup | None:
        """The last finished generation; None for a group that only commits offsets, or is unknown."""
        return self._stored.get(group_id)

    def offsets(self, group_id: str) -> Mapping[str, Mapping[int, CommittedOffset]]:
        """topic -> partition -> committed offset."""
        return self._offsets.get(group_id, _NOTHING)

    def committed(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        """What the group committed for one partition."""
        return self.offsets(group_id).get(topic, {}).get(partition)

    def pinned(self, group_id: str) -> Collection[tuple[str, int]]:
        """The partitions of the group with an offset in an open transaction."""
        return {key[1:] for pending in self._pending.values() for key in pending if key[0] == group_id}

    def has_open_transactions(self) -> bool:
        """Whether any offset of this partition waits for a marker."""
        return bool(self._pending)

    def replay(self, record: GroupRecord, record_offset: int, producer_id: int = NO_PRODUCER_ID) -> None:
        """Apply one record of the log."""
        if isinstance(record, GroupStored):
            if record.stored is None:
                self._stored.pop(record.group_id, None)
            else:
                self._stored[record.group_id] = record.stored
        elif record.committed is None:
            self._forget(record)
        elif producer_id == NO_PRODUCER_ID:
            self._commit(record.group_id, record.topic, record.partition, record.committed)
            if self._pending:
                self._record_offsets[record.group_id, record.topic, record.partition] = record_offset
        else:
            key = (record.group_id, record.topic, record.partition)
            self._pending.setdefault(producer_id, {})[key] = record.committed, record_offset

    def replay_marker(self, producer_id: int, *, is_commit: bool) -> None:
        """Apply the end of a transaction."""
        pending = self._pending.pop(producer_id, {})
        for key, (committed, record_offset) in pending.items() if is_commit else ():
            if record_offset > self._record_offsets.get(key, -1):
                self._commit(*key, committed)
                self._record_offsets[key] = record_offset
        if not self._pending:
            self._record_offsets.clear()

    def _commit(self, group_id: str, topic: str, partition: int, committed: CommittedOffset) -> None:
        self._offsets.setdefault(group_id, {}).setdefault(topic, {})[partition] = committed

    def _forget(self, record: OffsetCommitted) -> None:
        key = (record.group_id, record.topic, record.partition)
        for pending in self._pending.values():
            pending.pop(key, None)
        self._record_offsets.pop(key, None)
        topics = self._offsets.get(record.group_id)
        partitions = None if topics is None else topics.get(record.topic)
        if topics is None or partitions is None:
            return
        partitions.pop(record.partition, None)
        if not partitions:
            del topics[record.topic]
        if not topics:
            del self._offsets[record.group_id]
