"""Stories of who was refused, denied and throttled."""

from barnabas.broker.config.authorizer import STANDARD_AUTHORIZER
from barnabas.broker.metadata.image.client_quotas import QuotaAlteration
from barnabas.broker.network.connection import Connection
from barnabas.broker.runtime.events.cause import RequestCause
from barnabas.broker.security.acl.acl import Acl, PatternType, Permission
from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.broker.security.session.principal import Principal
from barnabas.broker.security.session.session import Authentication, Session
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from tests.broker.runtime.events.test_refusals import fetching
from tests.support.requests import produce
from tests.support.tls_listener import Secured
from tests.support.worlds.broker import BrokerWorld, Peer, settle
from tests.support.worlds.memory_transport import MemoryTransport
from tests.support.worlds.secured_broker import SecuredWorld, log_in
from tests.support.worlds.story import Stories, Story
from tests.support.worlds.told import Asking

STORIES = Stories()
AUTHORIZED = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:root"}


def client_of(world: BrokerWorld, user: str) -> Asking:
    """One that has authenticated."""
    session = Session("SASL_PLAINTEXT", Authentication.REQUIRED)
    session.authenticated(Principal("User", user))
    return Asking(world, Peer(MemoryTransport(Connection(world.listener, world.dispatcher, session=session), 1 << 30)))


def limit(world: BrokerWorld, entity: dict[str, str | None], **quotas: float | None) -> None:
    wish = QuotaAlteration(entity, list(quotas.items()))
    ((_, refusal),) = world.services.catalogue.client_quotas.alter([wish], validate_only=False)
    assert refusal is None


@STORIES.about(AUTHORIZED)
async def clients_are_denied(story: Story) -> None:
    told = story.told
    story.client = client_of(story.world, "alice")
    assert (await story.init()).error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    denied = told.only("access.denied")
    assert denied.facts == {
        "principal": "User:alice",
        "host": "127.0.0.1",
        "client_id": "test",
        "api": "InitProducerId",
        "operation": "WRITE",
        "resource": "TRANSACTIONAL_ID",
        "topic": None,
        "group": None,
        "transactional_id": "x",
        "name": None,
        "rule": "DefaultDeny",
        "count": 1,
    }
    assert isinstance(denied.cause, RequestCause)
    assert denied.cause.facts()["principal"] == "User:alice"
    await story.join("")
    assert told.of("access.denied")[-1].facts["group"] == "g"
    for _ in range(100):
        await story.client.ask(fetching(("t", [0])), 11)
    by_topic = [each.facts for each in told.of("access.denied") if each.facts["topic"] == "t"]
    assert [(each["api"], each["operation"], each["count"]) for each in by_topic] == [("Fetch", "READ", 1)]
    access = story.world.services.access
    assert access is not None
    deny = Acl(Resource.TOPIC, "t", PatternType.LITERAL, "User:bob", "*", Operation.ALL, Permission.DENY)
    assert access.acls.create([deny]) == [None]
    await client_of(story.world, "bob").ask(fetching(("t", [0])), 11)
    rule = told.of("access.denied")[-1].facts["rule"]
    assert rule.startswith("MatchingAcl(acl=StandardAcl(resourceType=TOPIC, resourceName=t")


@STORIES.about()
async def clients_are_throttled(story: Story) -> None:
    limit(story.world, {"client-id": None}, producer_byte_rate=100.0, consumer_byte_rate=1e9)
    answer = await story.client.ask(produce(story.world.batch(b"x" * 2_000)), 9)
    facts = story.told.only("client.throttled").facts
    assert facts == {
        "user": "ANONYMOUS",
        "client_id": "test",
        "quota": "producer_byte_rate",
        "entity": ["client-id <default>"],
        "limit": 100.0,
        "throttle_ms": answer.throttle_time_ms,
        "api": "Produce",
        "peer": story.client.peer.connection.peer,
        "count": 1,
    }


@STORIES.about({"max.connection.creation.rate": "1"})
async def connections_come_too_soon(story: Story) -> None:
    limit(story.world, {"ip": None}, connection_creation_rate=1.0)
    for _ in range(20):
        story.world.connect()
    await settle()
    await story.world.advance(100_000)
    told = [each.facts for each in story.told.of("connection.throttled")]
    assert {(each["limit"], each["is_refused"]) for each in told} == {
        ("max.connection.creation.rate", False),
        ("connection_creation_rate", True),
    }
    assert len(told) == 2, "each is told once, whoever comes"
    assert all(each["host"] == "127.0.0.1" and each["wait_ms"] > 0 for each in told)


@STORIES.about(None, lambda _: SecuredWorld(reauth_ms=10_000))
async def clients_log_in(story: Story) -> None:
    world, told = story.world, story.told
    peer = world.connect()
    log_in(peer)
    assert told.only("connection.authenticated").facts["principal"] == "User:alice"
    for number in range(3):
        refused = world.connect()
        if number:
            refused.ask(ListGroupsRequest())
        else:
            refused.transport.send(b"\0\0\0\1\0")
    world.clock.advance(10_001)
    await peer.put(ListGroupsRequest())
    reasons = [each.facts["reason"] for each in told.of("connection.not_authenticated")]
    assert reasons[-1] == "the session has expired: the client did not re-authenticate in time"
    assert len(reasons) == 3, "one is told once, however often it is"


@STORIES.about()
async def handshakes_fail(story: Story) -> None:
    secured = Secured(story.world)
    accepted = story.world.listener._secured(secured.endpoint, secured._make, "SSL")
    transport = MemoryTransport(accepted(), 1 << 30)
    transport.send(b"\0\0\0\x0c\0\x12\0\0\0\0\0\0\0\1x")
    facts = story.told.only("connection.handshake_failed").facts
    assert (facts["host"], facts["listener"], facts["count"]) == ("127.0.0.1", "SSL", 1)
    assert "security.protocol" in facts["reason"]
    await settle()
