"""Stopping and starting single nodes of a process: their sockets and connections, while the others serve.

The new leaders of their partitions are chosen before (`broker/metadata/cluster/topology.py`). A node that stops accepts
no more connections at once, answers requests in flight, and closes the rest; a node that starts listens on its former
ports.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from barnabas.broker.network.bound_sockets import close_sockets

if TYPE_CHECKING:
    from barnabas.broker.api.stages.metering import Meter
    from barnabas.broker.metadata.cluster.topology import ClusterTopology
    from barnabas.broker.network.network import Network
    from barnabas.broker.server.nodes.broker_node import BrokerNode


class NodeLifecycle:
    """Stops and starts the members of one process. Registers itself with `nodes`."""

    def __init__(
        self,
        nodes: ClusterTopology,
        members: Sequence[BrokerNode],
        network: Network,
        meter: Callable[[], Meter | None],
        drain_ms: int,
    ) -> None:
        self._members = {member.node_id: member for member in members}
        self._network = network
        self._meter = meter
        self._drain_ms = drain_ms
        self._under_way: set[asyncio.Task[Any]] = set()
        nodes.on_stopped = self._stop
        nodes.on_starting = self._start

    def _stop(self, node: int) -> None:
        member = self._members[node]
        ports = [bound.port for bound in member.bound]
        member.listener.stop_accepting()
        member.services.quotas.let_go()
        for bound in member.bound:
            close_sockets(bound)
        member.bound = [bound.at(port) for bound, port in zip(member.bound, ports, strict=True)]
        self._begin(member.listener.drain(self._drain_ms))

    def _start(self, node: int) -> None:
        """Start a node: the kernel takes connections at once; the loop's next turn accepts them. Raises OSError."""
        member = self._members[node]
        for bound in member.bound:
            close_sockets(bound)
        member.services.quotas.come_back()
        member.come_back(self._network.bind_again(member.bound))
        self._begin(member.listen(self._network, self._meter()))

    def _begin(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def settled(self) -> None:
        """Wait until all nodes that are stopping or starting are done."""
        while self._under_way:
            await asyncio.wait(self._under_way)
