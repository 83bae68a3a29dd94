"""A listener that speaks TLS in front of a broker without sockets."""

import ssl

from barnabas.broker.network.connection import Connection
from barnabas.broker.security.session.principal import Principal
from barnabas.broker.security.session.session import Session
from barnabas.broker.security.tls.endpoint import TlsEndpoint
from tests.support.certificates import authority
from tests.support.tls_peer import TlsPeer, client_context
from tests.support.worlds.broker import BrokerWorld
from tests.support.worlds.memory_transport import MemoryTransport

BROKER = authority().issue()


class Settings:
    """What is set, with dots in place of underscores, as of a listener without separate settings."""

    def __init__(self, **settings: str) -> None:
        self._settings = {name.replace("_", "."): text for name, text in settings.items()}

    def name(self, key: str) -> str:
        return key

    def text(self, key: str) -> str | None:
        return self._settings.get(key)

    def strings(self, key: str) -> list[str]:
        return list(filter(None, (self.text(key) or "").split(",")))


STORES = {
    "ssl_keystore_type": "PEM",
    "ssl_keystore_key": BROKER.key_pem(),
    "ssl_keystore_certificate_chain": BROKER.certificate_pem,
    "ssl_truststore_type": "PEM",
    "ssl_truststore_certificates": authority().pem,
}
"""In PEM, in the settings themselves."""


class Secured:
    """A broker's listener that speaks TLS."""

    def __init__(self, world: BrokerWorld, *, is_sasl: bool = False, **settings: str) -> None:
        self.world = world
        self.connections: list[Connection] = []
        self.endpoint = TlsEndpoint(Settings(**(STORES | settings)), is_sasl=is_sasl)
        self._stream = world.listener._secured(self.endpoint, self._make, "SSL")
        assert world.listener._tls_memory is not None
        self.memory = world.listener._tls_memory
        self.handshakes = self.memory.handshakes

    def _make(self, principal: Principal) -> Connection:
        session = Session("SSL")
        session.authenticated(principal)
        connection = Connection(self.world.listener, self.world.dispatcher, session=session)
        self.connections.append(connection)
        return connection

    def accept(self, kernel_bytes: int = 1 << 30) -> MemoryTransport:
        """A socket on which nothing has come yet."""
        return MemoryTransport(self._stream(), kernel_bytes)

    def connect(self, kernel_bytes: int = 1 << 30, context: ssl.SSLContext | None = None) -> TlsPeer:
        """A peer that has shaken hands."""
        peer = TlsPeer(self.accept(1 << 30), context or client_context(authority().pem))
        peer.shake_hands()
        peer.transport.kernel_bytes = kernel_bytes
        return peer
