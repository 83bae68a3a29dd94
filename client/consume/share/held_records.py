"""The records of a partition that a member of a share group holds, and its acknowledgements. Pure: it sends nothing.

A member acquires ranges of offsets. Offsets without a record, such as those of transaction markers, are gaps: they are
acknowledged as such with the next request. A record is returned to the program, which acknowledges it; a renewed
record stays with the member until it is acknowledged with another type.

Invariants: an acquired offset is in exactly one of four states (waiting, returned, renewed, settled) until its
acknowledgement is taken; an acknowledgement is taken once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from barnabas.client.consume.decoding import decode_records
from barnabas.client.metadata import TopicPartition
from barnabas.protocol.acknowledge_type import AcknowledgeType
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.share_fetch import PartitionData
from barnabas.protocol.records.record import BatchRecord


class AcquiredRecord(NamedTuple):
    """A record that this member holds. delivery_count: 1 in its first delivery."""

    topic: str
    partition: int
    record: BatchRecord
    delivery_count: int


class Acknowledgement(NamedTuple):
    """A range of offsets, with one type for all or one for each."""

    first_offset: int
    last_offset: int
    types: list[int]


class HeldRecords:
    """The acquired offsets of one partition."""

    def __init__(self, where: TopicPartition) -> None:
        self.where = where
        self._waiting: set[int] = set()  # not returned yet
        self._returned: set[int] = set()
        self._renewed: set[int] = set()
        self._settled: dict[int, AcknowledgeType] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held and nothing is to be sent."""
        return not (self._waiting or self._returned or self._renewed or self._settled)

    @property
    def is_open(self) -> bool:
        """Whether a returned record has no acknowledgement."""
        return bool(self._returned)

    @property
    def has_news(self) -> bool:
        """Whether there are acknowledgements to send."""
        return bool(self._settled)

    def acquire(self, data: PartitionData) -> list[AcquiredRecord]:
        """Add the acquired records of a response and return them. Damaged ones are rejected: CORRUPT_MESSAGE."""
        counts = {
            offset: each.delivery_count
            for each in data.acquired_records
            for offset in range(each.first_offset, each.last_offset + 1)
        }
        if not counts:
            return []
        try:
            decoded = decode_records(data.records or b"", min(counts), where="{}-{}".format(*self.where))
        except KafkaError:
            self._settled.update(dict.fromkeys(counts, AcknowledgeType.REJECT))
            raise
        records = [
            AcquiredRecord(*self.where, each, counts[each.offset]) for each in decoded.records if each.offset in counts
        ]
        found = {each.record.offset for each in records}
        self._waiting |= found
        self._settled.update(dict.fromkeys(counts.keys() - found, AcknowledgeType.GAP))
        return records

    def returned(self, offset: int) -> None:
        """Note that the program has the record."""
        self._waiting.remove(offset)
        self._returned.add(offset)

    def drop_waiting(self) -> None:
        """Drop the records that were not returned."""
        self._waiting.clear()

    def acknowledge(self, offset: int, kind: AcknowledgeType) -> bool:
        """Settle a returned or renewed record. Returns whether it is one."""
        for held in (self._returned, self._renewed):
            if offset in held:
                held.remove(offset)
                self._settled[offset] = kind
                return True
        return False

    def accept_returned(self) -> None:
        """Accept all returned records that have no acknowledgement."""
        self._settled.update(dict.fromkeys(self._returned, AcknowledgeType.ACCEPT))
        self._returned.clear()

    def take(self) -> list[Acknowledgement]:
        """Return the acknowledgements to send, in the order of their offsets. Renewed records stay held."""
        settled, self._settled = self._settled, {}
        self._renewed |= {offset for offset, kind in settled.items() if kind is AcknowledgeType.RENEW}
        return list(batched(settled))


def batched(settled: Mapping[int, AcknowledgeType]) -> Iterator[Acknowledgement]:
    """Yield the acknowledgements as ranges without holes."""
    for first, types in _runs(sorted(settled.items())):
        last = first + len(types) - 1
        yield Acknowledgement(first, last, types[:1] if len(set(types)) == 1 else types)


def _runs(settled: Iterable[tuple[int, AcknowledgeType]]) -> Iterator[tuple[int, list[int]]]:
    """Yield the first offset and the types of each run of adjacent offsets."""
    first, types = 0, list[int]()
    for offset, kind in settled:
        if types and offset != first + len(types):
            yield first, types
            types = []
        if not types:
            first = offset
        types.append(int(kind))
    if types:
        yield first, types
