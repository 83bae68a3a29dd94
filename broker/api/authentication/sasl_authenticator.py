"""The authentication of one connection: no request reaches the dispatcher before it succeeds.

Answers SaslHandshake, SaslAuthenticate and bare tokens itself, by the connection's SASL exchange (KIP-43, KIP-152), and
passes on the one ApiVersions that may come before them. A failure is answered as in Apache Kafka, after
`connection.failed.authentication.delay.ms` in which nothing is read; then the connection is closed. A frame that is
invalid or too large also closes it, without an answer. Any other API between two tokens gets the error in its own
response format, as in Kafka, unless the request is large: its answer could be a hundred times as large, and take
seconds. A request that is not allowed before a handshake, and a frame that is no request, close the connection at once
and without an answer.

After authentication, requests go directly to the dispatcher, unless the session has a lifetime (KIP-368): then each is
checked here, and a SaslHandshake begins a new exchange. An expired session closes the connection at its next request,
as in Kafka, which also accepts a client whose token has no time left: the first request closes it.

The delay goes by the machine's clock, as it protects against peers; lifetimes go by the clock that clients see.

Knows requests and answers, no sockets and no mechanism. Invariant: after a refusal nothing of the connection is served.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from barnabas.broker.api.authentication.sasl_listener import SaslListener
from barnabas.broker.api.deferred_response import Answer, CloseConnection, DeferredResponse
from barnabas.broker.api.error_responses import error_response
from barnabas.broker.security.sasl.mechanism import SaslAuthenticationFailed
from barnabas.broker.security.sasl.sasl_exchange import IllegalStage, SaslExchange, SaslStage, UnsupportedMechanism
from barnabas.broker.security.session.principal import USER, Principal
from barnabas.protocol.codec.schema import Request, Response, default_instance
from barnabas.protocol.errors import DecodeError, ErrorCode
from barnabas.protocol.headers import RequestHeader, encode_response_header, parse_request_header
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from barnabas.protocol.registry import ApiKey, request_codec, response_codec, spec

if TYPE_CHECKING:
    from barnabas.broker.api.frame_handler import RequestConnection

REAUTHENTICATED_MS_MIN: Final = 1_000
"""The minimum time between two re-authentications, as in Kafka."""
_OTHER_REQUEST_BYTES_MAX: Final = 1 << 10
"""A longer request in place of a token is not decoded."""
_ERROR_CODE_AT: Final = slice(8, 10)  # in a frame of ApiVersions
_NONE: Final = b"\0\0"


class _Refused(Exception):
    """The connection must be closed. str() is the reason, for the log; `answer` is sent before."""

    def __init__(self, reason: str, answer: bytearray | None = None) -> None:
        super().__init__(reason)
        self.answer = answer


class _Misplaced(Exception):
    """The connection must be closed at once, for a request that may not precede a handshake. str() is the reason."""


class SaslAuthenticator:
    """The authentication of one connection."""

    __slots__ = (
        "_began_again_ms",
        "_conversation",
        "_dispatch",
        "_expires_ms",
        "_is_again",
        "_is_open",
        "_mechanism",
        "_sasl_listener",
    )

    def __init__(
        self, sasl_listener: SaslListener, dispatch: Callable[[memoryview, RequestConnection], Answer]
    ) -> None:
        """Begin an exchange. `dispatch` answers requests once the client is authenticated."""
        self._sasl_listener = sasl_listener
        self._dispatch = dispatch
        self._conversation = SaslExchange(sasl_listener.mechanisms)
        self._is_open = self._is_again = False
        self._mechanism = ""  # of the first authentication
        self._expires_ms: float | None = None
        self._began_again_ms: float | None = None

    def dispatch(self, frame: memoryview, client: RequestConnection) -> Answer:
        """Return the answer to one request frame (without its size). Raise CloseConnection when there is none."""
        if self._is_open:
            if not self._begins_again(frame):
                return self._dispatch_in_time(frame, client)
            self._is_open, self._is_again = False, True
            self._conversation = SaslExchange(self._sasl_listener.mechanisms)
        try:
            return self._next(frame, client)
        except _Refused as refused:
            return self._refuse(client, str(refused), refused.answer)
        except SaslAuthenticationFailed as failed:
            return self._refuse(client, failed.reason, None)
        except IllegalStage as misplaced:
            return self._refuse(client, str(misplaced), None)
        except (DecodeError, _Misplaced) as misplaced:
            self._report_refused(client, str(misplaced))
            raise CloseConnection(str(misplaced)) from None

    def refuse_frame(self, client: RequestConnection, reason: str) -> DeferredResponse:
        """Refuse an invalid or too large frame before authentication: close the connection after the delay."""
        return self._refuse(client, reason, None)

    # --- before authentication ----------------------------------------------------------------------------------------

    def _next(self, frame: memoryview, client: RequestConnection) -> Answer:
        conversation = self._conversation
        if conversation.stage is SaslStage.BARE_TOKENS:
            self._check_mechanism()
            answer = conversation.respond(bytes(frame))
            self._open_if_complete(client)
            return bytearray(len(answer).to_bytes(4, "big") + answer)
        header, position = parse_request_header(frame)
        client.client_id = header.client_id
        if conversation.stage is SaslStage.TOKENS:
            if len(frame) > _OTHER_REQUEST_BYTES_MAX and header.api_key != ApiKey.SASL_AUTHENTICATE:
                raise _Refused(f"a request of {len(frame)} bytes with API key {header.api_key} in place of a token")
            return self._token(_decoded(header, frame, position), header, client)
        if header.api_key == ApiKey.API_VERSIONS:
            return self._versions(frame, client)
        if header.api_key == ApiKey.SASL_HANDSHAKE:
            return self._handshake(_decoded(header, frame, position), header)
        raise _Misplaced(f"a request with API key {header.api_key} before SaslHandshake")

    def _versions(self, frame: memoryview, client: RequestConnection) -> Answer:
        if self._conversation.stage is not SaslStage.BEGUN or self._is_again:
            raise _Misplaced(f"ApiVersions where {self._conversation.stage.value} is expected")
        answer = self._dispatch(frame, client)
        if not isinstance(answer, bytearray) or answer[_ERROR_CODE_AT] == _NONE:
            self._conversation.versions_requested()
        return answer

    def _handshake(self, request: Request, header: RequestHeader) -> Answer:
        assert isinstance(request, SaslHandshakeRequest)
        response = SaslHandshakeResponse(error_code=ErrorCode.NONE, mechanisms=self._conversation.offered)
        try:
            self._conversation.choose(request.mechanism, tokens_are_bare=header.api_version == 0)
        except UnsupportedMechanism:
            response.error_code = ErrorCode.UNSUPPORTED_SASL_MECHANISM
            answer = None if self._is_again else _encoded(header, response)  # Kafka: none once authenticated
            raise _Refused("the listener does not offer the mechanism", answer) from None
        return _encoded(header, response)

    def _token(self, request: Request, header: RequestHeader, client: RequestConnection) -> Answer:
        if not isinstance(request, SaslAuthenticateRequest):
            api = spec(ApiKey(header.api_key))
            message = f"Unexpected Kafka request of type {ApiKey(header.api_key).name} during SASL authentication."
            answer = error_response(api, header.api_version, request, ErrorCode.ILLEGAL_SASL_STATE, message)
            if answer is None:  # a request for no elements gets an empty answer
                answer = default_instance(api.response)
            raise _Refused(message, _encoded(header, answer))
        self._check_mechanism()
        response = SaslAuthenticateResponse(error_code=ErrorCode.NONE, error_message=None, auth_bytes=b"")
        try:
            response.auth_bytes = self._conversation.respond(request.auth_bytes)
            response.session_lifetime_ms = self._open_if_complete(client)
        except SaslAuthenticationFailed as failed:
            response = SaslAuthenticateResponse(
                error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=str(failed), auth_bytes=b""
            )
            raise _Refused(failed.reason, _encoded(header, response)) from None
        return _encoded(header, response)

    def _check_mechanism(self) -> None:
        if self._is_again and self._conversation.mechanism != self._mechanism:
            raise _Refused(f"re-authentication by another mechanism than {self._mechanism}")

    def _open_if_complete(self, client: RequestConnection) -> int:
        """Return the session lifetime, 0 for no limit. Raise SaslAuthenticationFailed for another principal than
        before.
        """
        conversation, session = self._conversation, client.session
        if conversation.user is None:
            return 0
        principal = Principal(USER, conversation.user)
        if self._is_again and principal != session.principal:
            raise SaslAuthenticationFailed(
                "Cannot change principals during re-authentication from "
                f"{session.principal.kind}.{session.principal.name}: {principal.kind}.{principal.name}"
            )
        self._mechanism = conversation.mechanism
        session.authenticated(principal, conversation.mechanism, by_token=conversation.is_by_token)
        lifetime_ms = self._lifetime_ms()
        self._expires_ms = None if lifetime_ms is None else self._sasl_listener.clock.now_ms() + lifetime_ms
        self._is_open = True
        client.admit(self._dispatch if lifetime_ms is None else self.dispatch)
        self._sasl_listener.report_accepted(client, conversation.mechanism, again=self._is_again)
        return lifetime_ms or 0

    def _lifetime_ms(self) -> int | None:
        """Return the lifetime by `connections.max.reauth.ms` and the expiry of the credentials; None for no limit."""
        limits = []
        if reauth_ms := self._sasl_listener.reauth_ms.get(self._conversation.mechanism, 0):
            limits.append(reauth_ms)
        if self._conversation.expires_ms is not None:
            limits.append(max(0, int(self._conversation.expires_ms - self._sasl_listener.clock.now_ms())))
        return min(limits, default=None)

    def _refuse(self, client: RequestConnection, reason: str, answer: bytearray | None) -> DeferredResponse:
        """Answer after the delay, and close."""
        sasl_listener = self._sasl_listener
        self._report_refused(client, reason)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if sasl_listener.failure_delay_ms > 0:
            timer = sasl_listener.machine_clock.call_later(sasl_listener.failure_delay_ms, partial(_end, future))
            future.add_done_callback(lambda _: timer.cancel())
        else:
            future.set_result(None)
        if answer is None:
            return DeferredResponse(future, partial(_close, reason), may_be_given_up=True)
        future.add_done_callback(lambda _: client.finish())  # called while the connection still waits for the answer
        return DeferredResponse(future, lambda _: answer, may_be_given_up=True)

    def _report_refused(self, client: RequestConnection, reason: str) -> None:
        self._sasl_listener.report_refused(client, self._conversation.mechanism, reason, again=self._is_again)

    # --- after authentication, where the session has a lifetime -------------------------------------------------------

    def _begins_again(self, frame: memoryview) -> bool:
        if self._expires_ms is None or frame[:2] != ApiKey.SASL_HANDSHAKE.to_bytes(2, "big"):
            return False
        now_ms, before_ms = self._sasl_listener.machine_clock.now_ms(), self._began_again_ms
        if before_ms is not None and now_ms - before_ms < REAUTHENTICATED_MS_MIN:
            return False
        self._began_again_ms = now_ms
        return True

    def _dispatch_in_time(self, frame: memoryview, client: RequestConnection) -> Answer:
        if self._expires_ms is not None and self._sasl_listener.clock.now_ms() >= self._expires_ms:
            reason = "the session has expired: the client did not re-authenticate in time"
            self._sasl_listener.report_expired(client, reason)
            raise CloseConnection(reason)
        return self._dispatch(frame, client)


def _end(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _close(reason: str, _: object) -> Answer:
    raise CloseConnection(reason)


def _decoded(header: RequestHeader, frame: memoryview, position: int) -> Request:
    """Return the decoded request. Raise DecodeError if its bytes are damaged, or there is no such API or version."""
    try:
        codec = request_codec(ApiKey(header.api_key), header.api_version)
    except ValueError as unknown:
        raise DecodeError(str(unknown)) from unknown
    request: Request = codec.decode(frame, position)[0]
    return request


def _encoded(header: RequestHeader, response: Response) -> bytearray:
    key, version = header.api_key, header.api_version
    payload = encode_response_header(key, version, header.correlation_id)
    payload += response_codec(ApiKey(key), version).encode(response)
    return bytearray(len(payload).to_bytes(4, "big") + payload)
