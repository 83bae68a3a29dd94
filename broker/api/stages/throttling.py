"""The measuring of requests, and the throttling of clients: the entries of a node while it has quotas.

Two stages (`broker/api/pipeline.py`) that are on while there are quotas. The outer one measures all that is within it,
injected faults included: the cost of a request is the time from its frame to its answer, or until it had to wait for
that.

Theory of operation: as in Kafka since 2.0, a client that exceeds its quota gets its throttle time in the answer
(`throttle_time_ms`). The answer leaves at once, and the connection is muted: no later request is served until the time
is over. For a connection that is a request whose answer comes later, and is none
(`deferred_response.DeferredResponse`). The answer to a Fetch is checked before it is sent, and one that would exceed
the quota is empty.

Not measured: requests before authentication, and WriteTxnMarkers, which brokers send each other.
"""

from __future__ import annotations

from asyncio import get_running_loop
from dataclasses import replace
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from barnabas.broker.api.deferred_response import Answer, DeferredResponse, changed
from barnabas.broker.clients.quotas.quota_managers import MeasuredRequest, QuotaManagers
from barnabas.broker.partitions.fetch.measured_sessions import MeasuredSessions
from barnabas.broker.runtime.events.kinds import CLIENT_THROTTLED
from barnabas.protocol.headers import encode_response_header, parse_response_header
from barnabas.protocol.hot import fetch
from barnabas.protocol.registry import ApiKey, response_codec, spec

if TYPE_CHECKING:
    from asyncio import Future

    from barnabas.broker.api.frame_handler import FrameHandler, MessageHandler, RequestConnection
    from barnabas.broker.partitions.fetch.fetch_sessions import Answers
    from barnabas.broker.runtime.events import Events
    from barnabas.broker.services import RequestContext, Services

_SIZE: Final = Struct(">i")
_THROTTLE_TIME: Final = "throttle_time_ms"


class Throttling:
    """The measuring of the requests of one node."""

    def __init__(self, services: Services, in_force: QuotaManagers) -> None:
        self._in_force, self._events = in_force, services.events
        self._sessions = MeasuredSessions(services.fetch_sessions)
        self.fetching = replace(services, fetch_sessions=self._sessions)
        """The services for Fetch."""

    def capped(self, handle: MessageHandler) -> MessageHandler:
        """Return the handler of Fetch, which reads no more than its client's quota allows at once."""

        def handle_capped(request: fetch.FetchRequest, context: RequestContext) -> Any:
            measured, quotas, sessions = context.measured, self._in_force.fetch, self._sessions
            if measured is None:
                return handle(request, context)
            if quotas.limits:
                most = quotas.most_at_once(measured.client)
                if most < request.max_bytes:
                    request = request._replace(max_bytes=int(most))
            sessions.judge = partial(_may_fetch, measured, context.api_version)
            try:
                return handle(request, context)
            finally:
                sessions.judge = None

        return handle_capped

    def throttled(self, api_key: ApiKey, version: int, entry: FrameHandler) -> FrameHandler:
        """Return the entry, with its requests measured."""
        in_force = self._in_force
        answers = _Answers(in_force, self._events, api_key, version)

        def serve(frame: memoryview, position: int, correlation_id: int, client: RequestConnection) -> Answer:
            session = client.session
            if not session.is_authenticated:
                return entry(frame, position, correlation_id, client)
            measured = client.measured = MeasuredRequest(in_force, session.principal.name, client.client_id or "")
            size = len(frame)
            try:
                answer = entry(frame, position, correlation_id, client)
            finally:
                measured.note_busy()
            return changed(answer, partial(answers.judged, measured, size, client))

        return serve


def _may_fetch(measured: MeasuredRequest, version: int, topics: Answers) -> bool:
    """Return whether the client may have these topics."""
    parts = fetch.encode_response(version, 0, topics)
    size = sum(map(len, parts)) - len(encode_response_header(ApiKey.FETCH, version, 0))
    return measured.may_fetch(size)


class _Answers:
    """The answers of one version of an API, as they leave under quotas."""

    def __init__(self, in_force: QuotaManagers, events: Events, api_key: ApiKey, version: int) -> None:
        self._in_force, self._events = in_force, events
        self._api_key, self._version = api_key, version
        self._fields = [each.name for each in spec(api_key).response.__schema__.fields if each.in_version(version)]
        self._first_position = _SIZE.size + len(encode_response_header(api_key, version, 0))

    def judged(self, measured: MeasuredRequest, size: int, client: RequestConnection, answer: Answer) -> Answer:
        """Return the answer to a request of `size` bytes, and throttle its client if necessary."""
        client.measured = None
        if self._api_key is ApiKey.PRODUCE:
            measured.produced(size, is_answered=answer is not None)
        elif not measured.is_judged:
            measured.served()
        throttle_ms = measured.throttle_ms
        if not throttle_ms:
            return answer
        self._report_throttled(measured, client)
        if answer is None:
            return self._muted(throttle_ms)
        if not isinstance(answer, bytearray):
            return answer  # in parts, which no checked answer is
        self._set_throttle_time(answer, throttle_ms)
        ready: Future[None] = get_running_loop().create_future()
        ready.set_result(None)  # earlier answers leave first
        return DeferredResponse(ready, lambda _: self._sent(client, answer, throttle_ms), may_be_given_up=True)

    def _sent(self, client: RequestConnection, answer: bytearray, throttle_ms: int) -> Answer:
        client.write(answer)
        return self._muted(throttle_ms)

    def _muted(self, throttle_ms: int) -> DeferredResponse:
        over = self._in_force.muting.mute(throttle_ms)
        return DeferredResponse(over, lambda _: None, may_be_given_up=True, is_pause=True)

    def _report_throttled(self, measured: MeasuredRequest, client: RequestConnection) -> None:
        held = self._in_force.throttling_quota(measured)
        which = {"user": measured.client.user, "client_id": measured.client.client_id, "quota": held.quota}
        self._events.emit_repeated(
            CLIENT_THROTTLED,
            which,
            entity=held.entity,
            limit=held.limit,
            throttle_ms=measured.throttle_ms,
            api=self._api_key.api_name,
            peer=client.peer,
        )

    def _set_throttle_time(self, answer: bytearray, throttle_ms: int) -> None:
        """Put the throttle time into the answer, if it has a field for that."""
        if _THROTTLE_TIME not in self._fields or _SIZE.unpack_from(answer)[0] != len(answer) - _SIZE.size:
            return  # of an older version, or a part of an answer that a fault cut
        if self._fields[0] == _THROTTLE_TIME:
            _SIZE.pack_into(answer, self._first_position, throttle_ms)
            return
        data = memoryview(bytes(answer))[_SIZE.size :]
        correlation_id, position = parse_response_header(self._api_key, self._version, data)
        codec = response_codec(self._api_key, self._version)
        response: Any = codec.decode(data, position)[0]
        response.throttle_time_ms = throttle_ms
        answer[_SIZE.size :] = encode_response_header(self._api_key, self._version, correlation_id)
        codec.encode_into(response, answer)
        _SIZE.pack_into(answer, 0, len(answer) - _SIZE.size)
