"""The process that holds a port or a lock, as far as the system shows it: Linux's /proc, with little of other users."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from socket import SOCK_STREAM, getaddrinfo
from typing import NamedTuple

_LISTENING = "0A"
_COMMAND_CHARACTERS_MAX = 80


class Descriptors(NamedTuple):
    """The number of open descriptors of a process, and its limit."""

    used: int
    limit: int


def descriptors_of(pid: int) -> Descriptors | None:
    """Return the descriptors of a process; None if this user may not see them."""
    try:
        used = len(os.listdir(f"/proc/{pid}/fd"))
        with open(f"/proc/{pid}/limits", encoding="ascii") as file:
            limit = next(line.split()[3] for line in file if line.startswith("Max open files"))
    except (OSError, StopIteration):
        return None
    return Descriptors(used, int(limit)) if limit.isdecimal() else None


def listening_processes(host: str, port: int) -> list[int]:
    """Return the ids of the processes that listen on the address; empty if they are not visible.

    An empty host is every interface. Who listens on every interface listens on each.
    """
    wanted = {f"socket:[{inode}]" for inode in _listening_inodes(_addresses(host), port)}
    return [pid for pid in _processes() if wanted.intersection(_open_files(pid))] if wanted else []


def named(pid: int) -> str:
    """Return `process 4711 (python -m barnabas serve)`."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            command = file.read().rstrip(b"\0").replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        command = ""
    shown = command if len(command) <= _COMMAND_CHARACTERS_MAX else command[:_COMMAND_CHARACTERS_MAX] + "…"
    return f"process {pid} ({shown})" if shown else f"process {pid}"


def _addresses(host: str) -> frozenset[IPv4Address | IPv6Address]:
    try:
        found = getaddrinfo(host, None, type=SOCK_STREAM) if host else []
    except OSError:
        return frozenset()
    return frozenset(ip_address(each[4][0]) for each in found)


def _listening_inodes(addresses: frozenset[IPv4Address | IPv6Address], port: int) -> Iterator[str]:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError), open(table, encoding="ascii") as file:  # another system, or no IPv6
            for line in file.readlines()[1:]:
                columns = line.split()
                address, _, number = columns[1].partition(":")
                if columns[3] == _LISTENING and int(number, 16) == port and _meets(_address(address), addresses):
                    yield columns[9]


def _meets(address: IPv4Address | IPv6Address, wanted: frozenset[IPv4Address | IPv6Address]) -> bool:
    return not wanted or address.is_unspecified or address in wanted or any(each.is_unspecified for each in wanted)


def _address(shown: str) -> IPv4Address | IPv6Address:
    """Return an address of /proc/net/tcp: words of four bytes in the machine's order, in hexadecimal."""
    words = (bytes.fromhex(shown[at : at + 8]) for at in range(0, len(shown), 8))
    address = ip_address(b"".join(word if sys.byteorder == "big" else word[::-1] for word in words))
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return []


def _open_files(pid: int) -> Iterator[str]:
    with suppress(OSError):  # it has ended, or belongs to another user
        for descriptor in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):  # closed meanwhile
                yield os.readlink(f"/proc/{pid}/fd/{descriptor}")
