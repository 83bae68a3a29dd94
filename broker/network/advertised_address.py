"""The address this broker advertises to a peer: in responses to Metadata, FindCoordinator and DescribeCluster.

The address in advertised.listeners of the listener; else the address by which the peer came in, since that one works
for it. In a container a peer may come in by a mapped port: then it comes from the default gateway (or, where ports are
forwarded without root, from the container's own address), and the container's address means nothing to it; the
answer is `localhost` and the listener's port. So the port has to be mapped to the same number, or advertised.listeners
be set.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from socket import AF_INET6, inet_ntoa, inet_ntop
from typing import TYPE_CHECKING

from barnabas.broker.metadata.cluster.node_view import Node

if TYPE_CHECKING:
    from asyncio import BaseTransport

    from barnabas.broker.config.listeners.listeners import Listener as Address

_LOCALHOST = "localhost"
_MAPPED = "::ffff:"
_IPV4_ROUTES, _IPV6_ROUTES = "/proc/net/route", "/proc/net/ipv6_route"
_ANYWHERE = "00000000"
_IS_GATEWAY = 2


class AdvertisedAddress:
    """The address that is advertised to the peers of one listener."""

    def __init__(
        self,
        node: Node,
        listener: Address,
        configured: Address | None,
        port: int,
        gateways: Callable[[], set[str]] | None,
    ) -> None:
        """Prepare the address. configured: to advertise, None for the one a peer came in by. port: the one bound.

        gateways: in a container, a function that returns the default gateways; else None.
        """
        self._node = node._replace(port=(configured.port if configured else 0) or port)
        if configured is not None:
            self._node = self._node._replace(host=configured.host)
        self._is_configured = configured is not None
        self._is_everywhere = listener.is_every_interface
        self._gateways = gateways

    def to(self, local_host: str, peer_host: str) -> Node:
        """Return this broker's node for a peer that came from `peer_host` to `local_host`."""
        if self._is_configured:
            return self._node
        if self._gateways is not None:
            is_forwarded = self._is_everywhere and peer_host == local_host and not local_host.startswith("127.")
            if is_forwarded or peer_host in self._gateways():
                return self._node._replace(host=_LOCALHOST)
        return self._node._replace(host=local_host)


def peer_of(transport: BaseTransport) -> tuple[str, int]:
    """Return address and port of the peer, as used by ACLs and limits; `?` where it has closed already."""
    host, port = (transport.get_extra_info("peername") or ("?", 0))[:2]
    return plain_host(host), port


def plain_host(host: str) -> str:
    """Return an address in its usual form: IPv4 that came in over an IPv6 socket as IPv4."""
    return host.removeprefix(_MAPPED) if "." in host else host


def default_gateways() -> set[str]:
    """Return the default gateways of this machine or container; none where they cannot be read."""
    return gateways_of(_read(_IPV4_ROUTES), _read(_IPV6_ROUTES))


def gateways_of(ipv4_routes: str, ipv6_routes: str) -> set[str]:
    """Return the default gateways in the kernel's two tables of routes."""
    found = set()
    for line in ipv4_routes.splitlines()[1:]:
        _, destination, gateway, flags, *_ = line.split()
        if destination == _ANYWHERE and int(flags, 16) & _IS_GATEWAY:
            found.add(inet_ntoa(struct.pack("=I", int(gateway, 16))))
    for line in ipv6_routes.splitlines():
        destination, length, _, _, gateway, _, _, _, flags, *_ = line.split()
        if length == "00" and not int(destination, 16) and int(flags, 16) & _IS_GATEWAY:
            found.add(inet_ntop(AF_INET6, bytes.fromhex(gateway)))
    return found


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except OSError:  # another system than Linux, or no IPv6
        return ""
