"""Several nodes in one process: the parts that each has of its own, what they ask of each other, and leaders that move.

A node's own are its address, its listeners, what it knows of the cluster, the partitions it leads, its coordinators
and its fetch sessions; all else is one for all (decision 0112). Each node has a dispatcher of its own, so a request is
served by the node whose port it came in by, and asks nobody which that is.

What brokers of Apache Kafka tell each other is a call here: a leader asks the coordinator of a transactional id, and a
transaction coordinator has its markers written by whoever leads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from barnabas.broker.clients.quotas.node_quotas import NodeQuotas
from barnabas.broker.coordinator.runtime.placement import partition_for
from barnabas.broker.metadata.cluster.leader_balance import LeaderBalance
from barnabas.broker.metadata.cluster.peer_node_view import AllNodesView, PeerNodeView
from barnabas.broker.metadata.cluster.switching import Switching
from barnabas.broker.metadata.cluster.topology import ClusterTopology
from barnabas.broker.metadata.image.image import NO_LEADER, TOPIC_RESOURCE
from barnabas.broker.partitions.node_partitions import NodePartitions
from barnabas.broker.server.coordinators import Parts, deferred_groups, deferred_transactions
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC

if TYPE_CHECKING:
    from barnabas.broker.coordinator import GroupCoordinator, TransactionCoordinator
    from barnabas.broker.coordinator.runtime.shard import Appended
    from barnabas.broker.metadata.cluster.node_view import Node, NodeView
    from barnabas.broker.metadata.cluster.placement import Placement
    from barnabas.broker.metadata.cluster.topology import PartitionKey
    from barnabas.broker.network.bound import BoundAddress
    from barnabas.broker.partitions.fetch.fetch_sessions import FetchSessions
    from barnabas.broker.partitions.flush.flushing import GroupFlush
    from barnabas.broker.services import Services
    from barnabas.protocol.records.control import EndTxnMarker
    from barnabas.storage.disk.directory import Directory


class SharedStorageNodes:
    """What several nodes share, and the services of each."""

    def __init__(
        self,
        alone: Services,
        nodes: ClusterTopology,
        parts: Parts,
        flush: GroupFlush,
        fetch_sessions: Callable[[], FetchSessions],
        ports: Sequence[Mapping[int, int]],
    ) -> None:
        """`alone`: what one node would have, whose partitions are shared. `ports`: of each listener, by node id."""
        self.nodes = nodes
        self._alone = alone
        self._parts = parts
        self._flush = flush
        self._shared = alone.partitions
        catalogue, own_id = parts.catalogue, alone.node.node_id
        all_of_them = AllNodesView(own_id, catalogue, nodes, ports)
        self._led_by_any = self._partitions(all_of_them)
        self.of_node = {
            node_id: self._services(
                PeerNodeView(node_id, catalogue, nodes, ports),
                alone.node._replace(node_id=node_id, port=ports[0][node_id], rack=nodes.racks[node_id]),
                fetch_sessions(),
            )
            for node_id in nodes.brokers
        }
        """The services of each node."""
        own = self.of_node[own_id]
        self.everything = replace(
            alone,
            node=own.node,
            cluster=all_of_them,
            partitions=self._led_by_any,
            deferred_groups=own.deferred_groups,
            deferred_transactions=own.deferred_transactions,
            transactions_of=self._transactions_of,
            nodes=tuple(self.of_node.values()),
        )
        """What all nodes have together, for who looks from inside; each node's groups and transactions are its own."""
        nodes.on_moved = self._moved
        catalogue.subscribe(self)

    def _services(self, cluster: NodeView, node: Node, fetch_sessions: FetchSessions) -> Services:
        partitions, parts, catalogue = self._partitions(cluster), self._parts, self._parts.catalogue
        return replace(
            self._alone,
            node=node,
            cluster=cluster,
            partitions=partitions,
            deferred_groups=deferred_groups(self._parts, partitions, self.nodes.racks_of),
            deferred_transactions=deferred_transactions(self._parts, partitions, lambda: self, self._led_by_any),
            transactions_of=self._transactions_of,
            fetch_sessions=fetch_sessions,
            quotas=NodeQuotas(catalogue.client_quotas, parts.config, parts.clock, parts.events.stopwatch),
        )

    def _partitions(self, cluster: NodeView) -> NodePartitions:
        parts, waiters = self._parts, self._alone.waiters
        clocks = parts.clock, parts.machine_clock
        return NodePartitions(
            self._shared, cluster, parts.catalogue, parts.config, *clocks, parts.upkeep, waiters, self._flush
        )

    # --- what nodes ask of each other --------------------------------------------------------------------------------

    def _transactions_of(self, transactional_id: str) -> TransactionCoordinator:
        """The coordinator of the node that leads the id's partition; of any, which refuses, where nobody does."""
        topic = self._parts.catalogue.topics.get(TRANSACTION_STATE_TOPIC)
        leader = NO_LEADER
        if topic is not None:
            leader = self.nodes.of(topic.name, partition_for(transactional_id, len(topic.partitions))).leader
        return self.of_node.get(leader, self.everything).transactions

    def append_marker(self, partition: int, marker: EndTxnMarker, *, transaction_version: int, hold: bool) -> Appended:
        """As `OffsetMarkers.append_marker`: by the group coordinator that has the partition."""
        coordinator = self._groups_of(partition)
        if coordinator is None:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"nobody leads {CONSUMER_OFFSETS_TOPIC}-{partition}")
        return coordinator.append_marker(partition, marker, transaction_version=transaction_version, hold=hold)

    def release_marker(self, partition: int, producer_id: int, is_commit: bool) -> None:
        """As `OffsetMarkers.release_marker`."""
        coordinator = self._groups_of(partition)
        if coordinator is None:
            self._shared.release_marker(CONSUMER_OFFSETS_TOPIC, partition, producer_id)
        else:
            coordinator.release_marker(partition, producer_id, is_commit)

    def _groups_of(self, partition: int) -> GroupCoordinator | None:
        topic = self._parts.catalogue.topics.get(CONSUMER_OFFSETS_TOPIC)
        if topic is None or partition >= len(topic.partitions):
            return self.everything.groups  # which says that there is no such partition
        found = self.of_node.get(self.nodes.of(topic.name, partition).leader)
        return None if found is None else found.groups

    # --- leaders that move -------------------------------------------------------------------------------------------

    def _moved(self, before: Mapping[PartitionKey, Placement]) -> None:
        """Every node is told; a log that is open has its new epoch before anybody can ask for it."""
        loads: set[int] = set()
        for (topic, number), was in before.items():
            leader = self.nodes.of(topic, number).leader
            if self._shared.is_open(topic, number):
                epoch = self._parts.catalogue.current_leader_epoch(topic, number)
                self._shared.get(topic, number).set_leader_epoch(epoch)
            if leader != was.leader:
                self._led_by_any.resign(topic, number)
                if was.leader in self.of_node:
                    _resign(self.of_node[was.leader], topic, number)
                if topic == TRANSACTION_STATE_TOPIC and leader != NO_LEADER:
                    loads.add(leader)
            self._count_replicas(topic, number)
            self._alone.waiters.wake(topic, number)
        for leader in loads:  # what is prepared or too old there is the new leader's business
            self.of_node[leader].transactions.load_in_background()

    def _count_replicas(self, topic: str, number: int) -> None:
        if self._shared.is_open(topic, number):
            for partitions in self._every_view():
                partitions.count_replicas(self._shared.get(topic, number))

    def _every_view(self) -> Iterator[NodePartitions]:
        yield self._led_by_any
        for services in self.of_node.values():
            assert isinstance(services.partitions, NodePartitions)
            yield services.partitions

    # --- called by the catalogue -------------------------------------------------------------------------------------

    def on_topic_created(self, topic: object) -> None:
        """Nothing is open of it yet."""

    def on_topic_deleted(self, topic: object) -> None:
        """Each part hears of it."""

    def on_partitions_added(self, topic: object, first_new: int) -> None:
        """Nothing is open of them yet."""

    def on_configs_changed(self, resource_type: int, resource_name: str) -> None:
        """The shared partitions have just given the logs their settings, as if there were one node."""
        for log in self._shared.open_logs(resource_name if resource_type == TOPIC_RESOURCE else None):
            self._count_replicas(log.topic, log.partition)


