"""The way of a request through a node: the stages around its handler, in their order.

A request passes them from the top to the bottom, its answer from the bottom to the top. A stage that is off, or does
not apply to an API, is not there for it: it costs nothing.

Stages of frames: bytes in, an answer in bytes out (`FRAME_STAGES`).

- throttling: measures the request, and mutes its client; while the node has quotas
- faults: injected faults; while some are armed
- metrics: counts and times requests; with a meter
- traced answers: emits an event for each answer of Produce and Fetch; while all requests are followed
- produce fast path: answers the most common requests of Produce without the stages below

Then the request is decoded (`stages/decoding.py`; Produce and Fetch: `produce_fetch/frame_handlers.py`).

Stages of messages: a decoded request in, its response out, now or later (`MESSAGE_STAGES`).

- fetch limit: reads no more for a Fetch than its client's quota allows at once; while the node has quotas
- cause: the request is the cause of events; while there is a listener
- authorization: checks the rights of the client; with an authorizer

Then the handler of the API is called.

Theory of operation: the handlers of one version of an API are folded at its first request, from the inside out, and
stored. Code that switches a stage on or off calls `rebuild`, which drops all of them. A module that only a stage needs
is imported when that stage is on.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from barnabas.broker.api.api_table import ApiRow
from barnabas.broker.api.decoded_request_cache import DecodedRequestCache
from barnabas.broker.api.frame_handler import FrameHandler, MessageHandler, Wrap
from barnabas.broker.api.produce_fetch.frame_handlers import fetch_entry, produce_entry
from barnabas.broker.api.stages.decoding import MessageDecoder
from barnabas.protocol.registry import ApiKey, spec

if TYPE_CHECKING:
    from barnabas.broker.api.stages.metering import Meter
    from barnabas.broker.api.stages.throttling import Throttling
    from barnabas.broker.api.stages.tracing import Tracer
    from barnabas.broker.services import Services

H = TypeVar("H")

_EXEMPT_FROM_QUOTAS: Final = (ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE, ApiKey.WRITE_TXN_MARKERS)
_TRACED_BY_FRAME: Final = (ApiKey.PRODUCE, ApiKey.FETCH)


class StageParts:
    """The parts of one node that its stages use."""

    def __init__(self, services: Services, meter: Meter | None) -> None:
        self.services = services
        self.meter = meter
        self.wrap: Wrap | None = None
        """Injects faults while some are armed."""
        self._throttling: Throttling | None = None

    @property
    def throttling(self) -> Throttling:
        """The measuring of requests, while the node has quotas."""
        in_force = self.services.quotas.in_force
        assert in_force is not None
        if self._throttling is None:
            from barnabas.broker.api.stages.throttling import Throttling  # few brokers have quotas

            self._throttling = Throttling(self.services, in_force)
        return self._throttling

    def tracer(self) -> Tracer:
        """Return a tracer of requests."""
        from barnabas.broker.api.stages.tracing import Tracer  # only brokers with a listener have one

        return Tracer(self.services.events, self.services.node.node_id)


class Stage(NamedTuple, Generic[H]):
    """One stage. H: `FrameHandler` or `MessageHandler`."""

    name: str
    is_on: Callable[[StageParts], bool]
    """Returns whether the node has it at present."""
    applies_to: Callable[[ApiKey], bool]
    wrap: Callable[[StageParts, ApiRow, int, H], H]
    """(parts, API, version, handler) -> the handler with this stage around it, or that handler itself"""


# --- when a stage is on ----------------------------------------------------------------------------------------------


def _always(parts: StageParts) -> bool:
    return True


def _has_quotas(parts: StageParts) -> bool:
    return parts.services.quotas.in_force is not None


def _has_faults(parts: StageParts) -> bool:
    return parts.wrap is not None


def _has_meter(parts: StageParts) -> bool:
    return parts.meter is not None


def _has_listener(parts: StageParts) -> bool:
    return parts.services.events.is_on


def _follows_all(parts: StageParts) -> bool:
    return parts.services.events.is_on and parts.services.events.all_requests


def _has_authorizer(parts: StageParts) -> bool:
    return parts.services.access is not None


# --- to which APIs it applies ----------------------------------------------------------------------------------------


def _every_api(api: ApiKey) -> bool:
    return True


def _is_measured(api: ApiKey) -> bool:
    return api not in _EXEMPT_FROM_QUOTAS


def _is_traced_by_frame(api: ApiKey) -> bool:
    return api in _TRACED_BY_FRAME


def _is_produce(api: ApiKey) -> bool:
    return api is ApiKey.PRODUCE


def _is_fetch(api: ApiKey) -> bool:
    return api is ApiKey.FETCH


def _is_not_fetch(api: ApiKey) -> bool:
    return api is not ApiKey.FETCH  # which leads to no events but errors: its handler emits them


# --- what it does ----------------------------------------------------------------------------------------------------


def _throttled(parts: StageParts, api: ApiRow, version: int, handler: FrameHandler) -> FrameHandler:
    return parts.throttling.throttled(api.key, version, handler)


def _faulty(parts: StageParts, api: ApiRow, version: int, handler: FrameHandler) -> FrameHandler:
    assert parts.wrap is not None
    return parts.wrap(int(api.key), version, handler)


def _metered(parts: StageParts, api: ApiRow, version: int, handler: FrameHandler) -> FrameHandler:
    assert parts.meter is not None
    return parts.meter.timed(api.key, version, handler)


def _followed(parts: StageParts, api: ApiRow, version: int, handler: FrameHandler) -> FrameHandler:
    return parts.tracer().followed(api.key, version, handler)


def _shortened(parts: StageParts, api: ApiRow, version: int, handler: FrameHandler) -> FrameHandler:
    short = _fast_path()
    if version < short.SHORT_SINCE:
        return handler
    serve: FrameHandler = short.ShortProduce(parts.services, handler, version, parts.meter).serve
    return serve


def _fast_path() -> ModuleType:
    from barnabas.broker.api.produce_fetch import produce_fast_path  # as a handler is: no start waits for it

    return produce_fast_path


def _capped(parts: StageParts, api: ApiRow, version: int, handler: MessageHandler) -> MessageHandler:
    return parts.throttling.capped(handler)


def _traced(parts: StageParts, api: ApiRow, version: int, handler: MessageHandler) -> MessageHandler:
    return parts.tracer().traced(api.key, version, handler)


def _guarded(parts: StageParts, api: ApiRow, version: int, handler: MessageHandler) -> MessageHandler:
    from barnabas.broker.api.guards.guard_table import guarded  # few brokers have an authorizer

    return guarded(api, handler)


FRAME_STAGES: tuple[Stage[FrameHandler], ...] = (
    Stage("throttling", _has_quotas, _is_measured, _throttled),
    Stage("faults", _has_faults, _every_api, _faulty),
    Stage("metrics", _has_meter, _every_api, _metered),
    Stage("traced answers", _follows_all, _is_traced_by_frame, _followed),
    Stage("produce fast path", _always, _is_produce, _shortened),
)
"""The stages of frames, the outermost first."""
MESSAGE_STAGES: tuple[Stage[MessageHandler], ...] = (
    Stage("fetch limit", _has_quotas, _is_fetch, _capped),
    Stage("cause", _has_listener, _is_not_fetch, _traced),
    Stage("authorization", _has_authorizer, _every_api, _guarded),
)
"""The stages of messages, the outermost first."""


class Pipeline:
    """The stages of one node around the handlers of its APIs."""

    def __init__(self, services: Services, meter: Meter | None = None) -> None:
        """Fold handlers on demand. meter: counts requests."""
        self.handlers: dict[tuple[int, int], FrameHandler] = {}
        """(API key, version) -> what serves its frames; only those that were folded since the last `rebuild`."""
        self._parts = StageParts(services, meter)
        self._repeated = DecodedRequestCache()
        services.events.when_switched.append(self.rebuild)
        services.quotas.when_switched.append(self.rebuild)

    def intercept(self, wrap: Wrap | None) -> None:
        """Have `wrap` inject faults from now on; None: nothing does."""
        self._parts.wrap = wrap
        self.rebuild()

    def rebuild(self) -> None:
        """Drop the folded handlers: a stage was switched on or off."""
        self.handlers.clear()

    def handler(self, api: ApiRow, version: int) -> FrameHandler:
        """Return what serves the frames of a version of an API that is offered, and store it."""
        parts = self._parts
        handle: MessageHandler = _handlers_module(api).handle
        handle = _folded(MESSAGE_STAGES, parts, api, version, handle)
        serve = _folded(FRAME_STAGES, parts, api, version, self._decoder(api, version, handle))
        self.handlers[int(api.key), version] = serve
        return serve

    def preload(self, api: ApiRow) -> None:
        """Import the modules of the API, so that its first request does not wait for them."""
        _handlers_module(api)
        spec(api.key)
        if api.key is ApiKey.PRODUCE:
            _fast_path()

    def _decoder(self, api: ApiRow, version: int, handle: MessageHandler) -> FrameHandler:
        """Return what decodes the requests for `handle`, and encodes their answers."""
        services, meter = self._parts.services, self._parts.meter
        if api.key is ApiKey.PRODUCE:
            return produce_entry(services, handle, version, meter)
        if api.key is ApiKey.FETCH:
            fetching = self._parts.throttling.fetching if _has_quotas(self._parts) else services
            return fetch_entry(fetching, handle, version, meter)
        return MessageDecoder(services, api.key, version, handle, meter, self._repeated).serve


def _handlers_module(api: ApiRow) -> ModuleType:
    return import_module(f"barnabas.broker.api.handlers.{api.handler}")


def _folded(stages: tuple[Stage[H], ...], parts: StageParts, api: ApiRow, version: int, innermost: H) -> H:
    """Return the handler with the stages around it that are on and apply to the API."""
    handler = innermost
    for stage in reversed(stages):
        if stage.is_on(parts) and stage.applies_to(api.key):
            handler = stage.wrap(parts, api, version, handler)
    return handler
