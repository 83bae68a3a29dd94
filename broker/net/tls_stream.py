"""TLS between a socket and a connection: to the loop it is the protocol, to the connection the transport.

Knows records of TLS and none of Kafka's frames, no stores and no settings: who makes the context is the endpoint.

Theory of operation: OpenSSL works on memory here. What a socket brings goes into `incoming` and comes out decrypted,
straight into the connection's receive buffer, in as large a stretch as came; what a connection writes is encrypted into
`outgoing` and given to the kernel in one piece, past the transport while nothing waits in it. All streams of a loop
share both memories, since each is emptied before another stream is served: a thousand peers need no buffers of their
own. The connection is made when the handshake is done; until then its peer is one of `Handshakes`.

Invariants: `outgoing` is empty after every call; `incoming` is empty whenever another stream may be served, so a
connection that does not want to receive leaves what is left as bytes here, no more than one read brought. After
`connection_lost` stream and connection do not know each other.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from barnabas.broker.config.listeners import address_text
from barnabas.broker.log_lines import line, logger
from barnabas.broker.net.advertised import peer_of
from barnabas.broker.net.descriptor import Send, descriptor_of
from barnabas.broker.net.handshakes import Handshakes

if TYPE_CHECKING:
    from barnabas.broker.session.principal import Principal

_log = logger("net")
CIPHER_BYTES: Final = 64 << 10
_WRITE_BYTES: Final = 256 << 10
"""What is encrypted before it is given to the kernel."""
_RECORD_BYTES: Final = 16 << 10
_HANDSHAKE_RECORD: Final = 0x16
_NO_TLS = "what came is no TLS handshake: does the client's security.protocol fit this listener?"


class Endpoint(Protocol):
    """How a listener speaks TLS."""

    @property
    def context(self) -> ssl.SSLContext:
        """What the next handshake goes by."""

    def principal_of(self, certificate: bytes | None) -> Principal:
        """For whom a client with this certificate speaks. ValueError where no rule tells."""


class TlsMemory:
    """What all streams of a loop share."""

    def __init__(self, loop: asyncio.AbstractEventLoop, handshakes: Handshakes, send: Send) -> None:
        self.loop = loop
        self.handshakes = handshakes
        self.send = send
        self.incoming = ssl.MemoryBIO()
        self.outgoing = ssl.MemoryBIO()
        self.received = memoryview(bytearray(CIPHER_BYTES))


def _nobody(peer: str, host: str, reason: str) -> None:
    """Nobody hears of it."""


class TlsStream(asyncio.BufferedProtocol):
    """One accepted socket of a listener that speaks TLS."""

    __slots__ = (
        "_connection",
        "_descriptor",
        "_endpoint",
        "_failed",
        "_is_held",
        "_is_over",
        "_is_paused",
        "_left",
        "_make",
        "_memory",
        "_refusal",
        "_tls",
        "_transport",
        "host",
        "peer",
    )

    def __init__(
        self,
        memory: TlsMemory,
        endpoint: Endpoint,
        make: Callable[[Principal], asyncio.BufferedProtocol],
        refusal: Callable[[], str | None],
        failed: Callable[[str, str, str], None] = _nobody,
    ) -> None:
        """`make`: a connection, for whom the certificate speaks. `refusal`: why there may not be one more, if so.

        failed: hears of a peer, and its host, who got no further than the handshake, and why.
        """
        self.peer = self.host = "?"
        self._failed = failed
        self._memory = memory
        self._endpoint = endpoint
        self._make = make
        self._refusal = refusal
        self._tls: ssl.SSLObject | None = None
        self._connection: asyncio.BufferedProtocol | None = None
        self._transport: asyncio.Transport = None  # type: ignore[assignment]  # because connection_made comes first
        self._descriptor = -1
        self._left = b""
        """Received and not decrypted, since the connection does not want to receive."""
        self._is_paused = False
        """Whether the connection does not want to receive."""
        self._is_held = False
        """Whether the transport does not receive: it goes on after what is left was decrypted."""
        self._is_over = False

    # --- from the event loop ---------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=0)
        self._descriptor = descriptor_of(transport)
        self.host, port = peer_of(transport)
        self.peer = address_text(self.host, port)
        self._memory.handshakes.entered(self)
        reason = self._refusal()
        if reason is not None:
            self.give_up(reason)

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_over = True
        self._descriptor = -1  # soon another connection's
        self._tls = None
        self._left = b""
        self._transport = None  # type: ignore[assignment]  # because nothing is sent from here on
        self._memory.handshakes.left(self)
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.connection_lost(exc)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._memory.received

    def buffer_updated(self, nbytes: int) -> None:
        if self._is_over:
            return
        received = self._memory.received[:nbytes]
        if self._left:
            self._left += received  # the loop had read already when it was paused
        elif self._connection is not None:
            self._memory.incoming.write(received)
            self._receive(self._connection)
        elif self._tls is None and received[0] != _HANDSHAKE_RECORD:
            self.give_up(_NO_TLS)
        else:
            self._memory.incoming.write(received)
            self._shake_hands()

    def pause_writing(self) -> None:
        if self._connection is not None:
            self._connection.pause_writing()

    def resume_writing(self) -> None:
        if self._connection is not None:
            self._connection.resume_writing()

    # --- the handshake ---------------------------------------------------------------------------------------------

    def _shake_hands(self) -> None:
        memory = self._memory
        if self._tls is None:
            self._tls = self._endpoint.context.wrap_bio(memory.incoming, memory.outgoing, server_side=True)
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._send()
            return
        except ssl.SSLError as error:
            self._fail("TLS handshake", error)
            return
        self._send()
        try:
            principal = self._endpoint.principal_of(self._tls.getpeercert(binary_form=True))
        except ValueError as error:
            memory.incoming.read()
            self.give_up(str(error))
            return
        memory.handshakes.left(self)
        connection = self._connection = self._make(principal)
        connection.connection_made(cast("asyncio.BaseTransport", self))
        self._receive(connection)

    def give_up(self, reason: str) -> None:
        """Close before there was a connection, with one line that says why."""
        self._memory.handshakes.left(self)
        if not self._is_over:
            _log.warning(line("connection closed", peer=self.peer, reason=reason))
            self._failed(self.peer, self.host, reason)
            self._is_over = True
            self._transport.abort()

    def _fail(self, what: str, error: ssl.SSLError) -> None:
        """OpenSSL refuses what came: the peer is told, and is gone."""
        self._memory.incoming.read()
        self._send()
        reason = (error.reason or "").lower().replace("_", " ")
        verify = getattr(error, "verify_message", "")
        self._memory.handshakes.left(self)
        if not self._is_over:
            _log.warning(line("connection closed", peer=self.peer, reason=f"{what}: {verify or reason}"))
            if self._connection is None:
                self._failed(self.peer, self.host, verify or reason)
            self._is_over = True
            self._transport.close()

    # --- from the socket to the connection -------------------------------------------------------------------------

    def _receive(self, connection: asyncio.BufferedProtocol) -> None:
        """Decrypt what is there, for as long as the connection wants it."""
        incoming, outgoing = self._memory.incoming, self._memory.outgoing
        is_more = True
        try:
            while is_more and not self._is_over and not self._is_paused:
                count, is_more = self._decrypt(connection.get_buffer(-1))
                if outgoing.pending:
                    self._send()  # what OpenSSL answers by itself to a change of keys
                if count:
                    connection.buffer_updated(count)
        finally:
            left = incoming.read() if incoming.pending else b""
            if not self._is_over:
                self._left = left

    def _decrypt(self, buffer: Any) -> tuple[int, bool]:
        """(how many bytes there are in `buffer` now, whether there may be more)"""
        tls, incoming = self._tls, self._memory.incoming
        assert tls is not None
        count, size = 0, len(buffer)
        try:
            while count < size:
                read = tls.read(size - count, buffer[count:] if count else buffer)
                if not read:  # the peer has said that this is all
                    self._memory.loop.call_soon(self.close)  # when what came before is served
                    return count, False
                count += cast("int", read)
                if not incoming.pending and not tls.pending():  # to hear it by an exception costs more than the record
                    return count, False
        except ssl.SSLWantReadError:
            return count, False
        except ssl.SSLError as error:
            self._fail("TLS", error)
            return 0, False
        return count, True

    def pause_reading(self) -> None:
        """See asyncio.ReadTransport."""
        self._is_paused = True
        if self._transport is not None and not self._is_held:
            self._is_held = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Not at once: whoever calls may be serving another stream, which `incoming` is in use for."""
        self._is_paused = False
        if self._transport is not None:
            self._memory.loop.call_soon(self._go_on_receiving)

    def _go_on_receiving(self) -> None:
        if self._is_paused or self._is_over or self._connection is None:
            return
        left, self._left = self._left, b""
        self._memory.incoming.write(left)
        self._receive(self._connection)
        if self._is_held and not self._is_paused and not self._is_over:
            self._is_held = False
            self._transport.resume_reading()

    # --- from the connection to the socket -------------------------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """See asyncio.WriteTransport."""
        if not self._is_over:
            self._encrypt(data)
            self._send()

    def writelines(self, buffers: Iterable[bytes | bytearray | memoryview]) -> None:
        """See asyncio.WriteTransport: encrypted together, so that the kernel is asked once."""
        for each in buffers:
            if not self._is_over:
                self._encrypt(each)
        self._send()

    def _encrypt(self, data: bytes | bytearray | memoryview) -> None:
        tls, outgoing = self._tls, self._memory.outgoing
        assert tls is not None
        size = len(data)
        if 0 < size <= _RECORD_BYTES:
            tls.write(data)
            return
        view, position = memoryview(data), 0
        while position < size:
            position += tls.write(view[position : position + _RECORD_BYTES])
            if outgoing.pending >= _WRITE_BYTES:
                self._send()

    def _send(self) -> None:
        """To the socket itself where nothing waits in the transport, which gets the rest, and an error again."""
        outgoing = self._memory.outgoing
        if not outgoing.pending:
            return
        data = outgoing.read()
        if self._transport is None:
            return
        if self._descriptor >= 0 and not self._transport.get_write_buffer_size():
            try:
                sent = self._memory.send(self._descriptor, data)
            except OSError:
                sent = 0
            if sent == len(data):
                return
            self._transport.write(memoryview(data)[sent:])
        else:
            self._transport.write(data)

    def close(self) -> None:
        """Say that this is all, and close after what was written."""
        if self._is_over:
            return
        self._is_over = True
        if self._tls is not None:
            with suppress(ssl.SSLError):  # the peer has not answered yet, and need not
                self._tls.unwrap()
            self._send()
        self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._is_over = True
        if self._transport is not None:
            self._transport.abort()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """See asyncio.BaseTransport: the socket's, and `sslcontext`, by which others know that they may not pass by."""
        if name == "sslcontext":
            return self._endpoint.context
        return default if self._transport is None else self._transport.get_extra_info(name, default)

    def get_write_buffer_size(self) -> int:
        """See asyncio.WriteTransport."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """See asyncio.WriteTransport."""
        self._transport.set_write_buffer_limits(high, low)

    def is_closing(self) -> bool:
        """See asyncio.BaseTransport."""
        return self._is_over
