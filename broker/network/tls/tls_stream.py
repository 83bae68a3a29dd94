"""TLS between a socket and a connection: to the loop it is the protocol, to the connection the transport.

Knows records of TLS and none of Kafka's frames, no stores and no settings: the endpoint makes the context.

Theory of operation: OpenSSL works on memory here. Received bytes go into `incoming` and come out decrypted, straight
into the connection's receive buffer, in as large a stretch as came; the bytes that a connection writes are encrypted
into `outgoing` and given to the kernel in one piece, past the transport while nothing waits in it. All streams of a
loop share both memories, since each is emptied before another stream is served: a thousand peers need no buffers of
their own. Admission is decided before anything is done for a peer (`opened`): it may have to wait (`park`). Then it is
one of `Handshakes`, and the connection is made when the handshake is done.

Invariants: `outgoing` is empty after every call; `incoming` is empty whenever another stream may be served, so for a
connection that does not want to receive the rest is stored as bytes here, no more than from one read. After
`connection_lost` stream and connection do not refer to each other.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

from barnabas.broker.config.listeners.listeners import address_text
from barnabas.broker.network.advertised_address import peer_of
from barnabas.broker.network.descriptor import descriptor_of
from barnabas.broker.runtime.log_lines import line, logger

if TYPE_CHECKING:
    from barnabas.broker.api.deferred_response import DeferredResponse
    from barnabas.broker.network.tls.tls_memory import TlsContextSource, TlsMemory
    from barnabas.broker.security.session.principal import Principal

_log = logger("net")
_WRITE_BYTES: Final = 256 << 10
"""How much is encrypted before it is given to the kernel."""
_RECORD_BYTES: Final = 16 << 10
_HANDSHAKE_RECORD: Final = 0x16
_NO_TLS = "the received bytes are not a TLS handshake: does the client's security.protocol fit this listener?"


def _ignore(*_: object) -> None:
    """Ignore the call."""


class TlsStream(asyncio.BufferedProtocol):
    """One accepted socket of a listener that uses TLS."""

    __slots__ = (
        "_closed",
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
        "_opened",
        "_parked",
        "_tls",
        "_transport",
        "client_host",
        "client_id",
        "listener_name",
        "peer",
        "quiet_sweeps",
    )

    def __init__(
        self,
        memory: TlsMemory,
        endpoint: TlsContextSource,
        make: Callable[[Principal], asyncio.BufferedProtocol],
        listener_name: str = "",
        opened: Callable[[TlsStream], None] = _ignore,
        closed: Callable[[TlsStream], None] = _ignore,
        failed: Callable[[str, str, str], None] = _ignore,
    ) -> None:
        """Wait for the socket. `make`: makes a connection for a principal. `opened`: closes or parks a refused stream.

        closed: called when it is closed. failed: called with the peer, its host, and the reason of a failed handshake.
        """
        self.peer = self.client_host = "?"
        self.client_id: str | None = None
        self.listener_name = listener_name
        self.quiet_sweeps = 0
        self._opened = opened
        self._closed = closed
        self._failed = failed
        self._parked: DeferredResponse | None = None  # until it is admitted
        self._memory = memory
        self._endpoint = endpoint
        self._make = make
        self._tls: ssl.SSLObject | None = None
        self._connection: asyncio.BufferedProtocol | None = None
        self._transport: asyncio.Transport = None  # type: ignore[assignment]  # because connection_made comes first
        self._descriptor = -1
        self._left = b""
        """Received and not decrypted, since the connection does not want to receive."""
        self._is_paused = False
        """Whether the connection does not want to receive."""
        self._is_held = False
        """Whether the transport does not receive: it continues after the rest was decrypted."""
        self._is_over = False

    @property
    def is_parked(self) -> bool:
        """Whether an idle stream is closed by its handshake's limit or its connection, not by the listener."""
        return self._parked is None

    # --- from the event loop ---------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=0)
        self._descriptor = descriptor_of(transport)
        self.client_host, port = peer_of(transport)
        self.peer = address_text(self.client_host, port)
        self._opened(self)
        if self._parked is None and not self._is_over:
            self._memory.handshakes.entered(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_over = True
        self._descriptor = -1  # the number may soon be another connection's
        self._tls = None
        self._left = b""
        self._transport = None  # type: ignore[assignment]  # because nothing is sent from here on
        self._memory.handshakes.left(self)
        parked, self._parked = self._parked, None
        if parked is not None:
            parked.abandon()
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.connection_lost(exc)
        self._closed(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._memory.received

    def buffer_updated(self, nbytes: int) -> None:
        if self._is_over:
            return
        received = self._memory.received[:nbytes]
        if self._parked is not None or self._left:  # or the loop had read already when it was paused
            self._left += received
            self._hold()
        elif self._connection is not None:
            self._memory.incoming.write(received)
            self._receive(self._connection)
        else:
            self._shake_hands(received)

    def pause_writing(self) -> None:
        if self._connection is not None:
            self._connection.pause_writing()

    def resume_writing(self) -> None:
        if self._connection is not None:
            self._connection.resume_writing()

    # --- the handshake ---------------------------------------------------------------------------------------------

    def park(self, parked: DeferredResponse) -> None:
        """Do nothing for the peer until it is answered, and so admitted."""
        self._parked = parked
        parked.when_answered(self._come_in)

    def _come_in(self, parked: DeferredResponse) -> None:
        if self._parked is not parked or self._is_over:
            return
        self._parked = None
        self._memory.handshakes.entered(self)
        left, self._left = self._left, b""
        if left:
            self._shake_hands(left)
        self._release()

    def _shake_hands(self, received: bytes | memoryview) -> None:
        memory = self._memory
        if self._tls is None and received[0] != _HANDSHAKE_RECORD:
            self.give_up(_NO_TLS)
            return
        memory.incoming.write(received)
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
        """Close before there was a connection, with one log line that gives the reason."""
        if self._ends(reason, reason):
            self._transport.abort()

    def _fail(self, what: str, error: ssl.SSLError) -> None:
        """Send the peer OpenSSL's alert and close it: OpenSSL refuses the bytes that came."""
        self._memory.incoming.read()
        self._send()
        reason = getattr(error, "verify_message", "") or (error.reason or "").lower().replace("_", " ")
        if self._ends(f"{what}: {reason}", reason):
            self._transport.close()

    def _ends(self, what_failed: str, reason: str) -> bool:
        """End the stream and log it, unless it has ended before; return whether it ends now."""
        self._memory.handshakes.left(self)
        if self._is_over:
            return False
        self._is_over = True
        _log.warning(line("connection closed", peer=self.peer, reason=what_failed))
        if self._connection is None:
            self._failed(self.peer, self.client_host, reason)
        return True

    # --- from the socket to the connection -------------------------------------------------------------------------

    def _receive(self, connection: asyncio.BufferedProtocol) -> None:
        """Decrypt the received bytes, for as long as the connection wants them."""
        incoming, outgoing = self._memory.incoming, self._memory.outgoing
        is_more = True
        try:
            while is_more and not self._is_over and not self._is_paused:
                count, is_more = self._decrypt(connection.get_buffer(-1))
                if outgoing.pending:
                    self._send()  # OpenSSL's own answer to a change of keys
                if count:
                    connection.buffer_updated(count)
        finally:
            left = incoming.read() if incoming.pending else b""
            if not self._is_over:
                self._left = left

    def _decrypt(self, buffer: Any) -> tuple[int, bool]:
        """Return how many bytes there are in `buffer` now, and whether there may be more."""
        tls, incoming = self._tls, self._memory.incoming
        assert tls is not None
        count, size = 0, len(buffer)
        try:
            while count < size:
                read = tls.read(size - count, buffer[count:] if count else buffer)
                if not read:  # the peer has closed its side
                    self._memory.loop.call_soon(self.close)  # when the bytes before are served
                    return count, False
                count += cast("int", read)
                if not incoming.pending and not tls.pending():  # an exception instead costs more than the record
                    return count, False
        except ssl.SSLWantReadError:
            return count, False
        except ssl.SSLError as error:
            self._fail("TLS", error)
            return 0, False
        return count, True

    def pause_reading(self) -> None:
        """Stop receiving; see asyncio.ReadTransport."""
        self._is_paused = True
        self._hold()

    def _hold(self) -> None:
        if self._transport is not None and not self._is_held:
            self._is_held = True
            self._transport.pause_reading()

    def _release(self) -> None:
        if self._is_held and not self._is_paused and not self._is_over:
            self._is_held = False
            self._transport.resume_reading()

    def resume_reading(self) -> None:
        """Continue later: the caller may be serving another stream, which `incoming` is in use for."""
        self._is_paused = False
        if self._transport is not None:
            self._memory.loop.call_soon(self._go_on_receiving)

    def _go_on_receiving(self) -> None:
        if self._is_paused or self._is_over or self._connection is None:
            return
        left, self._left = self._left, b""
        self._memory.incoming.write(left)
        self._receive(self._connection)
        self._release()

    # --- from the connection to the socket -------------------------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Encrypt and send; see asyncio.WriteTransport."""
        if not self._is_over:
            self._encrypt(data)
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
        """Write to the socket if nothing waits in the transport, which gets the rest and meets the same errors."""
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
        """Send the end of the stream, and close after what was written."""
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
        """Return the socket's value, or for `sslcontext` the context: a sign not to bypass TLS."""
        if name == "sslcontext":
            return self._endpoint.context
        return default if self._transport is None else self._transport.get_extra_info(name, default)

    def get_write_buffer_size(self) -> int:
        """Return the size of the transport's buffer; see asyncio.WriteTransport."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set the limits of the transport; see asyncio.WriteTransport."""
        self._transport.set_write_buffer_limits(high, low)

    def is_closing(self) -> bool:
        """Return whether the stream has ended; see asyncio.BaseTransport."""
        return self._is_over
