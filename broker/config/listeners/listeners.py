"""Listeners: the addresses on which the broker accepts connections, and those that it advertises to clients.

`NAME://host:port`, separated by commas; the name is a protocol or is mapped to one by
listener.security.protocol.map. The rules are Apache Kafka's, also for two listeners on the same port: allowed for one
IPv4 and one IPv6 address. An empty host means every interface.
"""

import re
from collections.abc import Iterable
from socket import AF_INET, AF_INET6, inet_pton
from typing import NamedTuple

from barnabas.protocol.security.listener_protocols import PROTOCOLS, SASL_PLAINTEXT, SASL_SSL, SSL

_LISTENER = re.compile(r"(.+)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]{1,9})")
_EVERY_INTERFACE = ("", "0.0.0.0", "::")


class Listener(NamedTuple):
    """One address, of a listener or of an advertised one."""

    name: str
    host: str
    port: int
    protocol: str

    @property
    def speaks_tls(self) -> bool:
        return self.protocol in (SSL, SASL_SSL)

    @property
    def speaks_sasl(self) -> bool:
        return self.protocol in (SASL_PLAINTEXT, SASL_SSL)

    @property
    def is_every_interface(self) -> bool:
        return self.host in _EVERY_INTERFACE

    @property
    def ip_version(self) -> int | None:
        """4 or 6; None if the host is a name, or empty."""
        for version, family in ((4, AF_INET), (6, AF_INET6)):
            try:
                inet_pton(family, self.host.partition("%")[0])
            except OSError:
                continue  # not of this version
            return version
        return None

    @property
    def address(self) -> str:
        """`host:port` in the usual notation."""
        return address_text(self.host, self.port)


def address_text(host: str, port: int) -> str:
    """Return `host:port`, with IPv6 in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_listeners(key: str, addresses: Iterable[str], protocol_map: dict[str, str]) -> list[Listener]:
    """Parse the listeners of one key. ValueError with a sentence that names the key and the address."""
    listeners = [_parse_listener(key, address, protocol_map) for address in addresses]
    names = [listener.name for listener in listeners]
    if len(set(names)) != len(names):
        raise ValueError(f"{key}: each listener must have a different name, but they are {', '.join(names)}")
    return listeners


def check_ports(key: str, listeners: list[Listener]) -> None:
    """Raise ValueError if two listeners use the same port, unless one of them is on IPv4 and the other on IPv6."""
    for port in {listener.port for listener in listeners} - {0}:
        sharing = [listener for listener in listeners if listener.port == port]
        if len(sharing) > 1 and sorted(each.ip_version or 0 for each in sharing) != [4, 6]:
            named = " and ".join(listener.name for listener in sharing)
            raise ValueError(f"{key}: {named} have the same port, {port}: give each listener its own port")


def check_advertised(key: str, listeners: list[Listener]) -> None:
    """Raise ValueError for an address that clients cannot connect to."""
    for listener in listeners:
        if listener.host and listener.is_every_interface:
            raise ValueError(
                f"{key}: {listener.name}://{listener.address} is not an address that clients can connect to: "
                "set the host or the address by which they reach this broker"
            )


def _parse_listener(key: str, address: str, protocol_map: dict[str, str]) -> Listener:
    match = _LISTENER.fullmatch(address)
    if match is None:
        raise ValueError(f"{key}: {address} is not of the form NAME://host:port")
    name, port = match[1].upper(), int(match[3])
    if not 0 <= port <= 65535:
        raise ValueError(f"{key}: {address} has a port outside 0 to 65535")
    protocol = protocol_map.get(name)
    if protocol is None:
        raise ValueError(f"{key}: listener.security.protocol.map has no protocol for {name}")
    return Listener(name, match[2], port, protocol)


def parse_protocol_map(text: str) -> dict[str, str]:
    """Parse `NAME:PROTOCOL,…`. ValueError for anything else."""
    protocols = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, colon, protocol = pair.partition(":")
        if not colon or protocol.strip().upper() not in PROTOCOLS:
            raise ValueError(f"listener.security.protocol.map: {pair} is not of the form NAME:PROTOCOL")
        protocols[name.strip().upper()] = protocol.strip().upper()
    return protocols
