"""One connection to one broker: negotiation, and every way in which an answer may not come."""

import socket
import threading
import tomllib
from pathlib import Path

import pytest

from barnabas.client.addresses import Address
from barnabas.client.clock import Deadline, SystemClientClock
from barnabas.client.connections.connection import SOFTWARE_VERSION, BrokerConnection
from barnabas.client.errors import ConnectionFailed, UnsupportedByBroker
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.api_versions import ApiVersionsResponse
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.protocol.registry import ApiKey
from tests.support.ports import unused_port
from tests.support.scripted.broker import HANG_UP, ScriptedBroker

HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")


def soon(timeout_ms: float = 5000) -> Deadline:
    return Deadline(SystemClientClock(), timeout_ms)


def connect(broker: ScriptedBroker, timeout_ms: float = 5000) -> BrokerConnection:
    return BrokerConnection(Address("127.0.0.1", broker.port), "test", soon(timeout_ms))


def test_the_highest_common_version_is_spoken() -> None:
    with ScriptedBroker({ApiKey.HEARTBEAT: lambda request: HeartbeatResponse(error_code=0)}) as broker:
        broker.offered[ApiKey.HEARTBEAT] = (0, 2)
        connection = connect(broker)
        assert connection.version(ApiKey.HEARTBEAT) == 2
        assert connection.ask(HEARTBEAT, soon()) == HeartbeatResponse(error_code=0)
        assert broker.requests == [(2, HEARTBEAT)]
        connection.close()


def test_a_broker_too_old_for_a_field_gets_nothing() -> None:
    static = HeartbeatRequest(group_id="g", generation_id=1, member_id="m", group_instance_id="i")
    with ScriptedBroker({ApiKey.HEARTBEAT: lambda request: HeartbeatResponse(error_code=0)}) as broker:
        broker.offered[ApiKey.HEARTBEAT] = (0, 2)
        connection = connect(broker)
        with pytest.raises(UnsupportedByBroker, match=r"too old: HeartbeatRequest\.group_instance_id"):
            connection.ask(static, soon())
        assert connection.ask(HEARTBEAT, soon()) == HeartbeatResponse(error_code=0)
        assert broker.requests == [(2, HEARTBEAT)]
        connection.close()


def test_a_broker_with_older_api_versions_is_understood() -> None:
    with ScriptedBroker() as broker:
        broker.offered[ApiKey.API_VERSIONS] = (0, 2)
        connection = connect(broker)
        assert connection.versions[ApiKey.API_VERSIONS] == (0, 2)
        connection.close()


def test_an_api_the_broker_does_not_offer_is_not_even_sent() -> None:
    with ScriptedBroker() as broker:
        del broker.offered[ApiKey.HEARTBEAT]
        connection = connect(broker)
        with pytest.raises(UnsupportedByBroker, match="does not offer Heartbeat"):
            connection.ask(HEARTBEAT, soon())
        assert connection.is_open
        assert broker.requests == []
        connection.close()


def test_a_refused_negotiation_is_the_brokers_error() -> None:
    refusal = ApiVersionsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, api_keys=[])
    with (
        ScriptedBroker({ApiKey.API_VERSIONS: lambda request: refusal}) as broker,
        pytest.raises(KafkaError, match="CLUSTER_AUTHORIZATION_FAILED"),
    ):
        connect(broker)


def test_a_broker_that_refuses_every_version_is_given_up() -> None:
    with ScriptedBroker() as broker:
        broker.offered[ApiKey.API_VERSIONS] = (0, -1)
        with pytest.raises(KafkaError, match="UNSUPPORTED_VERSION"):
            connect(broker)


def test_a_missing_listener_is_reported_in_words() -> None:
    port = unused_port()
    with pytest.raises(ConnectionFailed, match=rf"^cannot connect to 127.0.0.1:{port}: connection refused$"):
        BrokerConnection(Address("127.0.0.1", port), None, soon())


def test_a_host_that_can_have_no_such_name_is_reported() -> None:
    with pytest.raises(ConnectionFailed, match=r"^cannot connect to a\.\.b:9092: that cannot be the name of a host$"):
        BrokerConnection(Address("a..b", 9092), None, soon())


def test_a_hang_up_closes_the_connection_for_good() -> None:
    with ScriptedBroker({ApiKey.HEARTBEAT: lambda request: HANG_UP}) as broker:
        connection = connect(broker)
        with pytest.raises(ConnectionFailed, match=r"closed the connection \(Heartbeat\)"):
            connection.ask(HEARTBEAT, soon())
        assert not connection.is_open
        with pytest.raises(ConnectionFailed, match="is closed"):
            connection.ask(HEARTBEAT, soon())


def test_an_answer_that_comes_too_late_is_never_taken_for_the_next() -> None:
    with ScriptedBroker({ApiKey.HEARTBEAT: lambda request: None}) as broker:
        connection = connect(broker)
        with pytest.raises(ConnectionFailed, match="did not answer Heartbeat in time"):
            connection.ask(HEARTBEAT, soon(30))
        assert not connection.is_open


def test_a_peer_that_is_no_broker_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            peer, _ = listener.accept()
            with peer:
                peer.recv(1 << 16)
                peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                peer.recv(1)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(ConnectionFailed, match=r"does not speak Kafka's protocol: HTTP instead of a Kafka request"):
            BrokerConnection(Address(*listener.getsockname()), None, soon())
        thread.join()


def test_an_interrupted_question_leaves_no_answer_behind() -> None:
    def interrupt(request: object) -> HeartbeatResponse:
        return HeartbeatResponse(error_code=0)

    with ScriptedBroker({ApiKey.HEARTBEAT: interrupt}) as broker:
        connection = connect(broker)
        receive = connection._protocol.receive
        connection._protocol.receive = lambda data: (_ for _ in ()).throw(KeyboardInterrupt)  # type: ignore[method-assign]  # because a ^C at that moment is the point
        with pytest.raises(KeyboardInterrupt):
            connection.ask(HEARTBEAT, soon())
        connection._protocol.receive = receive  # type: ignore[method-assign]  # because it is put back
        assert not connection.is_open


def test_the_client_tells_brokers_the_version_it_has() -> None:
    project = tomllib.loads((Path(__file__).resolve().parents[3] / "pyproject.toml").read_text())["project"]
    assert project["version"] == SOFTWARE_VERSION


def test_answers_to_several_requests_are_received_in_their_order() -> None:
    codes = iter((0, 27, 25))
    with ScriptedBroker({ApiKey.HEARTBEAT: lambda request: HeartbeatResponse(error_code=next(codes))}) as broker:
        connection = connect(broker)
        for _ in range(3):
            connection.send(HEARTBEAT, soon())
        assert connection.in_flight == 3
        assert [connection.receive(soon()).error_code for _ in range(3)] == [0, 27, 25]
        assert connection.in_flight == 0
        connection.close()


def test_a_connection_lost_with_requests_under_way_answers_none_of_them() -> None:
    with ScriptedBroker({ApiKey.HEARTBEAT: lambda request: HANG_UP}) as broker:
        connection = connect(broker)
        connection.send(HEARTBEAT, soon())
        connection.send(HEARTBEAT, soon())
        with pytest.raises(ConnectionFailed, match=r"Heartbeat|reset|broken pipe"):
            connection.receive(soon())
        with pytest.raises(ConnectionFailed, match="closed"):
            connection.receive(soon())
