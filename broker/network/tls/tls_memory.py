"""The shared memory of an event loop's TLS streams, and the interface to the listener that they came in by."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Final, Protocol

from barnabas.broker.network.descriptor import Send
from barnabas.broker.network.tls.handshakes import Handshakes

if TYPE_CHECKING:
    from barnabas.broker.security.session.principal import Principal

CIPHER_BYTES: Final = 64 << 10


class TlsContextSource(Protocol):
    """The TLS settings of a listener."""

    @property
    def context(self) -> ssl.SSLContext:
        """The context of the next handshake."""

    def principal_of(self, certificate: bytes | None) -> Principal:
        """Return the principal of a client with this certificate. Raises ValueError where no rule applies."""


class TlsMemory:
    """The memory and functions that all streams of a loop share."""

    def __init__(self, loop: asyncio.AbstractEventLoop, handshakes: Handshakes, send: Send) -> None:
        self.loop = loop
        self.handshakes = handshakes
        self.send = send
        self.incoming = ssl.MemoryBIO()
        self.outgoing = ssl.MemoryBIO()
        self.received = memoryview(bytearray(CIPHER_BYTES))
