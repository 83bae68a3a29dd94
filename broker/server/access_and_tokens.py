"""The optional protection of a broker: access control lists and delegation tokens.

If the configuration enables none, nothing is imported and nothing is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.metadata.access.access_control import AccessControl
    from barnabas.broker.metadata.catalogue import Catalogue
    from barnabas.broker.metadata.delegation_tokens.tokens import Tokens
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.runtime.events import Events


def open_access(
    config: BrokerConfig, catalogue: Catalogue, random_bytes: Callable[[int], bytes], events: Events
) -> AccessControl | None:
    """Return the access control, if there is an authorizer. events: receives an event for each denied operation."""
    if not config.string("authorizer.class.name").strip():
        return None
    from barnabas.broker.metadata.access.access_control import access_of

    return access_of(config, catalogue, random_bytes, events)


def open_tokens(
    config: BrokerConfig, catalogue: Catalogue, clock: Clock, random_bytes: Callable[[int], bytes]
) -> Tokens | None:
    """Return the delegation tokens, if there is a secret key for them."""
    key = config.value("delegation.token.secret.key")
    if not isinstance(key, str) or not key:
        return None
    from barnabas.broker.metadata.delegation_tokens.token import SecretKey
    from barnabas.broker.metadata.delegation_tokens.tokens import Lifetimes, Tokens

    lifetimes = Lifetimes(
        config.integer("delegation.token.max.lifetime.ms"), config.integer("delegation.token.expiry.time.ms")
    )
    return Tokens(catalogue, SecretKey(key), lifetimes, clock.now_ms, random_bytes)
