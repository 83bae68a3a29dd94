# compiled: mypyc
"""The decoding of requests, between the stages of frames and those of messages: of all APIs but Produce and Fetch.

A request that clients repeat is decoded once (`decoded_request_cache.py`). A large request is decoded in slices, and a
large answer encoded in slices. An exception of a handler becomes an answer here: KafkaError with its code, a storage
failure with KAFKA_STORAGE_ERROR, anything else with UNKNOWN_SERVER_ERROR and a stack trace in the log.

Invariants: bytes that cannot be decoded raise CloseConnection and nothing else; a handler's exception never reaches the
connection; views into the frame live no longer than the call.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, Final

from barnabas.broker.api.current_request import keep_current_request
from barnabas.broker.api.deferred_response import Answer, CloseConnection, answer_to, code_and_message, raise_closing
from barnabas.broker.api.error_responses import error_response_in_steps
from barnabas.broker.api.frame_handler import MessageHandler, RequestConnection
from barnabas.broker.api.stages import large_requests, large_responses
from barnabas.broker.api.stages.response_size import is_large
from barnabas.broker.runtime.refusals import NoSuchRequest
from barnabas.broker.services import RequestContext, Services
from barnabas.protocol.codec.schema import Request, Response
from barnabas.protocol.errors import DecodeError, ErrorCode
from barnabas.protocol.headers import encode_response_header
from barnabas.protocol.primitives import skip_tags
from barnabas.protocol.registry import ApiKey, request_codec, response_codec, spec

if TYPE_CHECKING:
    from barnabas.broker.api.decoded_request_cache import DecodedRequestCache
    from barnabas.broker.api.stages.metering import Meter

_SIZE: Final = Struct(">i")
_NO_SIZE: Final = bytes(_SIZE.size)


def encoded_frame(api_key: ApiKey, version: int, correlation_id: int, response: Response) -> bytearray:
    """Return the whole frame of a response. Its records are copied once: they may be megabytes."""
    parts = response_codec(api_key, version).encode_parts(response)
    out = bytearray().join((_NO_SIZE, encode_response_header(api_key, version, correlation_id), *parts))
    _SIZE.pack_into(out, 0, len(out) - _SIZE.size)
    return out


class MessageDecoder:
    """One version of an API whose messages are objects."""

    def __init__(
        self,
        services: Services,
        api_key: ApiKey,
        version: int,
        handle: MessageHandler,
        meter: Meter | None,
        repeated: DecodedRequestCache,
    ) -> None:
        """Decode for `handle`. meter: counts the errors in answers. repeated: the decoded requests of this node."""
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
        """Serve one request. A `FrameHandler`."""
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
        decoded: Request | Future[Request] = self._services.request_scheduler.in_slices(steps, large_requests.DECODING)
        respond = partial(self._answer_decoded, keep_current_request(self._services), correlation_id, client)
        return answer_to(decoded, respond, partial(raise_closing, self._spec.name))

    def _answer_decoded(
        self,
        as_current_request: Callable[[Callable[[], Answer]], Answer],
        correlation_id: int,
        client: RequestConnection,
        request: Request,
    ) -> Answer:
        return as_current_request(partial(self._answer, request, correlation_id, client))

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
        return answer_to(result, partial(self._encoded, request, context), partial(self._refusal, request, context))

    def _decode(self, frame: memoryview, position: int) -> Request:
        try:
            if self._is_flexible:
                position = skip_tags(frame, position)
            request: Request = self._codec.decode(frame, position)[0]
        except DecodeError as error:
            raise CloseConnection(str(error), self._spec.name) from error
        return request

    def _encoded(
        self, request: Request, context: RequestContext, response: Response, *, is_refusal: bool = False
    ) -> Answer:
        if is_large(response):
            return self._encoded_in_slices(request, context, response)
        try:
            encoded = encoded_frame(self._spec.key, self._version, context.correlation_id, response)
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
            answer = self._services.request_scheduler.in_slices(begin, large_responses.ENCODING)
        except Exception as error:
            return self._refusal(request, context, error)
        return answer_to(answer, _itself, partial(self._refusal, request, context))

    def _refusal(self, request: Request, context: RequestContext, error: BaseException) -> Answer:
        """Return the answer for a request whose handler raised."""
        if isinstance(error, NoSuchRequest):
            raise CloseConnection(str(error), self._spec.name) from error
        code, message = code_and_message(error, self._spec.name, context)
        begin = partial(error_response_in_steps, self._spec, self._version, request, code, message)
        return answer_to(
            self._services.request_scheduler.in_slices(begin), partial(self._refused, request, context, code), _raise
        )

    def _refused(self, request: Request, context: RequestContext, code: ErrorCode, response: Response | None) -> Answer:
        if response is None:
            raise CloseConnection(f"{code.name} has no place in the response", self._spec.name)
        return self._encoded(request, context, response, is_refusal=True)


def _itself(answer: bytearray) -> Answer:
    return answer


def _raise(failure: BaseException) -> Answer:
    raise failure
