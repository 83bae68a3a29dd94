"""A broker in memory with a listener that authenticates, and clients that log in."""

from collections.abc import Callable, Mapping
from typing import Any

from barnabas.broker.api.authentication.sasl_listener import SaslListener
from barnabas.broker.api.dispatch import Dispatcher
from barnabas.broker.network.connection import Connection
from barnabas.broker.security.sasl.mechanism import Exchange
from barnabas.broker.security.sasl.plain import PlainExchange
from barnabas.broker.security.sasl.scram import ScramExchange
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.protocol.security.scram import SCRAM_SHA_256, credential_of, salted
from tests.support.worlds.broker import BrokerWorld, Peer, settle
from tests.support.worlds.memory_transport import MemoryTransport

USERS = {"alice": "secret", "bob": "secret-of-bob"}
CREDENTIAL = credential_of(SCRAM_SHA_256, salted(SCRAM_SHA_256, "secret", b"salt", 4096), b"salt", 4096)


LISTENER = "SASL_PLAINTEXT"
FAILURE_DELAY_MS = 100


def sasl_listener_of(
    world: BrokerWorld, mechanisms: Mapping[str, Callable[[], Exchange]], *, frame_bytes_max: int, reauth_ms: int
) -> SaslListener:
    """The authentication of a world's listener, by its clock."""
    return SaslListener(
        listener=LISTENER,
        mechanisms=mechanisms,
        frame_bytes_max=frame_bytes_max,
        failure_delay_ms=FAILURE_DELAY_MS,
        reauth_ms=dict.fromkeys(mechanisms, reauth_ms),
        clock=world.clock,
        machine_clock=world.clock,
        events=world.broker.events,
    )


class SecuredWorld(BrokerWorld):
    """A broker with a listener that authenticates."""

    def __init__(self, reauth_ms: int = 0) -> None:
        super().__init__()
        credentials = {"alice": CREDENTIAL}
        mechanisms: dict[str, Callable[[], Exchange]] = {
            "PLAIN": lambda: PlainExchange(USERS.get),
            "SCRAM-SHA-256": lambda: ScramExchange(SCRAM_SHA_256, credentials.get, self.environment.random),
        }
        self.sasl_listener = sasl_listener_of(self, mechanisms, frame_bytes_max=1000, reauth_ms=reauth_ms)
        self.secured = Dispatcher(self.services, sasl_listeners={self.sasl_listener.listener: self.sasl_listener})

    def connect(self, kernel_bytes: int = 1 << 30) -> Peer:
        session = self.secured.session(self.sasl_listener.listener)
        return Peer(MemoryTransport(Connection(self.listener, self.secured, session=session), kernel_bytes))


def ask(peer: Peer, request: Any, version: int | None = None) -> Any:
    peer.ask(request, version)
    return peer.answer()


def log_in(peer: Peer, token: bytes = b"\0alice\0secret", version: int | None = None) -> Any:
    ask(peer, SaslHandshakeRequest(mechanism="PLAIN"), 1)
    return ask(peer, SaslAuthenticateRequest(auth_bytes=token), version)


def bare(token: bytes) -> bytes:
    return len(token).to_bytes(4, "big") + token


async def refused(world: BrokerWorld, peer: Peer) -> list[Any]:
    """What is answered to what could not authenticate, which is later; the connection is closed behind it."""
    await settle()
    assert not peer.is_closed
    assert peer.frames() == []
    world.clock.advance(100)
    await settle()
    answers = peer.answers()
    assert peer.is_closed
    return answers
