"""Who is not known is refused as who is known and has a wrong password: nobody learns by it which users there are."""

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.support.worlds.broker import settle
from tests.support.worlds.secured_broker import SecuredWorld, ask


@pytest.fixture
async def world() -> SecuredWorld:
    return SecuredWorld()


@pytest.mark.parametrize(
    ("mechanism", "token", "unknown"),
    [("PLAIN", b"\0alice\0wrong", b"\0carol\0wrong"), ("SCRAM-SHA-256", b"n,,n=alice,r=", b"n,,n=carol,r=abc")],
)
async def test_an_unknown_user_is_told_the_same_at_the_same_time(
    world: SecuredWorld, mechanism: str, token: bytes, unknown: bytes
) -> None:
    """As what is wrong with one who is known; that SCRAM tells the salt of those alone is Kafka's way, too."""
    answers = []
    for each in (token, unknown):
        peer = world.connect()
        assert ask(peer, SaslHandshakeRequest(mechanism=mechanism)).error_code == 0
        peer.ask(SaslAuthenticateRequest(auth_bytes=each))
        await settle()
        world.clock.advance(99)
        await settle()
        assert peer.frames() == []
        world.clock.advance(1)
        await settle()
        answers += peer.answers()
        assert peer.is_closed
    assert answers[0] == answers[1]
    assert answers[0].error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
