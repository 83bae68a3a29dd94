"""SASL on a connection: SaslHandshake, then tokens in SaslAuthenticate (KIP-43, KIP-152, KIP-368).

Knows requests and no sockets: a connection passes its request function. A refusal is final, and never retried.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from barnabas.client.clock import ClientClock
from barnabas.client.errors import AuthenticationFailed
from barnabas.client.security.exchanges import (
    TOKEN_BYTES_MAX,
    BearerSaslClient,
    PlainSaslClient,
    SaslClient,
    ScramSaslClient,
    ServerRefused,
)
from barnabas.client.security.settings import PasswordLogin, SaslSettings
from barnabas.client.security.tokens import TokenFailed, TokenSource
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from barnabas.protocol.security.scram import MECHANISMS

Ask = Callable[[Request], Any]
_NONCE_BYTES = 24


def _new_nonce() -> str:
    return secrets.token_urlsafe(_NONCE_BYTES)


class Authenticator:
    """The authenticator of one client: logs its connections in. `new_nonce`: returns an unpredictable nonce."""

    def __init__(self, settings: SaslSettings, clock: ClientClock, new_nonce: Callable[[], str] = _new_nonce) -> None:
        self._settings = settings
        self._new_nonce = new_nonce
        login = settings.login
        self._tokens = None if isinstance(login, PasswordLogin) else TokenSource(login, clock)

    def authenticate(self, ask: Ask, where: str) -> int:
        """Log in, or log in again; return the session lifetime in ms, 0 for no limit. AuthenticationFailed."""
        exchange = self._exchange(where)
        mechanism = self._settings.mechanism
        _agree(ask(SaslHandshakeRequest(mechanism=mechanism)), mechanism, where)
        token: bytes | None = exchange.begin()
        lifetime_ms = 0
        while token is not None:
            answer: SaslAuthenticateResponse = ask(SaslAuthenticateRequest(auth_bytes=token))
            if answer.error_code != ErrorCode.NONE:
                reason = answer.error_message or ErrorCode.SASL_AUTHENTICATION_FAILED.message
                raise AuthenticationFailed(f"{where} refused {mechanism}: {reason}")
            if len(answer.auth_bytes) > TOKEN_BYTES_MAX:
                raise AuthenticationFailed(f"{where}: {mechanism}: the server's token is too long")
            try:
                token = exchange.respond(answer.auth_bytes)
            except ServerRefused as refusal:
                raise AuthenticationFailed(f"{where}: {mechanism}: {refusal}") from None
            lifetime_ms = answer.session_lifetime_ms
        return lifetime_ms

    def _exchange(self, where: str) -> SaslClient:
        login, mechanism = self._settings.login, self._settings.mechanism
        if isinstance(login, PasswordLogin):
            password = login.password.value
            if mechanism == "PLAIN":
                return PlainSaslClient(login.username, password)
            scram = next(each for each in MECHANISMS if each.name == mechanism)
            return ScramSaslClient(scram, login.username, password, self._new_nonce(), is_token=login.is_token)
        assert self._tokens is not None, "a login without a password has tokens"
        try:
            return BearerSaslClient(self._tokens.token(), self._settings.extensions)
        except TokenFailed as failure:
            raise AuthenticationFailed(f"{where}: {mechanism}: {failure}") from failure


def _agree(answer: SaslHandshakeResponse, mechanism: str, where: str) -> None:
    if answer.error_code == ErrorCode.NONE:
        return
    if answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        offered = ", ".join(answer.mechanisms) or "none"
        raise AuthenticationFailed(f"{where} does not offer {mechanism}; it offers {offered}", answer.error_code)
    if answer.error_code == ErrorCode.ILLEGAL_SASL_STATE:
        raise AuthenticationFailed(
            f"{where} does not use SASL: set security.protocol to PLAINTEXT or SSL", answer.error_code
        )
    code = answer.error_code
    raise AuthenticationFailed(f"{where} refused the SASL handshake with error {code}", code)
