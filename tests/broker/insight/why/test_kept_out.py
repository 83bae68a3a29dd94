"""Clients that are denied, throttled or not let in: answers name it, and what ends it, for as long as it is so."""

from typing import Any

import pytest

from barnabas.broker.insight.why.sources.refused_clients import LATELY_MS
from barnabas.broker.security.acl.acl import Acl, PatternType, Permission
from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from tests.broker.runtime.events.test_refusals import fetching
from tests.broker.runtime.events.test_security import AUTHORIZED, client_of, limit
from tests.support.requests import init_producer, produce
from tests.support.why import Asked, RememberedEvents
from tests.support.worlds.broker import BrokerWorld
from tests.support.worlds.secured_broker import SecuredWorld
from tests.support.worlds.told import Asking

ADD = "barnabas acls add --bootstrap-server 127.0.0.1:9092 --allow-principal User:alice --operation"


class Watch:
    """A stopwatch."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
async def world(watch: Watch) -> BrokerWorld:
    return BrokerWorld({**AUTHORIZED, "offsets.topic.num.partitions": "2"}, stopwatch=watch, topics={"orders": 1})


def acl(
    world: BrokerWorld, operation: Operation, resource: Resource, name: str, who: str = "alice", **more: Any
) -> None:
    fields = {"pattern_type": PatternType.LITERAL, "host": "*", "permission": Permission.ALLOW, **more}
    access = world.services.access
    assert access is not None
    entry = Acl(resource, name, operation=operation, principal=f"User:{who}", **fields)
    assert access.acls.create([entry]) == [None]


def beat() -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id="billing",
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )


async def test_a_group_that_a_client_may_not_read_until_it_may(world: BrokerWorld, watch: Watch, asked: Asked) -> None:
    alice = client_of(world, "alice")
    acl(world, Operation.READ, Resource.TOPIC, "orders")
    for _ in range(2):
        await alice.ask(beat(), 1)
    watch.now_s = 3.0
    told = await asked.group("billing")
    assert told.sentences == (
        "ConsumerGroupHeartbeat of User:alice (client test) from 127.0.0.1 is denied Read on group billing "
        "(GROUP_AUTHORIZATION_FAILED), 2 times, the last 3 s ago: no ACL allows it. "
        f"`{ADD} Read --group billing` does.",
        "There is no group billing: it has no members, and no committed offsets.",
    )
    assert told.evidence["kept_out"]["denials"][0]["times"] == 2
    acl(world, Operation.READ, Resource.GROUP, "billing")
    assert (await asked.group("billing")).sentences == told.sentences[1:], "it may, since then"


async def test_a_topic_that_a_member_may_not_read(world: BrokerWorld, asked: Asked) -> None:
    alice, bob = client_of(world, "alice"), client_of(world, "bob")
    acl(world, Operation.DESCRIBE, Resource.TOPIC, "orders")
    acl(world, Operation.READ, Resource.GROUP, "billing")
    await alice.ask(beat(), 1)
    await alice.ask(fetching(("orders", [0])), 11)
    await bob.ask(init_producer("shop", 1_000), 4)
    for answer in (
        await asked.consumer("billing"),
        await asked.consumer("billing", "orders"),
        await asked.consumer("others", "orders"),  # whose consumer is in no group
    ):
        first = answer.sentences[0]
        assert first.startswith("Fetch of User:alice (client test) from 127.0.0.1 is denied Read on topic orders")
        assert first.endswith(f"`{ADD} Read --topic orders` does.")
    assert not any("shop" in each for each in answer.sentences)


async def test_a_transactional_id_that_a_client_may_not_use(world: BrokerWorld, asked: Asked) -> None:
    alice = client_of(world, "alice")
    await alice.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["shop's"]), 4)
    told = await asked.producer("shop's")
    assert told.sentences[0].endswith(f"""`{ADD} Write --transactional-id 'shop'"'"'s'` does.""")
    assert "is denied Describe on transactional id shop's" in told.sentences[0]
    assert told.sentences[1] == "There is no transactional id shop's."
    assert "clients" in await asked.hanging()


async def test_an_acl_that_denies_is_named_to_be_taken_back(world: BrokerWorld, asked: Asked) -> None:
    alice = client_of(world, "alice")
    acl(world, Operation.ALL, Resource.GROUP, "*")
    denying: dict[str, Any] = {"permission": Permission.DENY, "host": "127.0.0.1", "pattern_type": PatternType.PREFIXED}
    acl(world, Operation.ALL, Resource.GROUP, "bill", **denying)
    await alice.ask(beat(), 1)
    told = await asked.group("billing")
    assert told.sentences[0].endswith(
        "an ACL denies it, even if other ACLs allow it. `barnabas acls remove --bootstrap-server 127.0.0.1:9092 "
        "--deny-principal User:alice --deny-host 127.0.0.1 --operation All --group bill "
        "--resource-pattern-type prefixed` removes it."
    )


async def test_old_events_are_not_reported(world: BrokerWorld, watch: Watch, asked: Asked) -> None:
    await client_of(world, "alice").ask(beat(), 1)
    watch.now_s = LATELY_MS / 1_000 + 1
    assert len((await asked.group("billing")).sentences) == 1


async def test_clients_that_wait_for_their_quota(watch: Watch) -> None:
    world = BrokerWorld(stopwatch=watch, topics={"orders": 1})
    asked = Asked(world.services, RememberedEvents(world))
    limit(world, {"user": None, "client-id": "test"}, producer_byte_rate=100.0, consumer_byte_rate=100.0)
    alice = Asking(world)
    await alice.ask(init_producer("shop", 1_000), 4)
    await alice.ask(beat(), 1)
    await alice.ask(produce(world.batch(b"x" * 2_000), "orders"), 9)
    first = (await asked.producer("shop")).sentences[0]
    assert first.startswith("Produce of client test (user ANONYMOUS) from 127.0.0.1:50000 is throttled, for 11.")
    assert first.endswith(
        "s, 0 ms ago: producer_byte_rate of 100 bytes a second is all that user <default> and client-id test may use. "
        "`barnabas quotas alter --bootstrap-server 127.0.0.1:9092 --user-defaults --client test "
        "--delete producer_byte_rate` removes the quota."
    )
    assert "throttled" not in str(await asked.consumer("billing")), "not what it reads with"
    await world.advance(20_000)
    await alice.ask(fetching(("orders", [0]), max_bytes=1 << 20), 11)
    read = await asked.consumer("billing")
    assert read.sentences[0].startswith("Fetch of client test (user ANONYMOUS)")
    limit(world, {"user": None, "client-id": "test"}, producer_byte_rate=None)
    watch.now_s += 30.0
    (over,) = [each for each in (await asked.producer("shop")).sentences if "throttled" in each]
    assert over.startswith("Produce of client test (user ANONYMOUS) from 127.0.0.1:50000 was throttled, for 11.")
    assert over.endswith(" ago: its quota producer_byte_rate was removed since then.")
    watch.now_s = 200.0
    assert "throttled" not in str(await asked.hanging())


async def test_clients_that_do_not_get_in_may_be_anybodys() -> None:
    world = SecuredWorld()
    asked = Asked(world.services)
    peer = world.connect()
    await peer.put(ListGroupsRequest())
    assert (await asked.group("billing")).sentences[0] == (
        "A client (client test) from 127.0.0.1, which may belong to this group, could not authenticate at listener "
        "SASL_PLAINTEXT, 0 ms ago: a request with API key 16 before SaslHandshake."
    )
    assert "which may" not in str((await asked.hanging())["clients"])
