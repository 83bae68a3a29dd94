"""Several nodes in one process: the parts that each node has, the calls between nodes, and changes of leaders.

Each node has its own address, listeners, view of the cluster, led partitions, coordinators and fetch sessions; all else
is shared (decision 0112). Each node has its own dispatcher, so a request is served by the node whose port it came in
by, without any look-up.

The requests between brokers of Apache Kafka are calls here: a leader calls the coordinator of a transactional id, and a
transaction coordinator has its markers written by the leaders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from barnabas.broker.clients.quotas.node_quotas import NodeQuotas
from barnabas.broker.coordinator.runtime.partition_for import partition_for
from barnabas.broker.metadata.cluster.leader_balance import LeaderBalance
from barnabas.broker.metadata.cluster.node_switching import NodeSwitching
from barnabas.broker.metadata.cluster.peer_node_view import AllNodesView, PeerNodeView
from barnabas.broker.metadata.cluster.topology import ClusterTopology
from barnabas.broker.metadata.image.image import NO_LEADER, TOPIC_RESOURCE
from barnabas.broker.partitions.node_partitions import NodePartitions
from barnabas.broker.server.coordinators import (
    Parts,
    deferred_groups,
    deferred_persister,
    deferred_shares,
    deferred_transactions,
)
from barnabas.broker.server.share_partitions import deferred_burials, deferred_share_partitions
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC, SHARE_GROUP_STATE_TOPIC, TRANSACTION_STATE_TOPIC
from barnabas.protocol.primitives import uuid_text

if TYPE_CHECKING:
    from barnabas.broker.coordinator import GroupCoordinator, TransactionCoordinator
    from barnabas.broker.coordinator.runtime.shard import AppendPosition
    from barnabas.broker.coordinator.share.share_coordinator import ShareCoordinator
    from barnabas.broker.metadata.cluster.node_view import Node, NodeView
    from barnabas.broker.metadata.cluster.placement import Placement
    from barnabas.broker.metadata.cluster.topology import PartitionKey
    from barnabas.broker.network.bound_sockets import BoundAddress
    from barnabas.broker.partitions.fetch.fetch_sessions import FetchSessions
    from barnabas.broker.partitions.flush.group_flush import GroupFlush
    from barnabas.broker.partitions.share.persister import SharePartitionKey
    from barnabas.broker.services import Services
    from barnabas.protocol.records.control import EndTxnMarker
    from barnabas.storage.disk.directory import Directory


class SharedStorageNodes:
    """The parts that several nodes share, and the services of each."""

    def __init__(
        self,
        alone: Services,
        nodes: ClusterTopology,
        parts: Parts,
        flush: GroupFlush,
        fetch_sessions: Callable[[], FetchSessions],
        ports: Sequence[Mapping[int, int]],
    ) -> None:
        """Create the nodes. `alone`: one node's services, with shared partitions. `ports`: per listener by node id."""
        self.nodes = nodes
        self._alone = alone
        self._parts = parts
        self._flush = flush
        self._shared = alone.partitions
        catalogue, own_id = parts.catalogue, alone.node.node_id
        all_of_them = AllNodesView(own_id, catalogue, nodes, ports)
        self._led_by_any = self._partitions(all_of_them)
        self._persister = deferred_persister(parts, self._shares_of)
        self._burials = deferred_burials()
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
            led_by_any=self._led_by_any,
            deferred_groups=own.deferred_groups,
            deferred_share_partitions=own.deferred_share_partitions,
            deferred_transactions=own.deferred_transactions,
            deferred_shares=own.deferred_shares,
            deferred_persister=self._persister,
            transactions_of=self._transactions_of,
            nodes=tuple(self.of_node.values()),
        )
        """The services of all nodes together, for internal use; each node's groups and transactions are its own."""
        nodes.on_moved = self._moved
        catalogue.subscribe(self)

    def _services(self, cluster: NodeView, node: Node, fetch_sessions: FetchSessions) -> Services:
        partitions, parts, catalogue = self._partitions(cluster), self._parts, self._parts.catalogue
        return replace(
            self._alone,
            node=node,
            cluster=cluster,
            partitions=partitions,
            led_by_any=self._led_by_any,
            deferred_groups=deferred_groups(self._parts, partitions, self._persister.get, self.nodes.racks_of),
            deferred_transactions=deferred_transactions(self._parts, partitions, lambda: self, self._led_by_any),
            deferred_shares=deferred_shares(self._parts, partitions),
            deferred_persister=self._persister,
            deferred_share_partitions=deferred_share_partitions(
                lambda: self.of_node[node.node_id], lambda: self._led_by_any, self._burials
            ),
            transactions_of=self._transactions_of,
            fetch_sessions=fetch_sessions,
            quotas=NodeQuotas(catalogue.client_quotas, parts.config, parts.clock, parts.events.stopwatch),
        )

    def _partitions(self, cluster: NodeView) -> NodePartitions:
        parts = self._parts
        return NodePartitions(
            self._shared,
            cluster,
            parts.catalogue,
            parts.config,
            clock=parts.clock,
            machine_clock=parts.machine_clock,
            upkeep=parts.upkeep,
            waiters=self._alone.purgatory,
            flush=self._flush,
        )

    # --- calls between nodes -----------------------------------------------------------------------------------------

    def _transactions_of(self, transactional_id: str) -> TransactionCoordinator:
        """Return the coordinator of the node that leads the id's partition; without a leader any, which refuses."""
        topic = self._parts.catalogue.topics.get(TRANSACTION_STATE_TOPIC)
        leader = NO_LEADER
        if topic is not None:
            leader = self.nodes.of(topic.name, partition_for(transactional_id, len(topic.partitions))).leader
        return self.of_node.get(leader, self.everything).transactions

    def _shares_of(self, key: SharePartitionKey) -> ShareCoordinator:
        """Return the coordinator of the node that leads the state's partition; without a leader any, which refuses."""
        topic = self._parts.catalogue.create_internal_topic(SHARE_GROUP_STATE_TOPIC)
        where = partition_for(key.coordinator_key(uuid_text(key.topic_id)), len(topic.partitions))
        return self.of_node.get(self.nodes.of(topic.name, where).leader, self.everything).shares

    def append_marker(
        self, partition: int, marker: EndTxnMarker, *, transaction_version: int, hold: bool
    ) -> AppendPosition:
        """Append a marker through the partition's group coordinator, as `OffsetMarkers.append_marker` requires."""
        coordinator = self._groups_of(partition)
        if coordinator is None:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"no node leads {CONSUMER_OFFSETS_TOPIC}-{partition}")
        return coordinator.append_marker(partition, marker, transaction_version=transaction_version, hold=hold)

    def release_marker(self, partition: int, producer_id: int, is_commit: bool) -> None:
        """Release a marker, as `OffsetMarkers.release_marker` requires."""
        coordinator = self._groups_of(partition)
        if coordinator is None:
            self._shared.release_marker(CONSUMER_OFFSETS_TOPIC, partition, producer_id)
        else:
            coordinator.release_marker(partition, producer_id, is_commit)

    def _groups_of(self, partition: int) -> GroupCoordinator | None:
        topic = self._parts.catalogue.topics.get(CONSUMER_OFFSETS_TOPIC)
        if topic is None or partition >= len(topic.partitions):
            return self.everything.groups  # which reports that there is no such partition
        found = self.of_node.get(self.nodes.of(topic.name, partition).leader)
        return None if found is None else found.groups

    # --- changes of leaders ------------------------------------------------------------------------------------------

    def _moved(self, before: Mapping[PartitionKey, Placement]) -> None:
        """Update every node after leaders moved; set the new epoch of open logs before any request can ask for it."""
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
            self._alone.purgatory.wake(topic, number)
        for leader in loads:  # the new leader handles the prepared and expired transactions there
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
        """Do nothing: no partition of it is open yet."""

    def on_topic_deleted(self, topic: object) -> None:
        """Do nothing: each part is notified itself."""

    def on_partitions_added(self, topic: object, first_new: int) -> None:
        """Do nothing: none of the partitions is open yet."""

    def on_configs_changed(self, resource_type: int, resource_name: str) -> None:
        """Count the replicas of open logs again: the shared partitions have just applied settings as for one node."""
        for log in self._shared.open_logs(resource_name if resource_type == TOPIC_RESOURCE else None):
            self._count_replicas(log.topic, log.partition)