def _resign(services: Services, topic: str, number: int) -> None:
    """The node does not lead the partition any more."""
    assert isinstance(services.partitions, NodePartitions)
    services.partitions.resign(topic, number)
    coordinator: GroupCoordinator | TransactionCoordinator | None = None
    if topic == CONSUMER_OFFSETS_TOPIC:
        coordinator = services.deferred_groups.built
    elif topic == TRANSACTION_STATE_TOPIC:
        coordinator = services.deferred_transactions.built
    if coordinator is not None:
        coordinator.resign(number)


def join(
    alone: Services,
    bound: Sequence[Sequence[BoundAddress]],
    parts: Parts,
    flush: GroupFlush,
    fetch_sessions: Callable[[], FetchSessions],
    root: Directory,
) -> SharedStorageNodes:
    """Make as many nodes of one as there are sets of listeners: ids from the one's on. NodesFileError, StorageError."""
    ids = range(alone.node.node_id, alone.node.node_id + len(bound))
    ports = [dict(zip(ids, (each.client_port for each in same), strict=True)) for same in zip(*bound, strict=True)]
    nodes = ClusterTopology(ids, parts.catalogue, parts.config, root, parts.upkeep.loop.call_soon, parts.events)
    Switching(nodes, parts.upkeep)
    LeaderBalance(nodes, parts.config, parts.clock, parts.upkeep)
    return SharedStorageNodes(alone, nodes, parts, flush, fetch_sessions, ports)
