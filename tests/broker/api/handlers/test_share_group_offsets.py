"""AlterShareGroupOffsets and DeleteShareGroupOffsets: what is set and deleted, and what is refused."""

from asyncio import Future
from functools import partial
from typing import Any

import pytest

from barnabas.broker.api.api_table import API_TABLE
from barnabas.broker.api.guards.guard_table import guarded
from barnabas.broker.api.handlers import alter_share_group_offsets, delete_share_group_offsets
from barnabas.broker.config.authorizer import STANDARD_AUTHORIZER
from barnabas.broker.security.acl.acl import Acl, PatternType, Permission
from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.broker.security.session.principal import Principal
from barnabas.broker.security.session.session import Session
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages import alter_share_group_offsets as altering
from barnabas.protocol.messages import delete_share_group_offsets as deleting
from barnabas.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from barnabas.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from barnabas.protocol.primitives import ZERO_UUID
from tests.support.worlds.broker import BrokerWorld, settle
from tests.support.worlds.share_states import answer_of, enable_share_groups, share_world

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def alter(group_id: str, *topics: tuple[str, dict[int, int]]) -> altering.AlterShareGroupOffsetsRequest:
    """Of topics, each with its offsets by partition."""
    partition = altering.AlterShareGroupOffsetsRequestPartition
    return altering.AlterShareGroupOffsetsRequest(
        group_id=group_id,
        topics=[
            altering.AlterShareGroupOffsetsRequestTopic(
                topic_name=name,
                partitions=[partition(partition_index=index, start_offset=to) for index, to in offsets.items()],
            )
            for name, offsets in topics
        ],
    )


def delete(group_id: str, *names: str) -> deleting.DeleteShareGroupOffsetsRequest:
    topics = [deleting.DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in names]
    return deleting.DeleteShareGroupOffsetsRequest(group_id=group_id, topics=topics)


async def codes(world: BrokerWorld, request: altering.AlterShareGroupOffsetsRequest) -> dict[str, dict[int, int]]:
    """The code of each partition, by topic."""
    answer = await answer_of(world.services, request)
    assert answer.error_code == ErrorCode.NONE
    return {
        topic.topic_name: {each.partition_index: each.error_code for each in topic.partitions}
        for topic in answer.responses
    }


async def start_offsets(world: BrokerWorld) -> dict[str, dict[int, int]]:
    asked = DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)
    (group,) = (await answer_of(world.services, DescribeShareGroupOffsetsRequest(groups=[asked]))).groups
    return {
        topic.topic_name: {each.partition_index: each.start_offset for each in topic.partitions}
        for topic in group.topics
    }


async def join(world: BrokerWorld, group_id: str = "g") -> None:
    joining = ShareGroupHeartbeatRequest(group_id=group_id, member_id="m", member_epoch=0, subscribed_topic_names=["t"])
    assert (await answer_of(world.services, joining)).error_code == ErrorCode.NONE
    await settle()


async def test_an_unknown_group_is_created_and_starts_where_it_is_set() -> None:
    world = share_world()
    assert await codes(world, alter("g", ("t", {0: 100, 1: 2}))) == {"t": {0: 0, 1: 0}}
    assert await start_offsets(world) == {"t": {0: 100, 1: 2}}
    assert world.services.groups.share.describe("g").group_epoch == 1
    await codes(world, alter("g", ("t", {0: -1})))
    assert await start_offsets(world) == {"t": {0: -1, 1: 2}}


async def test_the_lag_of_a_start_offset_behind_the_log_end_is_below_zero() -> None:
    world = share_world()
    world.append("t", b"a")
    await codes(world, alter("g", ("t", {0: 100})))
    wanted = DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)
    (group,) = (await answer_of(world.services, DescribeShareGroupOffsetsRequest(groups=[wanted]))).groups
    assert group.topics[0].partitions[0].lag == -99, "as Kafka: its clients show no lag then"


async def test_only_what_does_not_exist_is_refused() -> None:
    world = share_world()
    answer = await answer_of(world.services, alter("g", ("missing", {0: 1}), ("t", {0: 5, 2: 5, -1: 5})))
    missing, known = answer.responses
    assert (missing.topic_id, missing.partitions[0].error_code) == (ZERO_UUID, UNKNOWN)
    assert known.topic_id == world.services.catalogue.topics["t"].topic_id
    assert [each.error_code for each in known.partitions] == [0, UNKNOWN, UNKNOWN]
    assert await start_offsets(world) == {"t": {0: 5}}


