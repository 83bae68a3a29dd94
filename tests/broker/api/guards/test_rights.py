"""Who has which rights sees what: sessions of several users on one broker, and rights that come and go."""

import logging
from itertools import count
from typing import Any

import pytest

from barnabas.broker.api.api_table import API_TABLE
from barnabas.broker.api.guards.guard_table import guarded
from barnabas.broker.api.handlers import produce
from barnabas.broker.api.produce_fetch.frame_handlers import produce_entry
from barnabas.broker.api.produce_fetch.produce_fast_path import ShortProduce
from barnabas.broker.config.authorizer import STANDARD_AUTHORIZER
from barnabas.broker.network.connection import Connection
from barnabas.broker.security.acl.acl import Acl, AclFilter, PatternType, Permission
from barnabas.broker.security.acl.audit import DENIALS_LOGGED_MAX
from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.broker.security.session.principal import Principal
from barnabas.broker.security.session.session import Authentication, Session
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.headers import parse_response_header
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.protocol.registry import ApiKey, response_codec
from barnabas.storage.steps import finish
from tests.support import requests
from tests.support.clients.classic_members import subscription
from tests.support.worlds.broker import BrokerWorld, Peer, request_frame, settle, until
from tests.support.worlds.memory_transport import MemoryTransport

TOPIC, GROUP = Resource.TOPIC, Resource.GROUP
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_BODY = 14
"""Where a body begins behind a header with the client id `test`: its tags."""


@pytest.fixture
async def world() -> BrokerWorld:
    world = BrokerWorld({"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:root"})
    for name in ("orders", "other"):
        world.services.catalogue.create_topic(name)
    return world


def user(world: BrokerWorld, name: str) -> Peer:
    """A connection that has authenticated."""
    session = Session("SASL_PLAINTEXT", Authentication.REQUIRED)
    session.authenticated(Principal("User", name))
    return Peer(MemoryTransport(Connection(world.listener, world.dispatcher, session=session), 1 << 30))


def allow(world: BrokerWorld, operation: Operation, name: str, resource: Resource = TOPIC, who: str = "alice") -> Acl:
    acl = Acl(resource, name, PatternType.LITERAL, f"User:{who}", "*", operation, Permission.ALLOW)
    access = world.services.access
    assert access is not None
    assert access.acls.create([acl]) == [None]
    return acl


def revoke(world: BrokerWorld, acl: Acl) -> None:
    access = world.services.access
    assert access is not None
    assert finish(access.acls.delete([AclFilter(*acl)])) == [[acl]]


def topics_of(peer: Peer) -> dict[str | None, int]:
    peer.ask(MetadataRequest(topics=None))
    return {topic.name: topic.error_code for topic in peer.answer().topics}


def one_record(world: BrokerWorld, topic: str) -> ProduceRequest:
    return requests.produce(world.batch(b"v"), topic, acks=1)


def produced(world: BrokerWorld, peer: Peer, topic: str = "orders") -> int:
    """The code of a batch of one record."""
    peer.ask(one_record(world, topic), 12)
    code: int = peer.answer().responses[0].partition_responses[0].error_code
    return code


async def test_only_super_users_see_unreadable_resources(world: BrokerWorld) -> None:
    assert topics_of(user(world, "alice")) == {}
    assert topics_of(user(world, "root")) == {"orders": 0, "other": 0}
    assert produced(world, user(world, "alice")) == DENIED
    assert produced(world, user(world, "root")) == 0


async def test_a_right_is_in_force_once_it_is_given_and_until_it_is_taken(world: BrokerWorld) -> None:
    alice, bob = user(world, "alice"), user(world, "bob")
    write = allow(world, Operation.WRITE, "orders")
    assert topics_of(alice) == {"orders": 0}, "to write is to describe"
    assert [produced(world, alice) for _ in range(3)] == [0, 0, 0]
    assert (produced(world, bob), produced(world, alice, "other")) == (DENIED, DENIED)
    revoke(world, write)
    assert [produced(world, alice) for _ in range(2)] == [DENIED, DENIED]
    assert topics_of(alice) == {}


