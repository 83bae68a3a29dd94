"""HOST:PORT, as of `--http`: the address where a broker serves HTTP."""

from __future__ import annotations

from barnabas.broker.cli.terminal.failures import UsageError


def parse_http_address(given: str, option: str = "--http") -> tuple[str, int]:
    """Return the host, without brackets, and the port. UsageError, which names the option, for an invalid address."""
    scheme, has_scheme, _ = given.partition("://")
    if has_scheme:
        raise UsageError(f"{option} {given}: give HOST:PORT, without {scheme}://")
    host, colon, port = given.rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal() and int(port) < 1 << 16):
        raise UsageError(f"{option} {given} is not HOST:PORT")
    return host.removeprefix("[").removesuffix("]"), int(port)
