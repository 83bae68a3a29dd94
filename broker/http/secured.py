"""HTTPS: connections of HTTP over the TLS of a listener, and the guard before the pages.

TLS uses the listener's own endpoint: its certificate, suites and client certificates, reloaded when stores change, and
handshakes are limited as there. Users are those of the broker's first listener with users.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.config.broker_config import ConfigError
from barnabas.broker.config.sasl.listener_settings import ListenerSettings
from barnabas.broker.http.guard import Guard
from barnabas.broker.http.passwords import Lookup, Passwords
from barnabas.broker.network.tls.handshakes import Handshakes
from barnabas.broker.network.tls.tls_memory import TlsContextSource, TlsMemory
from barnabas.broker.network.tls.tls_stream import TlsStream
from barnabas.broker.security.sasl import plain
from barnabas.broker.security.session.principal import Principal
from barnabas.protocol.security.scram import MECHANISMS

if TYPE_CHECKING:
    from barnabas.broker.api.authentication.sasl_listener import SaslListener
    from barnabas.broker.http.connection import HttpConnection
    from barnabas.broker.network.network import Network
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.services import Services

_RECEIVE_BYTES = 16 << 10
HANDSHAKES_MAX = 32
"""As many as the HTTP connections: few file descriptors are available for it."""


class HttpSecurity:
    """The security of the HTTP port."""

    def __init__(self, endpoint: TlsContextSource, guard: Guard) -> None:
        self.guard = guard
        self._endpoint = endpoint
        self._handshakes: Handshakes | None = None

    def accepting(
        self, connection: Callable[[Principal], HttpConnection], network: Network, clock: Clock
    ) -> Callable[[], asyncio.BaseProtocol]:
        """Return the factory for the protocol of each accepted socket."""
        self._handshakes = Handshakes(clock, HANDSHAKES_MAX)
        memory = TlsMemory(asyncio.get_running_loop(), self._handshakes, network.send)
        buffer = bytearray(_RECEIVE_BYTES)
        return lambda: TlsStream(memory, self._endpoint, lambda principal: _Decrypted(connection(principal), buffer))

    def close(self) -> None:
        """Abort the handshakes in progress."""
        if self._handshakes is not None:
            self._handshakes.close()


class _Decrypted(asyncio.BufferedProtocol):
    """An adapter from a TLS stream, which fills buffers, to a connection, which receives bytes."""

    def __init__(self, connection: HttpConnection, buffer: bytearray) -> None:
        """Create the adapter. `buffer`: shared by all, since its data is consumed before another stream is served."""
        self._connection = connection
        self._buffer = memoryview(buffer)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._connection.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection.connection_lost(exc)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._connection.data_received(bytes(self._buffer[:nbytes]))

    def pause_writing(self) -> None:
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        self._connection.resume_writing()


def http_security(
    services: Services,
    endpoints: Mapping[str, TlsContextSource],
    sasl_listeners: Mapping[str, SaslListener],
    clock: Clock,
    token: str | None,
    random_bytes: Callable[[int], bytes],
    guard_type: type[Guard] = Guard,
) -> HttpSecurity:
    """Return the security of a broker with these TLS endpoints and SASL listeners, by listener name.

    Raises ConfigError if no client could be authorized.
    """
    named = [listener.name for listener in services.config.listeners]
    speaking = [name for name in named if name in endpoints]
    authenticating = [name for name in named if name in sasl_listeners]
    if not speaking:
        raise ConfigError("--http-secure: no listener uses TLS, so there is no certificate: set listeners")
    sasl_listener = sasl_listeners[authenticating[0]] if authenticating else None
    passwords = None if sasl_listener is None else _passwords(sasl_listener, services, random_bytes)
    if passwords is None and token is None and not _asks_for_certificates(services, speaking[0]):
        raise ConfigError(
            "--http-secure: no client could authenticate: no listener has users of PLAIN or SCRAM, none asks for "
            "client certificates, and there is no --control-token"
        )
    authorizer = None if services.access is None else services.access.authorizer
    delay_ms = 100 if sasl_listener is None else sasl_listener.failure_delay_ms
    guard = guard_type(passwords, clock, token=token, authorizer=authorizer, delay_ms=delay_ms)
    return HttpSecurity(endpoints[speaking[0]], guard)


def _passwords(
    sasl_listener: SaslListener, services: Services, random_bytes: Callable[[int], bytes]
) -> Passwords | None:
    users = services.catalogue.users
    served = [each for each in MECHANISMS if each.name in sasl_listener.mechanisms]
    scram: list[Lookup] = [(each, partial(users.credential_of, each)) for each in served]
    begin_plain = sasl_listener.mechanisms.get(plain.NAME)
    return Passwords(begin_plain, scram, random_bytes(32)) if scram or begin_plain is not None else None


def _asks_for_certificates(services: Services, listener: str) -> bool:
    is_sasl = any(each.name == listener and each.speaks_sasl for each in services.config.listeners)
    asks = ListenerSettings(services.config, listener).text("ssl.client.auth") or "none"
    return not is_sasl and asks.strip() != "none"
