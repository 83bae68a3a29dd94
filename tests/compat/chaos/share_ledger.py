"""The book that is kept of a share group: which records its members were given, and which they were told are finished.

A record is finished when the broker confirms that it was accepted or rejected. It is in doubt when the answer to such
an acknowledgement was lost, as when the broker is killed. Nothing here looks into the broker.

A member that lost the lock of a record must be refused, but not once everything below is finished, too, as in Kafka:
then its confirmation means nothing. That may be so if each of these records was acknowledged by an earlier request.
"""

import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

RecordId = tuple[int, int]
"""Partition and offset."""


class Delivery(NamedTuple):
    """A record that a poll returned, and which delivery of it the broker says it is."""

    record: RecordId
    delivery_count: int


class _Holders(NamedTuple):
    """The members that may hold a record. There are several where the counts do not say whose delivery was the last."""

    delivery_count: int
    owners: frozenset[str]


_NOT_DELIVERED = _Holders(0, frozenset())


class ShareLedger:
    """What the members of one share group saw of one topic. `broken` says in words what must not happen and did."""

    def __init__(self, delivery_count_limit: int) -> None:
        self._lock = threading.Lock()
        self._limit = delivery_count_limit
        self._histories: defaultdict[RecordId, list[str]] = defaultdict(list)
        self._holders: defaultdict[RecordId, _Holders] = defaultdict(lambda: _NOT_DELIVERED)
        self._sent: Counter[RecordId] = Counter()
        self._worn_out: set[RecordId] = set()
        self._awaited: set[RecordId] = set()
        self._finished: set[RecordId] = set()
        self._in_doubt: set[RecordId] = set()
        self._deliveries = 0
        self.broken: list[str] = []

    def finished(self) -> frozenset[RecordId]:
        """The records of which the end is confirmed."""
        with self._lock:
            return frozenset(self._finished)

    def delivered(self, owner: str, deliveries: Iterable[Delivery], finished_before: Collection[RecordId]) -> None:
        """Note what a poll returned. finished_before: what was finished when it began."""
        with self._lock:
            for record, delivery_count in deliveries:
                self._deliveries += 1
                known = self._holders[record]
                others = known.owners if delivery_count <= known.delivery_count else frozenset[str]()
                self._holders[record] = _Holders(max(delivery_count, known.delivery_count), others | {owner})
                if delivery_count >= self._limit - 1:  # the answer with the last delivery may be lost
                    self._worn_out.add(record)
                self._histories[record].append(f"{owner}: delivery {delivery_count}")
                if record in finished_before:
                    self.broken.append(f"{owner} was given {record}, which was finished: {self._histories[record]}")
                if delivery_count > self._limit:
                    self.broken.append(f"{owner} was given {record} in delivery {delivery_count}")

    def sends(self, records: Iterable[RecordId]) -> None:
        """A member is about to acknowledge these, in one request that would finish them."""
        with self._lock:
            self._sent.update(records)

    def confirmed(self, owner: str, records: Iterable[RecordId]) -> None:
        """The broker confirmed that the member finished these, all in one request."""
        with self._lock:
            mine = set(records)
            for record in mine:
                owners = self._holders[record].owners
                if owner not in owners or (len(owners) > 1 and record in self._finished):
                    if not self._may_be_below_start(record, mine):
                        self.broken.append(
                            f"{owner} finished {record}, which it does not hold: {self._histories[record]}"
                        )
                elif record in self._finished:
                    self.broken.append(f"{owner} finished {record}, as was done before: {self._histories[record]}")
                else:
                    self._finished.add(record)
                self._histories[record].append(f"{owner}: confirmed")

    def _may_be_below_start(self, record: RecordId, mine: Collection[RecordId]) -> bool:
        """Whether this record and all before it may have been finished before the request about `mine`."""
        partition, end = record
        before = ((partition, offset) for offset in range(end + 1))
        return all(self._sent[each] > (each in mine) or each in self._worn_out for each in before)

    def refused(self, owner: str, records: Iterable[RecordId], why: str) -> None:
        """The member acknowledged these, and the broker refused it."""
        with self._lock:
            for record in records:
                self._histories[record].append(f"{owner}: {why}")

    def doubted(self, records: Iterable[RecordId]) -> None:
        """The member acknowledged these, and the answer does not say whether that counts."""
        with self._lock:
            self._in_doubt.update(records)

    def await_taker(self, records: Collection[RecordId]) -> None:
        """Their member waits until one of them is delivered to another; that one waits, too, as `is_awaited` says."""
        with self._lock:
            self._awaited = set(records)

    def is_taken(self, owner: str, records: Iterable[RecordId]) -> bool:
        """Whether one of these was delivered to another member; or something is broken already."""
        with self._lock:
            return bool(self.broken) or any(self._holders[each].owners - {owner} for each in records)

    def is_awaited(self, records: Iterable[RecordId]) -> bool:
        """Whether a member, which had one of these before, is about to acknowledge it all the same."""
        with self._lock:
            return not self.broken and not self._awaited.isdisjoint(records)

    def has_ended(self, records: Iterable[RecordId]) -> bool:
        """Whether all of these are finished, or in doubt; or something is broken already."""
        with self._lock:
            return bool(self.broken) or all(each in self._finished or each in self._in_doubt for each in records)

    def verdict(self, ends: Mapping[int, int]) -> list[str]:
        """What must not happen and did, or else what was lost, once nothing is delivered any more."""
        with self._lock:
            lost = [f"{each} was never finished: {self._histories[each]}" for each in self._open(ends)]
            return self.broken or lost

    @property
    def deliveries(self) -> int:
        """How many deliveries there were."""
        with self._lock:
            return self._deliveries

    @property
    def deliveries_again(self) -> int:
        """How many deliveries followed another one of the same record."""
        with self._lock:
            return self._deliveries - len(self._histories)

    def _open(self, ends: Mapping[int, int]) -> list[RecordId]:
        written = ((partition, offset) for partition, end in ends.items() for offset in range(end))
        return [each for each in written if each not in self._finished and each not in self._in_doubt]
