"""The SASL settings of a broker's listeners: for each that uses SASL, its mechanisms and the credentials they check.

Combines settings, users, keys of tokens and mechanisms, and knows no connection. Nothing is imported for a broker
without SASL listeners.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.broker.api.authentication.sasl_listener import SaslListener
    from barnabas.broker.config.sasl.oauthbearer_settings import SignedTokens
    from barnabas.broker.config.sasl.sasl_settings import ListenerSaslSettings
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.security.oauth_keys.refreshing_keys import KeysOfFile, KeysOfServer
    from barnabas.broker.security.sasl.mechanism import Exchange
    from barnabas.broker.services import Services
    from barnabas.protocol.security.scram import ScramCredential, ScramMechanism


def open_sasl_listeners(
    services: Services, machine_clock: Clock, random_bytes: Callable[[int], bytes]
) -> Mapping[str, SaslListener]:
    """Return a node's SASL listeners by name; listeners without SASL have none. Raises ConfigError."""
    with_sasl = [each.name for each in services.config.listeners if each.speaks_sasl]
    return {name: _sasl_listener(name, services, machine_clock, random_bytes) for name in with_sasl}


def _sasl_listener(
    listener: str, services: Services, machine_clock: Clock, random_bytes: Callable[[int], bytes]
) -> SaslListener:
    from barnabas.broker.api.authentication.sasl_listener import SaslListener
    from barnabas.broker.config.sasl.sasl_settings import sasl_settings

    settings = sasl_settings(services.config, listener)
    keys = None if settings.signed_tokens is None else _keys(listener, settings.signed_tokens, machine_clock)
    return SaslListener(
        listener=listener,
        mechanisms={name: _beginning(name, settings, services, random_bytes, keys) for name in settings.mechanisms},
        keys=keys,
        frame_bytes_max=settings.frame_bytes_max,
        failure_delay_ms=settings.failure_delay_ms,
        reauth_ms=settings.reauth_ms,
        clock=services.clock,
        machine_clock=machine_clock,
        events=services.events,
    )


def _beginning(
    mechanism: str,
    settings: ListenerSaslSettings,
    services: Services,
    random_bytes: Callable[[int], bytes],
    keys: KeysOfFile | KeysOfServer | None,
) -> Callable[[], Exchange]:
    """Return the factory of an exchange of this mechanism."""
    from barnabas.broker.security.sasl import oauthbearer, plain, unsecured_tokens
    from barnabas.broker.security.sasl.scram import ScramExchange, no_token
    from barnabas.protocol.security.scram import MECHANISMS

    if mechanism == oauthbearer.NAME:
        now_ms = services.clock.now_ms
        tokens = settings.signed_tokens
        if keys is None or tokens is None:
            judge = partial(unsecured_tokens.judge, settings.unsecured_tokens, now_ms)
            return partial(oauthbearer.OAuthBearerExchange, judge)
        from barnabas.broker.security.sasl import signed_tokens

        rules = signed_tokens.SignedRules(
            audiences=tokens.audiences,
            issuer=tokens.issuer,
            skew_s=tokens.skew_s,
            subject_claim=tokens.subject_claim,
            scope_claim=tokens.scope_claim,
        )
        return partial(oauthbearer.OAuthBearerExchange, partial(signed_tokens.judge, rules, keys.find, now_ms))
    if mechanism == plain.NAME:
        return partial(plain.PlainExchange, settings.plain_users.get)
    found = next(each for each in MECHANISMS if each.name == mechanism)
    credential_of = partial(_credential_of, services, found)
    token_of = no_token if services.tokens is None else partial(services.tokens.login, found)
    return partial(ScramExchange, found, credential_of, random_bytes, token_of)


def _keys(listener: str, settings: SignedTokens, machine_clock: Clock) -> KeysOfFile | KeysOfServer:
    """Return the keys that verify signed tokens. Raise ConfigError for an unusable file or trust store."""
    from urllib.parse import unquote, urlsplit

    from barnabas.broker.config import ConfigError
    from barnabas.broker.security.oauth_keys import files, refreshing_keys
    from barnabas.protocol.security.stores.files import state_of
    from barnabas.protocol.security.stores.identity import StoreError

    url, where = urlsplit(settings.keys_url), f"listener {listener}: the keys of tokens at {settings.keys_url}"
    try:
        if url.scheme == "file":
            path = unquote(url.path)
            return refreshing_keys.KeysOfFile(path, partial(state_of, path), partial(files.read, path))
        from barnabas.broker.security.oauth_keys.key_fetch import fetch

        context = files.context_for(settings.trust) if url.scheme == "https" else None
    except (refreshing_keys.LoadFailed, StoreError) as wrong:
        raise ConfigError(f"{where} cannot be used: {wrong}") from wrong
    timing = refreshing_keys.Timing(settings.refresh_ms, settings.retry_ms, settings.retries_ms)
    return refreshing_keys.KeysOfServer(
        settings.keys_url, partial(fetch, settings.keys_url, context), timing, machine_clock
    )


def _credential_of(services: Services, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
    return services.catalogue.users.credential_of(mechanism, user)
