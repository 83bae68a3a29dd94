"""Applications behind the HTTP server: each takes a whole request, returns a whole answer or a stream of chunks.

`asgi` makes one of an ASGI application: it knows ASGI's messages, not what the application does. Requests have small
bodies that are received already. A streaming application produces the next chunk when the peer has taken the last, and
is cancelled when the peer is gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, MutableMapping, Sequence
from typing import Any, NamedTuple

from barnabas.broker.http.pages import Page, StreamedPage, is_loopback

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]


class HttpRequest(NamedTuple):
    """A whole request. target: path and query. peer: address and port."""

    method: str
    target: bytes
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes
    peer: tuple[str, int]


class Mounted(NamedTuple):
    """An application, the path below which it is served, and the maximum size of a request's body."""

    path: bytes
    answer: Callable[[HttpRequest], Awaitable[Page | StreamedPage]]
    body_bytes_max: int
    gives_way: bool = False
    """Whether a stream may be cut off when other connections need room, because its client reconnects by itself."""
    too_large: bytes = b'{"error":"the body has more than %d bytes"}'
    """The answer to a larger body, in JSON, with a place for the maximum."""
    at_once: Callable[[str, bytes, Sequence[tuple[bytes, bytes]]], Page | None] | None = None
    """Returns the answer to a method, target and headers if it is known already; None otherwise."""

    def has(self, target: bytes) -> bool:
        """Return whether a request for this target belongs to the application."""
        path = target.partition(b"?")[0]
        return path == self.path or path.startswith(self.path + b"/")


def asgi(app: AsgiApp) -> Callable[[HttpRequest], Awaitable[Page | StreamedPage]]:
    """Return an ASGI application as one that can be mounted."""

    async def answer(request: HttpRequest) -> Page | StreamedPage:
        exchange = _Exchange(app, _scope(request), request.body)
        try:
            start, first = await exchange.next(), await exchange.next()
            if not first.get("more_body", False):
                await exchange.ended()
        except BaseException:
            exchange.cancel()
            raise
        status, headers, body = start["status"], start.get("headers", ()), first.get("body", b"")
        if first.get("more_body", False):
            return _stream(status, headers, _chunks(exchange, body))
        return _page(status, headers, body)

    return answer


def _scope(request: HttpRequest) -> dict[str, Any]:
    path, _, query = request.target.partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": path.decode("ascii", "replace"),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": list(request.headers),
        "client": request.peer,
        "server": None,
        "barnabas.peer_is_local": is_loopback(request.peer[0]),
    }


class _Exchange:
    """An application that answers one request. It runs at most one message ahead of the reader of its answer."""

    def __init__(self, app: AsgiApp, scope: MutableMapping[str, Any], body: bytes) -> None:
        self._body: bytes | None = body
        self._messages: asyncio.Queue[Message] = asyncio.Queue(1)
        self._task = asyncio.ensure_future(app(scope, self._receive, self._messages.put))

    async def next(self) -> Message:
        """Return the next message of the answer. Raises the application's exception; RuntimeError if it ends early."""
        message = asyncio.ensure_future(self._messages.get())
        try:
            await asyncio.wait({message, self._task}, return_when=asyncio.FIRST_COMPLETED)
            if not message.done() and not self._messages.empty():
                await message
            if message.done():
                return message.result()
        finally:
            message.cancel()
        self._task.result()
        raise RuntimeError("the application ended before its answer")

    async def ended(self) -> None:
        """Wait for the end of the application, once its answer is whole. Raises its exception."""
        await self._task

    def cancel(self) -> None:
        """Cancel the application, because the answer is not needed any more."""
        self._task.cancel()

    async def _receive(self) -> Message:
        if self._body is None:
            await asyncio.Future()  # nothing more arrives: the task is cancelled when the peer is gone
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


async def _chunks(exchange: _Exchange, first: bytes) -> AsyncGenerator[bytes, None]:
    try:
        yield first
        while True:
            message = await exchange.next()
            if message.get("body"):
                yield message["body"]
            if not message.get("more_body", False):
                break
        await exchange.ended()
    finally:
        exchange.cancel()


def _page(status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> Page:
    content_type, others = _split(headers)
    return Page(status, body, content_type, others)


def _stream(status: int, headers: Iterable[tuple[bytes, bytes]], chunks: AsyncGenerator[bytes, None]) -> StreamedPage:
    content_type, others = _split(headers)
    return StreamedPage(status, content_type, chunks, others)


def _split(headers: Iterable[tuple[bytes, bytes]]) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the content type, and the headers that the HTTP server does not send by itself."""
    own = {b"content-length": b"", b"content-type": b"text/plain; charset=utf-8"}
    given = own | {name.lower(): value for name, value in headers}
    others = tuple((name.decode(), value.decode("latin-1")) for name, value in given.items() if name not in own)
    return given[b"content-type"].decode("latin-1"), others
