"""Every API asks for what its row in the API table says, no more and no less, and asks nothing without an authorizer.

Each is asked as who may do everything, nothing, and all but what concerns the cluster: some operations are only asked
for in place of others.
"""

from asyncio import Future
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from barnabas.broker.api.api_table import API_TABLE, TELEMETRY_TABLE, ApiRow
from barnabas.broker.api.guards.guard_table import BY_HANDLER, GUARDS, guard_of, guarded
from barnabas.broker.clients.quotas.quota_managers import MeasuredRequest
from barnabas.broker.config.authorizer import STANDARD_AUTHORIZER
from barnabas.broker.runtime.refusals import NoSuchRequest
from barnabas.broker.security.acl.rights import Rights
from barnabas.broker.security.acl.rules import DEFAULT_ALLOW, DEFAULT_DENY, Rule
from barnabas.broker.security.session.operations import Access, Operation, Resource
from barnabas.broker.security.session.principal import Principal
from barnabas.broker.security.session.session import Session
from barnabas.broker.services import RequestContext
from barnabas.protocol.codec.schema import Field, Struct, default_instance
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.hot.fetch import FetchPartition, FetchRequest
from barnabas.protocol.messages.streams_group_heartbeat import Subtopology, TopicInfo, Topology
from barnabas.protocol.registry import ApiKey, spec
from tests.support.worlds.broker import BrokerWorld

NAME = "t"  # of a topic, a group, a transactional id and all else
MISSING = "missing"
Judge = Callable[[Operation, Resource], bool]
JUDGES: dict[str, Judge] = {
    "nothing": lambda operation, resource: False,
    "all but the cluster": lambda operation, resource: resource is not Resource.CLUSTER,
    "everything": lambda operation, resource: True,
}
VERSIONS: dict[ApiKey, tuple[int, ...]] = {
    ApiKey.PRODUCE: (12,),
    ApiKey.FETCH: (12,),
    ApiKey.METADATA: (10,),
    ApiKey.OFFSET_COMMIT: (9,),
    ApiKey.OFFSET_FETCH: (7, 9),
    ApiKey.ADD_PARTITIONS_TO_TXN: (3, 5),
    ApiKey.TXN_OFFSET_COMMIT: (5,),
}
"""Those in which topics have names, and those that differ in what is checked. Of all others the newest."""


@pytest.fixture
async def world() -> BrokerWorld:
    """One in which there is something to be hidden, left out and listed."""
    settings = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:ANONYMOUS"}
    world = BrokerWorld(settings | {"delegation.token.secret.key": "key-of-a-test"})
    world.services.catalogue.create_topic(NAME)
    tokens, owner = world.services.tokens, Principal("User", "owner")
    assert tokens is not None
    tokens.create(owner, owner, [], -1)
    await _served(world, _with(filled(ApiKey.OFFSET_COMMIT), {"generation_id_or_member_epoch": -1}), 9)
    producer = await _served(
        world, _with(filled(ApiKey.INIT_PRODUCER_ID), {"transaction_timeout_ms": 60_000, "producer_id": -1}), 4
    )
    adding = {"v3_and_below_producer_id": producer.producer_id, "v3_and_below_producer_epoch": 0}
    await _served(world, _with(filled(ApiKey.ADD_PARTITIONS_TO_TXN), adding), 3)
    joining = {"group_id": "c", "member_id": "m", "member_epoch": 0, "rebalance_timeout_ms": 1, "topic_partitions": []}
    await _served(world, _with(filled(ApiKey.CONSUMER_GROUP_HEARTBEAT), joining), 1)
    sharing = {"group_id": "s", "member_id": "m", "member_epoch": 0}
    await _served(world, _with(filled(ApiKey.SHARE_GROUP_HEARTBEAT), sharing), 1)
    await _served(world, _in_share_session(ApiKey.SHARE_FETCH, world), 2)
    await _served(world, _joining_streams("st"), 1)
    return world


def _in_share_session(key: ApiKey, world: BrokerWorld) -> Any:
    """A fetch that begins the session of a member, or the acknowledgement that follows it."""
    request = _with(filled(key), {"member_id": "m", "share_session_epoch": int(key is ApiKey.SHARE_ACKNOWLEDGE)})
    (topic,) = request.topics
    topic.topic_id = world.services.catalogue.topics[NAME].topic_id
    if key is ApiKey.SHARE_FETCH:
        topic.partitions[0].acknowledgement_batches = []
    return request


