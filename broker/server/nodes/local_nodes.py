"""The nodes of this process, together at each stage of a start and of a stop. Most processes have one.

Knows what a stage is for a node; when each of them comes is the business of the composition root (app.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.coordinator.transaction.prepared_transactions import finish_transactions, recover_transactions
from barnabas.broker.server.nodes.broker_node import BrokerNode, open_fetch_sessions, open_listener
from barnabas.broker.server.sasl_listeners import open_doors

if TYPE_CHECKING:
    from barnabas.broker.api.dispatch import Dispatcher
    from barnabas.broker.api.stages.metering import Meter
    from barnabas.broker.network.bound import BoundAddress
    from barnabas.broker.network.tls.tls_memory import Endpoint
    from barnabas.broker.partitions.flush.flushing import GroupFlush
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
        tls: Mapping[str, Endpoint],
        sockets_max: int,
    ) -> None:
        """`services`: what one node would have, which several share. `bound`: where each is reached, this one first.

        root: where it is kept which of several are stopped. tls: how those listeners speak it that do, by name.
        sockets_max: how many connections a node has descriptors for.
        """
        self._network = environment.network
        self.meter: Meter | None = None
        """What counts requests, where somebody wants to know."""
        self.together = _joined(services, bound, parts, flush, root) if len(bound) > 1 else None
        of_node = {services.node.node_id: services} if self.together is None else self.together.of_node
        self.services = services if self.together is None else self.together.everything
        """Those of the only node, or what all have together."""
        quotas, clock, network = parts.catalogue.client_quotas, parts.machine_clock, environment.network
        listening = partial(open_listener, parts.config, quotas, clock, network, sockets_max, parts.events)
        doors = [open_doors(each, clock, environment.random) for each in of_node.values()]
        nodes = zip(of_node.values(), bound, doors, strict=True)
        self.each = [BrokerNode(node, at, listening, tls, asking) for node, at, asking in nodes]
        self.lifecycle = None if self.together is None else self._open_lifecycle(self.together)
        """What stops and starts single nodes, where there are several."""

    def _open_lifecycle(self, together: SharedStorageNodes) -> NodeLifecycle:
        from barnabas.broker.server.nodes.node_lifecycle import NodeLifecycle

        return NodeLifecycle(together.nodes, self.each, self._network, lambda: self.meter, _DRAIN_MS)

    def running(self) -> Sequence[BrokerNode]:
        """The nodes that are not stopped."""
        stopped = self.together.nodes.stopped if self.together is not None else ()
        return [member for member in self.each if member.node_id not in stopped]

    # --- a start ---------------------------------------------------------------------------------------------------

    async def recover_transactions(self) -> None:
        """Finish what a killed run left prepared."""
        for member in self.running():
            await recover_transactions(member.services.transactions)

    def load_transactions(self) -> None:
        """Look at what there is, so that what nobody goes on with is aborted by its timeout."""
        for member in self.running():
            member.services.transactions.load_in_background()

    async def listen(self) -> Dispatcher:
        """Accept connections on all that run; the dispatcher of the first."""
        dispatcher, *_ = [await member.listen(self._network, self.meter) for member in self.running()]
        return dispatcher

    # --- a stop ----------------------------------------------------------------------------------------------------

    def stop_accepting(self) -> None:
        """No new connections."""
        for member in self.each:
            member.listener.stop_accepting()

    def close_doors(self) -> None:
        """Nothing is kept fresh for those who come in."""
        for member in self.each:
            member.close_doors()

    async def finish_transactions(self) -> bool:
        """End those that are prepared; whether all are."""
        are_finished = True
        for transactions in filter(None, [member.services.deferred_transactions.built for member in self.each]):
            are_finished &= await finish_transactions(transactions)
        return are_finished

    def close_coordinators(self) -> None:
        """Whoever waits for them is to look for the coordinator again."""
        for member in self.each:
            member.close_coordinators()

    async def drain(self) -> None:
        """Close every connection once its request is answered, at the latest after a while."""
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
        """Nothing is appended or read any more."""
        for member in self.each:
            member.services.partitions.close_all()


def _joined(
    services: Services, bound: Sequence[Sequence[BoundAddress]], parts: Parts, flush: GroupFlush, root: Directory
) -> SharedStorageNodes:
    """The nodes, where there are several."""
    from barnabas.broker.server.nodes.shared_storage_nodes import join

    sessions = partial(open_fetch_sessions, parts.config, parts.clock, parts.random_bytes)
    return join(services, bound, parts, flush, sessions, root)
