"""One node of a process: what serves its clients, and where they come in. Most processes have one.

Knows sockets and services; which node leads what is the services' business.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from barnabas.broker.api.dispatch import Dispatcher
from barnabas.broker.cluster.cluster import Node
from barnabas.broker.net.advertised import AdvertisedAddress
from barnabas.broker.net.listener import Listener
from barnabas.broker.partitions.fetch_sessions import FetchSessions

if TYPE_CHECKING:
    from barnabas.broker.api.entry import Wrap
    from barnabas.broker.api.metering import Meter
    from barnabas.broker.clock import Clock
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.context import Services
    from barnabas.broker.events import Events
    from barnabas.broker.net.bound import BoundAddress
    from barnabas.broker.net.network import Network
    from barnabas.protocol.files.meta_properties import MetaProperties


class Member:
    """One node: what serves its clients, and where they come in."""

    def __init__(
        self, services: Services, bound: Sequence[BoundAddress], make_listener: Callable[[], Listener]
    ) -> None:
        """`services` are the node's, `bound` its listeners' sockets."""
        self.services = services
        self.bound = bound
        self.listener = make_listener()
        self._make_listener = make_listener
        self._dispatcher: Dispatcher | None = None
        self._wrap: Wrap | None = None

    @property
    def node_id(self) -> int:
        return self.services.node.node_id

    def listen(self, network: Network, meter: Meter | None) -> Coroutine[Any, Any, Dispatcher]:
        """Accept connections. Clients of each listener are given its advertised address.

        By the listener and on the sockets that there are at the call: a node that is stopped before this has begun has
        others when it comes back.
        """
        self._dispatcher = dispatcher = Dispatcher(self.services, meter=meter)
        dispatcher.intercept(self._wrap)
        node = self.services.node
        gateways = network.default_gateways if self.services.config.is_container else None
        places = [
            (bound, AdvertisedAddress(node, bound.listener, bound.advertised, bound.port, gateways))
            for bound in self.bound
        ]
        return _listen(self.listener, places, dispatcher)

    def intercept(self, wrap: Wrap | None) -> None:
        """See `Dispatcher.intercept`: for its requests from now on, also when it is stopped and comes back."""
        self._wrap = wrap
        if self._dispatcher is not None:
            self._dispatcher.intercept(wrap)

    def come_back(self, bound: Sequence[BoundAddress]) -> None:
        """The node was stopped: these sockets are to be listened on."""
        self.bound = bound
        self.listener = self._make_listener()

    def close_coordinators(self) -> None:
        """The process stops: whoever waits for them is to look for the coordinator again."""
        for deferred in (self.services.deferred_transactions, self.services.deferred_groups):
            if deferred.built is not None:
                deferred.built.close()


async def _listen(
    listener: Listener, places: Sequence[tuple[BoundAddress, AdvertisedAddress]], dispatcher: Dispatcher
) -> Dispatcher:
    for bound, advertised in places:
        await listener.listen(bound.sockets, dispatcher, advertised, bound.listener.name)
    listener.watch_idle()
    return dispatcher


def open_listener(config: BrokerConfig, clock: Clock, network: Network, sockets_max: int, events: Events) -> Listener:
    """What accepts a node's connections, nowhere yet."""
    return Listener(
        clock,
        network,
        request_bytes_max=config.integer("socket.request.max.bytes"),
        queued_bytes_max=config.integer("queued.max.request.bytes"),
        connections_max=lambda: config.integer("max.connections"),
        connections_idle_ms_max=config.integer("connections.max.idle.ms"),
        sockets_max=sockets_max,
        events=events,
    )


def open_fetch_sessions(config: BrokerConfig, clock: Clock, random_bytes: Callable[[int], bytes]) -> FetchSessions:
    """A node's fetch sessions, none yet."""
    return FetchSessions(
        lambda: config.integer("max.incremental.fetch.session.cache.slots"),
        clock,
        lambda: int.from_bytes(random_bytes(4), "big") & 0x7FFF_FFFF or 1,
    )


def node_of(meta: MetaProperties, bound: BoundAddress, config: BrokerConfig) -> Node:
    """The node whose directory this is, under the address of its first listener."""
    address, rack = bound.advertised or bound.listener, config.value("broker.rack")
    host, port = "localhost" if address.is_every_interface else address.host, address.port or bound.port
    return Node(meta.node_id, meta.cluster_id, host, port, rack if isinstance(rack, str) else None)
