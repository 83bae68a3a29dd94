"""Listeners: where the broker accepts connections, and what it tells clients to connect to.

`NAME://host:port`, separated by commas; the name is a protocol or is mapped to one by
listener.security.protocol.map. Listeners named by controller.listener.names belong to a controller quorum of Kafka's
and are not opened here. An empty host means every interface; what is advertised for it, unless advertised.listeners
says, is `localhost`.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

PLAINTEXT = "PLAINTEXT"
PROTOCOLS = (PLAINTEXT, "SSL", "SASL_PLAINTEXT", "SASL_SSL")

_LISTENER = re.compile(r"([^:/]+)://(?:\[([^\]]*)\]|([^:\]]*)):(-?[0-9]+)")
_EVERY_INTERFACE = ("", "0.0.0.0", "::")


class Listener(NamedTuple):
    """One address, of a listener or of an advertised one."""

    name: str
    host: str
    port: int
    protocol: str

    @property
    def is_every_interface(self) -> bool:
        return self.host in _EVERY_INTERFACE


def parse_listeners(key: str, addresses: Iterable[str], protocol_map: dict[str, str]) -> list[Listener]:
    """The listeners of one key. ValueError with a sentence that names the key and the address."""
    listeners = [_parse_listener(key, address, protocol_map) for address in addresses]
    names = [listener.name for listener in listeners]
    if len(set(names)) != len(names):
        raise ValueError(f"{key}: each listener must have a different name, but they are {', '.join(names)}")
    return listeners


def _parse_listener(key: str, address: str, protocol_map: dict[str, str]) -> Listener:
    match = _LISTENER.fullmatch(address)
    if match is None:
        raise ValueError(f"{key}: {address} is not of the form NAME://host:port")
    name, port = match[1].upper(), int(match[4])
    if not 0 <= port <= 65535:
        raise ValueError(f"{key}: {address} has a port outside 0 to 65535")
    protocol = protocol_map.get(name)
    if protocol is None:
        raise ValueError(f"{key}: listener.security.protocol.map does not say which protocol {name} speaks")
    return Listener(name, match[3] if match[2] is None else match[2], port, protocol)


def parse_protocol_map(text: str) -> dict[str, str]:
    """`NAME:PROTOCOL,…`. ValueError for anything else."""
    protocols = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, colon, protocol = pair.partition(":")
        if not colon or protocol.strip().upper() not in PROTOCOLS:
            raise ValueError(f"listener.security.protocol.map: {pair} is not of the form NAME:PROTOCOL")
        protocols[name.strip().upper()] = protocol.strip().upper()
    return protocols
