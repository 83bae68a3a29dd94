"""The parts of a node that pages read: its sockets, its connections, and the authentication of its clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from barnabas.broker.api.authentication.sasl_listener import SaslListener
    from barnabas.broker.network.bound_sockets import BoundAddress
    from barnabas.broker.network.socket_server import SocketServer


class ServedNode(Protocol):
    """A node of this process that accepts clients."""

    sasl_listeners: Mapping[str, SaslListener]
    """By the names of its listeners that speak SASL."""
    bound: Sequence[BoundAddress]
    listener: SocketServer

    @property
    def node_id(self) -> int:
        """The node id in the cluster."""
