"""The cluster as one of several nodes sees it: its nodes, and the partitions that this node leads. All nodes share
`ClusterTopology`.

A client gets addresses of the other nodes that correspond to the listener of its connection: the host by which it knows
this node, and the port that the same listener has on the other node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.broker.metadata.cluster.node_view import Node, NodeView
from barnabas.broker.metadata.cluster.placement import Placement
from barnabas.broker.metadata.cluster.read_replicas import may_read, read_replica
from barnabas.broker.metadata.image.image import NO_LEADER
from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.metadata.catalogue import Catalogue, TopicImage
    from barnabas.broker.metadata.cluster.topology import ClusterTopology

Ports = Mapping[int, int]
"""The ports of one listener, by node id."""


class PeerNodeView(NodeView):
    """The view of a node that is one of several."""

    has_others = True

    def __init__(self, node_id: int, catalogue: Catalogue, nodes: ClusterTopology, ports: Sequence[Ports]) -> None:
        """Create the view. `ports`: one mapping per listener."""
        super().__init__(node_id, catalogue, leader_of=lambda topic, partition: nodes.of(topic, partition).leader)
        self._nodes = self.shared = nodes
        self._ports = ports
        self.reads_by_rack = nodes.reads_by_rack

    @property
    def controller_id(self) -> int:
        """The lowest id of a running node: every node does what a controller does."""
        return min(self._nodes.running, default=self.node_id)

    @property
    def brokers(self) -> Sequence[int]:
        """The ids of all nodes, running or not."""
        return tuple(self._nodes.brokers)

    def nodes(self, own: Node) -> tuple[Node, ...]:
        """Return the nodes that are running, like `NodeView.nodes`."""
        return tuple(self._as_seen(node_id, own) for node_id in self._nodes.running)

    def fenced(self, own: Node) -> tuple[Node, ...]:
        """Return the stopped nodes, like `NodeView.fenced`."""
        return tuple(self._as_seen(node_id, own) for node_id in sorted(self._nodes.stopped))

    def node(self, node_id: int, own: Node) -> Node:
        """Return the node with this id, like `NodeView.node`."""
        return self._as_seen(node_id, own)

    def _as_seen(self, node_id: int, own: Node) -> Node:
        ports = next((ports for ports in self._ports if ports[self.node_id] == own.port), None)
        if ports is None or node_id == self.node_id:
            return own
        return own._replace(node_id=node_id, port=ports[node_id], rack=self._nodes.racks[node_id])

    def placement_of(self, topic: str, partition: int) -> Placement:
        """Return the placement of the partition, like `NodeView.placement_of`."""
        return self._nodes.of(topic, partition)

    def offline(self, placement: Placement) -> list[int]:
        """Return the replicas on stopped nodes, like `NodeView.offline`."""
        return [node for node in placement.replicas if node in self._nodes.stopped]

    def read_replica(self, topic: str, partition: int, rack: str) -> int:
        """Return the node to read from, like `NodeView.read_replica`."""
        placement = self._nodes.of(topic, partition)
        if placement.leader != self.node_id:
            return NO_LEADER
        chosen = read_replica(placement, rack, self._nodes.racks)
        return NO_LEADER if chosen == self.node_id else chosen

    def check_may_read(self, topic: str, partition: int) -> None:
        """Raise as `NodeView.check_may_read` unless this node is the leader or is in sync with it."""
        if not may_read(self._nodes.of(topic, partition), self.node_id):
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{topic}-{partition} has no replica in sync on this node"
            )

    def led(self, topic: TopicImage) -> Sequence[int]:
        """Return the numbers of the partitions that this node leads, like `NodeView.led`."""
        return self._nodes.led_by(self.node_id, topic.name)

    def hosted(self, topic: TopicImage) -> Sequence[int]:
        """Return the numbers of the partitions that this node has a replica of, like `NodeView.hosted`."""
        return self._nodes.hosted_by(self.node_id, topic.name)


class AllNodesView(PeerNodeView):
    """The view of all nodes together, which leads every partition that any node leads. Not visible to clients."""

    def leads(self, topic: str, partition: int) -> bool:
        """Return whether any node leads the partition."""
        return self._nodes.of(topic, partition).leader in self._nodes.brokers

    def check_leads(self, topic: str, partition: int) -> None:
        """Raise KafkaError LEADER_NOT_AVAILABLE if no node leads it: unlike a load, that may last."""
        if not self.leads(topic, partition):
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"{topic}-{partition} has no leader")

    def led(self, topic: TopicImage) -> Sequence[int]:
        """Return the numbers of the partitions that any node leads, like `NodeView.led`."""
        return [number for number in range(len(topic.partitions)) if self.leads(topic.name, number)]