async def test_acls_are_created_by_who_may_alter_the_cluster(world: BrokerWorld) -> None:
    creation = AclCreation(
        resource_type=TOPIC,
        resource_name="orders",
        principal="User:alice",
        host="*",
        operation=Operation.READ,
        permission_type=Permission.ALLOW,
    )
    alice, root = user(world, "alice"), user(world, "root")
    alice.ask(CreateAclsRequest(creations=[creation]))
    assert alice.answer().results[0].error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    root.ask(CreateAclsRequest(creations=[creation]))
    assert root.answer().results[0].error_code == 0
    assert topics_of(alice) == {"orders": 0}


async def test_of_very_many_acls_one_that_nobody_knows_closes_the_connection_too() -> None:
    settings = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:root"}
    world = BrokerWorld(settings, stopwatch=count(0.0, 0.0015).__next__)
    acl: dict[str, Any] = {"resource_type": TOPIC, "resource_name": "t", "principal": "User:a", "host": "*"}
    creations = [AclCreation(**acl, permission_type=3, operation=operation) for operation in [*[3] * 300, 0]]
    root = user(world, "root")
    root.ask(CreateAclsRequest(creations=creations))
    await until(lambda: root.is_closed)
    assert world.services.access is not None
    assert len(world.services.access.acls) == 0


async def test_the_short_path_of_produce_is_taken_by_who_is_known_to_be_allowed(world: BrokerWorld) -> None:
    """Every request that is not for it is counted."""
    general: list[str] = []
    (row,) = (row for row in API_TABLE if row.key is ApiKey.PRODUCE)
    entry = produce_entry(world.services, guarded(row, produce.handle), 12, None)

    def counted(frame: memoryview, position: int, correlation_id: int, client: Any) -> Any:
        general.append(client.session.principal.name)
        return entry(frame, position, correlation_id, client)

    short = ShortProduce(world.services, counted, 12, None)

    def asked(peer: Peer) -> int:
        """The code of a batch of one record."""
        frame = request_frame(one_record(world, "orders"), 12)[4:]
        answer = short.serve(memoryview(bytearray(frame)), _BODY, 1, peer.connection)
        assert isinstance(answer, bytes | bytearray)
        _, position = parse_response_header(ApiKey.PRODUCE, 12, bytes(answer[4:]))
        response: Any = response_codec(ApiKey.PRODUCE, 12).decode(bytes(answer[4:]), position)[0]
        code: int = response.responses[0].partition_responses[0].error_code
        return code

    alice, bob = user(world, "alice"), user(world, "bob")
    write = allow(world, Operation.WRITE, "orders")
    assert [asked(alice) for _ in range(3)] == [0] * 3
    assert general == ["alice"], "the first decision is made by the general path"
    assert asked(bob) == DENIED
    allow(world, Operation.WRITE, "other", who="carol")
    assert [asked(alice) for _ in range(3)] == [0] * 3
    assert general == ["alice", "bob", "alice"], "every decision is made again after a change"
    revoke(world, write)
    assert asked(alice) == DENIED
    assert general == ["alice", "bob", "alice", "alice"]


async def test_a_fetch_session_is_checked_for_all_that_is_in_it(world: BrokerWorld) -> None:
    read = allow(world, Operation.READ, "orders")
    assert produced(world, user(world, "root")) == 0
    alice = user(world, "alice")
    wanted = [
        FetchTopic(topic=name, partitions=[FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)])
        for name in ("orders", "other")
    ]

    def fetched(session_id: int, epoch: int, topics: list[FetchTopic]) -> Any:
        alice.ask(
            FetchRequest(
                max_wait_ms=0,
                min_bytes=0,
                max_bytes=1 << 20,
                isolation_level=0,
                session_id=session_id,
                session_epoch=epoch,
                topics=topics,
                forgotten_topics_data=[],
            ),
            12,
        )
        return alice.answer()

    first = fetched(0, 0, wanted)
    codes = {topic.topic: topic.partitions[0].error_code for topic in first.responses}
    assert codes == {"orders": 0, "other": DENIED}
    revoke(world, read)
    second = fetched(first.session_id, 1, [])
    codes = {topic.topic: topic.partitions[0].error_code for topic in second.responses}
    assert codes == {"orders": DENIED, "other": DENIED}


