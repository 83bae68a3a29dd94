# compiled: mypyc, as a traced broker runs it for each event
"""Requests in events: a request that is served is the cause of events, and its answer is an event.

Two stages (`broker/api/pipeline.py`) that are on while events are on. The inner one wraps the handler, not the entry
around it: so the request and its response are available, as objects. Produce, whose handler takes and returns
tuples, is a cause on its general path; the fast path sets the cause itself where it leads to events
(`produce_fast_path.py`). A Fetch leads to no events but errors, which its handler emits. The answers of both are events
while all requests are followed.

Invariant: no cause outlives the call in which it led to something; an answer that comes later sets its cause again.
"""

from __future__ import annotations

from asyncio import Future
from functools import partial
from typing import Any, Final

from barnabas.broker.api.deferred_response import Answer, DeferredResponse, failure_of
from barnabas.broker.api.frame_handler import FrameHandler, MessageHandler, RequestConnection
from barnabas.broker.api.stages.metering import first_error
from barnabas.broker.runtime.events.cause import RequestCause
from barnabas.broker.runtime.events.events import Events
from barnabas.broker.runtime.events.kinds import REQUEST_ANSWERED
from barnabas.broker.runtime.events.quiet_requests import is_quiet
from barnabas.broker.services import RequestContext
from barnabas.protocol.codec.schema import Response, Struct
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.registry import ApiKey

_CODES_MAX: Final = 1_000
_TRACED: Final = {
    "transactional_id": "transactional_id",
    "v3_and_below_transactional_id": "transactional_id",
    "group_id": "group",
    "producer_id": "producer_id",
    "v3_and_below_producer_id": "producer_id",
    "producer_epoch": "producer_epoch",
    "v3_and_below_producer_epoch": "producer_epoch",
    "member_id": "member_id",
    "committed": "committed",
}
"""Fields of requests -> their names in the trace."""


class Tracer:
    """The tracer of the requests of one node."""

    def __init__(self, events: Events, node_id: int) -> None:
        self._events = events
        self._node_id = node_id

    def traced(self, api_key: ApiKey, version: int, handle: MessageHandler) -> MessageHandler:
        """Return the handler, whose requests are causes and whose answers are events."""
        if api_key == ApiKey.PRODUCE:
            return partial(self._caused, api_key.api_name, handle)
        return partial(self._served, api_key.api_name, version, handle)

    def followed(self, api_key: ApiKey, version: int, entry: FrameHandler) -> FrameHandler:
        """Return the entry of Produce or Fetch, which emits an event for each answer."""
        api = api_key.api_name

        def serve(frame: memoryview, position: int, correlation_id: int, client: RequestConnection) -> Answer:
            began_s = self._events.stopwatch()
            cause = self._events.request_cause(
                api,
                version,
                client.client_id,
                client.peer,
                correlation_id,
                self._node_id,
                {},
                client.session.named_principal,
            )
            report = partial(self._report, cause, None, began_s)
            answer = entry(frame, position, correlation_id, client)
            if isinstance(answer, DeferredResponse):
                answer.when_encoded(report)
            else:
                report()
            return answer

        return serve

    def _caused(self, api: str, handle: MessageHandler, request: Any, context: RequestContext) -> Any:
        requested = {} if request[0] is None else {"transactional_id": request[0]}
        events = self._events
        events.cause = self._cause(api, context.api_version, context, requested)
        try:
            return handle(request, context)
        finally:
            events.cause = None

    def _served(self, api: str, version: int, handle: MessageHandler, request: Struct, context: RequestContext) -> Any:
        events = self._events
        began_s = events.stopwatch()
        cause = self._cause(api, version, context, _requested(request))
        events.cause = cause
        try:
            result = handle(request, context)
        except Exception as error:
            self._report(cause, _code_of(error), began_s)
            raise
        finally:
            events.cause = None
        if isinstance(result, Response):
            self._report(cause, _error_in(result), began_s)
        else:
            result.add_done_callback(partial(self._later, cause, began_s))
        return result

    def _later(self, cause: RequestCause, began_s: float, done: Future[Response]) -> None:
        if not done.cancelled():
            failure = failure_of(done)
            self._report(cause, _error_in(done.result()) if failure is None else _code_of(failure), began_s)

    def _cause(self, api: str, version: int, context: RequestContext, requested: dict[str, Any]) -> RequestCause:
        peer, principal = "?", None
        if context.connection is not None:
            peer, principal = context.connection.peer, context.connection.session.named_principal
        return self._events.request_cause(
            api, version, context.client_id, peer, context.correlation_id, self._node_id, requested, principal
        )

    def _report(self, cause: RequestCause, error: str | None, began_s: float) -> None:
        events = self._events
        if not events.is_on or (is_quiet(cause.api, error) and not events.all_requests):
            return
        took_ms = (events.stopwatch() - began_s) * 1000
        before, events.cause = events.cause, cause
        facts = {"api": cause.api, "version": cause.version, "error": error, "took_ms": round(took_ms, 3)}
        events.emit(REQUEST_ANSWERED, facts)
        events.cause = before


_fields: dict[type[Struct], tuple[tuple[str, str], ...]] = {}


def _requested(request: Struct) -> dict[str, Any]:
    """Return the values of the request under their common names; empty values are left out."""
    fields = _fields.get(type(request))
    if fields is None:
        names = [field.name for field in type(request).__schema__.fields]
        fields = _fields[type(request)] = tuple((name, _TRACED[name]) for name in names if name in _TRACED)
    found: dict[str, Any] = {}
    for name, common in fields:
        value = getattr(request, name)
        if value is not None and value != "" and value != -1:
            found[common] = value
    return found


def _error_in(response: Response) -> str | None:
    """Return the first error code in an answer, among the codes that are checked."""
    code = first_error(response, _CODES_MAX)
    return ErrorCode(code).name if code else None


def _code_of(error: BaseException) -> str:
    return error.code.name if isinstance(error, KafkaError) else ErrorCode.UNKNOWN_SERVER_ERROR.name
