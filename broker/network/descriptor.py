"""The descriptor behind a transport, for writes that need nothing of the transport.

A transport's own write costs more than the kernel's where all of it is taken at once, which is nearly always. It may be
passed by only while nothing waits in it, or bytes would overtake others; and only where it sends what it is given as
it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

Send = Callable[[int, bytes | bytearray], int]
"""(descriptor, data) -> how many bytes the kernel took; OSError, also when it takes none now."""


def descriptor_of(transport: asyncio.BaseTransport) -> int:
    """What may be written to while nothing waits in the transport; -1 if nothing may."""
    sock = transport.get_extra_info("socket")
    if sock is None or transport.get_extra_info("sslcontext") is not None:
        return -1
    return int(sock.fileno())
