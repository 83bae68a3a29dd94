"""SASL on connections: logging in, being refused once and for all, and logging in again in time."""

import pytest

from barnabas.client.addresses import Address
from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.connections.connection import BrokerConnection, wait_for_answer
from barnabas.client.errors import AuthenticationFailed, ConnectionFailed
from barnabas.client.security.sasl import Authenticator
from barnabas.client.security.settings import (
    Login,
    PasswordLogin,
    ProvidedLogin,
    SaslSettings,
    Secret,
    SecuritySettings,
)
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from barnabas.protocol.registry import ApiKey
from tests.support.client_clock import StandingClock
from tests.support.scripted.broker import HANG_UP, ScriptedBroker
from tests.support.scripted.sasl import PASSWORD, USER, ScriptedSasl

HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
ALIVE = {ApiKey.HEARTBEAT: lambda request: HeartbeatResponse(error_code=0)}


def security(mechanism: str = "SCRAM-SHA-512", login: Login | None = None) -> SecuritySettings:
    return SecuritySettings(sasl=SaslSettings(mechanism, login or PasswordLogin(USER, Secret(PASSWORD))))


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_client_with_the_password_is_served(mechanism: str) -> None:
    sasl = ScriptedSasl()
    with (
        ScriptedBroker({**ALIVE, **sasl.script}) as broker,
        Client(broker.address, security=security(mechanism)) as client,
    ):
        for _ in range(3):
            assert client.ask_any(HEARTBEAT) == HeartbeatResponse(error_code=0)
    assert sasl.logins == 1
    assert {version for version, request in broker.requests if isinstance(request, SaslHandshakeRequest)} == {1}
    assert {version for version, request in broker.requests if isinstance(request, SaslAuthenticateRequest)} == {2}


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_wrong_password_is_tried_once(mechanism: str) -> None:
    sasl = ScriptedSasl()
    login = PasswordLogin(USER, Secret("wr0ng-s3cr3t"))
    with (
        ScriptedBroker({**ALIVE, **sasl.script}) as broker,
        Client(broker.address, security=security(mechanism, login)) as client,
        pytest.raises(AuthenticationFailed, match=rf":\d+ refused {mechanism}: Authentication failed") as failed,
    ):
        client.ask_any(HEARTBEAT)
    assert failed.value.code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert not failed.value.code.retriable
    assert "wr0ng" not in str(failed.value)
    assert broker.connections == 1


def test_a_mechanism_that_is_not_offered_is_named_with_those_that_are() -> None:
    login = ProvidedLogin(lambda: ("token", 1e15))
    with (
        ScriptedBroker(ScriptedSasl().script) as broker,
        Client(broker.address, security=security("OAUTHBEARER", login)) as client,
        pytest.raises(AuthenticationFailed, match="does not offer OAUTHBEARER; it offers PLAIN, SCRAM-SHA-256"),
    ):
        client.connect()


def test_a_broker_without_sasl_is_reported_as_one() -> None:
    def refuse(request: SaslHandshakeRequest) -> SaslHandshakeResponse:
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=[])

    with (
        ScriptedBroker({ApiKey.SASL_HANDSHAKE: refuse}) as broker,
        Client(broker.address, security=security()) as client,
        pytest.raises(AuthenticationFailed, match="does not use SASL: set security"),
    ):
        client.connect()


def test_a_server_that_wants_us_to_hash_for_ever_is_left() -> None:
    with (
        ScriptedBroker(ScriptedSasl(iterations=200_001).script) as broker,
        Client(broker.address, security=security()) as client,
        pytest.raises(AuthenticationFailed, match="requires 200001 iterations"),
    ):
        client.connect()


