"""Clients log in with a delegation token over SCRAM, for its owner and no longer than it is good (KIP-48, KIP-368)."""

import logging
from base64 import b64encode
from typing import Any

import pytest

from barnabas.broker.api.dispatch import Dispatcher
from barnabas.broker.metadata.delegation_tokens.token import DelegationToken
from barnabas.broker.metadata.delegation_tokens.tokens import Tokens
from barnabas.broker.network.connection import Connection
from barnabas.broker.security.session.principal import Principal
from barnabas.broker.server.sasl_listeners import open_sasl_listeners
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.protocol.security.scram import MECHANISMS, SCRAM_SHA_256, ScramMechanism
from tests.support.scram import client_final
from tests.support.worlds.broker import BrokerWorld, Peer
from tests.support.worlds.memory_transport import MemoryTransport
from tests.support.worlds.secured_broker import ask

LISTENER = "SASL_PLAINTEXT"
SETTINGS = {
    "listeners": f"{LISTENER}://127.0.0.1:9092",
    "inter.broker.listener.name": LISTENER,
    "sasl.enabled.mechanisms": ",".join(each.name for each in MECHANISMS),
    "delegation.token.secret.key": "key-of-a-test",
    "delegation.token.expiry.time.ms": "60000",
}
ALICE = Principal("User", "alice")
NOT_ALLOWED = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


class TokenWorld(BrokerWorld):
    """A broker whose listener asks who comes in, and that has a token of alice's."""

    def __init__(self) -> None:
        super().__init__(SETTINGS)
        sasl_listeners = open_sasl_listeners(self.services, self.clock, self.environment.random)
        self.secured = Dispatcher(self.services, sasl_listeners=sasl_listeners)
        assert self.services.tokens is not None
        self.tokens: Tokens = self.services.tokens
        self.token = self.tokens.create(ALICE, ALICE, [], -1)

    def connect(self, kernel_bytes: int = 1 << 30) -> Peer:
        session = self.secured.session(LISTENER)
        return Peer(MemoryTransport(Connection(self.listener, self.secured, session=session), kernel_bytes))

    def password_of(self, token: DelegationToken) -> str:
        return b64encode(self.tokens.hmac_of(token)).decode()


@pytest.fixture
async def world() -> TokenWorld:
    return TokenWorld()


def first(token_id: str) -> bytes:
    """The client's first message, without its `n,,`."""
    return f"n={token_id},r=abc,tokenauth=true".encode()


def begin(peer: Peer, token_id: str, password: str, mechanism: ScramMechanism = SCRAM_SHA_256) -> None:
    """As far as the client's proof, which is asked for and not answered yet."""
    assert ask(peer, SaslHandshakeRequest(mechanism=mechanism.name)).error_code == 0
    begun = ask(peer, SaslAuthenticateRequest(auth_bytes=b"n,," + first(token_id)))
    final = client_final(mechanism.hash_name, password, first(token_id), begun.auth_bytes)
    peer.ask(SaslAuthenticateRequest(auth_bytes=final))


def log_in(peer: Peer, token_id: str, password: str, mechanism: ScramMechanism = SCRAM_SHA_256) -> Any:
    """The last answer."""
    begin(peer, token_id, password, mechanism)
    return peer.answer()


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)
async def test_a_token_lets_its_owner_in(world: TokenWorld, mechanism: ScramMechanism) -> None:
    peer = world.connect()
    answer = log_in(peer, world.token.token_id, world.password_of(world.token), mechanism)
    assert (answer.error_code, answer.session_lifetime_ms) == (0, 60_000)
    session = peer.connection.session
    assert (session.principal, session.mechanism, session.is_by_token) == (ALICE, mechanism.name, True)
    assert ask(peer, MetadataRequest(topics=None)).brokers
    assert ask(peer, DescribeDelegationTokenRequest(owners=None)).error_code == NOT_ALLOWED


async def test_the_session_ends_when_the_token_expires_unless_it_authenticates_again(world: TokenWorld) -> None:
    kept, left = world.connect(), world.connect()
    password = world.password_of(world.token)
    for peer in (kept, left):
        log_in(peer, world.token.token_id, password)
    world.clock.advance(50_000)
    world.tokens.renew(ALICE, world.tokens.hmac_of(world.token), -1)
    assert log_in(kept, world.token.token_id, password).session_lifetime_ms == 60_000
    world.clock.advance(10_001)
    assert ask(kept, MetadataRequest(topics=None)).brokers
    left.ask(MetadataRequest(topics=None))
    assert left.is_closed


async def test_a_token_that_has_expired_and_is_not_removed_yet_serves_no_request(world: TokenWorld) -> None:
    world.clock.advance(60_000)
    peer = world.connect()
    assert log_in(peer, world.token.token_id, world.password_of(world.token)).session_lifetime_ms == 0
    peer.ask(MetadataRequest(topics=None))
    assert (peer.is_closed, peer.frames()) == (True, [])


async def test_a_login_by_token_tells_no_secret(world: TokenWorld, caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []
    world.broker.events.listen(lambda kind, facts: told.append(f"{kind.name} {facts}"))
    password = world.password_of(world.token)
    with caplog.at_level(logging.DEBUG, "barnabas"):
        log_in(world.connect(), world.token.token_id, password)
    assert 'mechanism=SCRAM-SHA-256 principal=User:alice by="delegation token"' in caplog.text
    assert password not in caplog.text + "".join(told)
