"""The replica that a consumer should read from: the one in its rack (KIP-392). Pure decisions over several nodes.

As in Apache Kafka's RackAwareReplicaSelector: the leader if the consumer names no rack, or the leader's rack; else an
in-sync replica in that rack; else the leader. Of several replicas Kafka takes the one with the most records, and then
the one that was behind most recently; here every node has all records (decision 0112), so the last rule decides: the
highest id.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.broker.metadata.cluster.placement import Placement


def read_replica(placement: Placement, rack: str, racks: Mapping[int, str | None]) -> int:
    """Return the id of the node that a consumer in `rack` should read from. The partition has a leader."""
    if not rack or racks.get(placement.leader) == rack:
        return placement.leader
    return max((node for node in placement.isr if racks.get(node) == rack), default=placement.leader)


def may_read(placement: Placement, node: int) -> bool:
    """Return whether consumers may read from the node: it is the leader, or in sync with it."""
    return placement.leader >= 0 and node in placement.isr
