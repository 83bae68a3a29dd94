"""One node of a process: its services and its listeners. Most processes have one.

Knows sockets and services; the services determine which node leads a partition.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from barnabas.broker.api.dispatch import Dispatcher
from barnabas.broker.metadata.cluster.node_view import Node
from barnabas.broker.network.advertised_address import AdvertisedAddress
from barnabas.broker.network.socket_server import SocketServer
from barnabas.broker.partitions.fetch.fetch_sessions import FetchSessions

if TYPE_CHECKING:
    from barnabas.broker.api.authentication.sasl_listener import SaslListener
    from barnabas.broker.api.frame_handler import Wrap
    from barnabas.broker.api.stages.metering import Meter
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.metadata.image.client_quotas import ClientQuotas
    from barnabas.broker.network.admission.connection_quotas import ConnectionQuotas
    from barnabas.broker.network.bound_sockets import BoundAddress
    from barnabas.broker.network.network import Network
    from barnabas.broker.network.tls.tls_memory import TlsContextSource
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.runtime.events import Events
    from barnabas.broker.services import Services
    from barnabas.protocol.files.meta_properties import MetaProperties


class BrokerNode:
    """One node: its services and its listeners."""

    def __init__(
        self,
        services: Services,
        bound: Sequence[BoundAddress],
        make_listener: Callable[[], SocketServer],
        tls: Mapping[str, TlsContextSource],
        sasl_listeners: Mapping[str, SaslListener] | None = None,
    ) -> None:
        """Create a node with its `services` and `bound`, its listeners' sockets.

        tls, sasl_listeners: the TLS endpoints and the SASL settings of the listeners that have some, by name.
        """
        self.sasl_listeners = sasl_listeners or {}
        self.services = services
        self.bound = bound
        self.listener = make_listener()
        self._make_listener = make_listener
        self._tls = tls
        self._dispatcher: Dispatcher | None = None
        self._wrap: Wrap | None = None

    @property
    def node_id(self) -> int:
        return self.services.node.node_id

    def listen(self, network: Network, meter: Meter | None) -> Coroutine[Any, Any, Dispatcher]:
        """Accept connections. Clients of each listener get its advertised address.

        Uses the listener and the sockets at the time of the call: a node that is stopped before this has begun gets
        others when it is started again.
        """
        if self._dispatcher is None:  # for good: the services notify it, also while the node is stopped
            self._dispatcher = Dispatcher(self.services, meter=meter, sasl_listeners=self.sasl_listeners)
            self._dispatcher.intercept(self._wrap)
        dispatcher = self._dispatcher
        node = self.services.node
        gateways = network.default_gateways if self.services.config.is_container else None
        places = [
            (bound, AdvertisedAddress(node, bound.listener, bound.advertised, bound.port, gateways))
            for bound in self.bound
        ]
        return _listen(self.listener, places, dispatcher, self._tls, self.sasl_listeners)

    def intercept(self, wrap: Wrap | None) -> None:
        """Set the wrapper of its requests from now on (`Dispatcher.intercept`), also after a stop and a start."""
        self._wrap = wrap
        if self._dispatcher is not None:
            self._dispatcher.intercept(wrap)

    def come_back(self, bound: Sequence[BoundAddress]) -> None:
        """Prepare a stopped node for its start: it will listen on these sockets."""
        self.bound = bound
        self.listener = self._make_listener()

    def close_sasl_listeners(self) -> None:
        """Stop refreshing the keys of SASL tokens, because the process stops."""
        for sasl_listener in self.sasl_listeners.values():
            if sasl_listener.keys is not None:
                sasl_listener.keys.close()

    def close_coordinators(self) -> None:
        """Close the coordinators, because the process stops: waiting clients have to find the coordinator again."""
        services = self.services
        for deferred in (services.deferred_transactions, services.deferred_groups, services.deferred_shares):
            if deferred.built is not None:
                deferred.built.close()


async def _listen(
    listener: SocketServer,
    places: Sequence[tuple[BoundAddress, AdvertisedAddress]],
    dispatcher: Dispatcher,
    tls: Mapping[str, TlsContextSource],
    sasl_listeners: Mapping[str, SaslListener],
) -> Dispatcher:
    for sasl_listener in sasl_listeners.values():
        if sasl_listener.keys is not None:
            await sasl_listener.keys.begin()
    for bound, advertised in places:
        name = bound.listener.name
        await listener.listen(bound.sockets, dispatcher, advertised, name, tls.get(name))
    listener.watch_idle()
    return dispatcher


def open_listener(
    config: BrokerConfig, quotas: ClientQuotas, clock: Clock, network: Network, sockets_max: int, events: Events
) -> SocketServer:
    """Return the listener that accepts a node's connections; it does not listen yet."""
    return SocketServer(
        clock,
        network,
        request_bytes_max=config.integer("socket.request.max.bytes"),
        queued_bytes_max=config.integer("queued.max.request.bytes"),
        connections_max=lambda: config.integer("max.connections"),
        connections_idle_ms_max=config.integer("connections.max.idle.ms"),
        sockets_max=sockets_max,
        events=events,
        find_entrance=_FindEntrance(config, quotas, clock),
    )


class _FindEntrance:
    """Called at each connection: returns the connection quotas of a node if there are limits.

    Checks for limits once, and again when settings or quotas have changed.
    """

    def __init__(self, config: BrokerConfig, quotas: ClientQuotas, clock: Clock) -> None:
        self._config, self._quotas, self._clock = config, quotas, clock
        self._looked_at = (-1, -1)

    def __call__(self, listener: SocketServer) -> ConnectionQuotas | None:
        changes = self._config.changes, self._quotas.changes
        if changes == self._looked_at:
            return None
        self._looked_at = changes
        if not self._has_limits():
            return None
        from barnabas.broker.network.admission.connection_quotas import ConnectionQuotas  # few brokers have limits

        return ConnectionQuotas(
            self._config, self._quotas, self._clock, listener.refuse, listener.sockets, listener.throttled
        )

    def _has_limits(self) -> bool:
        settings = (name for _, layer in self._config.layers() for name in layer)
        if any("max.connection" in name and name != "max.connections" for name in settings):
            return True
        return any(kind == "ip" for entity in self._quotas.entities for kind, _ in entity)


def open_fetch_sessions(config: BrokerConfig, clock: Clock, random_bytes: Callable[[int], bytes]) -> FetchSessions:
    """Return the empty cache of a node's fetch sessions."""
    return FetchSessions(
        lambda: config.integer("max.incremental.fetch.session.cache.slots"),
        clock,
        lambda: int.from_bytes(random_bytes(4), "big") & 0x7FFF_FFFF or 1,
    )


def node_of(meta: MetaProperties, bound: BoundAddress, config: BrokerConfig) -> Node:
    """Return the node of this directory, with the address of its first listener."""
    address, rack = bound.advertised or bound.listener, config.value("broker.rack")
    host, port = "localhost" if address.is_every_interface else address.host, address.port or bound.port
    return Node(meta.node_id, meta.cluster_id, host, port, rack if isinstance(rack, str) else None)
