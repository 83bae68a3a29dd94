"""Addresses of brokers in text form: `host:port`, several separated by commas, IPv6 in brackets."""

from __future__ import annotations

from typing import NamedTuple

DEFAULT_PORT = 9092


class Address(NamedTuple):
    """The address at which a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_addresses(text: str) -> list[Address]:
    """Return the addresses in `text`, in order; ValueError with a sentence for the user. The default port is 9092."""
    addresses = [_parse_address(part.strip()) for part in text.split(",") if part.strip()]
    if not addresses:
        raise ValueError("no broker address: expected HOST:PORT")
    return addresses


def _parse_address(text: str) -> Address:
    if text.startswith("["):
        host, bracket, port = text[1:].partition("]")
        if not bracket or (port and not port.startswith(":")):
            raise ValueError(f"not a broker address: {text!r} (IPv6 is written [::1]:9092)")
        port = port[1:]
    elif text.count(":") > 1:
        raise ValueError(f"not a broker address: {text!r} (IPv6 is written [::1]:9092)")
    else:
        host, _, port = text.partition(":")
    if not host or (port and not (port.isascii() and port.isdecimal())) or int(port or DEFAULT_PORT) > 65535:
        raise ValueError(f"not a broker address: {text!r} (expected HOST:PORT)")
    return Address(host, int(port or DEFAULT_PORT))