async def test_a_topic_that_is_named_twice_is_answered_once() -> None:
    world = share_world()
    assert await codes(world, alter("g", ("t", {0: 7}), ("t", {1: 8}))) == {"t": {0: 0, 1: 0}}
    assert await start_offsets(world) == {"t": {0: 7, 1: 8}}


async def test_the_topics_of_a_group_are_deleted() -> None:
    world = share_world()
    await codes(world, alter("g", ("t", {0: 7, 1: 8})))
    world.services.catalogue.create_topic("u")
    answer = await answer_of(world.services, delete("g", "t", "u", "missing", "t"))
    rows = [(each.topic_name, each.topic_id == ZERO_UUID, each.error_code) for each in answer.responses]
    assert rows == [("t", False, 0), ("u", True, UNKNOWN), ("missing", True, UNKNOWN)]
    assert answer.responses[1].error_message == "There is no offset information to delete."
    assert await start_offsets(world) == {}
    again = await answer_of(world.services, delete("g", "t"))
    assert again.responses[0].error_code == UNKNOWN


@pytest.mark.parametrize(
    ("request_of", "group_id", "code"),
    [
        (alter, "", ErrorCode.INVALID_GROUP_ID),
        (alter, "live", ErrorCode.NON_EMPTY_GROUP),
        (delete, "", ErrorCode.INVALID_GROUP_ID),
        (delete, "live", ErrorCode.NON_EMPTY_GROUP),
        (delete, "unknown", ErrorCode.GROUP_ID_NOT_FOUND),
    ],
)
async def test_a_refused_group_lists_nothing(request_of: Any, group_id: str, code: ErrorCode) -> None:
    world = share_world()
    await join(world, "live")
    request = alter(group_id, ("t", {0: 1})) if request_of is alter else delete(group_id, "t")
    answer = await answer_of(world.services, request)
    assert (answer.error_code, answer.responses) == (code, [])


@pytest.mark.parametrize("request_of", [alter("g", ("t", {0: 1})), delete("g", "t")])
async def test_without_share_groups_both_are_unsupported(request_of: Any) -> None:
    world = BrokerWorld(topics={"t": 2})
    enable_share_groups(world.services.catalogue, 0)
    answer = await answer_of(world.services, request_of)
    assert (answer.error_code, answer.responses) == (ErrorCode.UNSUPPORTED_VERSION, [])


class _Alice:
    """The connection of a user."""

    peer, is_closed = "127.0.0.1:1", False

    def __init__(self) -> None:
        self.measured: Any = None
        self.session = Session("SASL_PLAINTEXT")
        self.session.authenticated(Principal("User", "alice"), "PLAIN")


async def guarded_answer(world: BrokerWorld, request: Any) -> Any:
    """The answer behind the API's guard, for alice."""
    (row,) = (row for row in API_TABLE if row.key == type(request).__schema__.key)
    handler = alter_share_group_offsets if isinstance(request, altering.AlterShareGroupOffsetsRequest) else None
    handle = guarded(row, (handler or delete_share_group_offsets).handle)
    answer = handle(request, RequestContext(world.services, row.key, 0, connection=_Alice()))
    return await answer if isinstance(answer, Future) else answer


def allow(world: BrokerWorld, operation: Operation, resource: Resource, name: str) -> None:
    access = world.services.access
    assert access is not None
    assert access.acls.create(
        [Acl(resource, name, PatternType.LITERAL, "User:alice", "*", operation, Permission.ALLOW)]
    ) == [None]


@pytest.mark.parametrize(
    ("request_of", "operation"),
    [
        (lambda *names: alter("g", *((name, {0: 1}) for name in names)), Operation.READ),
        (partial(delete, "g"), Operation.DELETE),
    ],
    ids=["alter", "delete"],
)
async def test_both_need_rights_on_the_group_and_each_topic(request_of: Any, operation: Operation) -> None:
    world = share_world({"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:ANONYMOUS"})
    world.services.catalogue.create_topic("secret")
    await codes(world, alter("g", ("t", {0: 1}), ("secret", {0: 1})))
    refused = await guarded_answer(world, request_of("t"))
    assert (refused.error_code, refused.responses) == (ErrorCode.GROUP_AUTHORIZATION_FAILED, [])
    allow(world, operation, Resource.GROUP, "g")
    allow(world, Operation.READ, Resource.TOPIC, "t")
    answer = await guarded_answer(world, request_of("t", "secret"))
    found = {
        topic.topic_name: topic.partitions[0].error_code if hasattr(topic, "partitions") else topic.error_code
        for topic in answer.responses
    }
    assert found == {"secret": ErrorCode.TOPIC_AUTHORIZATION_FAILED, "t": ErrorCode.NONE}
