"""The hosts of an entry: one host, every host, or a network in CIDR notation (metadata.version 32 and higher).

A host is an address as a connection has it. Java writes IPv6 addresses in full (`0:0:0:0:0:0:0:1`), and entries that
were made for Kafka have them so; here either spelling is the same address.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final

EVERY_HOST: Final = "*"
_PREFIX: Final = "/"


def is_within(host: str, pattern: str) -> bool:
    """Return whether the host matches the pattern of an entry."""
    if pattern in (EVERY_HOST, host):
        return True
    if _PREFIX in pattern:
        network = _network(pattern)
        address = _address(host)
        return network is not None and address is not None and address in network
    return ":" in pattern and ":" in host and _address(pattern) == _address(host)


def check_network(pattern: str) -> None:
    """Raise ValueError for a network with a wrong format."""
    address, _, length = pattern.partition(_PREFIX)
    if not length.isascii() or not length.isdigit():
        raise ValueError(f"Could not parse [{pattern}]")
    ip_network(f"{address}/{length}", strict=False)


@lru_cache(maxsize=1024)
def _network(pattern: str) -> IPv4Network | IPv6Network | None:
    """Return the network; None for a wrong format, which matches no host."""
    try:
        check_network(pattern)
    except ValueError:
        return None
    return ip_network(pattern, strict=False)


@lru_cache(maxsize=1024)
def _address(host: str) -> object:
    try:
        return ip_address(host)
    except ValueError:
        return None