def _resign(services: Services, topic: str, number: int) -> None:
    """End the node's leadership of the partition."""
    assert isinstance(services.partitions, NodePartitions)
    services.partitions.resign(topic, number)
    coordinator: GroupCoordinator | TransactionCoordinator | ShareCoordinator | None = None
    if topic == CONSUMER_OFFSETS_TOPIC:
        coordinator = services.deferred_groups.built
    elif topic == TRANSACTION_STATE_TOPIC:
        coordinator = services.deferred_transactions.built
    elif topic == SHARE_GROUP_STATE_TOPIC:
        coordinator = services.deferred_shares.built
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
    """Create a node per set of listeners, with ids from `alone`'s on. Raises NodesFileError, StorageError."""
    ids = range(alone.node.node_id, alone.node.node_id + len(bound))
    ports = [dict(zip(ids, (each.client_port for each in same), strict=True)) for same in zip(*bound, strict=True)]
    nodes = ClusterTopology(ids, parts.catalogue, parts.config, root, parts.upkeep.loop.call_soon, parts.events)
    NodeSwitching(nodes, parts.upkeep)
    LeaderBalance(nodes, parts.config, parts.clock, parts.upkeep)
    return SharedStorageNodes(alone, nodes, parts, flush, fetch_sessions, ports)
