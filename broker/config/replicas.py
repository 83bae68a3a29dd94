"""How many replicas a topic has, and how many of them have to be in sync before a write counts.

The one place that says so, wherever the number was asked for: `min.insync.replicas` of the broker, at its start or
while it runs, or of a topic, or `transaction.state.log.min.isr`.
"""

REPLICATION_FACTOR = 1
"""Of every topic: the catalogue takes no partition with another replica than this node."""


def effective_min_insync_replicas(setting: int, replication_factor: int) -> int:
    """The number in force where `setting` was asked for: never more than there are replicas at all, as in Kafka."""
    return min(setting, replication_factor)
