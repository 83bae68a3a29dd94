"""Limits of connections as they are written: addresses, and `max.connections.per.ip.overrides`.

A host other than `localhost` must be an address: resolving a name would block the event loop for all clients.
"""

from collections.abc import Mapping

OVERRIDES = "max.connections.per.ip.overrides"


def parsed_address(text: str) -> str | None:
    """Return an address in this broker's notation, or None if the text is no address."""
    from ipaddress import ip_address  # few brokers have limits of addresses

    try:
        return str(ip_address("127.0.0.1" if text == "localhost" else text))
    except ValueError:
        return None


def parsed_overrides(text: str) -> Mapping[str, int]:
    """Return the limit of connections of each address: `ADDRESS:COUNT`, separated by commas. ValueError for others."""
    overrides = {}
    for part in filter(None, map(str.strip, text.split(","))):
        host, _, count = part.rpartition(":")
        address = parsed_address(host.strip())
        if address is None or not count.strip().isdecimal():
            raise ValueError(f"{part} is not ADDRESS:COUNT")
        overrides[address] = int(count)
    return overrides
