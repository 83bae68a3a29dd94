"""What may be asked for before it is proven who asks, and what becomes of everything else: as in Kafka 4.4.0."""

import logging
from typing import Any, NoReturn

import pytest

from barnabas.broker.network.memory_limits import STALLED_MS, STRANGERS_BYTES_MAX
from barnabas.broker.security.sasl.oauthbearer import InvalidToken, OAuthBearerExchange
from barnabas.broker.security.sasl.plain import PlainExchange
from barnabas.broker.security.session.principal import ANONYMOUS, Principal
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.support.scram import client_final
from tests.support.worlds.broker import Peer, request_frame, settle
from tests.support.worlds.secured_broker import SecuredWorld, ask, bare, log_in, refused

ALICE = Principal("User", "alice")
VERSIONS = ApiVersionsRequest(client_software_name="test", client_software_version="1")


@pytest.fixture
async def world() -> SecuredWorld:
    return SecuredWorld()


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_a_right_password_lets_in(world: SecuredWorld, version: int) -> None:
    peer = world.connect()
    assert peer.connection.session.principal is ANONYMOUS
    assert ask(peer, VERSIONS).error_code == 0
    handshake = ask(peer, SaslHandshakeRequest(mechanism="PLAIN"))
    assert (handshake.error_code, handshake.mechanisms) == (0, ["PLAIN", "SCRAM-SHA-256"])
    answer = ask(peer, SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"), version)
    assert (answer.error_code, answer.error_message, answer.auth_bytes) == (0, None, b"")
    assert answer.session_lifetime_ms == 0
    session = peer.connection.session
    assert (session.principal, session.mechanism) == (ALICE, "PLAIN")
    assert ask(peer, MetadataRequest(topics=None)).brokers
    assert world.sasl_listener.outcomes.let_in == 1


async def test_once_it_is_let_in_a_connection_is_not_asked_again(world: SecuredWorld) -> None:
    peer = world.connect()
    log_in(peer)
    assert peer.connection._dispatch == world.secured.dispatch
    assert peer.connection._receiver.size_max == world.listener.request_bytes_max


async def test_a_wrong_password_is_answered_later_and_closes(
    world: SecuredWorld, caplog: pytest.LogCaptureFixture
) -> None:
    peer = world.connect()
    ask(peer, SaslHandshakeRequest(mechanism="PLAIN"))
    with caplog.at_level(logging.INFO, "barnabas"):
        peer.ask(SaslAuthenticateRequest(auth_bytes=b"\0alice\0hunter2"))
        peer.ask(SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"))
        (answer,) = await refused(world, peer)
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert answer.error_message == "Authentication failed: Invalid username or password"
    assert world.sasl_listener.outcomes.refused == 1
    assert world.sasl_listener.outcomes.let_in == 0
    assert "hunter2" not in caplog.text
    assert (
        'authentication failed peer=127.0.0.1:50000 listener=SASL_PLAINTEXT mechanism=PLAIN reason="Authentication '
        'failed: Invalid username or password"' in caplog.text
    )


@pytest.mark.parametrize("version", [0, 1])
async def test_why_a_token_is_refused_is_logged_and_the_client_receives_kafkas_json(
    world: SecuredWorld, caplog: pytest.LogCaptureFixture, version: int
) -> None:
    def judge(_: str) -> NoReturn:
        raise InvalidToken("it is for another audience")

    world.sasl_listener.mechanisms = {"OAUTHBEARER": lambda: OAuthBearerExchange(judge)}
    told: list[tuple[str, Any]] = []
    world.broker.events.listen(lambda kind, facts: told.append((kind.name, facts.get("reason"))))
    peer = world.connect()
    ask(peer, SaslHandshakeRequest(mechanism="OAUTHBEARER"), version)
    for token in (b"n,,\x01auth=Bearer h.c.s\x01\x01", b"\x01"):
        if version:
            peer.ask(SaslAuthenticateRequest(auth_bytes=token))
        else:
            peer.transport.send(bare(token))
    answers = peer.frames() if version == 0 else [peer.answer().auth_bytes]
    assert answers == [b'{"status":"invalid_token"}']
    messages = [each.error_message for each in await refused(world, peer)]
    assert messages == ['{"status":"invalid_token"}'] * version
    reason = "the token is refused: it is for another audience"
    assert ("connection.not_authenticated", reason) in told
    assert f'mechanism=OAUTHBEARER reason="{reason}"' in caplog.text


async def test_nothing_is_read_while_a_refusal_is_held_back(world: SecuredWorld) -> None:
    peer = world.connect()
    ask(peer, SaslHandshakeRequest(mechanism="PLAIN"))
    peer.ask(SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong"))
    peer.transport.send(b"more")
    assert not peer.transport.is_reading()


async def test_a_peer_that_leaves_before_its_refusal_leaves_nothing(world: SecuredWorld) -> None:
    peer = world.connect()
    ask(peer, SaslHandshakeRequest(mechanism="PLAIN"))
    peer.ask(SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong"))
    peer.transport.hang_up()
    await settle()
    world.clock.advance(1000)
    await settle()
    assert world.listener.connections_count == 0


@pytest.mark.parametrize("request_", [MetadataRequest(topics=[]), SaslHandshakeRequest(mechanism="PLAIN")])
async def test_another_request_between_tokens_is_told_so_in_its_own_form(
    world: SecuredWorld, request_: MetadataRequest | SaslHandshakeRequest
) -> None:
    peer = world.connect()
    ask(peer, SaslHandshakeRequest(mechanism="PLAIN"))
    peer.ask(request_)
    (answer,) = await refused(world, peer)
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert getattr(answer, "brokers", []) == []


async def test_a_request_that_has_no_place_for_an_error_is_answered_with_nothing(world: SecuredWorld) -> None:
    """aiokafka asks so when its token was refused: a connection that is closed at once would be another error to it."""
    peer = world.connect()
    ask(peer, SaslHandshakeRequest(mechanism="PLAIN"))
    peer.ask(MetadataRequest(topics=[]), 1)
    (answer,) = await refused(world, peer)
    assert (answer.brokers, answer.topics) == ([], [])


async def closed(peer: Peer) -> bool:
    """At once, and without a word."""
    await settle()
    return peer.is_closed and peer.frames() == []


@pytest.mark.parametrize(
    ("requests", "answered"),
    [
        ([MetadataRequest(topics=None)], 0),
        ([SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret")], 0),
        ([VERSIONS, VERSIONS], 1),
        ([VERSIONS, MetadataRequest(topics=None)], 1),
    ],
)
async def test_a_frame_not_allowed_before_a_handshake_closes_at_once(
    world: SecuredWorld, requests: list[Any], answered: int
) -> None:
    peer = world.connect()
    for request in requests:
        peer.ask(request)
    assert len(peer.answers()) == answered
    assert await closed(peer)
    assert world.sasl_listener.outcomes.refused == 1


async def test_a_large_request_between_tokens_is_refused_unread(world: SecuredWorld) -> None:
    """Its answer would be a message for each of its groups: 47 MB for the largest."""
    world.sasl_listener.frame_bytes_max = 512 << 10
    peer = world.connect()
    ask(peer, SaslHandshakeRequest(mechanism="PLAIN"))
    peer.ask(DescribeGroupsRequest(groups=[""] * 2000))
    assert await refused(world, peer) == []
    assert world.sasl_listener.outcomes.refused == 1


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\x00",
        b"\x60\x82" + bytes(30),  # as a token of Kerberos begins
        b"\x00\x11\x00\x09" + bytes(8),  # a version there is not
        b"\x00\x11\x00\x01\x00\x00\x00\x01\xff\xff\x7f\xff",  # a name that runs past the end
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
async def test_garbage_closes_at_once_without_a_word(world: SecuredWorld, frame: bytes) -> None:
    peer = world.connect()
    peer.transport.send(bare(frame))
    assert await closed(peer)
    assert world.sasl_listener.outcomes.refused == 1


@pytest.mark.parametrize("size", [1001, 1 << 30, -1])
async def test_an_unexpected_frame_in_a_handshake_closes_later(world: SecuredWorld, size: int) -> None:
    peer = world.connect()
    held_bytes = world.listener.strangers_memory.used_bytes
    peer.transport.send(size.to_bytes(4, "big", signed=True) + bytes(60_000))
    assert world.listener.strangers_memory.used_bytes == held_bytes
    assert not peer.transport.is_reading()
    assert await refused(world, peer) == []
    assert world.sasl_listener.outcomes.refused == 1


async def test_strangers_use_up_a_memory_of_their_own(world: SecuredWorld) -> None:
    world.sasl_listener.frame_bytes_max = 512 << 10
    known, listener = world.connect(), world.listener
    log_in(known)
    strangers = [world.connect() for _ in range(130)]
    for peer in strangers:
        peer.transport.send((512 << 10).to_bytes(4, "big") + bytes(20_000))
    assert listener.strangers_memory.used_bytes <= STRANGERS_BYTES_MAX + (1 << 20)
    assert listener.frame_memory.used_bytes == 0
    request = request_frame(MetadataRequest(topics=[]), 1)
    known.transport.send(
        request + request_frame(MetadataRequest(topics=[MetadataRequestTopic(name="t" * 30_000)] * 9), 1)
    )
    assert len(known.frames()) == 2
    world.clock.advance(STALLED_MS)
    assert [peer.is_closed for peer in strangers].count(True) >= 31, "and each for so long as others wait"


async def test_requests_under_way_at_an_admission_are_held_like_all_others(world: SecuredWorld) -> None:
    password, listener = "p" * 100_000, world.listener
    world.sasl_listener.frame_bytes_max = 512 << 10
    world.sasl_listener.mechanisms = {"PLAIN": lambda: PlainExchange({"alice": password}.get)}
    peer = world.connect()
    ask(peer, SaslHandshakeRequest(mechanism="PLAIN"))
    token = request_frame(SaslAuthenticateRequest(auth_bytes=f"\0alice\0{password}".encode()), 0)
    large = request_frame(MetadataRequest(topics=[MetadataRequestTopic(name="t" * 30_000)] * 9), 1)
    peer.transport.send(token[:70_000])
    assert (listener.strangers_memory.used_bytes > 0, listener.frame_memory.used_bytes) == (True, 0)
    peer.transport.send(token[70_000:] + large[:-1])
    assert len(peer.frames()) == 1
    assert (listener.strangers_memory.used_bytes, listener.frame_memory.used_bytes > 0) == (0, True)
    peer.transport.send(large[-1:])
    assert len(peer.frames()) == 1
    assert listener.frame_memory.used_bytes == 0


async def test_responses_before_such_a_frame_leave_at_once(world: SecuredWorld) -> None:
    peer = world.connect()
    asked = request_frame(VERSIONS, 3) + request_frame(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    peer.transport.send(asked + bytes([255] * 4))
    assert len(peer.frames()) == 2
    assert await refused(world, peer) == []


async def test_a_frame_that_is_too_large_closes_at_once_when_it_is_let_in(world: SecuredWorld) -> None:
    peer = world.connect()
    log_in(peer)
    peer.transport.send(bytes([255] * 4))
    assert peer.is_closed


async def test_a_proof_that_was_heard_is_of_no_use_a_second_time(world: SecuredWorld) -> None:
    first, second = world.connect(), world.connect()
    final = await scram(first)
    assert first.connection.session.principal == ALICE
    ask(second, SaslHandshakeRequest(mechanism="SCRAM-SHA-256"))
    ask(second, SaslAuthenticateRequest(auth_bytes=b"n,,n=alice,r=abc"))
    second.ask(SaslAuthenticateRequest(auth_bytes=final))
    (answer,) = await refused(world, second)
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert answer.error_message == (
        "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256"
    )


async def scram(peer: Peer) -> bytes:
    """Let alice in; her proof."""
    ask(peer, SaslHandshakeRequest(mechanism="SCRAM-SHA-256"))
    server_first = ask(peer, SaslAuthenticateRequest(auth_bytes=b"n,,n=alice,r=abc")).auth_bytes
    final = client_final("sha256", "secret", b"n=alice,r=abc", server_first)
    answer = ask(peer, SaslAuthenticateRequest(auth_bytes=final))
    assert answer.error_code == 0
    assert answer.auth_bytes.startswith(b"v=")
    return final


async def test_every_outcome_is_reported(world: SecuredWorld) -> None:
    told: list[tuple[str, dict[str, Any]]] = []
    world.broker.events.listen(lambda kind, facts: told.append((kind.name, facts)))
    peer = world.connect()
    log_in(peer)
    other = world.connect()
    ask(other, SaslHandshakeRequest(mechanism="PLAIN"))
    other.ask(SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong"))
    authenticated = [facts for name, facts in told if name == "connection.authenticated"]
    assert [(each["principal"], each["mechanism"]) for each in authenticated] == [("User:alice", "PLAIN")]
    (facts,) = (facts for name, facts in told if name == "connection.not_authenticated")
    assert facts["reason"] == "Authentication failed: Invalid username or password"


async def test_a_handshake_without_need_is_refused(world: SecuredWorld) -> None:
    peer = world.connect()
    log_in(peer)
    answer = ask(peer, SaslHandshakeRequest(mechanism="PLAIN"))
    assert (answer.error_code, answer.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, [])
    refusal = ask(peer, SaslAuthenticateRequest(auth_bytes=b""))
    assert refusal.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert refusal.error_message == "SaslAuthenticate request received after successful authentication"


async def test_a_thousand_that_say_nothing_hold_nothing_up(world: SecuredWorld) -> None:
    silent = [world.connect() for _ in range(1000)]
    for peer in silent[:500]:
        peer.transport.send((1000).to_bytes(4, "big") + bytes(500))
    assert world.listener.strangers_memory.used_bytes == 0
    peer = world.connect()
    assert log_in(peer).error_code == 0