def _joining_streams(group: str) -> Any:
    """A heartbeat of a first member, whose application reads a topic and needs another one, which is missing."""
    request = _with(filled(ApiKey.STREAMS_GROUP_HEARTBEAT), {"group_id": group, "member_id": "m", "member_epoch": 0})
    subtopology = default_instance(Subtopology)
    changelog = _with(default_instance(TopicInfo), {"name": f"{group}-changelog"})
    _with(subtopology, {"subtopology_id": "0", "source_topics": [NAME], "state_changelog_topics": [changelog]})
    topology = _with(default_instance(Topology), {"subtopologies": [subtopology]})
    tasks: dict[str, Any] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
    return _with(request, {"rebalance_timeout_ms": 1, "topology": topology, **tasks})


async def _served(world: BrokerWorld, request: Any, version: int) -> Any:
    """What the handler answers, whom nobody guards."""
    (row,) = (row for row in API_TABLE if row.key == request.__schema__.key)
    answer = _handler(row)(request, RequestContext(world.services, row.key, version))
    return await answer if isinstance(answer, Future) else answer


def _handler(row: ApiRow) -> Callable[[Any, RequestContext], Any]:
    handle: Callable[[Any, RequestContext], Any] = import_module(f"barnabas.broker.api.handlers.{row.handler}").handle
    return handle


def _with(request: Any, fields: dict[str, Any]) -> Any:
    for name, value in fields.items():
        setattr(request, name, value)
    return request


def filled(key: ApiKey) -> Any:
    """A request that names one of everything it can name."""
    return _filled(spec(key).request)


def _filled(struct: type[Struct]) -> Any:
    made: Any = default_instance(struct)
    for field in struct.__schema__.fields:
        value = _value(field)
        if value is not None:
            setattr(made, field.name, value)
    return made


def _value(field: Field) -> Any:
    element = field.type.element
    if element is not None and element.struct is not None:
        return [_filled(element.struct)]
    is_name = field.name in {"topic_names", "groups_names", "groups", "group_ids", "transactional_ids"} or (
        field.name in {"coordinator_keys", "subscribed_topic_names", "group_names"}
    )
    if is_name:
        return [NAME]
    if field.name in {"name", "topic", "topic_name", "group_id", "transactional_id", "key", "resource_name"} or (
        field.name == "v3_and_below_transactional_id"
    ):
        return NAME
    if field.name in {"partitions", "partition_indexes"}:
        return [0]
    return None


def requests(key: ApiKey, world: BrokerWorld) -> list[Any]:
    """What is asked of an API, so that it asks for all it can."""
    if key is ApiKey.PRODUCE:
        batch = memoryview(bytearray(world.batch(b"v", producer=(0, 0, 0), transactional=True)))
        return [(NAME, 1, 1000, [(NAME, [(0, batch)])])]
    if key is ApiKey.FETCH:
        wanted: list[tuple[str | bytes, list[FetchPartition]]] = [(NAME, [FetchPartition(0, -1, 0, -1, -1, 1 << 20)])]
        return [FetchRequest(replica, 0, 0, 1 << 20, 0, 0, -1, wanted, []) for replica in (-1, 1)]
    if key is ApiKey.FIND_COORDINATOR:
        return [_with(filled(key), {"key_type": kind}) for kind in (0, 1, 2)]
    if key is ApiKey.METADATA:
        request = filled(key)
        missing = _with(_filled(type(request.topics[0])), {"name": MISSING})
        several = {"topics": [*request.topics, missing], "include_cluster_authorized_operations": True}
        return [_with(request, {**several, "allow_auto_topic_creation": True})]
    if key is ApiKey.INIT_PRODUCER_ID:
        alone = _with(filled(key), {"transactional_id": None, "transaction_timeout_ms": 1000})
        return [alone, _with(filled(key), {"enable2_pc": True, "transaction_timeout_ms": 1000})]
    if key in (ApiKey.DESCRIBE_CONFIGS, ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS):
        request = filled(key)
        kinds = [_with(_filled(type(request.resources[0])), {"resource_type": kind}) for kind in (2, 4, 32)]
        return [_with(request, {"resources": kinds})]
    if key in (ApiKey.DESCRIBE_CLUSTER, ApiKey.CONSUMER_GROUP_DESCRIBE):
        fields = {"include_cluster_authorized_operations": True} if key is ApiKey.DESCRIBE_CLUSTER else {}
        return [_with(filled(key), {**fields, **({} if fields else {"group_ids": ["c"]})})]
    if key in (ApiKey.SHARE_GROUP_DESCRIBE, ApiKey.STREAMS_GROUP_DESCRIBE):
        return [_with(filled(key), {"group_ids": ["s" if key is ApiKey.SHARE_GROUP_DESCRIBE else "st"]})]
    if key in (ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE):
        return [_in_share_session(key, world)]
    if key is ApiKey.STREAMS_GROUP_HEARTBEAT:
        return [_joining_streams("new")]
    if key is ApiKey.CREATE_TOPICS:
        return [_with(filled(key), {"validate_only": True, "timeout_ms": 1000})]
    if key is ApiKey.CREATE_DELEGATION_TOKEN:
        return [_with(filled(key), {"owner_principal_type": "User", "owner_principal_name": NAME, "renewers": []})]
    if key is ApiKey.DESCRIBE_DELEGATION_TOKEN:
        return [_with(filled(key), {"owners": None})]
    return [filled(key)]


