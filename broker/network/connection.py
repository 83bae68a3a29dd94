# compiled: mypyc
"""One client connection: bytes in, one request at a time, responses out in order.

Knows frames and back-pressure; the meaning of requests is left to the dispatcher.

Theory of operation: received bytes are served at once, inside the event loop's read callback. The first response
of a read leaves at once, the rest of them together. In the same callback follow what the requests left to be done after
their responses, such as the markers of a transaction, and the requests on other connections that these have woken.
Where a turn of the loop serves many connections, the only response of a read is held until the turn ends
(response_batch.py). A request may be parked: until it is answered nothing more is parsed, and as soon as more bytes
come nothing more is received either. The same happens while the peer does not read: a write that did not go to the
kernel whole (send.py) stops parsing and receiving until it has.

Invariants: at most one request in flight; responses leave in the order of requests; after `connection_lost` nothing
refers to the connection any more, and it is in no cycle: its objects are freed at once, without the garbage collector.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast

from barnabas.broker.api.deferred_response import CloseConnection, DeferredResponse
from barnabas.broker.config.listeners.listeners import address_text
from barnabas.broker.network.advertised_address import peer_of, plain_host
from barnabas.broker.network.pending_send import PendingSend
from barnabas.broker.network.receive import FramingError, Receiver
from barnabas.broker.network.send import Sender
from barnabas.broker.security.session.session import Session
from barnabas.protocol.security.listener_protocols import PLAINTEXT
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Sized

    from barnabas.broker.api.dispatch import Dispatch, Dispatcher
    from barnabas.broker.clients.quotas.quota_managers import MeasuredRequest
    from barnabas.broker.metadata.cluster.node_view import Node
    from barnabas.broker.network.admission.acceptor import Acceptor
    from barnabas.broker.network.advertised_address import AdvertisedAddress

_COALESCED_BYTES_MAX = 64 << 10
"""Responses of one read are held back together until they are this large."""
_HELD_BYTES_MAX: Final = 4 << 10
"""A larger response leaves at once, whatever the turn does."""


class Connection(asyncio.BufferedProtocol):
    """The protocol of one accepted socket."""

    __slots__ = (
        "_advertised",
        "_dispatch",
        "_gate",
        "_is_finishing",
        "_is_reading",
        "_listener",
        "_node",
        "_parked",
        "_receiver",
        "_sender",
        "_transport",
        "_waiters",
        "client_host",
        "client_id",
        "client_id_raw",
        "is_closed",
        "measured",
        "peer",
        "quiet_sweeps",
        "session",
    )

    def __init__(
        self,
        listener: Acceptor[Connection],
        dispatcher: Dispatcher,
        advertised: AdvertisedAddress | None = None,
        session: Session | None = None,
    ) -> None:
        self.peer = self.client_host = "?"
        self.session = session or Session(PLAINTEXT)
        self.client_id: str | None = None
        self.client_id_raw = b""
        """The last request's client id, a cache of the dispatcher."""
        self.measured: MeasuredRequest | None = None
        """The request in flight, while the node has quotas."""
        self.quiet_sweeps = 0
        """How many sweeps for idle connections there were since the last byte."""
        self._listener = listener
        self._advertised = advertised
        self._node: Node | None = None
        self._gate = dispatcher.authenticator_for(self.session)
        self._dispatch: Dispatch = dispatcher.dispatch if self._gate is None else self._gate.dispatch
        self._waiters = dispatcher.purgatory
        self._transport: asyncio.Transport = None  # type: ignore[assignment]  # because connection_made comes first
        self._receiver = Receiver(
            listener.shared_buffer,
            min(listener.request_bytes_max, self.session.frame_bytes_max),
            listener.frame_memory if self._gate is None else listener.strangers_memory,
            when_free=self._memory_is_free,
            on_stall=self._cut_off,
        )
        self._sender = Sender(listener.send_memory, listener.send)
        self._parked: DeferredResponse | None = None
        self._is_reading = True
        self._is_finishing = False
        self.is_closed = False

    @property
    def is_busy(self) -> bool:
        """Whether a request is being answered: parked, or its response not yet with the kernel."""
        return self._parked is not None or self._sender.is_busy

    @property
    def is_parked(self) -> bool:
        return self._parked is not None and not self._parked.is_pause

    @property
    def listener_name(self) -> str:
        return self.session.listener

    @property
    def is_inside_tls(self) -> bool:
        """Whether its socket was admitted before, as a TLS stream."""
        return self._transport.get_extra_info("sslcontext") is not None

    @property
    def is_writable(self) -> bool:
        """Whether the peer reads what is written."""
        return self._sender.is_writable

    @property
    def node(self) -> Node | None:
        """The node of this broker as advertised to the peer; None for the address in the services."""
        if self._node is None and self._advertised is not None:
            local_host = plain_host(self._transport.get_extra_info("sockname")[0])
            self._node = self._advertised.to(local_host, self.client_host)
        return self._node

    # --- from the event loop ---------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._sender.begin(self._transport)
        self.client_host, port = peer_of(transport)
        self.peer = address_text(self.client_host, port)
        self._listener.connection_opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_closed = True
        parked, self._parked = self._parked, None
        if parked is not None:
            parked.abandon()
        self._sender.lost()
        self._receiver.close()
        self._transport = None  # type: ignore[assignment]  # because nothing is sent from here on
        self._listener.connection_closed(self)
        when_closed, self.session.when_closed = self.session.when_closed, None
        if when_closed is not None:
            when_closed()
        self._waiters.finish_woken()  # where serving ended in an exception, which closed the connection

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._receiver.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        self._waiters.is_attended = True
        self.quiet_sweeps = 0
        sender = self._sender
        if sender.held is not None:  # only if the loop, busy with many peers, turns more slowly than this peer
            self.send_held()
        if self._parked is None and sender.is_writable and sender.outgoing is None:
            frame = self._receiver.only_frame(nbytes)
            if frame is not None:
                self._serve_one(frame)
            else:
                self._receiver.received(nbytes)
                self._serve()
        else:
            self._receiver.received(nbytes)
            self._receiver.settle()
        if self._parked is not None or not sender.is_writable or self._receiver.is_starved:
            self._regulate_receiving()
        if self._waiters.woken or self._waiters.left_over:
            self._waiters.finish_woken()
        else:
            self._waiters.is_attended = False

    def pause_writing(self) -> None:
        self._sender.pause()

    def resume_writing(self) -> None:
        self._sender.resume()
        self._go_on()

    def admit(self, dispatch: Dispatch) -> None:
        """Accept the peer as authenticated: requests may have the full size, and `dispatch` answers them."""
        self._receiver.admit(self._listener.request_bytes_max, self._listener.frame_memory)
        self._gate = None
        self._dispatch = dispatch

    # --- serving ---------------------------------------------------------------------------------------------------

    def _serve_one(self, frame: memoryview) -> None:
        """Answer the only frame: like `_serve`, with fewer calls."""
        try:
            answer = self._dispatch(frame, self)
            if type(answer) is bytearray:
                turn = self._listener.turn
                if turn.at_once_count > 0 or len(answer) > _HELD_BYTES_MAX:
                    turn.at_once_count -= 1
                    self._sender.write(answer)
                else:
                    self._sender.held = answer
                    turn.hold(self)
            elif answer is not None:
                self._answer_in_parts_or_later(answer)
        except CloseConnection as close:
            self._refuse(close.reason, close.api)
        except Exception as error:
            self._fail(error)

    def _serve(self) -> None:
        """Answer the received frames, until one has to wait."""
        receiver, sender = self._receiver, self._sender
        is_first = True
        later = bytearray()
        try:
            while (frame := receiver.next_frame()) is not None:
                answer = self._dispatch(frame, self)
                if type(answer) is bytearray:
                    if is_first:
                        sender.write(answer)
                        is_first = False
                    else:
                        later += answer
                        if len(later) > _COALESCED_BYTES_MAX:
                            sender.write(later)
                            later = bytearray()
                    if not sender.is_writable:
                        break
                elif answer is not None:
                    if later:
                        sender.write(later)
                        later = bytearray()
                    self._answer_in_parts_or_later(answer)
                    if self.is_busy:
                        break
                if self._waiters.left_over:  # the next request must find it done
                    self._waiters.do_left_over()
        except CloseConnection as close:
            self._refuse(close.reason, close.api, later)
        except FramingError as refusal:  # another name than below: mypyc gives a name one type
            self._refuse_frame(str(refusal), later)
        except Exception as error:
            self._fail(error)
        else:
            if later:
                sender.write(later)
        receiver.settle()

    def _answer_in_parts_or_later(self, answer: DeferredResponse | bytearray | Sequence[Sized]) -> None:
        if isinstance(answer, DeferredResponse):
            self.park(answer)
        else:
            self._sender.outgoing = PendingSend([answer] if isinstance(answer, bytearray) else answer)
            self._send_pieces()

    def park(self, parked: DeferredResponse) -> None:
        """Serve nothing more until it is answered."""
        self._parked = parked
        parked.when_answered(self._parked_was_answered)

    def _parked_was_answered(self, parked: DeferredResponse) -> None:
        if self._parked is not parked:
            return  # the connection is closed
        self._parked = None
        try:
            answer = parked.answer()
        except CloseConnection as close:
            self._refuse(close.reason, close.api)
            return
        except Exception as error:
            self._fail(error)
            return
        if self.is_closed:
            return  # what was sent last may be half a response
        if type(answer) is bytearray:
            self.write(answer)
        elif answer is not None:
            self._answer_in_parts_or_later(answer)
        self._go_on()

    def _go_on(self) -> None:
        """Continue after a pause of the connection: send what is left, serve what has come, receive again."""
        if self.is_closed:
            return
        if self._sender.outgoing is not None:
            self._send_pieces()
        if self._is_finishing and not self.is_busy:
            self.close()
            return
        if not self.is_busy and self._receiver.has_unread():
            self._serve()
        self._regulate_receiving()

    # --- sending ---------------------------------------------------------------------------------------------------

    def write(self, data: bytes | bytearray) -> None:
        """Send a part of a response whose last part is returned as the response."""
        self._sender.write(data)

    def send_held(self) -> None:
        """Send the held response; see `response_batch.BatchedConnection`."""
        if self._sender.write_held() and (self._is_finishing or not self._sender.is_writable):
            self._go_on()

    def _send_pieces(self) -> None:
        try:
            self._sender.write_pieces()
        except (StorageError, EOFError) as error:
            self._refuse(f"the rest of a response could not be read: {error}", "Fetch")

    # --- receiving and closing -------------------------------------------------------------------------------------

    def _regulate_receiving(self) -> None:
        """Receive unless bytes already wait for a request in flight, the peer does not read, or memory is short."""
        receiver = self._receiver
        wanted = self._sender.is_writable and not receiver.is_starved and not (self.is_busy and receiver.has_unread())
        if wanted != self._is_reading and not self.is_closed:
            self._is_reading = wanted
            if wanted:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    def _memory_is_free(self) -> None:
        self._listener.loop.call_soon(self._retry_receiving)

    def _retry_receiving(self) -> None:
        if not self.is_closed and self._receiver.is_starved:
            self._receiver.retry()
            self._regulate_receiving()

    def _cut_off(self, reason: str) -> None:
        self._refuse(reason, None)

    def _refuse_frame(self, reason: str, unsent: bytearray) -> None:
        """Close because the bytes are not a frame. A peer that has to authenticate fails to, and is closed later."""
        gate = self._gate
        if gate is None:
            self._refuse(reason, None, unsent)
            return
        if unsent:
            self._sender.write(unsent)
        self.park(gate.refuse_frame(self, reason))

    def _refuse(self, reason: str, api: str | None, unsent: bytearray | None = None) -> None:
        """Close because of the peer, with one log line that gives the reason. Earlier responses are still sent."""
        if self.is_closed:
            return
        self._listener.connection_refused(self, api, reason)
        if unsent:
            self._sender.write(unsent)
        self.close()

    def _fail(self, error: Exception) -> None:
        """Close because of an error in the broker that the dispatcher did not turn into a response."""
        self._listener.connection_failed(self, error)
        self.close()

    def close(self) -> None:
        """Close after what was written, or at once when the peer does not read."""
        self.send_held()
        if self.is_closed:
            return
        self.is_closed = True
        self._receiver.close()
        self._sender.close()

    def finish(self) -> None:
        """Close once the request in flight is answered and its response is with the kernel."""
        self._is_finishing = True
        if not self.is_busy:
            self.close()

    def abort(self) -> None:
        """Close at once, even with a request in flight."""
        self.is_closed = True
        self._sender.abort()
