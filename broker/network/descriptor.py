# compiled: mypyc
"""The descriptor behind a transport, for writes that need nothing of the transport.

A transport's own write costs more than the kernel's where the kernel takes all bytes at once, which is nearly always.
The transport may be bypassed only while nothing waits in it, or bytes would overtake others; and only where it sends
the bytes unchanged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

Send = Callable[[int, bytes | bytearray | memoryview], int]
"""(descriptor, data) -> how many bytes the kernel took; raises OSError, also when it takes none now."""


def descriptor_of(transport: asyncio.BaseTransport) -> int:
    """Return the descriptor to write to while nothing waits in the transport; -1 if there is none."""
    sock = transport.get_extra_info("socket")
    if sock is None or transport.get_extra_info("sslcontext") is not None:
        return -1
    return int(sock.fileno())
