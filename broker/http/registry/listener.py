"""The registry's listener: a port of its own, as clients of a registry expect its API at the root.

The registry and its API are loaded when they are first needed: by a request, or a moment after the start.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from barnabas.broker.http.asgi import HttpRequest, Mounted
from barnabas.broker.http.pages import PLAIN_TEXT, Page
from barnabas.broker.http.server import HttpServer
from barnabas.broker.runtime.log_lines import Seldom, line, logger

if TYPE_CHECKING:
    from barnabas.broker.http.metrics.sources import RegistryFigures
    from barnabas.broker.http.registry.known_answers import KnownAnswers
    from barnabas.broker.http.secured import HttpSecurity
    from barnabas.broker.network.network import Network
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.services import Services
    from barnabas.registry.decisions.parsing import SchemaParser
    from barnabas.registry.rest.application import RegistryApplication
    from barnabas.registry.schema_registry import SchemaRegistry

T = TypeVar("T")
_log = logger("registry")
BODY_BYTES_MAX = 4 << 20
"""More than a record of `_schemas` has by default, even if all of its characters are escaped."""
CONNECTIONS_MAX = 256
IDLE_TIMEOUT_MS = 30_000
"""As Confluent's: clients keep connections for their next lookup."""
_PRELOAD_MS = 300
_TOO_LARGE = b'{"error_code":413,"message":"The body has more than %d bytes"}'


class RegistryListener:
    """The registry of a broker, with its listener."""

    def __init__(self, services: Services, clock: Clock) -> None:
        """Create it, with nothing loaded. clock: the machine's."""
        self._services = services
        self._clock = clock
        self._refused = Seldom(_log.warning)
        self._application: RegistryApplication | None = None
        self._known: KnownAnswers | None = None
        self._loading: asyncio.Task[RegistryApplication] | None = None
        self._preloading: asyncio.Task[None] | None = None
        self._server: HttpServer | None = None

    async def listen(self, sockets: Sequence[socket.socket], network: Network, security: HttpSecurity | None) -> None:
        """Accept connections."""
        mounted = Mounted(b"", self._answer, BODY_BYTES_MAX, too_large=_TOO_LARGE, at_once=self._known_answer)
        self._server = HttpServer(
            self._clock,
            None,
            [mounted],
            security,
            connections_max=CONNECTIONS_MAX,
            idle_timeout_ms=IDLE_TIMEOUT_MS,
            name="registry",
        )
        await self._server.listen(sockets, network)
        self._clock.call_later(_PRELOAD_MS, self._preload)

    def close(self) -> None:
        """Accept no more connections."""
        if self._server is not None:
            self._server.close()
        for task in (self._preloading, self._loading):
            if task is not None:
                task.cancel()

    @property
    def registry(self) -> SchemaRegistry | None:
        """The registry, once it is loaded."""
        return None if self._application is None else self._application.registry

    async def current(self) -> SchemaRegistry:
        """Return the registry, loaded, with all records of its log applied. Raises RegistryError."""
        registry = (await self._loaded()).registry
        await registry.current()
        return registry

    def figures(self) -> RegistryFigures | None:
        """Return what metrics tell; None before the registry is loaded."""
        from barnabas.broker.http.metrics.sources import RegistryFigures

        if self._application is None:
            return None
        registry = self._application.registry
        return RegistryFigures(
            registry.state.subjects_count, registry.created, registry.deleted, self._application.requests
        )

    def _preload(self) -> None:
        if self._server is not None and not self._server.is_closing:
            self._preloading = asyncio.ensure_future(self._preloaded())

    async def _preloaded(self) -> None:
        """Load the registry and replay its log, so that the first request need not wait."""
        try:
            await (await self._loaded()).registry.current()
        except Exception as error:
            _log.warning(line("schemas not loaded yet", error=repr(error)))  # the next request tries again

    async def _answer(self, request: HttpRequest) -> Page:
        application = self._application or await self._loaded()
        method, target, headers, body, _ = request
        revision = application.registry.state.revision
        answer = await application.answer(method, target, headers, body)
        allowed = (("allow", ", ".join(answer.methods)),) if answer.methods else ()
        page = Page(answer.status, answer.body, answer.content_type or PLAIN_TEXT, allowed)
        if self._known is not None:
            self._known.keep(method, target, headers, revision, page)
        return page

    def _known_answer(self, method: str, target: bytes, headers: Sequence[tuple[bytes, bytes]]) -> Page | None:
        """Return the answer to a request that was answered before, if it is still true."""
        page = None if self._known is None else self._known.get(method, target, headers)
        if page is not None and self._application is not None:
            self._application.requests[page.status] += 1
        return page

    async def _loaded(self) -> RegistryApplication:
        if self._application is None:
            if self._loading is None or self._loading.done():
                self._loading = asyncio.ensure_future(self._load())
            await asyncio.shield(self._loading)
        assert self._application is not None
        return self._application

    async def _load(self) -> RegistryApplication:
        """Import the API in a thread, as that takes a tenth of a second, and create it."""
        for module in ("rest.application", "schema_registry"):
            await self.beside(partial(import_module, f"barnabas.registry.{module}"))
        languages = await self.beside(partial(import_module, "barnabas.registry.schemas.languages"))
        self._application = self._made(languages.parse, await self.beside(_version))
        return self._application

    def _made(self, parse: SchemaParser, version: str) -> RegistryApplication:
        from barnabas.broker.http.registry.known_answers import KnownAnswers
        from barnabas.broker.http.registry.schemas_topic import SchemasTopic
        from barnabas.registry.rest.application import RegistryApplication
        from barnabas.registry.rest.server_metadata import ServerMetadata
        from barnabas.registry.schema_registry import SchemaRegistry

        topic = SchemasTopic(self._services)
        registry = SchemaRegistry(topic, parse, self)
        self._known = KnownAnswers(registry, topic)
        metadata = ServerMetadata(self._services.node.cluster_id, version)
        return RegistryApplication(registry, metadata, _report)

    # --- RegistryHost ---

    def beside(self, work: Callable[[], T]) -> Awaitable[T]:
        """Do the work in a thread."""
        return asyncio.get_running_loop().run_in_executor(None, work)

    def pause(self) -> Awaitable[None]:
        """Let the event loop turn once."""
        return self._services.upkeep.next_turn()

    def record_refused(self, why: str) -> None:
        """Report a record of `_schemas` that is not applied."""
        self._refused.line("record", self._clock.now_ms(), "record of _schemas left out", why=why)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"barnabas-{version('barnabas')}"
    except PackageNotFoundError:  # a checkout that is not installed
        return "barnabas"


def _report(error: Exception, path: str) -> None:
    _log.error(line("request failed", path=path, error=repr(error)), exc_info=error)


async def open_registry(
    services: Services,
    sockets: Sequence[socket.socket],
    network: Network,
    clock: Clock,
    security: HttpSecurity | None = None,
) -> RegistryListener:
    """Serve the registry on bound sockets. clock: the machine's. security: None if the port speaks plain HTTP."""
    listener = RegistryListener(services, clock)
    await listener.listen(sockets, network, security)
    return listener
