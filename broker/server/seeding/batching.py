"""The records of a seed in batches of partitions, all of them before the first one is sent.

So a record that does not fit is found while nothing is applied yet. Only the encoded batches lie in memory: as much as
the log will have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.broker.runtime.garbage_collection import collections_paused
from barnabas.broker.server.seeding.checking import BrokerFacts, partitions_of
from barnabas.broker.server.seeding.contents import Place, content, records_of
from barnabas.broker.server.seeding.document import SeedRecord
from barnabas.broker.server.seeding.reading import SeedSource
from barnabas.client.produce.batching import record_size
from barnabas.client.produce.new_batch import NewBatch, encode
from barnabas.client.produce.partitioner import partition_for_key
from barnabas.client.produce.producer import BATCH_BYTES
from barnabas.protocol.records.batch import HEADER_SIZE
from barnabas.protocol.records.builder import NewRecord, build_batch

_TIMES = 1 << 63  # timestamps have 64 bits with a sign


class PlacedRecord(NamedTuple):
    """A record with its partition."""

    topic: str
    partition: int
    record: NewRecord


class SeedRecords(NamedTuple):
    """The batches of all topics, the records of each transaction, and the number of records."""

    batches: list[NewBatch]
    transactions: list[list[PlacedRecord]]
    records_count: int


@collections_paused()
def prepare(source: SeedSource, facts: BrokerFacts, now_ms: int) -> SeedRecords:
    """Return the records of a checked seed. Raises SeedError for one that does not fit.

    now_ms: the timestamp of records without one, in ms since 1970.
    """
    seed, partitions = source.seed, partitions_of(source, facts)
    limits = {each.name: _message_bytes_max(each.config, facts) for each in seed.topics}
    batches: list[NewBatch] = []
    count = 0
    for index, topic in enumerate(seed.topics):
        rules = _TopicRules(topic.name, partitions[topic.name], limits[topic.name])
        collected = _Batches(rules)
        collected.add_all(records_of(source, index), now_ms)
        batches += collected.finish()
        count += collected.count
    transactions = []
    for index, txn in enumerate(seed.transactions):
        of_topic: dict[str, _TopicRules] = {}
        placed = []
        for number, record in enumerate(txn.records):
            name = record.topic
            if name not in of_topic:
                of_topic[name] = _TopicRules(name, partitions[name], limits.get(name, facts.message_bytes_max))
            place = Place(source, ("transactions", index, "records"), number)
            new = content(place, record, now_ms)
            placed.append(PlacedRecord(name, of_topic[name].partition(place, record.partition, new.key), new))
            of_topic[name].size(place, new)
        transactions.append(placed)
        count += len(placed)
    return SeedRecords(batches, transactions, count)


def _message_bytes_max(config: Mapping[str, object], facts: BrokerFacts) -> int:
    text = str(config.get("max.message.bytes", facts.message_bytes_max))
    return int(text) if text.isdecimal() else facts.message_bytes_max  # the broker refuses what is no number


class _TopicRules:
    """Where a record of a topic goes, and whether it fits."""

    def __init__(self, topic: str, partitions: int, message_bytes_max: int) -> None:
        self.topic, self.message_bytes_max = topic, message_bytes_max
        self._partitions = partitions
        self._turn = 0

    def partition(self, place: Place, given: int | None, key: bytes | None) -> int:
        """Return the given partition, that of the key, or the next one in turn. Raises SeedError."""
        if given is not None:
            if given >= self._partitions:
                what = f"the topic {self.topic} has {self._partitions}, from 0 to {self._partitions - 1}"
                raise place.error(what, "partition")
            return given
        if key is not None:
            return partition_for_key(key, self._partitions)
        self._turn += 1
        return (self._turn - 1) % self._partitions

    def size(self, place: Place, record: NewRecord) -> int:
        """Return an upper bound for what the record adds to a batch. Raises SeedError where it has no place in one."""
        if record.timestamp >= _TIMES:
            raise place.error(f"{record.timestamp} is no time in ms since 1970", "timestamp")
        size = record_size(record.key, record.value, record.headers)
        if (
            size + HEADER_SIZE > self.message_bytes_max
            and (exact := len(build_batch([record]))) > self.message_bytes_max
        ):
            what = f"a record of {exact} bytes is larger than max.message.bytes of {self.topic}"
            raise place.error(f"{what}, {self.message_bytes_max}")
        return size


class _Batches:
    """The records of one topic, collected by partition: batches below the limit of the topic."""

    def __init__(self, rules: _TopicRules) -> None:
        self.count = 0
        self._rules = rules
        self._batch_bytes = min(BATCH_BYTES, rules.message_bytes_max)
        self._records: dict[int, list[NewRecord]] = {}
        self._sizes: dict[int, int] = {}
        self._full: list[NewBatch] = []

    def add_all(self, records: Iterable[tuple[Place, SeedRecord]], now_ms: int) -> None:
        """Add records. Raises SeedError for one that does not fit."""
        sizes, batch_bytes = self._sizes, self._batch_bytes
        partition_of, size_of = self._rules.partition, self._rules.size
        for place, given in records:
            record = content(place, given, now_ms)
            partition, size = partition_of(place, given.partition, record.key), size_of(place, record)
            total = sizes.get(partition, batch_bytes) + size
            if total > batch_bytes:
                self._close(partition)
                total = HEADER_SIZE + size
            self._records[partition].append(record)
            sizes[partition] = total
            self.count += 1

    def finish(self) -> list[NewBatch]:
        """Return all batches, those of each partition in order."""
        for partition in sorted(self._records):
            self._close(partition)
        return self._full

    def _close(self, partition: int) -> None:
        records = self._records.get(partition)
        if records:
            self._full.append(encode((self._rules.topic, partition), records))
        self._records[partition] = []
