"""How one listener validates OAUTHBEARER tokens: signed ones by a set of keys, or unsigned ones.

The choice is Apache Kafka's: signed tokens if `oauthbearer.sasl.server.callback.handler.class` names its
OAuthBearerValidatorCallbackHandler, else unsigned ones. A key is looked up with the prefix of listener and mechanism,
then with the listener's, then without. Unlike in Kafka, a listener with rules for signed tokens but without that
handler does not start: it would accept all tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import NamedTuple
from urllib.parse import urlsplit

from barnabas.broker.config.broker_config import BrokerConfig, ConfigError
from barnabas.broker.config.definitions.values import Value
from barnabas.broker.config.java_options import ALLOWED_URLS
from barnabas.broker.config.sasl.listener_settings import ListenerSettings

MECHANISM = "OAUTHBEARER"
HANDLER = "sasl.server.callback.handler.class"
_PACKAGE = "org.apache.kafka.common.security.oauthbearer"
SIGNED_HANDLER = f"{_PACKAGE}.OAuthBearerValidatorCallbackHandler"
UNSECURED_HANDLER = f"{_PACKAGE}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
_OLD_HANDLER = f"{_PACKAGE}.secured.OAuthBearerValidatorCallbackHandler"
_VALIDATORS = (f"{_PACKAGE}.DefaultJwtValidator", f"{_PACKAGE}.BrokerJwtValidator")

_URL = "sasl.oauthbearer.jwks.endpoint.url"
_AUDIENCE, _ANY_AUDIENCE = "sasl.oauthbearer.expected.audience", "sasl.oauthbearer.allow.unverified.audience"
_ISSUER, _ANY_ISSUER = "sasl.oauthbearer.expected.issuer", "sasl.oauthbearer.allow.unverified.issuer"
_VALIDATOR = "sasl.oauthbearer.jwt.validator.class"
_REFRESH = "sasl.oauthbearer.jwks.endpoint.refresh.ms"
_CLAIMS = {"sub": "sasl.oauthbearer.sub.claim.name", "scope": "sasl.oauthbearer.scope.claim.name"}
_TRUST = ("certificates", "location", "password", "type")


class SignedTokens(NamedTuple):
    """The required claims of signed tokens, and the location of the keys."""

    keys_url: str
    """http:, https: or file:"""
    refresh_ms: int
    retry_ms: int
    retries_ms: int
    audiences: tuple[str, ...]
    issuer: str | None
    skew_s: int
    subject_claim: str
    scope_claim: str
    trust: Mapping[str, str]
    """The options `ssl.truststore.…` of the login module, without that prefix; empty for the machine's trust store."""


def signed_tokens(settings: ListenerSettings, config: BrokerConfig, options: Mapping[str, str]) -> SignedTokens | None:
    """Return the settings of signed tokens, None if tokens are unsigned. options: of the login module. ConfigError."""
    own = _Own(settings)
    handler = settings.of_mechanism(MECHANISM, HANDLER)
    if handler in (None, "", UNSECURED_HANDLER):
        for key in (_URL, _AUDIENCE, _ISSUER):
            if own.is_set(key):
                raise _wrong(
                    own,
                    key,
                    f"requires signed tokens, which are accepted only if {own.full(HANDLER)} is {SIGNED_HANDLER}",
                )
        return None
    if handler == _OLD_HANDLER:
        raise ConfigError(f"{own.full(HANDLER)}: since Kafka 4.0 it is {SIGNED_HANDLER}", own.full(HANDLER))
    if handler != SIGNED_HANDLER:
        sentence = "names a class that this broker cannot load"
        raise ConfigError(f"{own.full(HANDLER)} {sentence}", own.full(HANDLER))
    if find_spec("joserfc") is None:
        needs = "signed tokens need the package joserfc: pip install 'barnabas[secure]'"
        raise ConfigError(f"{own.full(HANDLER)}: {needs}", own.full(HANDLER))
    return _checked(own, config, options)


