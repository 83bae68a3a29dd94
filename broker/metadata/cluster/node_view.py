"""The cluster as this node sees it: who is in it, who leads a partition, who coordinates a key.

Whoever has to know asks here, and says NOT_LEADER_OR_FOLLOWER or NOT_COORDINATOR by the answer; no other module takes
for granted that it is this node. It is asked where something is opened or loaded: a partition that this node does not
lead is not opened (`broker/partitions/partitions.py`), one of a coordinator's topic not loaded
(`broker/coordinator/runtime/ownership.py`). What is open was asked about; whoever moves leaders takes it away
(`broker/server/nodes/shared_storage_nodes.py`).

This is the cluster of one node, which leads everything and is every partition's one replica. With `--brokers` there
are more (`member.py`). A key's coordinator is the node that leads the partition it is kept in
(`broker/coordinator/runtime/placement.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.metadata.cluster.placement import Placement
from barnabas.broker.metadata.image.image import NO_LEADER
from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.metadata.catalogue import Catalogue, Topic
    from barnabas.broker.metadata.cluster.topology import ClusterTopology


class Node(NamedTuple):
    """A broker as clients see it in Metadata."""

    node_id: int
    cluster_id: str
    host: str
    """The host to connect to."""
    port: int
    """The port to connect to: the one bound, when port 0 was asked for."""
    rack: str | None = None


class NodeView:
    """Of this node, and perhaps of others."""

    has_others = False
    """Whether other nodes may lead what this one does not."""
    reads_by_rack = False
    """Whether a consumer may be sent to a replica in its rack."""
    shared: ClusterTopology | None = None
    """What the nodes share where there are several in this process: by it leaders are moved, and nodes stopped."""

    def __init__(
        self,
        node_id: int,
        catalogue: Catalogue,
        others: Sequence[Node] = (),
        leader_of: Callable[[str, int], int] | None = None,
    ) -> None:
        """`leader_of`: the id of the node that leads (topic, partition); None if it is always this one."""
        self.node_id = node_id
        """This node's."""
        self._alone = Placement((node_id,), (node_id,), node_id)
        self._leads_all = leader_of is None
        self.leader_of = leader_of or (lambda topic, partition: node_id)
        """The id of the node that leads (topic, partition), which has to exist."""
        self.coordinator_of = self.leader_of
        """The id of the node that coordinates the keys kept in (coordinator's topic, partition)."""
        self.leader_epoch = catalogue.announced_epoch
        """The leader epoch that clients are given for a partition of the catalogue."""
        self._others = tuple(others)

    @property
    def controller_id(self) -> int:
        """The id of the node that is the controller."""
        return self.node_id

    @property
    def brokers(self) -> Sequence[int]:
        """The ids of the nodes that a partition may have replicas on."""
        return (self.node_id,)

    def nodes(self, own: Node) -> tuple[Node, ...]:
        """All nodes, by their ids; `own` is this one as the peer is to know it."""
        return tuple(sorted((own, *self._others))) if self._others else (own,)

    def fenced(self, own: Node) -> tuple[Node, ...]:
        """The nodes that belong to the cluster and do not run; `own` as for `nodes`."""
        return ()

    def node(self, node_id: int, own: Node) -> Node:
        """The node of this id, which is in the cluster; `own` as for `nodes`."""
        return next(node for node in self.nodes(own) if node.node_id == node_id)

    def placement_of(self, topic: str, partition: int) -> Placement:
        """The nodes that have a copy of the partition, which has to exist, and which of them leads."""
        if self._leads_all:
            return self._alone
        leader = self.leader_of(topic, partition)
        return Placement((leader,), (leader,), leader)

    def offline(self, placement: Placement) -> list[int]:
        """The replicas on nodes that do not run."""
        return []

    def led(self, topic: Topic) -> Sequence[int]:
        """The numbers of the topic's partitions that this node leads."""
        numbers = range(len(topic.partitions))
        return [number for number in numbers if self.leads(topic.name, number)] if self._others else numbers

    def hosted(self, topic: Topic) -> Sequence[int]:
        """The numbers of the topic's partitions that this node has a replica of."""
        return self.led(topic)

    def leads(self, topic: str, partition: int) -> bool:
        """Whether this node leads the partition."""
        return self.leader_of(topic, partition) == self.node_id

    def read_replica(self, topic: str, partition: int, rack: str) -> int:
        """The node that a consumer in this rack is to read from; NO_LEADER unless it is another one, and this leads."""
        return NO_LEADER

    def check_may_read(self, topic: str, partition: int) -> None:
        """KafkaError NOT_LEADER_OR_FOLLOWER unless consumers may read the partition here."""
        self.check_leads(topic, partition)

    def check_leads(self, topic: str, partition: int) -> None:
        """KafkaError NOT_LEADER_OR_FOLLOWER unless this node leads the partition."""
        if not self.leads(topic, partition):
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{topic}-{partition} is led by another node")
