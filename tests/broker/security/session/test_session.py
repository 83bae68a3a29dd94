"""A connection has a session from the moment it is accepted, and what it may ask for depends on it."""

from typing import Any

import pytest

from barnabas.broker.api.api_table import API_TABLE
from barnabas.broker.security.session.operations import SUPPORTED, Access, Operation, Resource
from barnabas.broker.security.session.principal import ANONYMOUS, Principal
from barnabas.broker.services import RequestContext
from barnabas.protocol.registry import ApiKey
from tests.support.worlds.broker import BrokerWorld, Peer

ALICE = Principal("User", "alice")


@pytest.fixture
async def world() -> BrokerWorld:
    return BrokerWorld()


async def test_an_accepted_connection_has_a_session_of_its_listener() -> None:
    world = BrokerWorld()
    sockets: list[Any] = ["a socket"]
    await world.broker.listener.listen(sockets, world.dispatcher, name="INSIDE")
    (listening,) = world.network.listening
    first, second = (Peer(listening.connect()).connection.session for _ in range(2))
    assert (first.listener, first.principal, first.is_authenticated) == ("INSIDE", ANONYMOUS, True)
    assert first is not second
    assert str(ANONYMOUS) == "User:ANONYMOUS"


async def test_a_connection_without_sasl_is_dispatched_at_once(world: BrokerWorld) -> None:
    assert world.connect().connection._dispatch == world.dispatcher.dispatch


async def test_once_it_is_authenticated_it_is_its_principal(world: BrokerWorld) -> None:
    peer = world.connect()
    context = RequestContext(world.services, ApiKey.METADATA, 13, connection=peer.connection)
    peer.connection.session.authenticated(ALICE, "PLAIN")
    assert context.principal == ALICE
    assert peer.connection.session.mechanism == "PLAIN"


def test_a_request_of_nobody_in_particular_is_anonymous() -> None:
    no_services: Any = None
    assert RequestContext(no_services, ApiKey.METADATA, 13).principal is ANONYMOUS


WITHOUT_RIGHTS = {
    *(ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE),
    *(ApiKey.RENEW_DELEGATION_TOKEN, ApiKey.EXPIRE_DELEGATION_TOKEN),  # for who is its owner or renewer
}


def test_the_operations_of_an_api_are_supported_by_its_resources() -> None:
    for row in API_TABLE:
        known = {access for access in row.accesses if access.operation in SUPPORTED[access.resource]}
        in_kafka_only = {Access(Operation.DELETE, Resource.CLUSTER)} & set(row.accesses)  # which DeleteTopics checks
        assert known | in_kafka_only == set(row.accesses), row
        assert row.accesses or row.key in WITHOUT_RIGHTS


def test_an_api_is_the_operations_that_kafka_checks_for_it() -> None:
    """As the classes of Kafka 4.4.0 have them (KafkaApis, ControllerApis, ConfigHelper): its documentation's table
    lacks some.
    """
    by_key = {row.key: sorted(map(str, row.accesses)) for row in API_TABLE}
    assert by_key[ApiKey.PRODUCE] == ["Write Topic", "Write TransactionalId"]
    assert by_key[ApiKey.METADATA] == ["Create Cluster", "Create Topic", "Describe Cluster", "Describe Topic"]
    assert by_key[ApiKey.CREATE_TOPICS] == ["Create Cluster", "Create Topic", "DescribeConfigs Topic"]
    assert by_key[ApiKey.INIT_PRODUCER_ID] == [
        "IdempotentWrite Cluster",
        "TwoPhaseCommit TransactionalId",
        "Write Topic",
        "Write TransactionalId",
    ]
    assert by_key[ApiKey.WRITE_TXN_MARKERS] == ["Alter Cluster", "ClusterAction Cluster"]


def test_operations_are_written_as_kafka_writes_them() -> None:
    assert str(Access(Operation.DESCRIBE_CONFIGS, Resource.TRANSACTIONAL_ID)) == "DescribeConfigs TransactionalId"
    by_key = {row.key: [str(access) for access in row.accesses] for row in API_TABLE}
    assert by_key[ApiKey.PRODUCE] == ["Write TransactionalId", "Write Topic"]
    assert by_key[ApiKey.TXN_OFFSET_COMMIT] == ["Write TransactionalId", "Read Group", "Read Topic"]
