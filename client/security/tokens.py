"""The sources of tokens for OAUTHBEARER: a function, an authorization server, or unsigned tokens.

A token is reused until four fifths of its lifetime are over, as in Apache Kafka's client. Not thread-safe.
"""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from barnabas.client.clock import ClientClock
from barnabas.client.security.settings import (
    EndpointLogin,
    ProvidedLogin,
    SettingsError,
    Token,
    TokenProvider,
    UnsecuredLogin,
)

if TYPE_CHECKING:
    from urllib.request import OpenerDirector

_LIFE_USED = 0.8
_TIMEOUT_S = 10.0
_ANSWER_BYTES_MAX = 1 << 20


class TokenFailed(Exception):
    """No token is available; the message is a sentence without the token."""


class TokenSource:
    """The tokens of one login."""

    def __init__(self, login: ProvidedLogin | EndpointLogin | UnsecuredLogin, clock: ClientClock) -> None:
        self._clock = clock
        self._ask = _provider(login, clock)
        self._kept = ""
        self._renew_at_ms = 0.0

    def token(self) -> str:
        """Return a token that has not expired. TokenFailed."""
        now_ms = self._clock.now_ms()
        if now_ms >= self._renew_at_ms:
            token, expires_at_ms = _checked(self._ask())
            if expires_at_ms <= now_ms:
                raise TokenFailed("the token has expired (its expiry is in milliseconds since 1970)")
            self._kept, self._renew_at_ms = token, now_ms + (expires_at_ms - now_ms) * _LIFE_USED
        return self._kept


def _checked(given: Any) -> Token:
    try:
        token, expires_at_ms = given
        return _header_safe(token), float(expires_at_ms)
    except (TypeError, ValueError):
        raise TokenFailed(
            "the token provider must return (token, expiry in milliseconds since 1970), but returns something else"
        ) from None


def _header_safe(token: Any) -> str:
    if not isinstance(token, str) or not token or not token.isascii() or not token.isprintable():
        raise ValueError
    return token


def _provider(login: ProvidedLogin | EndpointLogin | UnsecuredLogin, clock: ClientClock) -> Callable[[], Any]:
    if isinstance(login, UnsecuredLogin):
        return lambda: unsecured_token(login, clock.now_ms())
    if isinstance(login, EndpointLogin):
        return lambda: _of_endpoint(login, clock)
    provider = login.provider if callable(login.provider) else _found(login.provider)

    def ask() -> Any:
        try:
            return provider()
        except Exception as error:
            raise TokenFailed(f"the token provider failed: {type(error).__name__}: {error}") from error

    return ask


def _found(name: str) -> TokenProvider:
    module_name, _, function_name = name.partition(":")
    try:
        found = getattr(import_module(module_name), function_name)
    except (ImportError, AttributeError) as error:
        raise SettingsError(f"sasl.oauthbearer.token.provider: {name} cannot be imported: {error}") from error
    if not callable(found):
        raise SettingsError(f"sasl.oauthbearer.token.provider: {name} is not a function")
    return found  # type: ignore[no-any-return]  # because what it returns is checked


def unsecured_token(login: UnsecuredLogin, now_ms: int) -> Token:
    """Return a JWT without a signature, for brokers that accept it in tests."""
    expires_at_s = now_ms / 1000 + login.lifetime_s
    claims = {name: list(value) if isinstance(value, tuple) else value for name, value in login.claims}
    payload = {"iat": now_ms / 1000, "exp": expires_at_s, **claims}
    return f"{_encoded({'alg': 'none'})}.{_encoded(payload)}.", expires_at_s * 1000


def _encoded(value: object) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _of_endpoint(login: EndpointLogin, clock: ClientClock) -> Token:
    from urllib.error import HTTPError
    from urllib.parse import quote, urlencode
    from urllib.request import Request

    wanted = {"grant_type": "client_credentials"} | ({"scope": login.scope} if login.scope else {})
    who = f"{quote(login.client_id, safe='')}:{quote(login.client_secret.value, safe='')}"
    request = Request(
        login.url,
        urlencode(wanted).encode(),
        {"Authorization": f"Basic {b64encode(who.encode()).decode()}", "Accept": "application/json"},
    )
    try:
        with _opener().open(request, timeout=_TIMEOUT_S) as answer:
            answered = json.loads(answer.read(_ANSWER_BYTES_MAX))
        return answered["access_token"], clock.now_ms() + float(answered.get("expires_in", 300)) * 1000
    except HTTPError as error:
        error.close()
        raise TokenFailed(f"{login.url} returned no token: HTTP {error.code} {error.reason}") from None
    except OSError as error:
        raise TokenFailed(f"{login.url} returned no token: {getattr(error, 'reason', error)}") from error
    except (ValueError, KeyError, TypeError):
        raise TokenFailed(f"{login.url} returned no token: its response is not that of a token endpoint") from None


def _opener() -> OpenerDirector:
    """Return an opener for HTTP and HTTPS without redirects: following one would send the secret along."""
    from urllib import request

    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler,
        request.HTTPHandler,
        request.HTTPSHandler,
        request.HTTPDefaultErrorHandler,
        request.HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
    return opener
