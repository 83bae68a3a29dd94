"""Sockets for the listeners of the configuration: bound before anything else, to report a port in use first.

Knows addresses and sockets; they do not listen yet.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Sequence
from typing import NamedTuple

from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.listeners.listeners import Listener as Address
from barnabas.broker.config.listeners.listeners import address_text

_PORT_ATTEMPTS = 16
_PORT_MAX = 65535
_NO_IPV6 = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)
_KERNEL_SEND_BYTES = 256 << 10
"""For each connection. By default the kernel gives 4 MB, and a thousand peers that do not read then use all its memory
for TCP.
"""


class BoundAddress(NamedTuple):
    """A listener of the configuration, with the sockets that serve it."""

    listener: Address
    advertised: Address | None
    """The address for its clients; None for the address they came in by."""
    sockets: list[socket.socket]

    @property
    def port(self) -> int:
        """The port, also when 0 was configured."""
        return self.listener.port or int(self.sockets[0].getsockname()[1])

    @property
    def client_port(self) -> int:
        """The port that clients connect to."""
        return (self.advertised.port if self.advertised else 0) or self.port

    def at(self, port: int) -> BoundAddress:
        """Return the same with this port, also where 0 was configured: closed sockets have no port any more."""
        return self._replace(listener=self.listener._replace(port=port))

    @property
    def address(self) -> str:
        """`host:port` as in the ready line."""
        return address_text(self.listener.host or "0.0.0.0", self.port)


def bind_nodes(config: BrokerConfig, count: int, shifts: Sequence[int] = ()) -> list[list[BoundAddress]]:
    """Bind sockets for every listener of this many nodes: the ports of each follow those of the one before.

    `shifts`: the distances of the ports of each node from those of the first, where they do not follow. Raises
    ValueError where they would overlap those of another listener or be above 65535, OSError like `bind_listeners`.
    """
    shifts = shifts or range(count)
    _check_shifted(config, count, max(shifts))
    first: dict[int, Address] = {}
    for listener in config.listeners if count > 1 else ():
        for port in range(listener.port, listener.port + count) if listener.port else ():
            other = first.setdefault(port, listener)
            if other.port != listener.port:
                raise ValueError(
                    f"{count} nodes need {count} ports from each listener's on: {other.name} has {port}, too"
                )
    bound: list[list[BoundAddress]] = []
    try:
        for number, shift in enumerate(shifts):
            bound.append(bind_listeners(config, shift, number))
    except OSError:
        for each in bound:
            for listening in each:
                close_sockets(listening)
        raise
    return bound


def _check_shifted(config: BrokerConfig, count: int, shift_max: int) -> None:
    """Raise ValueError where a port of the last node would be above 65535."""
    shifted = [(listener, shift_max) for listener in config.listeners]
    shifted += [(advertised, count - 1) for each in config.listeners if (advertised := config.advertised(each))]
    for address, shift in shifted:
        if address.port and address.port + shift > _PORT_MAX:
            raise ValueError(
                f"{count} nodes need {count} ports from each listener's on: there are too few from {address.address} on"
            )


def bind_listeners(config: BrokerConfig, shift: int = 0, number: int = 0) -> list[BoundAddress]:
    """Bind sockets for every listener of the configuration. OSError names the address it fails for in `filename`.

    `shift`: the distance of its ports from those of the configuration, and `number` that of the advertised ones;
    0 stays 0.
    """
    listeners = [_shifted(listener, shift) for listener in config.listeners]
    ports = [listener.port for listener in listeners]
    bound: list[BoundAddress] = []
    try:
        for listener in listeners:
            try:
                sockets = bind(listener.host, listener.port, alone=ports.count(listener.port) == 1)
            except OSError as error:
                error.filename = listener.address
                raise
            advertised = config.advertised(_shifted(listener, -shift))
            bound.append(BoundAddress(listener, advertised and _shifted(advertised, number), sockets))
    except OSError:
        for each in bound:
            close_sockets(each)
        raise
    return bound


def bind_again(given_back: Sequence[BoundAddress]) -> list[BoundAddress]:
    """Bind new listening sockets for addresses that were closed. Raises OSError."""
    ports = [each.port for each in given_back]
    bound: list[BoundAddress] = []
    try:
        for each in given_back:
            sockets = bind(each.listener.host, each.port, alone=ports.count(each.port) == 1)
            bound.append(each._replace(sockets=sockets))
            for listening in sockets:
                listening.listen()
    except OSError:
        for each in bound:
            close_sockets(each)
        raise
    return bound


def _shifted(address: Address, shift: int) -> Address:
    return address._replace(port=address.port + shift) if address.port and shift else address


def close_sockets(bound: BoundAddress) -> None:
    """Close the sockets of the address."""
    for each in bound.sockets:
        each.close()


def bind(host: str, port: int, *, alone: bool = True) -> list[socket.socket]:
    """Return sockets bound to `host` and `port`; port 0 takes a free one, the same for every address of the host.

    Unless another listener has the port on the other version of IP (not `alone`), 127.0.0.1 and `localhost` also mean
    ::1 where there is one, so that both reach us whatever a client resolves first, and `::` also means IPv4. An empty
    host is every interface of both. Raises OSError when the address cannot be bound.
    """
    if host == "":
        try:
            return [_bound(socket.AF_INET6, ("::", port))]
        except OSError as error:
            if error.errno not in _NO_IPV6:
                raise
            return [_bound(socket.AF_INET, ("0.0.0.0", port))]
    if host not in ("127.0.0.1", "localhost") or not alone:
        try:
            found = socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM)
        except UnicodeError as error:
            raise OSError(errno.EINVAL, "no name of a host can be like that") from error
        family, _, _, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)  # IPv4 first, as in Java
        return [_bound(family, address, is_ipv6_only=not alone)]
    for _ in range(_PORT_ATTEMPTS):
        first = _bound(socket.AF_INET, ("127.0.0.1", port))
        try:
            return [first, _bound(socket.AF_INET6, ("::1", first.getsockname()[1]))]
        except OSError as error:
            if port != 0 or error.errno != errno.EADDRINUSE:
                return [first]
            first.close()
    raise OSError(errno.EADDRINUSE, "no port is free on both 127.0.0.1 and ::1")


def _bound(
    family: int,
    address: tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes],
    *,
    is_ipv6_only: bool = False,
) -> socket.socket:
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KERNEL_SEND_BYTES)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, is_ipv6_only or address[0] != "::")
        bound.bind(address)
        bound.setblocking(False)
    except OSError:
        bound.close()
        raise
    return bound
