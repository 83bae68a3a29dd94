"""The number of replicas of a topic, and how many of them must be in sync for a write.

All places use this rule: `min.insync.replicas` of the broker, at its start or at run time, or of a topic, and
`transaction.state.log.min.isr`. The number in force never exceeds the replication factor, as in Apache Kafka: a
configuration file for three nodes works on one.
"""

REPLICATION_FACTOR = 1
"""The replication factor of every topic: the catalogue accepts no partition with a replica on another node."""


def effective_min_insync_replicas(setting: int, replication_factor: int) -> int:
    """Return the minimum in force for `setting`: never more than the number of replicas, as in Kafka."""
    return min(setting, replication_factor)