class _Asker:
    """A connection of somebody who has logged in, as tokens are for."""

    peer, is_closed = "127.0.0.1:1", False

    def __init__(self) -> None:
        self.measured: MeasuredRequest | None = None
        self.session = Session("SASL_PLAINTEXT")
        self.session.authenticated(Principal("User", "asker"), "PLAIN")


async def asked_for(row: ApiRow, world: BrokerWorld, judge: Judge) -> set[Access]:
    """What the API asks for of the authorizer, which decides as `judge` does. Not what an answer lists as allowed."""
    asked: set[Access] = set()
    access = world.services.access
    assert access is not None

    def rule(principal: Any, host: str, operation: Operation, resource: Resource, name: str) -> Rule:
        asked.add(Access(operation, resource))
        return DEFAULT_ALLOW if judge(operation, resource) else DEFAULT_DENY

    def allows_some(principal: Any, host: str, operation: Operation, resource: Resource) -> bool:
        return rule(principal, host, operation, resource, "").is_allowed

    access.authorizer.rule = rule  # type: ignore[method-assign]  # to record
    access.authorizer.allows_some = allows_some  # type: ignore[method-assign]  # to record
    handle = guarded(row, _handler(row))
    for version in VERSIONS.get(row.key, (row.max_version,)):
        for request in requests(row.key, world):
            asker = _Asker() if row.key in BY_HANDLER else None
            context = RequestContext(world.services, row.key, version, connection=asker)
            try:
                answer = handle(request, context)
                if isinstance(answer, Future):
                    await answer
            except (KafkaError, NoSuchRequest):
                pass  # what is refused for itself is no matter here
    return asked


@pytest.mark.parametrize("row", API_TABLE, ids=lambda row: row.key.api_name)
async def test_an_api_requests_what_its_row_says(
    row: ApiRow, world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rights, "operations", lambda *_: 0)
    asked: set[Access] = set()
    for judge in JUDGES.values():
        asked |= await asked_for(row, world, judge)
    assert {str(access) for access in asked} == {str(access) for access in row.accesses}


def test_every_api_that_is_more_than_the_cluster_has_a_guard_or_asks_itself() -> None:
    rows = (*API_TABLE, *TELEMETRY_TABLE)
    for row in rows:
        assert (guard_of(row) is None) == (not row.accesses or row.key in BY_HANDLER), row.key
    assert {row.key for row in rows} >= GUARDS.keys() | BY_HANDLER


def test_an_api_whose_row_needs_a_guard_is_not_served_without_one() -> None:
    (row,) = (row for row in API_TABLE if row.key is ApiKey.UPDATE_FEATURES)
    with pytest.raises((AssertionError, ValueError)):
        guard_of(row._replace(accesses=(Access(Operation.READ, Resource.TOPIC),)))


async def test_without_an_authorizer_nothing_is_queried_and_nothing_is_put_before_a_handler() -> None:
    world = BrokerWorld()
    assert world.services.access is None
    assert RequestContext(world.services, ApiKey.FETCH, 18).rights is None
    request = filled(ApiKey.DESCRIBE_GROUPS)
    assert (await _served(world, request, 6)).groups
