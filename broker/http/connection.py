"""One HTTP connection: bytes in, one request at a time, its answer out. h11 implements the protocol.

The memory that a peer can use is limited: a request's head of 16 KiB at most, a body only if an application takes it,
and each request has to be complete within some seconds of its first byte; nothing is received while an answer is made
or waits for the peer to take it, and a peer that takes nothing is cut off. While an answer is streamed, received data
is discarded: only the end of the connection matters. A peer that waits for "100 Continue" before it sends a body gets
it, unless the body is refused; the rest of a refused body is discarded, so that the peer reads why. HEAD is GET without
the body. POST is for /clean, whose answer is streamed; it is refused if it comes from a page in a browser. Other
methods are refused. A path below that of an application (asgi.py) belongs to the application, for every method. Its
answer may be streamed, too. If there is a guard, a peer without credentials gets no further than a request's head.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol, cast

import h11

from barnabas.broker.config.listeners.listeners import address_text
from barnabas.broker.http.asgi import HttpRequest, Mounted
from barnabas.broker.http.control.admission import is_plain_host
from barnabas.broker.http.pages import FORBIDDEN, JSON, METHOD_NOT_ALLOWED, Page, Pages, StreamedPage, is_loopback
from barnabas.broker.network.advertised_address import peer_of
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.security.session.principal import ANONYMOUS, Principal

if TYPE_CHECKING:
    from barnabas.broker.http.guard import Guard
    from barnabas.broker.runtime.clock import Clock, Timer

_log = logger("http")
HEAD_BYTES_MAX = 16 << 10
REQUEST_TIMEOUT_MS = 5_000
"""For a whole request, and for the peer to take an answer. The server sets the time between two requests."""
_METHODS = (b"GET", b"HEAD", b"POST")
_INTERNAL_ERROR, _CONTENT_TOO_LARGE = 500, 413


class Server(Protocol):
    """The server as a connection needs it: what it serves, and the callbacks of the connection."""

    clock: Clock
    pages: Pages | None
    """None if an application is mounted at the root."""
    mounted: Sequence[Mounted]
    guard: Guard | None
    """Authorizes requests; None if every client may send them."""
    is_closing: bool
    idle_timeout_ms: int
    """How long a connection may wait for the end of its next request after an answer."""

    def connection_opened(self, connection: HttpConnection) -> None:
        """Note a new connection."""

    def connection_answered(self, connection: HttpConnection) -> None:
        """Note that the connection waits for its next request."""

    def connection_closed(self, connection: HttpConnection) -> None:
        """Note that the connection is closed."""


class HttpConnection(asyncio.Protocol):
    """The protocol of one accepted socket."""

    def __init__(self, server: Server, principal: Principal = ANONYMOUS) -> None:
        """Create the protocol. `principal`: of the peer's certificate."""
        self._server = server
        self._principal = principal
        self._headers: Sequence[tuple[bytes, bytes]] = ()
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES_MAX)
        self._transport: asyncio.Transport = None  # type: ignore[assignment]  # because connection_made comes first
        self._timer: Timer | None = None
        self._answering: asyncio.Task[None] | None = None
        self._target, self._method = b"", "GET"
        self._is_head = self._is_post = self._discards = False
        self._request: h11.Request | None = None
        self._mounted: Mounted | None = None  # the application of the request, if any
        self._body = bytearray()
        self._is_writable = True
        self._may_answer_at_once = False
        self._waits_to_write: asyncio.Future[None] | None = None
        self.gives_way = False
        """Whether it may be closed for another connection while it answers (`server.py`)."""
        self.peer = self._host = "?"
        self._port = 0

    # --- from the event loop ---------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=0)
        self._host, self._port = host, port = peer_of(transport)
        self.peer = address_text(host, port)
        self._expect("no complete request arrived in time")
        self._server.connection_opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        if self._answering is not None:
            self._answering.cancel()
        self._transport = None  # type: ignore[assignment]  # because nothing is sent from here on; it would be a cycle
        self._server.connection_closed(self)

    def data_received(self, data: bytes) -> None:
        if self._discards:
            return  # the connection ends with that answer: no request can follow
        self._http.receive_data(data)
        self._may_answer_at_once = True
        self._go_on()

    def eof_received(self) -> bool:
        if self._discards:
            return False  # the peer is gone
        self._http.receive_data(b"")
        self._go_on()
        return self._answering is not None  # the answer is still sent

    def pause_writing(self) -> None:
        self._is_writable = False

    def resume_writing(self) -> None:
        self._is_writable = True
        if self._answering is not None:
            self._stop_waiting()
            if self._waits_to_write is not None and not self._waits_to_write.done():
                self._waits_to_write.set_result(None)
        elif not self._is_closing and self._http.our_state is not h11.SEND_RESPONSE:  # it was an answer, not a "100"
            self._answered()

    # --- requests --------------------------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """Read until a request is complete, or more data is needed, or the data is not HTTP."""
        try:
            while self._answering is None and not self._is_closing and not self._discards:
                event = self._http.next_event()
                if event is h11.NEED_DATA or event is h11.PAUSED:
                    self._continue_if_awaited()
                    return
                if isinstance(event, h11.Request):
                    self._refuse_or_note(event)
                elif isinstance(event, h11.Data):
                    self._take(event.data)
                elif isinstance(event, h11.EndOfMessage):
                    self._answer()
                elif isinstance(event, h11.ConnectionClosed):
                    self.close()
        except h11.RemoteProtocolError as error:
            if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                self._send(Page(error.error_status_hint, f"{error}\n".encode()), is_last=True)
            self.close()

    def _continue_if_awaited(self) -> None:
        """Tell a peer that waits with the body that it may send it."""
        if self._http.they_are_waiting_for_100_continue:
            response = h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue")
            self._transport.write(self._http.send(response) or b"")

    def _refuse_or_note(self, request: h11.Request) -> None:
        self._target, self._method = request.target, request.method.decode("ascii", "replace")
        self._is_head = self._method == "HEAD"
        self._request, self._is_post, self._headers = None, False, list(request.headers)
        self._body.clear()
        guard = self._server.guard
        refused = guard and guard.refusal_at_once(_path(request.target), self._headers, self._principal)
        if refused:
            self._send(refused, is_last=True)
            return
        self._mounted = next((each for each in self._server.mounted if each.has(request.target)), None)
        if self._mounted is not None:
            self._request = request
            self._refuse_announced(self._mounted.body_bytes_max)
            return
        self._is_post = request.method == b"POST"
        if request.method not in _METHODS or (self._is_post and self._target.partition(b"?")[0] != b"/clean"):
            self._send(Page(METHOD_NOT_ALLOWED, b"only GET and HEAD are supported here\n"), is_last=True)
        elif self._is_post and any(name == b"origin" for name, _ in request.headers):
            self._send(Page(FORBIDDEN, b"not from a browser\n"), is_last=True)
        else:
            self._refuse_announced(0)

    def _refuse_announced(self, bytes_max: int) -> None:
        """Refuse a body that is too large by its Content-Length, before it is sent."""
        announced = next((int(value) for name, value in self._headers if name == b"content-length"), 0)
        if announced > bytes_max:
            self._refuse_body()

    def _take(self, data: bytes) -> None:
        if len(self._body) + len(data) > (0 if self._mounted is None else self._mounted.body_bytes_max):
            self._refuse_body()
        else:
            self._body += data

    def _refuse_body(self) -> None:
        """Refuse a body, and discard what still comes of it until the peer, which may be sending, has read the answer.

        Closing at once would reset the connection, and the answer might be lost.
        """
        mounted = self._mounted
        if mounted is None:
            page = Page(_CONTENT_TOO_LARGE, b"a request has no body here\n")
        else:
            page = Page(_CONTENT_TOO_LARGE, mounted.too_large % mounted.body_bytes_max, JSON)
        self._write(page, is_last=True)
        self._discards = True
        self._expect("the client did not close the connection in time")

    def _answer(self) -> None:
        self._stop_waiting()
        if self._is_answered_at_once():
            return
        self._transport.pause_reading()
        self._answering = asyncio.ensure_future(self._answer_later(self._target))

    def _is_answered_at_once(self) -> bool:
        """Answer if the application knows the answer already: one request of those that arrived together."""
        mounted = self._mounted
        if not self._may_answer_at_once or mounted is None or mounted.at_once is None or self._server.guard is not None:
            return False
        self._may_answer_at_once = False
        page = mounted.at_once(self._method, self._target, self._headers)
        if page is None or not self._is_writable:
            return False
        self._send(page, is_last=self._server.is_closing)
        if not self._is_writable:
            self._expect("the client did not read the response in time")
        elif not self._is_closing and self._is_over():
            self._await_next()
        return True

    async def _answer_later(self, target: bytes) -> None:
        path, query = _path(target), target.decode("ascii", "replace").partition("?")[2]
        try:
            pages, guard = self._server.pages, self._server.guard
            self.gives_way = guard is not None
            refused = guard and await guard.refusal(path, self._headers, self._host, self._principal, self._method)
            self.gives_way = False
            if refused:
                page: Page | StreamedPage = refused
            elif self._is_for_another_site(path):
                page = Page(FORBIDDEN, b"the Host must be an IP address, localhost or a name without dots\n")
            elif self._request is not None:
                page = await self._of_application(self._request)
            else:
                assert pages is not None, "an application at the root has every path"
                page = (
                    pages.act(query, self._host)
                    if self._is_post
                    else await pages.page(path, is_browser=self._is_browser)
                )
            if not isinstance(page, Page):
                await self._stream(page)
                self._answering = None
                return
        except Exception as error:
            _log.error(line("request failed", path=path, peer=self.peer, error=repr(error)), exc_info=error)
            page = Page(_INTERNAL_ERROR, b"internal error: the broker's log has the cause\n")
        self._answering = None
        if self._is_closing:
            return
        self._send(page, is_last=self._server.is_closing)
        if self._is_writable:
            self._answered()
        else:
            self._expect("the client did not read the response in time")

    @property
    def _is_browser(self) -> bool:
        """Whether the peer accepts HTML by name, as browsers do and tools do not."""
        return any(name == b"accept" and b"text/html" in value for name, value in self._headers)

    def _is_for_another_site(self, path: str) -> bool:
        """Return whether a browser on this machine may have been led here by a site with a name for this address.

        As in `Admission`, for metrics; but local scrapes by a short name are accepted, because no site has such a name.
        """
        if path not in ("/metrics", "/listeners") or self._server.guard is not None or not is_loopback(self._host):
            return False
        host = next((value.decode("latin-1") for name, value in self._headers if name == b"host"), "")
        return "." in host and not is_plain_host(host)

    async def _of_application(self, request: h11.Request) -> Page | StreamedPage:
        assert self._mounted is not None
        method, peer = request.method.decode("ascii", "replace"), (self._host, self._port)
        whole = HttpRequest(method, request.target, self._headers, bytes(self._body), peer)
        return await self._mounted.answer(whole)

    async def _stream(self, stream: StreamedPage) -> None:
        """Send an answer as a stream, no faster than the peer takes it, until the peer is gone.

        The connection ends with it: a peer that receives no end of the stream knows that it was cut off.
        """
        self._discards = True
        self.gives_way = self._mounted is not None and self._mounted.gives_way
        self._transport.resume_reading()  # otherwise the loss of the peer is noticed only at the next write
        headers = [("content-type", stream.content_type), *stream.headers, ("connection", "close")]
        response = h11.Response(status_code=stream.status, headers=headers)
        self._transport.write(self._http.send(response) or b"")
        async with aclosing(stream.chunks) as chunks:
            async for each in chunks:
                if self._is_closing:
                    return
                self._transport.write(self._http.send(h11.Data(data=each)) or b"")
                if not self._is_writable:
                    self._expect("the client did not read the response in time")
                    await self._writable()
        self._transport.write(self._http.send(h11.EndOfMessage()) or b"")
        self.close()

    async def _writable(self) -> None:
        self._waits_to_write = asyncio.get_running_loop().create_future()
        await self._waits_to_write

    def _answered(self) -> None:
        """Continue with the next request, because the answer is with the kernel."""
        if self._is_closing or not self._is_over():
            return
        self._await_next()
        self._transport.resume_reading()
        self._go_on()

    def _is_over(self) -> bool:
        """Return whether the request and its answer are complete; the connection is closed if they are not."""
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            return True
        self.close()
        return False

    def _await_next(self) -> None:
        self._http.start_next_cycle()
        self._server.connection_answered(self)
        self._stop_waiting()
        self._timer = self._server.clock.call_later(self._server.idle_timeout_ms, self._end_waiting)

    def _send(self, page: Page, *, is_last: bool) -> None:
        self._write(page, is_last=is_last)
        if is_last:
            self.close()

    def _write(self, page: Page, *, is_last: bool) -> None:
        headers = [("content-type", page.content_type), ("content-length", str(len(page.body)))]
        headers += [("allow", "GET, HEAD")] if page.status == METHOD_NOT_ALLOWED and not page.headers else []
        headers += page.headers
        headers += [("connection", "close")] if is_last else []
        phrase = HTTPStatus(page.status).phrase.encode()
        response = h11.Response(status_code=page.status, headers=headers, reason=phrase)
        body = [] if self._is_head else [h11.Data(data=page.body)]
        parts = (response, *body, h11.EndOfMessage())
        self._transport.write(b"".join(self._http.send(part) or b"" for part in parts))

    # --- the end ---------------------------------------------------------------------------------------------------

    def _expect(self, otherwise: str) -> None:
        """Start the timeout for the next expected event; if it expires, the connection is closed for that reason."""
        self._stop_waiting()
        self._timer = self._server.clock.call_later(REQUEST_TIMEOUT_MS, lambda: self._cut_off(otherwise))

    def _end_waiting(self) -> None:
        """End a connection whose next request is not there: without an error if nothing of it is."""
        if self._http.their_state is h11.IDLE and not self._http.trailing_data[0]:
            self.close()
        else:
            self._cut_off("no complete request arrived in time")

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _cut_off(self, reason: str) -> None:
        _log.debug(line("connection closed", peer=self.peer, reason=reason))
        self._transport.abort()

    @property
    def _is_closing(self) -> bool:
        return self._transport is None or self._transport.is_closing()

    @property
    def is_answering(self) -> bool:
        """Whether an answer is being made, or waits for the peer to take it."""
        return self._answering is not None or not self._is_writable

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """Close after the written data is sent, as far as the peer takes it in time."""
        if not self._is_closing:
            self._transport.close()
            self._expect("the client did not read the response in time")


def _path(target: bytes) -> str:
    return target.partition(b"?")[0].decode("ascii", "replace")