def _checked(own: _Own, config: BrokerConfig, options: Mapping[str, str]) -> SignedTokens:
    if own.text(_VALIDATOR) not in _VALIDATORS:
        raise _wrong(own, _VALIDATOR, "names a class that this broker cannot load")
    audiences, issuer = own.strings(_AUDIENCE), own.text(_ISSUER)
    for value, key, any_will_do in ((audiences, _AUDIENCE, _ANY_AUDIENCE), (issuer, _ISSUER, _ANY_ISSUER)):
        if not value and not own.value(any_will_do):
            raise _wrong(own, key, f"must be set, or {any_will_do} must be true to accept any")
    if own.integer(_REFRESH) <= 0:
        raise _wrong(own, _REFRESH, "must be more than 0")
    claims = {name: own.text(_CLAIMS[name]) for name in _CLAIMS}
    for name, claim in claims.items():
        if not claim:
            raise _wrong(own, _CLAIMS[name], "does not name a claim")
    return SignedTokens(
        _keys_url(own, config),
        own.integer(_REFRESH),
        own.integer("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms"),
        own.integer("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms"),
        tuple(audiences),
        issuer or None,
        own.integer("sasl.oauthbearer.clock.skew.seconds"),
        claims["sub"],
        claims["scope"],
        _trust(own, options),
    )


def _keys_url(own: _Own, config: BrokerConfig) -> str:
    url = own.text(_URL)
    if not url:
        raise _wrong(own, _URL, "must be set: the keys there verify the tokens")
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme == "file" or (bool(parts.hostname) and parts.port != 0)
    except ValueError:
        raise _wrong(own, _URL, "is not a URL") from None
    if parts.scheme not in ("file", "http", "https") or not is_usable or not (url.isascii() and url.isprintable()):
        raise _wrong(own, _URL, "is not a URL that begins with https:, http: or file:")
    if config.allowed_token_urls is not None and url not in config.allowed_token_urls:
        raise _wrong(own, _URL, f"is not in the list -D{ALLOWED_URLS} of KAFKA_OPTS: Kafka does not start either")
    return url


def _trust(own: _Own, options: Mapping[str, str]) -> Mapping[str, str]:
    trust = {name: options[key] for name in _TRUST if (key := f"ssl.truststore.{name}") in options}
    for option in options:
        if option.startswith("ssl.") and option.removeprefix("ssl.truststore.") not in trust:
            name = own.full("sasl.jaas.config")
            raise ConfigError(f"{name}: the option {option} has no effect in this broker: remove it to start", name)
    return trust


class _Own:
    """The settings in force for the mechanism of one listener."""

    def __init__(self, settings: ListenerSettings) -> None:
        self._settings = settings

    def full(self, key: str) -> str:
        """Return the name with the full prefix."""
        return f"listener.name.{self._settings.listener.lower()}.{MECHANISM.lower()}.{key}"

    def name(self, key: str) -> str:
        """Return the name under which the key is in force."""
        is_own = self._settings.of_mechanism(MECHANISM, key) is not None
        return self.full(key) if is_own else self._settings.name(key)

    def value(self, key: str) -> Value:
        value = self._settings.of_mechanism(MECHANISM, key)
        return self._settings.value(key) if value is None else value

    def is_set(self, key: str) -> bool:
        return bool(self.value(key))

    def text(self, key: str) -> str:
        return str(self.value(key) or "").strip()

    def strings(self, key: str) -> list[str]:
        value = self.value(key)
        return value if isinstance(value, list) else []

    def integer(self, key: str) -> int:
        value = self.value(key)
        assert isinstance(value, int), f"{key} is a number and has a default"
        return value


def _wrong(own: _Own, key: str, what: str) -> ConfigError:
    return ConfigError(f"{own.name(key)} {what}", own.name(key))


def warning_of_url(url: str, config: BrokerConfig) -> list[str]:
    """Return a warning if Apache Kafka does not start with this URL; this broker does."""
    if config.allowed_token_urls is not None:
        return []
    return [f"Apache Kafka starts with this {_URL} only with KAFKA_OPTS=-D{ALLOWED_URLS}={url}"]