def test_a_refused_token_is_reported_with_what_the_server_says() -> None:
    def authenticate(request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
        if request.auth_bytes == b"\x01":
            code = ErrorCode.SASL_AUTHENTICATION_FAILED
            return SaslAuthenticateResponse(error_code=code, error_message='{"status":"invalid_token"}', auth_bytes=b"")
        return SaslAuthenticateResponse(error_code=0, error_message=None, auth_bytes=b'{"status":"invalid_token"}')

    script = {
        ApiKey.SASL_HANDSHAKE: lambda request: SaslHandshakeResponse(error_code=0, mechanisms=["OAUTHBEARER"]),
        ApiKey.SASL_AUTHENTICATE: authenticate,
    }
    login = ProvidedLogin(lambda: ("token", 1e15))
    with (
        ScriptedBroker(script) as broker,
        Client(broker.address, security=security("OAUTHBEARER", login)) as client,
        pytest.raises(AuthenticationFailed, match=r"refused OAUTHBEARER: .*invalid_token"),
    ):
        client.connect()


def test_a_client_without_a_login_gets_a_hint_that_a_broker_may_require_it() -> None:
    with (
        ScriptedBroker({ApiKey.HEARTBEAT: lambda request: HANG_UP}) as broker,
        Client(broker.address, clock=StandingClock(), timeout_ms=5000) as client,
        pytest.raises(ConnectionFailed, match=r"closed the connection \(Heartbeat\): if it asks for SASL, set"),
    ):
        client.ask_any(HEARTBEAT)


class Session:
    """A connection whose sessions live for a minute of a clock that a test moves."""

    def __init__(self, broker: ScriptedBroker) -> None:
        self.clock = StandingClock()
        settings = security().sasl
        assert settings is not None
        log_in = Authenticator(settings, self.clock).authenticate
        self.connection = BrokerConnection(Address("127.0.0.1", broker.port), "test", self.soon(), log_in=log_in)

    def soon(self) -> Deadline:
        return Deadline(self.clock, 5000)


def test_a_session_is_begun_anew_before_it_ends() -> None:
    sasl = ScriptedSasl(session_lifetime_ms=60_000)
    with ScriptedBroker({**ALIVE, **sasl.script}) as broker:
        session = Session(broker)
        session.connection.ask(HEARTBEAT, session.soon())
        session.clock.sleep(50)
        session.connection.ask(HEARTBEAT, session.soon())
        assert sasl.logins == 1
        session.clock.sleep(2)
        session.connection.ask(HEARTBEAT, session.soon())
        session.connection.ask(HEARTBEAT, session.soon())
        assert sasl.logins == 2
        assert broker.connections == 1
        session.connection.close()


def test_answers_under_way_are_kept_while_a_session_begins_anew() -> None:
    sasl = ScriptedSasl(session_lifetime_ms=60_000)
    codes = iter(range(5))
    heartbeat = {ApiKey.HEARTBEAT: lambda request: HeartbeatResponse(error_code=next(codes))}
    with ScriptedBroker({**heartbeat, **sasl.script}) as broker:
        session = Session(broker)
        connection = session.connection
        for _ in range(2):
            connection.send(HEARTBEAT, session.soon())
        session.clock.sleep(52)
        connection.send(HEARTBEAT, session.soon())
        assert sasl.logins == 2
        assert connection.in_flight == 3
        assert connection.is_answered
        assert wait_for_answer([connection], 0)
        assert [connection.receive(session.soon()).error_code for _ in range(3)] == [0, 1, 2]
        assert not connection.is_answered
        connection.close()


def test_a_password_that_is_changed_ends_the_session_with_a_refusal() -> None:
    sasl = ScriptedSasl(session_lifetime_ms=60_000)
    with ScriptedBroker({**ALIVE, **sasl.script}) as broker:
        session = Session(broker)
        broker.script[ApiKey.SASL_AUTHENTICATE] = lambda request: SaslAuthenticateResponse(
            error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message="the user is gone", auth_bytes=b""
        )
        session.clock.sleep(52)
        with pytest.raises(KafkaError, match="refused SCRAM-SHA-512: the user is gone"):
            session.connection.ask(HEARTBEAT, session.soon())
        assert not session.connection.is_open
