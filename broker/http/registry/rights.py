"""Who may use the registry over HTTP when users are required: the rights to the topic `_schemas`.

With an authorizer, reading needs Read on the topic and changes need Write, as with a Kafka client: whoever may write to
the topic can change the registry anyway. Without one every user may do everything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from barnabas.broker.http.guard import Guard, RequiredRight
from barnabas.broker.http.pages import FORBIDDEN, JSON, Page
from barnabas.broker.http.registry.schemas_topic import TOPIC
from barnabas.broker.security.session.operations import Operation, Resource

if TYPE_CHECKING:
    from barnabas.broker.api.authentication.sasl_listener import SaslListener
    from barnabas.broker.http.secured import HttpSecurity
    from barnabas.broker.network.tls.tls_memory import TlsContextSource
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.services import Services

_FORBIDDEN_CODE = 40301


def registry_security(
    services: Services,
    endpoints: Mapping[str, TlsContextSource],
    sasl_listeners: Mapping[str, SaslListener],
    clock: Clock,
    random_bytes: Callable[[int], bytes],
) -> HttpSecurity:
    """Return the security of the registry's port: that of the HTTP port, without a token. Raises ConfigError."""
    from barnabas.broker.http.secured import http_security

    return http_security(services, endpoints, sasl_listeners, clock, None, random_bytes, RegistryGuard)


def _asks(path: str) -> bool:
    """Return whether a POST changes nothing: the look-up of a schema, or a check. The path is read as it is routed."""
    from barnabas.registry.rest.paths import below_context, segments_of

    try:
        segments, _ = below_context(segments_of(path.encode("latin-1", "replace")), [])
    except ValueError:
        return False
    return segments[0] == "compatibility" or (segments[0] == "subjects" and len(segments) == 2)


class RegistryGuard(Guard):
    """The guard of the registry's port."""

    open_paths = ()

    def needed(self, method: str, path: str) -> RequiredRight:
        """Return the right that a request needs."""
        reads = method in ("GET", "HEAD") or (method == "POST" and _asks(path))
        return RequiredRight(Operation.READ if reads else Operation.WRITE, Resource.TOPIC, TOPIC)

    def page(self, status: int, path: str, why: str) -> Page:
        """Return a refusal, in the form of the registry's errors."""
        code = _FORBIDDEN_CODE if status == FORBIDDEN else status
        return Page(status, json.dumps({"error_code": code, "message": why}).encode(), JSON)
