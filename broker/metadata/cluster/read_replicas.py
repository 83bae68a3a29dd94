"""Which replica a consumer is to read from: the one in its rack (KIP-392). Pure decisions over several nodes.

Apache Kafka's RackAwareReplicaSelector: the leader unless the consumer says where it is, and where the leader is there,
too; else a replica in sync in that rack; else the leader. Of several replicas it takes the one that has most, and was
behind last; every node has all there is (decision 0112), so what decides is the last rule, the highest id.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.broker.metadata.cluster.placement import Placement


def read_replica(placement: Placement, rack: str, racks: Mapping[int, str | None]) -> int:
    """The id of the node that a consumer in `rack` is to read from. Somebody leads the partition."""
    if not rack or racks.get(placement.leader) == rack:
        return placement.leader
    return max((node for node in placement.isr if racks.get(node) == rack), default=placement.leader)


def may_read(placement: Placement, node: int) -> bool:
    """Whether consumers may read from the node: it leads, or is in sync with who does."""
    return placement.leader >= 0 and node in placement.isr
