"""What happens to the records of share partitions, counted for the metrics and reported to listeners of events.

A delivery is reported when it can be seen: an acquisition and the end of a lock at once, everything else once its state
is stored. Events have a bounded number of ranges, beside the number of records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING

from barnabas.broker.partitions.share.acknowledgements import AcknowledgedBatch, acknowledged_ranges
from barnabas.broker.partitions.share.persister import DeliveryState
from barnabas.broker.runtime.events import kinds
from barnabas.broker.runtime.events.bounded_facts import some
from barnabas.broker.runtime.events.cause import TimerCause
from barnabas.protocol.acknowledge_type import AcknowledgeType

if TYPE_CHECKING:
    from barnabas.broker.partitions.share.acquisition import Acquired
    from barnabas.broker.partitions.share.persister import ShareStateUpdate
    from barnabas.broker.runtime.events import Cause, EventKind, Events

Range = tuple[int, int]
"""First and last offset."""
_LOCK = TimerCause("acquisition lock", "")
_ARCHIVED = frozenset(map(int, (DeliveryState.ARCHIVING, DeliveryState.ARCHIVED)))


class ArchiveReason(StrEnum):
    """Why records are archived that no member accepted."""

    REJECTED = "rejected by a member"
    LIMIT = "delivered as often as the group allows"


class DeliveryCounts:
    """The records of all share partitions of a node, counted since its start."""

    def __init__(self) -> None:
        self.acknowledged: Counter[AcknowledgeType] = Counter()
        self.archived: Counter[ArchiveReason] = Counter()


class Deliveries:
    """The deliveries of one share partition."""

    def __init__(self, counts: DeliveryCounts, events: Events, group_id: str, topic: str, partition: int) -> None:
        self._counts = counts
        self._events = events
        self._where = {"group": group_id, "topic": topic, "partition": partition}
        self.lock_timeouts = 0
        """How many records were released since their lock ended."""

    @property
    def cause(self) -> Cause | None:
        """The cause of what happens now, for a report once it is stored."""
        return self._events.cause

    def acquired(self, member_id: str, acquired: Sequence[Acquired], lock_ms: int) -> None:
        """Report that a member acquired records."""
        if self._events.is_on:
            facts = {"member_id": member_id, "lock_ms": lock_ms, "delivery_count": max(each[2] for each in acquired)}
            self._emit(kinds.SHARE_ACQUIRED, [(first, last) for first, last, _ in acquired], **facts)

    def acknowledged(
        self, member_id: str, batches: Sequence[AcknowledgedBatch], update: ShareStateUpdate | None, cause: Cause | None
    ) -> None:
        """Count and report a member's acknowledgements, which are stored."""
        for batch in batches:
            if len(batch.types) == 1:
                self._counts.acknowledged[AcknowledgeType(batch.types[0])] += batch.last_offset - batch.first_offset + 1
            else:
                for number, count in Counter(batch.types).items():  # counted as numbers: there may be thousands
                    self._counts.acknowledged[AcknowledgeType(number)] += count
        archived = list(_archived(update))
        if not archived and not self._events.is_on:
            return
        of_type: list[list[Range]] = [[] for _ in AcknowledgeType]
        for batch in batches:
            for first, last, kind in acknowledged_ranges(batch):
                of_type[kind].append((first, last))
        with self._caused_by(cause):
            for kind, ranges in zip(AcknowledgeType, of_type, strict=True) if self._events.is_on else ():
                if ranges:
                    self._emit(kinds.SHARE_ACKNOWLEDGED, ranges, member_id=member_id, type=kind.name.lower())
            self._archived(_common(of_type[AcknowledgeType.REJECT], archived), ArchiveReason.REJECTED)
            self._archived(_common(of_type[AcknowledgeType.RELEASE], archived), ArchiveReason.LIMIT)

    def released(self, member_id: str, update: ShareStateUpdate | None, cause: Cause | None) -> None:
        """Report that the records of a member, whose session ended, are released or archived."""
        with self._caused_by(cause):
            if update is not None and self._events.is_on:
                ranges = [(each.first_offset, each.last_offset) for each in update.batches]
                self._emit(kinds.SHARE_RELEASED, ranges, member_id=member_id)
            self._archived(list(_archived(update)), ArchiveReason.LIMIT)

    def lock_ended(self, holders: Mapping[str, Sequence[Range]]) -> None:
        """Count and report the records whose lock ended, by the member that held them."""
        for member_id, ranges in holders.items():
            self.lock_timeouts += _size(ranges)
            if self._events.is_on:
                with self._caused_by(_LOCK):
                    self._emit(kinds.SHARE_LOCK_ENDED, ranges, member_id=member_id)

    def worn_out(self, update: ShareStateUpdate | None) -> None:
        """Count and report the records that are archived since their lock ended on the last delivery."""
        with self._caused_by(_LOCK):
            self._archived(list(_archived(update)), ArchiveReason.LIMIT)

    def _archived(self, ranges: Sequence[Range], reason: ArchiveReason) -> None:
        if ranges:
            self._counts.archived[reason] += _size(ranges)
            if self._events.is_on:
                self._emit(kinds.SHARE_ARCHIVED, ranges, why=reason.value)

    @contextmanager
    def _caused_by(self, cause: Cause | None) -> Iterator[None]:
        """Name the cause of what is reported inside."""
        before, self._events.cause = self._events.cause, cause
        try:
            yield
        finally:
            self._events.cause = before

    def _emit(self, kind: EventKind, ranges: Sequence[Range], **more: object) -> None:
        texts = some(f"{first}-{last}" for first, last in ranges)
        self._events.emit(kind, {**self._where, **more, "ranges": texts, "records_count": _size(ranges)})


def _size(ranges: Iterable[Range]) -> int:
    return sum(last - first + 1 for first, last in ranges)


def _archived(update: ShareStateUpdate | None) -> Iterator[Range]:
    for first, last, state, _ in () if update is None else update.batches:
        if state in _ARCHIVED:
            yield first, last


def _common(some_ranges: Sequence[Range], others: Sequence[Range]) -> list[Range]:
    """Return the offsets that are in both, of ranges that are in order."""
    found: list[Range] = []
    index = 0
    for first, last in some_ranges:
        while index < len(others) and others[index][1] < first:
            index += 1
        at = index
        while at < len(others) and others[at][0] <= last:
            found.append((max(first, others[at][0]), min(last, others[at][1])))
            at += 1
    return found
