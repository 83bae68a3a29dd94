"""The cluster as this node sees it: its nodes, the leader of each partition, the coordinator of each key.

Every other module looks these up here and answers NOT_LEADER_OR_FOLLOWER or NOT_COORDINATOR accordingly; none assumes
that it is this node. The look-up is made where something is opened or loaded: a partition that this node does not lead
is not opened (`broker/partitions/partitions.py`), a partition of a coordinator's topic not loaded
(`broker/coordinator/runtime/coordinator_partitions.py`). An open partition was checked when it was opened; a change of
leader closes it (`broker/server/nodes/shared_storage_nodes.py`).

This is the cluster of one node, which leads every partition and has its only replica. With `--brokers` there are more
(`peer_node_view.py`). A key's coordinator is the node that leads the partition where the key is stored
(`broker/coordinator/runtime/partition_for.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.metadata.cluster.placement import Placement
from barnabas.broker.metadata.image.image import NO_LEADER
from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.metadata.catalogue import Catalogue, TopicImage
    from barnabas.broker.metadata.cluster.topology import ClusterTopology


class Node(NamedTuple):
    """A broker as clients see it in Metadata."""

    node_id: int
    cluster_id: str
    host: str
    """The host to connect to."""
    port: int
    """The port to connect to: the one that was bound, if port 0 was configured."""
    rack: str | None = None


class NodeView:
    """The cluster as one node sees it."""

    has_others = False
    """Whether other nodes may lead the partitions that this node does not lead."""
    reads_by_rack = False
    """Whether a consumer may be directed to a replica in its rack (KIP-392)."""
    shared: ClusterTopology | None = None
    """The state shared by several nodes of this process: used to move leaders and to stop nodes. None with one node."""

    def __init__(
        self,
        node_id: int,
        catalogue: Catalogue,
        others: Sequence[Node] = (),
        leader_of: Callable[[str, int], int] | None = None,
    ) -> None:
        """Create the view. `leader_of`: the node id of the leader of (topic, partition); None if always this node."""
        self.node_id = node_id
        """The id of this node."""
        self._alone = Placement((node_id,), (node_id,), node_id)
        self._leads_all = leader_of is None
        self.leader_of = leader_of or (lambda topic, partition: node_id)
        """The id of the node that leads (topic, partition), which must exist."""
        self.coordinator_of = self.leader_of
        """The id of the node that coordinates the keys stored in (coordinator's topic, partition)."""
        self.leader_epoch = catalogue.announced_epoch
        """The leader epoch that clients get for a partition of the catalogue."""
        self._others = tuple(others)

    @property
    def is_alone(self) -> bool:
        """Whether this node has the only replica of every partition, and leads it."""
        return self._leads_all and not self._others

    @property
    def controller_id(self) -> int:
        """The id of the node that is the controller."""
        return self.node_id

    @property
    def brokers(self) -> Sequence[int]:
        """The ids of the nodes that a partition may have replicas on."""
        return (self.node_id,)

    def nodes(self, own: Node) -> tuple[Node, ...]:
        """Return all nodes, ordered by id; `own` is this node as the client knows it."""
        return tuple(sorted((own, *self._others))) if self._others else (own,)

    def fenced(self, own: Node) -> tuple[Node, ...]:
        """Return the nodes that belong to the cluster and are not running; `own` as for `nodes`."""
        return ()

    def node(self, node_id: int, own: Node) -> Node:
        """Return the node with this id, which is in the cluster; `own` as for `nodes`."""
        return next(node for node in self.nodes(own) if node.node_id == node_id)

    def placement_of(self, topic: str, partition: int) -> Placement:
        """Return the nodes that have a replica of the partition, which must exist, and its leader."""
        if self._leads_all:
            return self._alone
        leader = self.leader_of(topic, partition)
        return Placement((leader,), (leader,), leader)

    def offline(self, placement: Placement) -> list[int]:
        """Return the replicas on nodes that are not running."""
        return []

    def led(self, topic: TopicImage) -> Sequence[int]:
        """Return the numbers of the topic's partitions that this node leads."""
        numbers = range(len(topic.partitions))
        return [number for number in numbers if self.leads(topic.name, number)] if self._others else numbers

    def hosted(self, topic: TopicImage) -> Sequence[int]:
        """Return the numbers of the topic's partitions that this node has a replica of."""
        return self.led(topic)

    def leads(self, topic: str, partition: int) -> bool:
        """Return whether this node leads the partition."""
        return self.leader_of(topic, partition) == self.node_id

    def read_replica(self, topic: str, partition: int, rack: str) -> int:
        """Return the other node that a consumer in this rack should read from; NO_LEADER if none or not leading."""
        return NO_LEADER

    def check_may_read(self, topic: str, partition: int) -> None:
        """Raise KafkaError NOT_LEADER_OR_FOLLOWER unless consumers may read the partition here."""
        self.check_leads(topic, partition)

    def check_leads(self, topic: str, partition: int) -> None:
        """Raise KafkaError NOT_LEADER_OR_FOLLOWER unless this node leads the partition."""
        if not self.leads(topic, partition):
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{topic}-{partition} is led by another node")
