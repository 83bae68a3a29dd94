"""HTTP as peers speak it, well or badly: answers, limits, and who is cut off for what."""

import asyncio
import re
from collections.abc import AsyncGenerator

import pytest

from barnabas.broker.http.asgi import Mounted, Receive, Send, asgi
from barnabas.broker.http.connection import HEAD_BYTES_MAX, REQUEST_TIMEOUT_MS, HttpConnection
from barnabas.broker.http.guard import Guard
from barnabas.broker.http.pages import JSON_LINES, OK, Page, Pages, StreamedPage, is_loopback
from barnabas.broker.http.server import CONNECTIONS_MAX, HttpServer
from barnabas.broker.security.acl.acl import Acl, PatternType, Permission
from barnabas.broker.security.acl.audit import AclAudit
from barnabas.broker.security.acl.authorizer import Authorizer
from barnabas.broker.security.acl.index import AclIndex
from barnabas.broker.security.session.operations import CLUSTER_NAME, Operation, Resource
from barnabas.broker.security.session.principal import USER, Principal
from tests.support.virtual_clock import VirtualClock
from tests.support.worlds.broker import settle
from tests.support.worlds.memory_transport import MemoryTransport

READY = b"GET /ready HTTP/1.1\r\nHost: x\r\n\r\n"
METRICS = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"


