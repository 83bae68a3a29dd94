"""What came of a topic's rows: read back as a consumer of committed records reads it, and held against what went in.

A row is its key and a number that counts the key's rows, so that every row is known, and its place among its key's.
This is on purpose not the pipeline's own audit: two that are written apart have to agree.
"""

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.client.admin.topics import create_topic, describe_topics
from barnabas.client.admin.transactions import list_transactions
from barnabas.client.client import Client
from barnabas.client.consume.consumer import ConsumedRecord
from barnabas.client.produce.producer import Producer
from barnabas.protocol.log_records.transaction_states import OPEN_STATES
from pyspark_barnabas.commit.ledger import Decided, LedgerRecord, decode_value
from tests.support.clients.committed import read

PARTITIONS = 2
KEYS = 20

Row = tuple[bytes, int]


@dataclass(frozen=True)
class Verdict:
    """How many rows are missing, there more than once, and behind a later one of their key."""

    rows: int
    lost: int
    duplicated: int
    reordered: int

    @property
    def is_exact(self) -> bool:
        return (self.lost, self.duplicated, self.reordered) == (0, 0, 0)

    def __str__(self) -> str:
        return f"{self.rows} rows: {self.lost} lost, {self.duplicated} duplicated, {self.reordered} reordered"


def fill(bootstrap: str, topic: str, rows: int, *, seed: int = 0) -> list[Row]:
    """Make a topic with so many rows, of keys in a random order; what was written."""
    choose = random.Random(seed)
    counts: Counter[bytes] = Counter()
    written: list[Row] = []
    with Client(bootstrap) as client:
        create_topic(client, topic, partitions=PARTITIONS)
        with Producer(client) as producer:
            for _ in range(rows):
                key = b"key-%d" % choose.randrange(KEYS)
                producer.send(topic, b"%d" % counts[key], key=key)
                written.append((key, counts[key]))
                counts[key] += 1
    return written


def make_topic(bootstrap: str, topic: str) -> None:
    """An empty topic to write to."""
    with Client(bootstrap) as client:
        create_topic(client, topic, partitions=PARTITIONS)


def audit(bootstrap: str, topic: str, expected: Iterable[Row]) -> Verdict:
    """The verdict about what consumers of committed records see."""
    wanted = Counter(expected)
    seen: Counter[Row] = Counter()
    last: dict[bytes, int] = {}
    reordered = 0
    for _, _, record in committed(bootstrap, topic):
        assert record.key is not None
        assert record.value is not None
        row = record.key, int(record.value)
        reordered += row[1] < last.get(row[0], -1) and not seen[row]
        last[row[0]] = max(row[1], last.get(row[0], -1))
        seen[row] += 1
    strangers = sum((Counter(set(seen)) - Counter(set(wanted))).values())
    duplicated = sum((seen - Counter(set(seen))).values()) + strangers
    return Verdict(seen.total(), (wanted - seen).total(), duplicated, reordered)


def committed(bootstrap: str, topic: str) -> list[ConsumedRecord]:
    """All committed records of a topic, partition by partition. It fails when a transaction holds readers back."""
    with Client(bootstrap) as client:
        [info] = describe_topics(client, [topic])
        found = read(client, [(topic, each) for each in range(len(info.partitions))])
    return sorted(found, key=lambda each: (each.partition, each.record.offset))


def read_ledger(bootstrap: str, prefix: str) -> list[LedgerRecord]:
    """The ledger's records."""
    return [decode_value(each.record.value) for each in committed(bootstrap, f"__{prefix}.ledger")]


def check_ledger(bootstrap: str, prefix: str, rows: int) -> int:
    """The ledger agrees: batches without a gap, rows that add up, one record a run. How many batches."""
    records = read_ledger(bootstrap, prefix)
    decided = [each for each in records if isinstance(each, Decided)]
    assert [each.batch_id for each in decided] == list(range(len(decided)))
    assert sum(each.rows for each in decided) == rows
    runs = [each.run_id for each in records if not isinstance(each, Decided) and each.sequence == 0]
    assert len(runs) == len(set(runs))
    return len(decided)


def open_transactions(bootstrap: str, prefix: str) -> list[str]:
    """The ids under a prefix that have an open transaction."""
    with Client(bootstrap) as client:
        found = list_transactions(client, states=sorted(OPEN_STATES))
    return [each.transactional_id for each in found if each.transactional_id.startswith(f"{prefix}.")]
