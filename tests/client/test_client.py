"""Which broker is asked, over which connection, and what is forgotten when."""

import pytest

from barnabas.client.client import GROUP, Client
from barnabas.client.errors import ConnectionFailed
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.protocol.registry import ApiKey
from tests.support.client_clock import StandingClock
from tests.support.ports import unused_port
from tests.support.scripted.broker import NODE_ID, ScriptedBroker

HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
ALIVE = {ApiKey.HEARTBEAT: lambda request: HeartbeatResponse(error_code=0)}


def unused_address() -> str:
    return f"127.0.0.1:{unused_port()}"


def test_connecting_learns_the_cluster() -> None:
    with ScriptedBroker() as broker, Client(broker.address) as client:
        found = client.connect()
        assert (found.cluster_id, found.controller_id, found.topics) == ("scripted", NODE_ID, {})
        assert found.brokers == {NODE_ID: ("127.0.0.1", broker.port)}


def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    with ScriptedBroker() as broker, Client(f"{unused_address()},{broker.address}") as client:
        assert client.connect().cluster_id == "scripted"


def test_every_address_that_failed_is_named() -> None:
    first, second = unused_address(), unused_address()
    with (
        Client(f"{first},{second}") as client,
        pytest.raises(ConnectionFailed, match=rf"{first}: connection refused; .*{second}"),
    ):
        client.connect()


def test_connections_are_used_again() -> None:
    with ScriptedBroker(ALIVE) as broker, Client(broker.address) as client:
        for _ in range(3):
            client.ask_any(HEARTBEAT)
        client.node(NODE_ID, client.deadline()) if client.cluster.brokers else client.connect()
        assert broker.connections == 1


def test_a_lost_connection_is_made_again() -> None:
    with ScriptedBroker(ALIVE) as broker, Client(broker.address, clock=StandingClock()) as client:
        client.ask_any(HEARTBEAT)
        broker.drop_connections()
        assert client.ask_any(HEARTBEAT) == HeartbeatResponse(error_code=0)
        assert broker.connections == 2


def test_a_closed_client_connects_anew() -> None:
    with ScriptedBroker(ALIVE) as broker:
        client = Client(broker.address)
        client.ask_any(HEARTBEAT)
        client.close()
        client.ask_any(HEARTBEAT)
        client.close()
        assert broker.connections == 2


def test_a_leader_is_looked_up_once_and_again_after_it_was_dropped() -> None:
    with ScriptedBroker(topics={"t": 2}) as broker, Client(broker.address) as client:
        assert client.leader("t", 1, client.deadline()) == NODE_ID
        broker.topics["t"] = 1
        assert client.leader("t", 1, client.deadline()) == NODE_ID
        client.forget(["t"])
        with pytest.raises(KafkaError, match="no partition 1"):
            client.leader("t", 1, client.deadline())


def test_an_unknown_node_has_no_connection() -> None:
    with (
        ScriptedBroker() as broker,
        Client(broker.address) as client,
        pytest.raises(KafkaError, match="LEADER_NOT_AVAILABLE"),
    ):
        client.node(77, client.deadline())


@pytest.mark.parametrize("version", [0, 3, 4, 6])
def test_a_coordinator_is_found_in_every_version_and_remembered(version: int) -> None:
    def find(request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        if version >= 4:
            found = Coordinator(
                key="g", node_id=1, host="127.0.0.1", port=broker.port, error_code=0, error_message=None
            )
            return FindCoordinatorResponse(coordinators=[found])
        return FindCoordinatorResponse(node_id=1, host="127.0.0.1", port=broker.port)

    with ScriptedBroker({**ALIVE, ApiKey.FIND_COORDINATOR: find}) as broker, Client(broker.address) as client:
        broker.offered[ApiKey.FIND_COORDINATOR] = (0, version)
        for _ in range(2):
            coordinator = client.coordinator(GROUP, "g", client.deadline())
            assert coordinator.ask(HEARTBEAT, client.deadline()) == HeartbeatResponse(error_code=0)
        assert len(broker.of(FindCoordinatorRequest)) == 1
        assert broker.connections == 2, "the coordinator has a connection of its own"
        client.forget_coordinator(GROUP, "g")
        client.coordinator(GROUP, "g", client.deadline())
        assert len(broker.of(FindCoordinatorRequest)) == 2


def test_a_coordinator_that_is_not_there_is_an_error() -> None:
    response = FindCoordinatorResponse(coordinators=[])
    with (
        ScriptedBroker({ApiKey.FIND_COORDINATOR: lambda request: response}) as broker,
        Client(broker.address) as client,
        pytest.raises(KafkaError) as caught,
    ):
        client.coordinator(GROUP, "g", client.deadline())
    assert caught.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
