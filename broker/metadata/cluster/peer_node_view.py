"""The cluster as one of several nodes sees it: who is in it, and what this node leads. All of them share
`ClusterTopology`.

A peer is told the addresses of the other nodes as it would be if it had come in by them: the host it knows this node
by, and the port that the same listener has there.
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
    from barnabas.broker.metadata.catalogue import Catalogue, Topic
    from barnabas.broker.metadata.cluster.topology import ClusterTopology

Ports = Mapping[int, int]
"""Of one listener: the port to connect to by node id."""


class PeerNodeView(NodeView):
    """Of a node that has others beside it."""

    has_others = True

    def __init__(self, node_id: int, catalogue: Catalogue, nodes: ClusterTopology, ports: Sequence[Ports]) -> None:
        """`ports`: of every listener."""
        super().__init__(node_id, catalogue, leader_of=lambda topic, partition: nodes.of(topic, partition).leader)
        self._nodes = self.shared = nodes
        self._ports = ports
        self.reads_by_rack = nodes.reads_by_rack

    @property
    def controller_id(self) -> int:
        """The first node that runs: every node does what a controller does."""
        return min(self._nodes.running, default=self.node_id)

    @property
    def brokers(self) -> Sequence[int]:
        """The ids of all nodes, whether they run or not."""
        return tuple(self._nodes.brokers)

    def nodes(self, own: Node) -> tuple[Node, ...]:
        """As `NodeView.nodes`: those that run."""
        return tuple(self._as_seen(node_id, own) for node_id in self._nodes.running)

    def fenced(self, own: Node) -> tuple[Node, ...]:
        """As `NodeView.fenced`."""
        return tuple(self._as_seen(node_id, own) for node_id in sorted(self._nodes.stopped))

    def node(self, node_id: int, own: Node) -> Node:
        """As `NodeView.node`."""
        return self._as_seen(node_id, own)

    def _as_seen(self, node_id: int, own: Node) -> Node:
        ports = next((ports for ports in self._ports if ports[self.node_id] == own.port), None)
        if ports is None or node_id == self.node_id:
            return own
        return own._replace(node_id=node_id, port=ports[node_id], rack=self._nodes.racks[node_id])

    def placement_of(self, topic: str, partition: int) -> Placement:
        """As `NodeView.placement_of`."""
        return self._nodes.of(topic, partition)

    def offline(self, placement: Placement) -> list[int]:
        """As `NodeView.offline`."""
        return [node for node in placement.replicas if node in self._nodes.stopped]

    def read_replica(self, topic: str, partition: int, rack: str) -> int:
        """As `NodeView.read_replica`."""
        placement = self._nodes.of(topic, partition)
        if placement.leader != self.node_id:
            return NO_LEADER
        chosen = read_replica(placement, rack, self._nodes.racks)
        return NO_LEADER if chosen == self.node_id else chosen

    def check_may_read(self, topic: str, partition: int) -> None:
        """As `NodeView.check_may_read`: this node leads, or is in sync with who does."""
        if not may_read(self._nodes.of(topic, partition), self.node_id):
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{topic}-{partition} has no replica in sync on this node"
            )

    def led(self, topic: Topic) -> Sequence[int]:
        """As `NodeView.led`."""
        return self._nodes.led_by(self.node_id, topic.name)

    def hosted(self, topic: Topic) -> Sequence[int]:
        """As `NodeView.hosted`."""
        return self._nodes.hosted_by(self.node_id, topic.name)


class AllNodesView(PeerNodeView):
    """What the nodes share: it leads whatever one of them leads. Clients never see it."""

    def leads(self, topic: str, partition: int) -> bool:
        """Whether any node leads the partition."""
        return self._nodes.of(topic, partition).leader in self._nodes.brokers

    def check_leads(self, topic: str, partition: int) -> None:
        """KafkaError LEADER_NOT_AVAILABLE where nobody leads: unlike a load, that may last."""
        if not self.leads(topic, partition):
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"nobody leads {topic}-{partition}")

    def led(self, topic: Topic) -> Sequence[int]:
        """As `NodeView.led`, of all nodes."""
        return [number for number in range(len(topic.partitions)) if self.leads(topic.name, number)]