async def test_a_regular_expression_finds_what_its_member_may_describe_whenever_it_is_resolved(
    world: BrokerWorld,
) -> None:
    allow(world, Operation.READ, "g", GROUP)
    allow(world, Operation.DESCRIBE, "orders")
    alice, root = user(world, "alice"), user(world, "root")

    def beat(epoch: int, **said: Any) -> int:
        alice.ask(ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=epoch, **said), 1)
        answer = alice.answer()
        assert answer.error_code == 0
        return int(answer.member_epoch)

    def assigned() -> set[str]:
        root.ask(ConsumerGroupDescribeRequest(group_ids=["g"], include_authorized_operations=False))
        (group,) = root.answer().groups
        return {each.topic_name for member in group.members for each in member.target_assignment.topic_partitions}

    epoch = beat(0, rebalance_timeout_ms=60_000, subscribed_topic_regex="o.*", topic_partitions=[])
    await settle()
    epoch = beat(epoch)
    assert assigned() == {"orders"}
    for name in ("open-1", "o-hidden-1"):  # resolved again by who says no expression: a heartbeat
        world.services.catalogue.create_topic(name)
    allow(world, Operation.DESCRIBE, "open-1")
    world.clock.advance(10_001)
    epoch = beat(beat(epoch))
    await settle()
    epoch = beat(epoch)
    assert assigned() == {"orders", "open-1"}
    world.services.catalogue.create_topic("o-hidden-2")  # … and a member of the classic protocol that joins
    world.clock.advance(10_001)
    alice.ask(requests.join_group("g", metadata=subscription([])), 3)
    assert alice.answer().error_code == 0
    await settle()
    beat(epoch)
    assert assigned() == {"orders", "open-1"}


async def test_the_audit_tells_who_was_denied_and_at_debug_who_was_allowed(
    world: BrokerWorld, caplog: pytest.LogCaptureFixture
) -> None:
    allow(world, Operation.WRITE, "orders")
    alice = user(world, "alice")
    with caplog.at_level(logging.INFO, "barnabas.authorizer.logger"):
        assert produced(world, alice) == 0
        assert produced(world, alice, "other") == DENIED
        assert topics_of(alice) == {"orders": 0}
    assert [record.getMessage() for record in caplog.records if record.name == "barnabas.authorizer.logger"] == [
        "denied principal=User:alice operation=WRITE resource=Topic:LITERAL:other host=127.0.0.1 request=Produce "
        "rule=DefaultDeny"
    ]
    caplog.clear()
    with caplog.at_level(logging.DEBUG, "barnabas.authorizer.logger"):
        assert [produced(world, alice) for _ in range(2)] == [0, 0]
    told = [record.getMessage() for record in caplog.records if record.name == "barnabas.authorizer.logger"]
    assert len(told) == 2, "the short path tells nothing, so it is not taken"
    assert told[0].startswith("allowed principal=User:alice operation=WRITE resource=Topic:LITERAL:orders")
    access = world.services.access
    assert access is not None
    assert access.authorizer.audit.denied_count == 1
    assert access.authorizer.audit.allowed_count >= 3


async def test_of_very_many_denials_some_are_reported_and_the_others_counted(
    world: BrokerWorld, caplog: pytest.LogCaptureFixture
) -> None:
    alice, names = user(world, "alice"), [f"t{number}" for number in range(DENIALS_LOGGED_MAX + 500)]
    for level, lines in ((logging.INFO, DENIALS_LOGGED_MAX + 1), (logging.WARNING, 0)):
        with caplog.at_level(level, "barnabas.authorizer.logger"):
            alice.ask(MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names]))
            await until(alice.transport.written.is_set)
        assert [topic.error_code for topic in alice.answer().topics] == [DENIED] * len(names)
        told = [record.getMessage() for record in caplog.records if record.name == "barnabas.authorizer.logger"]
        assert len(told) == lines
        caplog.clear()
        if told:
            what = "operation=DESCRIBE resource=Topic host=127.0.0.1 request=Metadata not_logged=500"
            assert told[-1] == f"denied more principal=User:alice {what}"
    access = world.services.access
    assert access is not None
    assert access.authorizer.audit.denied_count == 2 * len(names)
