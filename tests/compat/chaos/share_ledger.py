"""The book that is kept of a share group: which records its members were given, and which they were told are finished.

A record is finished when the broker confirms that it was accepted or rejected. It is in doubt when the answer to such
an acknowledgement was lost, as when the broker is killed. Nothing here looks into the broker.
"""

import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

RecordId = tuple[int, int]
"""Partition and offset."""


class Delivery(NamedTuple):
    """A record that a poll returned, and which delivery of it the broker says it is."""

    record: RecordId
    delivery_count: int


class ShareLedger:
    """What the members of one share group saw of one topic. `broken` says in words what must not happen and did."""

    def __init__(self, delivery_count_limit: int) -> None:
        self._lock = threading.Lock()
        self._limit = delivery_count_limit
        self._histories: defaultdict[RecordId, list[str]] = defaultdict(list)
        self._holders: dict[RecordId, str] = {}
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
                self._holders[record] = owner
                self._histories[record].append(f"{owner}: delivery {delivery_count}")
                if record in finished_before:
                    self.broken.append(f"{owner} was given {record}, which was finished: {self._histories[record]}")
                if delivery_count > self._limit:
                    self.broken.append(f"{owner} was given {record} in delivery {delivery_count}")

    def confirmed(self, owner: str, records: Iterable[RecordId]) -> None:
        """The broker confirmed that the member finished these.

        A member that lost the lock of a record is not refused once everything below is finished, too, as in Kafka: its
        confirmation means nothing.
        """
        with self._lock:
            for record in records:
                if self._holders.get(record) != owner:
                    self._in_doubt.add(record)
                elif record in self._finished:
                    self.broken.append(f"{owner} finished {record}, as was done before: {self._histories[record]}")
                else:
                    self._finished.add(record)
                self._histories[record].append(f"{owner}: confirmed")

    def refused(self, owner: str, records: Iterable[RecordId], why: str) -> None:
        """The member acknowledged these, and the broker refused it."""
        with self._lock:
            for record in records:
                self._histories[record].append(f"{owner}: {why}")

    def doubted(self, records: Iterable[RecordId]) -> None:
        """The member acknowledged these, and the answer does not say whether that counts."""
        with self._lock:
            self._in_doubt.update(records)

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
