"""Compacted topics: settings that keep a log cleaner at work all the time, and what a topic's keys come to.

The tests of the stack are right without a cleaner, and with one. What they check of a compacted topic is the last value
of each key, read from its start: a cleaner that loses a live key, or drops a tombstone while an older record of its key
is still there, shows as a key too few or too many.
"""

from collections.abc import Mapping

from confluent_kafka.admin import AdminClient, NewTopic

from tests.compat.clients.confluent import Confluent
from tests.support.waiting import PATIENCE_S

ROLL_MS = 300
BUSY_CLEANER = {
    "log.cleaner.backoff.ms": 200,
    "log.cleaner.min.cleanable.ratio": 0.01,
    "log.cleaner.delete.retention.ms": 100,
    "log.roll.ms": ROLL_MS,  # of the internal topics, too: the cleaner leaves the active segment alone
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
}
COMPACTED_TOPIC = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "segment.ms": str(ROLL_MS),
    "delete.retention.ms": "100",
}


def make_compacted(address: str, *names: str, partitions: int = 1) -> None:
    """Make compacted topics."""
    for name in names:
        make_topic(address, name, partitions, COMPACTED_TOPIC)


def make_topic(address: str, name: str, partitions: int, config: Mapping[str, str] | None = None) -> None:
    """Make a topic, by default without retention."""
    admin = AdminClient({"bootstrap.servers": address})
    topic = NewTopic(name, partitions, config={"cleanup.policy": "delete", "retention.ms": "-1", **(config or {})})
    admin.create_topics([topic])[name].result(timeout=PATIENCE_S)


def last_values(address: str, topic: str) -> dict[str, bytes]:
    """By key, its last committed value; a key whose last record is a tombstone is not there."""
    found: dict[str, bytes] = {}
    for record in Confluent().read(address, topic):
        assert record.key is not None
        if record.value is None:
            found.pop(record.key.decode(), None)
        else:
            found[record.key.decode()] = record.value
    return found
