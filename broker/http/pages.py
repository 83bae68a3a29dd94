"""The pages: /live, /ready, /metrics, /listeners, and a list of them at /; and the action POST /clean.

/live answers 200 while the event loop runs. /ready answers 200 when clients can work with the broker, else 503 with
the reason in a line. While a data directory is full it answers 200, with a line about it: consumers, and clients that
delete data, need access. Likewise while partitions are recovered in the background. /metrics is scraped by Prometheus:
it is made at most once a second, for any number of requests. /listeners returns where clients connect, in JSON.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from barnabas.broker.runtime.clock import Clock

OK, SEE_OTHER, BAD_REQUEST, FORBIDDEN, NOT_FOUND, METHOD_NOT_ALLOWED, CONFLICT, SERVICE_UNAVAILABLE = (
    200,
    303,
    400,
    403,
    404,
    405,
    409,
    503,
)
PLAIN_TEXT = "text/plain; charset=utf-8"
JSON = "application/json"
JSON_LINES = "application/x-ndjson"
METRICS_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_FRESH_S = 1.0


def is_loopback(host: str) -> bool:
    """Return whether a peer's address is of this machine."""
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


class Page(NamedTuple):
    """An answer."""

    status: int
    body: bytes
    content_type: str = PLAIN_TEXT
    headers: tuple[tuple[str, str], ...] = ()
    """Further headers."""


class StreamedPage(NamedTuple):
    """An answer that is streamed. It is closed when the peer has gone."""

    status: int
    content_type: str
    chunks: AsyncGenerator[bytes, None]
    headers: tuple[tuple[str, str], ...] = ()
    """Further headers."""


class Pages:
    """The pages by path."""

    def __init__(
        self,
        clock: Clock,
        unready_reason: Callable[[], str | None],
        scrape: Callable[[], Awaitable[bytes]],
        clean: Callable[[str], Page | StreamedPage],
        awaited: Callable[[], Iterable[str]] = tuple,
        listeners: Callable[[], bytes] = bytes,
    ) -> None:
        """Create the pages. unready_reason: returns why the broker cannot be used now, or None. scrape: returns the
        metrics as text. clean: compacts logs, given a query.

        awaited: returns what clients may wait for although the broker can be used, in words: disk space, recoveries.
        listeners: returns where clients connect, in JSON.
        """
        self._clock = clock
        self._unready_reason = unready_reason
        self._scrape = scrape
        self._clean = clean
        self._listeners = listeners
        self._awaited = awaited
        self._scraping: asyncio.Task[bytes] | None = None
        self._scraped_at = 0.0

    async def page(self, path: str, *, is_browser: bool = False) -> Page:
        """Return the page at a path without its query. is_browser: the peer prefers HTML, so / leads to the console."""
        if path == "/live":
            return Page(OK, b"live\n")
        if path == "/ready":
            reason = self._unready_reason()
            if reason is not None:
                return Page(SERVICE_UNAVAILABLE, f"{reason}\n".encode())
            return Page(OK, "".join(f"{each}\n" for each in ("ready", *self._awaited())).encode())
        if path == "/metrics":
            return Page(OK, await self._metrics(), METRICS_TEXT)
        if path == "/listeners":
            return Page(OK, self._listeners(), JSON)
        if path == "/" and is_browser:
            return Page(SEE_OTHER, b"", headers=(("location", "/console"), ("vary", "accept")))
        if path == "/":
            return Page(OK, b"/live\n/ready\n/metrics\n/listeners\n/console\n")
        return Page(NOT_FOUND, b"there are /live, /ready, /metrics, /listeners and /console\n")

    def act(self, query: str, host: str) -> Page | StreamedPage:
        """Perform a POST to /clean, for clients on this machine only."""
        if not is_loopback(host):
            return Page(FORBIDDEN, b"only from this machine\n")
        return self._clean(query)

    async def _metrics(self) -> bytes:
        """Return the metrics, at most a second old. Concurrent requests share one scrape."""
        scraping = self._scraping
        if scraping is None or (scraping.done() and not self._is_fresh(scraping)):
            scraping = self._scraping = asyncio.ensure_future(self._scrape_now())
        return await asyncio.shield(scraping)

    async def _scrape_now(self) -> bytes:
        text = await self._scrape()
        self._scraped_at = self._clock.monotonic()
        return text

    def _is_fresh(self, scraping: asyncio.Task[bytes]) -> bool:
        failed = scraping.cancelled() or scraping.exception() is not None
        return not failed and self._clock.monotonic() - self._scraped_at < _FRESH_S
