"""An ASGI application behind our HTTP server: one whole request in, one whole answer out.

Knows ASGI's messages, not what the application does. Requests have small bodies that are there already, and answers are
collected: nothing streams.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any, NamedTuple

from barnabas.broker.http.pages import Page, is_loopback

Message = MutableMapping[str, Any]
AsgiApp = Callable[
    [MutableMapping[str, Any], Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]


class AsgiRequest(NamedTuple):
    """A whole request. target: path and query. peer: address and port."""

    method: str
    target: bytes
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes
    peer: tuple[str, int]


class Mounted(NamedTuple):
    """Where an application is: below a path, with bodies of so many bytes."""

    path: bytes
    app: AsgiApp
    body_bytes_max: int

    def has(self, target: bytes) -> bool:
        """Whether a request for this goes there."""
        path = target.partition(b"?")[0]
        return path == self.path or path.startswith(self.path + b"/")

    async def answer(self, request: AsgiRequest) -> Page:
        """The application's answer."""
        path, _, query = request.target.partition(b"?")
        scope = {
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
        is_read = False
        status = 500
        headers: list[tuple[bytes, bytes]] = []
        body = bytearray()

        async def receive() -> Message:
            nonlocal is_read
            if is_read:
                await asyncio.Future()  # nothing more comes: the task is cancelled when the peer is gone
            is_read = True
            return {"type": "http.request", "body": request.body, "more_body": False}

        async def send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers.extend(message.get("headers", ()))
            elif message["type"] == "http.response.body":
                body.extend(message.get("body", b""))

        await self.app(scope, receive, send)
        return _page(status, headers, bytes(body))


def _page(status: int, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> Page:
    own = {b"content-length": b"", b"content-type": b"text/plain; charset=utf-8"}
    told = own | {name.lower(): value for name, value in headers}
    others = tuple((name.decode(), value.decode("latin-1")) for name, value in told.items() if name not in own)
    return Page(status, body, told[b"content-type"].decode("latin-1"), others)
