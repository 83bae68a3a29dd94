"""Applications behind our HTTP server: answers that are whole, answers that come bit by bit, and who goes away."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from barnabas.broker.http.asgi import Mounted, asgi
from barnabas.broker.http.connection import REQUEST_TIMEOUT_MS, HttpConnection
from barnabas.broker.http.pages import Page, Pages
from barnabas.broker.http.server import HttpServer
from tests.support.virtual_clock import VirtualClock
from tests.support.worlds.broker import settle
from tests.support.worlds.memory_transport import MemoryTransport

ASK = b"GET /app/x HTTP/1.1\r\nHost: x\r\n\r\n"
START = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Application:
    """Answers bit by bit what the test gives it; None ends the answer."""

    def __init__(self) -> None:
        self.bits: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.ended = ""
        self.server = HttpServer(VirtualClock(), _no_pages(), [Mounted(b"/app", asgi(self), 10)])

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await send(START)
            while (bit := await self.bits.get()) is not None:
                await send({"type": "http.response.body", "body": bit, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            self.ended = "itself"
        except asyncio.CancelledError:
            self.ended = "cancelled"
            raise

    async def asked(self, kernel_bytes: int = 1 << 30) -> MemoryTransport:
        peer = MemoryTransport(HttpConnection(self.server), kernel_bytes)
        peer.send(ASK)
        await settle()
        return peer


def _no_pages() -> Pages:
    async def scrape() -> bytes:
        return b""

    return Pages(VirtualClock(), lambda: None, scrape, lambda query: Page(404, b""))


async def test_an_answer_comes_bit_by_bit_as_the_application_sends_it() -> None:
    app = Application()
    peer = await app.asked()
    assert peer.read() == b""
    app.bits.put_nowait(b"data: 1\n\n")
    await settle()
    head, _, body = peer.read().partition(b"\r\n\r\n")
    assert b"content-type: text/event-stream" in head
    assert b"connection: close" in head
    assert b"data: 1\n\n" in body
    app.bits.put_nowait(b"data: 2\n\n")
    await settle()
    assert peer.read() == b"9\r\ndata: 2\n\n\r\n"
    app.bits.put_nowait(None)
    await settle()
    assert peer.read() == b"0\r\n\r\n"
    assert app.ended == "itself"


async def test_an_application_waits_for_a_peer_that_reads_slowly_and_goes_on_when_it_reads() -> None:
    app = Application()
    peer = await app.asked(kernel_bytes=200)
    for _ in range(100):
        app.bits.put_nowait(b"x" * 100)
    await settle()
    left = app.bits.qsize()
    assert left > 90
    peer.read()
    await settle()
    assert app.bits.qsize() < left
    assert not peer.is_lost


async def test_a_peer_that_takes_nothing_is_cut_off_and_the_application_ends() -> None:
    app = Application()
    peer = await app.asked(kernel_bytes=200)
    for _ in range(100):
        app.bits.put_nowait(b"x" * 100)
    await settle()
    app.server.clock.advance(REQUEST_TIMEOUT_MS)  # type: ignore[attr-defined]  # because it is a VirtualClock
    await settle()
    assert peer.is_lost
    assert app.ended == "cancelled"


async def test_an_application_ends_when_its_peer_has_gone() -> None:
    app = Application()
    peer = await app.asked()
    app.bits.put_nowait(b"data: 1\n\n")
    await settle()
    peer.abort()
    await settle()
    assert app.ended == "cancelled"


async def test_a_peer_that_hangs_up_is_noticed_although_nothing_is_sent() -> None:
    app = Application()
    peer = await app.asked()
    app.bits.put_nowait(b"data: 1\n\n")
    await settle()
    peer.send(b"GET /again HTTP/1.1\r\n\r\n" * 100)
    await settle()
    assert app.ended == ""
    peer.hang_up()
    await settle()
    assert (app.ended, peer.is_lost) == ("cancelled", True)


@pytest.mark.parametrize("begun", [False, True])
async def test_an_application_that_fails_is_a_server_error_and_no_half_answer(begun: bool) -> None:
    async def fails(scope: Any, receive: Any, send: Send) -> None:
        if begun:
            await send(START)
        raise ValueError("broken")

    server = HttpServer(VirtualClock(), _no_pages(), [Mounted(b"/app", asgi(fails), 10)])
    peer = MemoryTransport(HttpConnection(server))
    peer.send(ASK)
    await settle()
    assert peer.read().startswith(b"HTTP/1.1 500")
