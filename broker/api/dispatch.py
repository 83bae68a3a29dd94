"""From a request frame to its answer: header, decode, handle, encode. The error boundary.

Knows the API table and the codecs, no API in particular and no sockets.

Theory of operation: whether a connection has to authenticate is decided by its session once, when it begins. An entry
is made for each (API, version) at its first request, and stored. Produce and Fetch have separate entries
(`produce_fetch/frame_handlers.py`), Produce a fast path before it (`produce_fetch/produce_fast_path.py`); all others
share `_Entry`, which decodes repeated requests once (`decoded_request_cache.py`). An exception of a handler becomes an
answer here: KafkaError with its code, a storage failure with KAFKA_STORAGE_ERROR, anything else with
UNKNOWN_SERVER_ERROR and a stack trace in the log. A handler returns its response or a future of it, which is awaited
here, and cancelled when the peer leaves: work that must be completed runs behind a separate future (replies.py,
asyncio's shield). Produce alone is not cancelled.

Invariants: bytes that cannot be decoded raise CloseConnection and nothing else; a handler's exception never reaches the
connection; views into the frame live no longer than the call.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING, Final

from barnabas.broker.api.answers import Answer, CloseConnection, DeferredResponse, code_and_message, failure_of
from barnabas.broker.api.decoded_request_cache import DecodedRequestCache
from barnabas.broker.api.error_responses import error_response_in_steps
from barnabas.broker.api.frame_handler import FrameHandler, RequestConnection, Wrap
from barnabas.broker.api.in_hand import keep_in_hand
from barnabas.broker.api.produce_fetch import frame_handlers, large_requests, large_responses
from barnabas.broker.api.table import ApiRow, table_for
from barnabas.broker.runtime.refusals import NoSuchRequest
from barnabas.broker.security.session.session import Authentication, Session
from barnabas.broker.services import RequestContext, Services
from barnabas.protocol.codec.schema import Request, Response
from barnabas.protocol.errors import DecodeError, ErrorCode
from barnabas.protocol.headers import encode_response_header
from barnabas.protocol.primitives import skip_tags
from barnabas.protocol.registry import ApiKey, request_codec, response_codec, spec

if TYPE_CHECKING:
    from barnabas.broker.api.authentication.sasl_authenticator import SaslAuthenticator
    from barnabas.broker.api.authentication.sasl_listener import SaslListener
    from barnabas.broker.api.stages.metering import Meter
    from barnabas.broker.api.stages.throttling import Throttling
    from barnabas.broker.api.stages.tracing import Tracer

_HEADER: Final = Struct(">hhih")  # api_key, api_version, correlation_id, size of client_id
_SIZE: Final = Struct(">i")
_SASL_AUTHENTICATOR: Final = (
    "barnabas.broker.api.authentication.sasl_authenticator"  # imported where clients have to authenticate
)
_TRACING: Final = "barnabas.broker.api.stages.tracing"  # imported while events are on
_THROTTLING: Final = "barnabas.broker.api.stages.throttling"  # imported where there are quotas
_GUARDS: Final = "barnabas.broker.api.guards.table"  # imported where there is an authorizer
_SHORT_PRODUCE: Final = (
    "barnabas.broker.api.produce_fetch.produce_fast_path"  # imported as a handler is: no start waits for it
)

Dispatch = Callable[[memoryview, RequestConnection], Answer]
Handle = Callable[[Request, RequestContext], Response | Future[Response]]


class Dispatcher:
    """Answers requests with the services of one node."""

    def __init__(
        self,
        services: Services,
        table: tuple[ApiRow, ...] | None = None,
        meter: Meter | None = None,
        doors: Mapping[str, SaslListener] | None = None,
    ) -> None:
        """Make entries on demand. `table`: replaces that of this broker's settings. `meter`: counts requests.

        doors: the SASL settings of the listeners that require authentication, by listener.
        """
        self._doors = doors or {}
        self.waiters = services.waiters
        self._meter = meter
        self._services = services
        self._rows = {int(row.key): row for row in table or table_for(services.config)}
        self._made: dict[tuple[int, int], FrameHandler] = {}
        self._entries: dict[tuple[int, int], FrameHandler] = {}
        """The entries of `_made`, each wrapped by the functions that are set."""
        self._wrap: Wrap | None = None
        self._repeated = DecodedRequestCache()
        self._throttling: Throttling | None = None
        services.events.when_switched.append(self._make_again)
        services.quotas.when_switched.append(self._follow_quotas)
        self._follow_quotas()

    def dispatch(self, frame: memoryview, client: RequestConnection) -> Answer:
        """Return the answer to one request frame (without its size). Raise CloseConnection when there is none."""
        try:
            api_key, version, correlation_id, client_id_size = _HEADER.unpack_from(frame)
        except StructError:
            raise CloseConnection(f"a request of {len(frame)} bytes has no whole header") from None
        if client_id_size > 0:
            position = 10 + client_id_size
            if len(client.client_id_raw) != client_id_size or frame[10:position] != client.client_id_raw:
                _learn_client_id(frame, client_id_size, client)
        elif client_id_size < -1:
            raise CloseConnection(f"a client id of {client_id_size} bytes")
        else:
            position = 10
            client.client_id, client.client_id_raw = (None if client_id_size else ""), b""
        entry = self._entries.get((api_key, version))
        if entry is None:
            entry = self._entry(api_key, version)
        return entry(frame, position, correlation_id, client)

    def intercept(self, wrap: Wrap | None) -> None:
        """Call the result of `wrap` in place of each entry; with None the entries themselves again."""
        self._wrap = wrap
        self._entries.clear()

    def _follow_quotas(self) -> None:
        in_force = self._services.quotas.in_force
        self._throttling = None if in_force is None else import_module(_THROTTLING).Throttling(self._services, in_force)
        self._make_again()

    def _make_again(self) -> None:
        self._made.clear()
        self._entries.clear()

    def session(self, listener: str) -> Session:
        """Return the session of a new connection of a listener."""
        door = self._doors.get(listener)
        return Session(listener) if door is None else Session(listener, Authentication.REQUIRED, door.frame_bytes_max)

    def gate_for(self, session: Session) -> SaslAuthenticator | None:
        """Return the authenticator of a connection with this session; None if it need not authenticate."""
        if session.is_authenticated:
            return None
        gate: SaslAuthenticator = import_module(_SASL_AUTHENTICATOR).SaslAuthenticator(
            self._doors[session.listener], self.dispatch
        )
        return gate

    def preload(self, row: ApiRow) -> None:
        """Import the modules of the API, so that its first request does not wait for them."""
        import_module(f"barnabas.broker.api.handlers.{row.handler}")
        spec(row.key)
        if row.key == ApiKey.PRODUCE:
            import_module(_SHORT_PRODUCE)

    def _entry(self, api_key: int, version: int) -> FrameHandler:
        """Return the entry to call; only supported versions are stored, as a client may name thousands of others."""
        key = api_key, version
        entry = self._made.get(key)
        if entry is None:
            entry = self._new_entry(api_key, version)
            if key not in self._made:
                return entry
        if self._wrap is not None:
            entry = self._wrap(api_key, version, entry)
        if self._throttling is not None:
            entry = self._throttling.throttled(ApiKey(api_key), version, entry)
        self._entries[key] = entry
        return entry

    def _new_entry(self, api_key: int, version: int) -> FrameHandler:
        row = self._rows.get(api_key)
        if row is None:
            known = {int(key): key.api_name for key in ApiKey}.get(api_key)
            raise CloseConnection(f"API key {api_key} is not offered", known)
        if not row.min_version <= version <= row.max_version:
            if row.key == ApiKey.API_VERSIONS:
                return self._api_versions_entry(row)
            served = f"served are {row.min_version} to {row.max_version}"
            raise CloseConnection(f"version {version} of {row.key.api_name}, {served}", row.key.api_name)
        handle = import_module(f"barnabas.broker.api.handlers.{row.handler}").handle
        if self._services.access is not None:
            handle = import_module(_GUARDS).guarded(row, handle)
        tracer = self._tracer()
        if tracer is not None:
            handle = tracer.traced(row.key, version, handle)
        if row.key == ApiKey.PRODUCE:
            entry = frame_handlers.produce_entry(self._services, handle, version, self._meter)
            short = import_module(_SHORT_PRODUCE)
            if version >= short.SHORT_SINCE:
                entry = short.ShortProduce(self._services, entry, version, self._meter).serve
        elif row.key == ApiKey.FETCH:
            services = self._services if self._throttling is None else self._throttling.fetching
            if self._throttling is not None:
                handle = self._throttling.capped(handle)
            entry = frame_handlers.fetch_entry(services, handle, version, self._meter)
        else:
            entry = _Entry(self._services, row.key, version, handle, self._meter, self._repeated).serve
        if tracer is not None:
            entry = tracer.followed(row.key, version, entry)
        if self._meter is not None:
            entry = self._meter.timed(row.key, version, entry)
        self._made[api_key, version] = entry
        return entry

    def _tracer(self) -> Tracer | None:
        """Return the tracer of requests, while events are on: entries are made anew when that changes."""
        events = self._services.events
        return import_module(_TRACING).Tracer(events, self._services.node.node_id) if events.is_on else None

    def _api_versions_entry(self, row: ApiRow) -> FrameHandler:
        """Return the entry for an unknown version of ApiVersions: the body is not read, the answer has version 0."""
        handler = import_module(f"barnabas.broker.api.handlers.{row.handler}")

        def serve(frame: memoryview, position: int, correlation_id: int, client: RequestConnection) -> Answer:
            return _encoded(row.key, 0, correlation_id, handler.unsupported_version(self._services))

        return serve


def _learn_client_id(frame: memoryview, size: int, client: RequestConnection) -> None:
    raw = bytes(frame[10 : 10 + size])
    if len(raw) < size:
        raise CloseConnection(f"a client id of {size} bytes runs past the end")
    try:
        client.client_id = raw.decode()
    except UnicodeDecodeError as error:
        raise CloseConnection(f"a client id that is not UTF-8: {error}") from error
    client.client_id_raw = raw


def _encoded(api_key: ApiKey, version: int, correlation_id: int, response: Response) -> bytearray:
    out = bytearray(4)
    out += encode_response_header(api_key, version, correlation_id)
    response_codec(api_key, version).encode_into(response, out)
    _SIZE.pack_into(out, 0, len(out) - 4)
    return out


class _Entry:
    """One version of an API whose messages are objects."""

    def __init__(
        self,
        services: Services,
        api_key: ApiKey,
        version: int,
        handle: Handle,
        meter: Meter | None,
        repeated: DecodedRequestCache,
    ) -> None:
        self._services = services
        self._spec = spec(api_key)
        self._version = version
        self._is_flexible = api_key.is_flexible(version)
        self._codec = request_codec(api_key, version)
        self._handle = handle
        self._meter = meter
        self._repeated = repeated
        self._known = repeated.table(api_key, version)

    def serve(self, frame: memoryview, position: int, correlation_id: int, client: RequestConnection) -> Answer:
        known = self._known
        if len(frame) > large_requests.DECODED_AT_ONCE_BYTES_MAX:
            return self._serve_large(bytes(frame[position:]), correlation_id, client)
        if known is None:
            request = self._decode(frame, position)
        else:
            data = bytes(frame[position:])
            remembered = known.get(data)
            if remembered is None:
                request = self._decode(frame, position)
                self._repeated.remember(known, data, request)
            else:
                request = remembered
        return self._answer(request, correlation_id, client)

    def _serve_large(self, data: bytes, correlation_id: int, client: RequestConnection) -> Answer:
        """Decode a large request in slices. `data`: a copy of the body, since the frame is valid in this turn only."""
        steps = partial(large_requests.decoded, data, self._codec, self._is_flexible, self._spec.name)
        decoded: Request | Future[Request] = self._services.slices.in_slices(steps, large_requests.DECODING)
        if not isinstance(decoded, Future):
            return self._answer(decoded, correlation_id, client)
        in_hand = keep_in_hand(self._services)
        answer = partial(self._answer_decoded, decoded, correlation_id, client)
        return DeferredResponse(decoded, lambda _: in_hand(answer), may_be_given_up=True)

    def _answer_decoded(self, decoded: Future[Request], correlation_id: int, client: RequestConnection) -> Answer:
        failure = failure_of(decoded)
        if failure is not None:
            raise failure if isinstance(failure, CloseConnection) else CloseConnection(repr(failure), self._spec.name)
        return self._answer(decoded.result(), correlation_id, client)

    def _answer(self, request: Request, correlation_id: int, client: RequestConnection) -> Answer:
        context = RequestContext(
            self._services,
            self._spec.key,
            self._version,
            correlation_id,
            client.client_id,
            client.client_host,
            client,
            client.node,
        )
        try:
            result = self._handle(request, context)
        except Exception as error:
            return self._refusal(request, context, error)
        if isinstance(result, Response):
            return self._encoded(request, context, result)
        return DeferredResponse(result, lambda done: self._late_answer(request, context, done), may_be_given_up=True)

    def _decode(self, frame: memoryview, position: int) -> Request:
        try:
            if self._is_flexible:
                position = skip_tags(frame, position)
            request: Request = self._codec.decode(frame, position)[0]
        except DecodeError as error:
            raise CloseConnection(str(error), self._spec.name) from error
        return request

    def _late_answer(self, request: Request, context: RequestContext, future: Future[Response]) -> Answer:
        failure = failure_of(future)
        if failure is not None:
            return self._refusal(request, context, failure)
        return self._encoded(request, context, future.result())

    def _encoded(
        self, request: Request, context: RequestContext, response: Response, *, is_refusal: bool = False
    ) -> Answer:
        if large_responses.is_large(response):
            return self._encoded_in_slices(request, context, response)
        try:
            encoded = _encoded(self._spec.key, self._version, context.correlation_id, response)
        except Exception as error:
            if is_refusal:
                raise
            return self._refusal(request, context, error)
        if self._meter is not None:
            self._meter.note_errors(self._spec.key, response)
        return encoded

    def _encoded_in_slices(self, request: Request, context: RequestContext, response: Response) -> Answer:
        key, meter = self._spec.key, self._meter
        begin = partial(
            large_responses.encoded,
            response,
            response_codec(key, self._version),
            encode_response_header(key, self._version, context.correlation_id),
            None if meter is None else partial(meter.noting_errors, key, response),
        )
        try:
            answer = self._services.slices.in_slices(begin, large_responses.ENCODING)
        except Exception as error:
            return self._refusal(request, context, error)
        if not isinstance(answer, Future):
            return answer
        return DeferredResponse(answer, lambda done: self._large_answer(request, context, done), may_be_given_up=True)

    def _large_answer(self, request: Request, context: RequestContext, done: Future[bytearray]) -> Answer:
        failure = failure_of(done)
        return done.result() if failure is None else self._refusal(request, context, failure)

    def _refusal(self, request: Request, context: RequestContext, error: BaseException) -> Answer:
        """Return the answer for a request whose handler raised."""
        if isinstance(error, NoSuchRequest):
            raise CloseConnection(str(error), self._spec.name) from error
        code, message = code_and_message(error, self._spec.name, context)
        begin = partial(error_response_in_steps, self._spec, self._version, request, code, message)
        response = self._services.slices.in_slices(begin)
        refuse = partial(self._refused, request, context, code)
        if isinstance(response, Future):
            return DeferredResponse(response, lambda done: refuse(done.result()), may_be_given_up=True)
        return refuse(response)

    def _refused(self, request: Request, context: RequestContext, code: ErrorCode, response: Response | None) -> Answer:
        if response is None:
            raise CloseConnection(f"{code.name} has no place in the response", self._spec.name)
        return self._encoded(request, context, response, is_refusal=True)
