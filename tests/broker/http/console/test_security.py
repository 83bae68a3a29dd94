"""The page of security: who is refused, who is connected as whom, users, quotas and ACLs; and no secret."""

import pytest

from barnabas.broker.http.console.queries.security import ROWS_MAX
from barnabas.broker.metadata.image.scram_users import Upsertion
from barnabas.broker.security.acl.acl import Acl, PatternType, Permission
from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.security.scram import SCRAM_SHA_256, credential_of, salted
from tests.broker.runtime.events.test_security import AUTHORIZED, client_of, limit
from tests.support.console.world import Console
from tests.support.requests import produce
from tests.support.worlds.broker import BrokerWorld, settle
from tests.support.worlds.secured_broker import SecuredWorld, log_in
from tests.support.worlds.told import Asking

MARKUP = "<i>x</i>"


@pytest.fixture
async def console() -> Console:
    world = BrokerWorld({**AUTHORIZED, "offsets.topic.num.partitions": "2"}, topics={"orders": 1})
    return Console(world, may_change=False)


def allow(world: BrokerWorld, *names: str, who: str = "alice", resource: Resource = Resource.TOPIC) -> None:
    access = world.services.access
    assert access is not None
    fields = PatternType.LITERAL, f"User:{who}", "*", Operation.READ, Permission.ALLOW
    entries = [Acl(resource, name, *fields) for name in names]
    assert access.acls.create(entries) == [None] * len(entries)


async def test_a_broker_without_security_states_that_everybody_may_do_everything() -> None:
    world = BrokerWorld()
    text = await Console(world).text("/security")
    assert "There is no authorizer ( authorizer.class.name ): every client may do everything." in text
    assert "Refused and throttled lately None." in text
    assert "Principal" not in await Console(world).text("/clients")


async def test_denials_are_shown_without_control_until_they_are_none(console: Console) -> None:
    alice = client_of(console.world, "alice")
    await alice.ask(ConsumerGroupHeartbeatRequest(group_id=MARKUP, member_id="m", member_epoch=0), 1)
    html = await console.get("/security")
    assert "is denied Read on group &lt;i&gt;x&lt;/i&gt; (GROUP_AUTHORIZATION_FAILED), 0 ms ago: no ACL" in html
    assert "<code>barnabas acls add --bootstrap-server 127.0.0.1:9092" in html
    assert MARKUP not in html
    allow(console.world, MARKUP, resource=Resource.GROUP)
    assert "Refused and throttled lately None." in await console.text("/security")


async def test_acls_are_shown_in_their_order_some_of_many_and_by_name(console: Console) -> None:
    allow(console.world, "zebra", "ant", MARKUP)
    text = await console.text("/security")
    assert "Super users, who may do everything: User:root" in text
    row = "topic {} literal User:alice * read allow"
    assert " ".join(map(row.format, ("&lt;i&gt;x&lt;/i&gt;", "ant", "zebra"))) in text
    assert row.format("ant") not in await console.text("/security", q="zeb")
    assert "No ACL has nobody in its name or principal." in await console.text("/security", q="nobody")
    for _ in range(10):
        allow(console.world, *(f"t-{each}" for each in range(200)), who=f"user-{_}")
    assert ROWS_MAX == 300
    assert "1 703 more ACLs not shown." in await console.text("/security")


async def test_users_are_shown_by_their_mechanisms_and_nothing_that_is_kept_of_a_password(console: Console) -> None:
    credential = credential_of(SCRAM_SHA_256, salted(SCRAM_SHA_256, "secret", b"salt", 4_096), b"salt", 4_096)
    users = console.world.services.catalogue.users
    password = salted(SCRAM_SHA_256, "secret", b"salt", 4_096)
    assert users.alter([], [Upsertion("carol", SCRAM_SHA_256.number, 4_096, b"salt", password)]) == {"carol": None}
    html = await console.get("/security")
    assert "SCRAM-SHA-256" in html
    assert "4\u202f096 iterations" in html
    for secret in (b"salt", credential.stored_key, credential.server_key, password):
        assert secret.hex() not in html
        assert repr(secret)[2:-1] not in html


async def test_quotas_and_who_waits_for_them_are_shown(console: Console) -> None:
    world = console.world
    limit(world, {"user": "root"}, producer_byte_rate=100.0)
    limit(world, {"ip": None}, connection_creation_rate=50.0)
    text = await console.text("/security")
    assert "ip &lt;default&gt; connection_creation_rate 50 user root producer_byte_rate 100" in text
    root = client_of(world, "root")
    await root.ask(produce(world.batch(b"x" * 2_000), "orders"), 9)
    await settle()
    text = await console.text("/security")
    assert "Produce of client test (user root) from 127.0.0.1:50000 is throttled" in text
    assert "1 connection waits for the end of a throttle now." in text


async def test_principals_stand_beside_client_ids(console: Console) -> None:
    world = console.world
    allow(world, "orders")
    allow(world, "g", resource=Resource.GROUP)
    alice, nobody = client_of(world, "alice"), Asking(world)
    beat = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )
    assert (await alice.ask(beat, 1)).error_code == 0
    await nobody.ask(ListGroupsRequest(), 4)
    assert "User:alice" in await console.text("/clients")
    assert "test as User:alice" in await console.text("/group", id="g")
    assert "User:alice SSL SASL_PLAINTEXT 1" in await console.text("/security")


async def test_listeners_count_who_was_let_in_or_refused() -> None:
    world = SecuredWorld()
    world.broker.members[0].sasl_listeners = {"SASL_PLAINTEXT": world.sasl_listener}
    log_in(world.connect())
    world.connect().ask(ListGroupsRequest())
    await settle()
    text = await Console(world).text("/security")
    assert "SASL_PLAINTEXT 1 PLAIN, SCRAM-SHA-256 1 1 0 0 0" in text
    assert "User:alice PLAIN SASL_PLAINTEXT 1" in text
    assert "could not authenticate at listener SASL_PLAINTEXT" in text
