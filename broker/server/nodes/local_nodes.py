"""The nodes of this process, together at each stage of a start and of a stop. Most processes have one.

Knows how a node performs each stage; the composition root (broker.py) determines the order of the stages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.coordinator.transaction.prepared_transactions import finish_transactions, recover_transactions
from barnabas.broker.server.nodes.broker_node import BrokerNode, open_fetch_sessions, open_listener
from barnabas.broker.server.sasl_listeners import open_sasl_listeners

if TYPE_CHECKING:
    from barnabas.broker.api.dispatch import Dispatcher
    from barnabas.broker.api.stages.metering import Meter
    from barnabas.broker.network.bound_sockets import BoundAddress
    from barnabas.broker.network.tls.tls_memory import TlsContextSource
    from barnabas.broker.partitions.flush.group_flush import GroupFlush
    from barnabas.broker.server.coordinators import Parts
    from barnabas.broker.server.environment import Environment
    from barnabas.broker.server.nodes.node_lifecycle import NodeLifecycle
    from barnabas.broker.server.nodes.shared_storage_nodes import SharedStorageNodes
    from barnabas.broker.services import Services
    from barnabas.storage.disk.directory import Directory

_DRAIN_MS = 1_500


class LocalNodes:
    """The nodes of this process."""

    def __init__(
        self,
        services: Services,
        bound: Sequence[Sequence[BoundAddress]],
        parts: Parts,
        flush: GroupFlush,
        root: Directory,
        environment: Environment,
        tls: Mapping[str, TlsContextSource],
        sockets_max: int,
    ) -> None:
        """Create the nodes. `services`: one node's, which several share. `bound`: the listeners of each, own first.

        root: where the set of stopped nodes is stored. tls: the TLS endpoints of listeners that use TLS, by name.
        sockets_max: how many connections a node has descriptors for.
        """
        self._network = environment.network
        self.meter: Meter | None = None
        """Counts requests, if metrics are enabled."""
        self.shared_storage = _joined(services, bound, parts, flush, root) if len(bound) > 1 else None
        of_node = {services.node.node_id: services} if self.shared_storage is None else self.shared_storage.of_node
        self.services = services if self.shared_storage is None else self.shared_storage.everything
        """The services of the only node, or those of all nodes together."""
        quotas, clock, network = parts.catalogue.client_quotas, parts.machine_clock, environment.network
        listening = partial(open_listener, parts.config, quotas, clock, network, sockets_max, parts.events)
        sasl_listeners = [open_sasl_listeners(each, clock, environment.random) for each in of_node.values()]
        nodes = zip(of_node.values(), bound, sasl_listeners, strict=True)
        self.each = [BrokerNode(node, at, listening, tls, node_listeners) for node, at, node_listeners in nodes]
        self.lifecycle = None if self.shared_storage is None else self._open_lifecycle(self.shared_storage)
        """Stops and starts single nodes, if there are several."""

    def _open_lifecycle(self, together: SharedStorageNodes) -> NodeLifecycle:
        from barnabas.broker.server.nodes.node_lifecycle import NodeLifecycle

        return NodeLifecycle(together.nodes, self.each, self._network, lambda: self.meter, _DRAIN_MS)

    def running(self) -> Sequence[BrokerNode]:
        """Return the nodes that are not stopped."""
        stopped = self.shared_storage.nodes.stopped if self.shared_storage is not None else ()
        return [member for member in self.each if member.node_id not in stopped]

    # --- a start ---------------------------------------------------------------------------------------------------

    async def recover_transactions(self) -> None:
        """Complete the transactions that a killed run left prepared."""
        for member in self.running():
            await recover_transactions(member.services.transactions)

    def load_transactions(self) -> None:
        """Load the transactions, so that those that no producer continues are aborted by their timeout."""
        for member in self.running():
            member.services.transactions.load_in_background()

    async def listen(self) -> Dispatcher:
        """Accept connections on all running nodes; return the dispatcher of the first."""
        dispatcher, *_ = [await member.listen(self._network, self.meter) for member in self.running()]
        return dispatcher

    # --- a stop ----------------------------------------------------------------------------------------------------

    def stop_accepting(self) -> None:
        """Accept no new connections."""
        for member in self.each:
            member.listener.stop_accepting()

    def close_sasl_listeners(self) -> None:
        """Stop refreshing the keys of SASL tokens."""
        for member in self.each:
            member.close_sasl_listeners()

    async def finish_transactions(self) -> bool:
        """Complete the prepared transactions; return whether all are complete."""
        are_finished = True
        for transactions in filter(None, [member.services.deferred_transactions.built for member in self.each]):
            are_finished &= await finish_transactions(transactions)
        return are_finished

    def close_coordinators(self) -> None:
        """Close the coordinators: waiting clients have to find the coordinator again."""
        for member in self.each:
            member.close_coordinators()

    async def drain(self) -> None:
        """Close every connection once its request is answered, or after a timeout."""
        for member in self.each:
            member.services.quotas.let_go()
            await member.listener.drain(_DRAIN_MS)

    def abort(self) -> None:
        """Close every connection at once, and accept none."""
        for member in self.each:
            member.listener.stop_accepting()
            member.services.quotas.let_go()
            member.listener.abort()

    def close_partitions(self) -> None:
        """Close the partitions: nothing is appended or read any more."""
        for member in self.each:
            member.services.partitions.close_all()


def _joined(
    services: Services, bound: Sequence[Sequence[BoundAddress]], parts: Parts, flush: GroupFlush, root: Directory
) -> SharedStorageNodes:
    """Return the nodes of a process with several."""
    from barnabas.broker.server.nodes.shared_storage_nodes import join

    sessions = partial(open_fetch_sessions, parts.config, parts.clock, parts.random_bytes)
    return join(services, bound, parts, flush, sessions, root)
