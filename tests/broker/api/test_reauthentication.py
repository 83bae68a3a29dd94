"""Sessions that end, and who authenticates again in time (KIP-368): as in Kafka 4.4.0."""

import pytest

from barnabas.broker.security.sasl.oauthbearer import Bearer, OAuthBearerExchange
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.support.worlds.secured_broker import SecuredWorld, ask, log_in, refused


@pytest.fixture
async def short() -> SecuredWorld:
    return SecuredWorld(reauth_ms=10_000)


async def test_a_session_that_has_expired_closes_at_its_next_request(short: SecuredWorld) -> None:
    peer = short.connect()
    assert log_in(peer).session_lifetime_ms == 10_000
    short.clock.advance(9_999)
    assert ask(peer, MetadataRequest(topics=None)).brokers
    short.clock.advance(1)
    assert not peer.is_closed
    peer.ask(MetadataRequest(topics=None))
    assert peer.is_closed
    assert short.sasl_listener.outcomes.expired == 1


async def test_a_token_that_has_expired_within_the_skew_serves_no_request(short: SecuredWorld) -> None:
    expired = Bearer("alice", short.clock.now_ms() - 500)
    short.sasl_listener.mechanisms = {"OAUTHBEARER": lambda: OAuthBearerExchange(lambda token: expired)}
    peer = short.connect()
    ask(peer, SaslHandshakeRequest(mechanism="OAUTHBEARER"))
    token = SaslAuthenticateRequest(auth_bytes=b"n,,\x01auth=Bearer x\x01\x01")
    assert ask(peer, token).session_lifetime_ms == 0
    peer.ask(MetadataRequest(topics=None))
    assert (peer.is_closed, peer.frames()) == (True, [])


async def test_authenticating_again_keeps_it(short: SecuredWorld) -> None:
    peer = short.connect()
    log_in(peer)
    for _ in range(3):
        short.clock.advance(9_000)
        assert log_in(peer).session_lifetime_ms == 10_000
    assert ask(peer, MetadataRequest(topics=None)).brokers
    assert (short.sasl_listener.outcomes.let_in, short.sasl_listener.outcomes.let_in_again) == (1, 3)


async def test_an_expired_session_may_still_authenticate_again(short: SecuredWorld) -> None:
    peer = short.connect()
    log_in(peer)
    short.clock.advance(60_000)
    assert log_in(peer).error_code == 0
    assert ask(peer, MetadataRequest(topics=None)).brokers


async def test_a_mechanism_that_is_not_there_is_not_answered_again(short: SecuredWorld) -> None:
    peer = short.connect()
    log_in(peer)
    peer.ask(SaslHandshakeRequest(mechanism="NTLM"))
    assert await refused(short, peer) == []
    assert short.sasl_listener.outcomes.refused_again == 1


async def test_another_principal_may_not_reauthenticate(short: SecuredWorld) -> None:
    peer = short.connect()
    log_in(peer)
    ask(peer, SaslHandshakeRequest(mechanism="PLAIN"))
    peer.ask(SaslAuthenticateRequest(auth_bytes=b"\0bob\0secret-of-bob"))
    (answer,) = await refused(short, peer)
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert answer.error_message == "Cannot change principals during re-authentication from User.alice: User.bob"
    assert short.sasl_listener.outcomes.refused_again == 1


async def test_a_second_reauthentication_within_a_second_is_refused(short: SecuredWorld) -> None:
    peer = short.connect()
    log_in(peer)
    log_in(peer)
    short.clock.advance(999)
    assert ask(peer, SaslHandshakeRequest(mechanism="PLAIN")).error_code == ErrorCode.ILLEGAL_SASL_STATE
    short.clock.advance(1)
    assert log_in(peer).error_code == 0