class Site:
    """A server of pages without sockets."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.unready: str | None = None
        self.ended = False
        self.scrapes: list[asyncio.Future[bytes]] = []
        self.server = HttpServer(self.clock, Pages(self.clock, lambda: self.unready, self._scrape, self._clean))

    def _scrape(self) -> asyncio.Future[bytes]:
        self.scrapes.append(asyncio.get_running_loop().create_future())
        return self.scrapes[-1]

    def _clean(self, query: str) -> Page | StreamedPage:
        if query == "wrong":
            return Page(400, b"wrong\n")
        self.lines: asyncio.Queue[bytes] = asyncio.Queue()
        return StreamedPage(OK, JSON_LINES, self._lines())

    async def _lines(self) -> AsyncGenerator[bytes, None]:
        try:
            while line := await self.lines.get():
                yield line
        finally:
            self.ended = True

    def connect(self, kernel_bytes: int = 1 << 30) -> MemoryTransport:
        return MemoryTransport(HttpConnection(self.server), kernel_bytes)

    async def sent(self, request: bytes, kernel_bytes: int = 1 << 30) -> MemoryTransport:
        """A connection on which this was asked."""
        peer = self.connect(kernel_bytes)
        peer.send(request)
        await settle()
        return peer

    async def ask(self, request: bytes, step: int = 1 << 30) -> tuple[bytes, bytes]:
        """(status line, body) of the answer on a connection of its own."""
        peer = self.connect()
        peer.send(request, step)
        await settle()
        head, _, body = peer.read().partition(b"\r\n\r\n")
        return head.split(b"\r\n")[0], body


async def test_ready_follows_the_broker() -> None:
    site = Site()
    assert await site.ask(READY) == (b"HTTP/1.1 200 OK", b"ready\n")
    site.unready = "the broker is starting"
    assert await site.ask(READY) == (b"HTTP/1.1 503 Service Unavailable", b"the broker is starting\n")
    assert await site.ask(READY.replace(b"ready", b"live")) == (b"HTTP/1.1 200 OK", b"live\n")


async def test_a_request_may_come_byte_by_byte_and_have_a_query() -> None:
    assert await Site().ask(b"GET /ready?x=1 HTTP/1.1\r\nHost: x\r\n\r\n", step=1) == (b"HTTP/1.1 200 OK", b"ready\n")


async def test_requests_on_one_connection_are_answered_in_order() -> None:
    site = Site()
    peer = await site.sent(METRICS + READY + READY.replace(b"ready", b"nowhere"))
    assert peer.read() == b""
    site.scrapes[0].set_result(b"all well\n")
    await settle()
    assert re.findall(rb"HTTP/1.1 (\d+)", peer.read()) == [b"200", b"200", b"404"]
    assert not peer.is_lost


async def test_head_is_get_without_the_body() -> None:
    site = Site()
    peer = await site.sent(READY.replace(b"GET", b"HEAD"))
    head, _, body = peer.read().partition(b"\r\n\r\n")
    assert (head.split(b"\r\n")[0], b"content-length: 6" in head, body) == (b"HTTP/1.1 200 OK", True, b"")
    peer.send(READY)
    await settle()
    assert peer.read().endswith(b"ready\n")


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"POST /ready HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", b"405 Method Not Allowed"),
        (b"GET /ready HTTP/1.1\r\n\r\n", b"400 Bad Request"),
        (b"\x00\x00\x00\x17\x00\x12\x00\x03\x00\x00\x00\x01\r\n\r\n", b"400 Bad Request"),
        (b"GET " + b"/" * HEAD_BYTES_MAX + b" HTTP/1.1\r\nHost: x", b"431 Request Header Fields Too Large"),
    ],
)
async def test_an_invalid_http_request_is_refused_and_its_connection_closed(
    request_bytes: bytes, status: bytes
) -> None:
    peer = await Site().sent(request_bytes)
    assert peer.read().partition(b"\r\n")[0].startswith(b"HTTP/1.1 " + status)
    assert peer.is_lost


PUT = b"PUT /app HTTP/1.1\r\nHost: x\r\n"
EXPECT = b"Expect: 100-continue\r\n"


class Echo:
    """A site with an application that answers with the body it got, of at most ten bytes."""

    def __init__(self) -> None:
        self.site = Site()
        self.site.server.mounted = [Mounted(b"/app", asgi(self._answer), 10, too_large=b"at most %d bytes")]

    async def _answer(self, scope: object, receive: Receive, send: Send) -> None:
        body = (await receive())["body"]
        await send({"type": "http.response.start", "status": OK, "headers": []})
        await send({"type": "http.response.body", "body": body})


@pytest.mark.parametrize("framing", [b"Content-Length: 3\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n3\r\n"])
async def test_a_peer_that_waits_with_its_body_is_told_to_send_it(framing: bytes) -> None:
    peer = await Echo().site.sent(PUT + EXPECT + framing)
    assert peer.read() == b"HTTP/1.1 100 Continue\r\n\r\n"
    peer.send(b"abc" + (b"\r\n0\r\n\r\n" if b"chunked" in framing else b""))
    await settle()
    answer = peer.read()
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b"abc")


@pytest.mark.parametrize(
    "request_bytes",
    [
        PUT + EXPECT + b"Content-Length: 3\r\n\r\nabc",
        PUT.replace(b"1.1", b"1.0") + EXPECT + b"Content-Length: 3\r\n\r\n",
    ],
)
async def test_nobody_is_told_to_send_what_has_come_or_to_a_version_that_does_not_know_it(request_bytes: bytes) -> None:
    peer = await Echo().site.sent(request_bytes)
    assert b" 100 " not in peer.read()


async def test_a_peer_that_takes_the_go_ahead_late_stays_connected() -> None:
    peer = await Echo().site.sent(PUT + EXPECT + b"Content-Length: 3\r\n\r\n", kernel_bytes=5)
    received = peer.read()
    while more := peer.read():
        received += more
    assert received == b"HTTP/1.1 100 Continue\r\n\r\n"
    peer.send(b"abc")
    await settle()
    assert not peer.is_lost


REFUSED = [
    (PUT + EXPECT + b"Content-Length: 11\r\n\r\n", b"at most 10 bytes"),
    (PUT + b"Content-Length: 11\r\n\r\n", b"at most 10 bytes"),
    (PUT + b"Transfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n", b"at most 10 bytes"),
    (READY[:-2] + b"Content-Length: 3\r\n\r\nabc", b"a request has no body here\n"),
    (READY[:-2] + EXPECT + b"Content-Length: 3\r\n\r\n", b"a request has no body here\n"),
]


@pytest.mark.parametrize(("request_bytes", "why"), REFUSED)
async def test_a_body_too_large_is_refused_at_once_and_the_peer_may_finish_sending(
    request_bytes: bytes, why: bytes
) -> None:
    peer = await Echo().site.sent(request_bytes)
    answer = peer.read()
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in answer
    assert answer.endswith(why)
    peer.send(b"x" * 100_000)
    peer.send(READY)
    await settle()
    assert (peer.read(), peer.is_lost, len(peer.in_flight)) == (b"", False, 0)
    peer.hang_up()
    assert peer.is_lost


async def test_a_peer_that_never_ends_a_refused_body_is_cut_off() -> None:
    site = Site()
    peer = await site.sent(READY[:-2] + b"Content-Length: 300\r\n\r\n")
    site.clock.advance(REQUEST_TIMEOUT_MS)
    assert peer.is_lost
    assert site.clock.pending_timers() == 0


async def test_an_unauthenticated_request_is_refused_after_its_head() -> None:
    site = Site()
    site.server.guard = Guard(None, site.clock, token="secret")
    assert await site.ask(READY) == (b"HTTP/1.1 200 OK", b"ready\n")
    peer = await site.sent(b"POST /clean HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
    head = peer.read()
    assert head.startswith(b"HTTP/1.1 401 Unauthorized\r\n")
    assert b"www-authenticate: Bearer\r\n" in head
    assert peer.is_lost


async def test_a_refusal_is_no_longer_held_back_when_its_peer_is_gone() -> None:
    site = Site()
    site.server.guard = Guard(None, site.clock, token="secret", delay_ms=1_000)
    peer = await site.sent(METRICS.replace(b"Host", b"Authorization: Bearer guess\r\nHost"))
    assert (peer.read(), site.clock.pending_timers()) == (b"", 1)
    peer.abort()
    await settle()
    assert site.clock.pending_timers() == 0


@pytest.mark.parametrize(
    ("host", "peer_host", "is_refused"),
    [
        ("evil.example:9404", "127.0.0.1", True),
        ("evil.example", "::1", True),
        ("evil.example", "10.0.0.1", False),  # who scrapes from elsewhere has its own name for this machine
        ("127.0.0.1:9404", "127.0.0.1", False),
        ("[::1]:9404", "::1", False),
        ("localhost:9404", "127.0.0.1", False),
        ("broker:9404", "127.0.0.1", False),
    ],
)
async def test_a_name_of_another_site_that_leads_to_this_machine_is_given_no_metrics(
    host: str, peer_host: str, is_refused: bool
) -> None:
    site = Site()
    peer = MemoryTransport(HttpConnection(site.server), host=peer_host)
    peer.send(METRICS.replace(b"Host: x", b"Host: " + host.encode()))
    await settle()
    assert (peer.read().startswith(b"HTTP/1.1 403 "), len(site.scrapes)) == (is_refused, not is_refused)


async def test_rights_with_a_host_hold_for_ipv4_over_an_ipv6_socket() -> None:
    acls = [
        Acl(Resource.CLUSTER, CLUSTER_NAME, PatternType.LITERAL, "User:*", host, Operation.DESCRIBE, permission)
        for host, permission in (("*", Permission.ALLOW), ("127.0.0.1", Permission.DENY))
    ]
    site = Site()
    site.server.guard = Guard(None, site.clock, authorizer=Authorizer(AclIndex(acls), [], AclAudit()))
    for host, status in (("::ffff:127.0.0.1", b"403 Forbidden"), ("::ffff:10.0.0.1", b"404 Not Found")):
        connection = HttpConnection(site.server, Principal(USER, "alice"))
        peer = MemoryTransport(connection, host=host)
        peer.send(READY.replace(b"/ready", b"/nowhere"))
        await settle()
        assert peer.read().startswith(b"HTTP/1.1 " + status)
        assert connection.peer == f"{host.removeprefix('::ffff:')}:50000"


async def test_a_slow_peer_is_cut_off() -> None:
    site = Site()
    peer = site.connect()
    site.clock.advance(REQUEST_TIMEOUT_MS - 1)
    peer.send(READY[:10])
    assert not peer.is_lost
    site.clock.advance(1)
    assert peer.is_lost
    assert site.clock.pending_timers() == 0


async def test_a_peer_that_does_not_read_is_cut_off_and_read_no_further() -> None:
    site = Site()
    peer = await site.sent(READY + READY, kernel_bytes=10)
    peer.send(READY * 1000)
    assert len(peer.in_flight) >= len(READY) * 1000
    site.clock.advance(REQUEST_TIMEOUT_MS)
    assert peer.is_lost


async def test_an_answer_that_was_read_late_lets_the_next_request_in() -> None:
    site = Site()
    peer = await site.sent(READY + READY, kernel_bytes=50)
    answers = b""
    while len(answers.split(b"ready\n")) < 3 and (more := peer.read()):
        answers += more
        await settle()
    assert answers.count(b"ready\n") == 2
    assert not peer.is_lost


async def test_a_connection_too_many_takes_the_place_of_the_one_that_waits_longest() -> None:
    site = Site()
    peers = [site.connect() for _ in range(CONNECTIONS_MAX)]
    peers[0].send(READY)
    await settle()
    newcomer = site.connect()
    assert [peer.is_lost for peer in peers[:3]] == [False, True, False]
    newcomer.send(READY)
    await settle()
    assert newcomer.read().endswith(b"ready\n")


async def test_a_connection_with_a_pending_response_stays_open() -> None:
    site = Site()
    peers = [site.connect() for _ in range(CONNECTIONS_MAX)]
    for peer in peers:
        peer.send(METRICS)
    await settle()
    assert site.connect().is_lost
    assert not any(peer.is_lost for peer in peers)
    assert len(site.scrapes) == 1


async def test_those_that_have_yet_to_prove_who_they_are_give_way() -> None:
    site = Site()
    site.server.guard = Guard(None, site.clock, token="secret", delay_ms=1_000)
    peers = [site.connect() for _ in range(CONNECTIONS_MAX)]
    for number, peer in enumerate(peers):
        peer.send(
            METRICS.replace(b"Host", b"Authorization: Bearer " + (b"guess" if number else b"secret") + b"\r\nHost")
        )
    await settle()
    assert await site.ask(READY) == (b"HTTP/1.1 200 OK", b"ready\n")
    assert [peer.is_lost for peer in peers[:3]] == [False, True, False]


@pytest.mark.parametrize("gives_way", [True, False])
async def test_pages_that_are_followed_make_room_where_they_ask_again_by_themselves(*, gives_way: bool) -> None:
    async def follow(scope: object, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": OK, "headers": []})
        await send({"type": "http.response.body", "body": b"data\n", "more_body": True})
        await asyncio.Future()

    site = Site()
    site.server.mounted = [Mounted(b"/app", asgi(follow), 10, gives_way=gives_way)]
    peers = [site.connect() for _ in range(CONNECTIONS_MAX)]
    for peer in peers:
        peer.send(READY.replace(b"/ready", b"/app"))
    await settle()
    assert (await site.ask(READY))[1] == (b"ready\n" if gives_way else b"")
    assert [peer.is_lost for peer in peers[:2]] == [gives_way, False]
    site.server.close()
    for peer in peers[1:]:
        peer.abort()
    await settle()


async def test_a_failed_scrape_is_an_answer_and_the_next_one_is_tried() -> None:
    site = Site()
    peer = site.connect()
    for result in (OSError("no"), b"all well\n"):
        peer.send(METRICS)
        await settle()
        scrape = site.scrapes.pop()
        scrape.set_exception(result) if isinstance(result, OSError) else scrape.set_result(result)
        await settle()
        status = b"500" if isinstance(result, OSError) else b"200"
        assert peer.read().startswith(b"HTTP/1.1 " + status)


async def test_metrics_are_made_once_a_second() -> None:
    site = Site()
    peer = site.connect()
    for after_ms, scrapes in ((0, 1), (900, 1), (101, 2)):
        site.clock.advance(after_ms)
        peer.send(METRICS)
        await settle()
        if not site.scrapes[-1].done():
            site.scrapes[-1].set_result(b"")
            await settle()
        assert len(site.scrapes) == scrapes


async def test_closing_ends_idle_connections_and_lets_answers_leave() -> None:
    site = Site()
    idle, busy = site.connect(), site.connect()
    busy.send(METRICS)
    await settle()
    site.server.close()
    assert (idle.is_lost, busy.is_lost) == (True, False)
    site.scrapes[0].set_result(b"the end\n")
    await settle()
    assert busy.read().endswith(b"the end\n")
    assert busy.is_lost


async def test_a_peer_that_leaves_is_dropped() -> None:
    site = Site()
    for request in (b"", READY[:5], METRICS):
        peer = site.connect()
        peer.send(request)
        await settle()
        peer.abort()
    await settle()
    assert site.clock.pending_timers() == 0
    assert not any(peer.is_lost for peer in [site.connect() for _ in range(CONNECTIONS_MAX)])


CLEAN = b"POST /clean?partition=t HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"


async def test_an_answer_may_come_bit_by_bit() -> None:
    site = Site()
    peer = await site.sent(CLEAN)
    head = peer.read()
    assert head.startswith(b"HTTP/1.1 200 ")
    assert b"transfer-encoding: chunked" in head.lower()
    site.clock.advance(10 * REQUEST_TIMEOUT_MS)
    for line in (b"one\n", b"two\n"):
        site.lines.put_nowait(line)
        await settle()
        assert line in peer.read()
    site.lines.put_nowait(b"")
    await settle()
    assert peer.read().endswith(b"0\r\n\r\n")
    assert peer.is_lost
    assert site.ended


async def test_sending_to_a_peer_that_does_not_read_ends() -> None:
    site = Site()
    peer = await site.sent(CLEAN, kernel_bytes=10)
    for _ in range(3):
        site.lines.put_nowait(b"line\n" * 100)
        await settle()
    site.clock.advance(REQUEST_TIMEOUT_MS)
    await settle()
    assert peer.is_lost
    assert site.ended


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (CLEAN.replace(b"Host: x", b"Host: x\r\nOrigin: http://evil.example"), b"403 Forbidden"),
        (CLEAN.replace(b"partition=t", b"wrong"), b"400 Bad Request"),
        (CLEAN.replace(b"/clean", b"/metrics"), b"405 Method Not Allowed"),
    ],
)
async def test_forbidden_requests_are_refused(request_bytes: bytes, status: bytes) -> None:
    assert (await Site().ask(request_bytes))[0] == b"HTTP/1.1 " + status


@pytest.mark.parametrize(
    ("host", "is_local"),
    [("127.0.0.1", True), ("::1", True), ("::ffff:127.0.0.1", True), ("10.0.0.1", False), ("?", False)],
)
def test_only_this_machine_has_logs_compacted(host: str, is_local: bool) -> None:
    assert is_loopback(host) is is_local
