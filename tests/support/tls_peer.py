"""A client that speaks TLS over a transport in memory."""

import ssl
from contextlib import suppress

from tests.support.worlds.memory_transport import MemoryTransport

_TURNS_MAX = 20


class StuckHandshake(Exception):
    """It comes to no end."""


class TlsPeer:
    """Shakes hands with the stream on the other side of `transport`, sends, and reads."""

    def __init__(self, transport: MemoryTransport, context: ssl.SSLContext) -> None:
        self.transport = transport
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname="localhost")

    def shake_hands(self, and_send: bytes = b"") -> None:
        """Until it is done, and send this with the last of it. ssl.SSLError where a side refuses, StuckHandshake."""
        for _ in range(_TURNS_MAX):
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._exchange()
        else:
            raise StuckHandshake
        if and_send:
            self.tls.write(and_send)
        self._exchange()

    def send(self, data: bytes, step: int = 1 << 30) -> None:
        """`data` encrypted, in pieces of at most `step` bytes."""
        self.transport.send(self.records(data), step)

    def records(self, data: bytes) -> bytes:
        """`data` encrypted."""
        self.tls.write(data)
        return self._outgoing.read()

    def read(self) -> bytes:
        """What has come, decrypted."""
        self._incoming.write(self.transport.read())
        found = bytearray()
        with suppress(ssl.SSLWantReadError, ssl.SSLZeroReturnError):  # all is read
            while data := self.tls.read(1 << 16):
                found += data
        return bytes(found)

    def shake_hands_and_read(self) -> bytes:
        """In TLS 1.3 a client learns only when it reads that its certificate is refused."""
        self.shake_hands()
        return self.read()

    def say_goodbye(self) -> None:
        """That it sends no more."""
        with suppress(ssl.SSLWantReadError):  # the answer has not come, and need not
            self.tls.unwrap()
        self.transport.send(self._outgoing.read())

    def hello(self) -> bytes:
        """The beginning of a handshake."""
        with suppress(ssl.SSLWantReadError):  # the answer has not come yet
            self.tls.do_handshake()
        return self._outgoing.read()

    def _exchange(self) -> None:
        self.transport.send(self._outgoing.read())
        self._incoming.write(self.transport.read())


def client_context(authority_pem: str) -> ssl.SSLContext:
    """A client that trusts one authority."""
    return ssl.create_default_context(cadata=authority_pem)
