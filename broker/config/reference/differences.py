"""The defaults that differ from Apache Kafka 4.4.0's, with the reasons. Imported only on demand.

A test compares the tables of keys with Kafka's own classes, and this table with both.
"""

from typing import NamedTuple


class Difference(NamedTuple):
    """A different default: `kafkas` is Kafka's default, None if Kafka has none."""

    kafkas: str | None
    why: str


DIFFERENT_DEFAULTS = {
    "node.id": Difference(None, "one broker needs no number"),
    "broker.id": Difference("-1", "it is node.id under its older name"),
    "listeners": Difference("PLAINTEXT://:9092", "a broker on a laptop is not for the whole network"),
    "log.dir": Difference("/tmp/kafka-logs", "data belong where the broker was started, not in /tmp"),
    "queued.max.request.bytes": Difference("-1", "a thousand slow senders would fill the memory"),
    "group.initial.rebalance.delay.ms": Difference("3000", "a lone consumer in a test should not wait three seconds"),
    "offsets.topic.replication.factor": Difference("3", "there is one node"),
    "transaction.state.log.replication.factor": Difference("3", "there is one node"),
    "transaction.state.log.min.isr": Difference("2", "there is one node"),
    "share.coordinator.state.topic.replication.factor": Difference("3", "there is one node"),
    "share.coordinator.state.topic.min.isr": Difference("2", "there is one node"),
    "process.roles": Difference(None, "this node is the only one"),
    "controller.listener.names": Difference(None, "nothing is opened for a controller quorum"),
}
