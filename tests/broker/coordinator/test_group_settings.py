"""Settings of one consumer group, which its members are held to from their next heartbeat on."""

import pytest

from barnabas.broker.catalogue.image import GROUP_RESOURCE
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from tests.broker.cluster.test_three_nodes import ask, create
from tests.support.requests import alter_config
from tests.support.worlds.broker import BrokerWorld


@pytest.fixture
async def world() -> BrokerWorld:
    world = BrokerWorld(nodes=1)
    await create(world, "t")
    return world


async def heartbeat(world: BrokerWorld, group: str, epoch: int) -> ConsumerGroupHeartbeatResponse:
    request = ConsumerGroupHeartbeatRequest(group_id=group, member_id="m", member_epoch=epoch)
    if not epoch:
        request.rebalance_timeout_ms, request.subscribed_topic_names, request.topic_partitions = 60_000, ["t"], []
    answer: ConsumerGroupHeartbeatResponse = await ask(world, 1, request)
    assert answer.error_code == ErrorCode.NONE, answer.error_message
    return answer


async def test_members_of_a_group_hear_its_own_heartbeat_interval(world: BrokerWorld) -> None:
    joined = {group: await heartbeat(world, group, 0) for group in ("own", "other")}
    assert {group: answer.heartbeat_interval_ms for group, answer in joined.items()} == {"own": 5_000, "other": 5_000}
    altered = await ask(world, 1, alter_config(GROUP_RESOURCE, "own", "consumer.heartbeat.interval.ms", "7000"))
    assert [each.error_code for each in altered.responses] == [ErrorCode.NONE]
    after = {group: await heartbeat(world, group, answer.member_epoch) for group, answer in joined.items()}
    assert {group: answer.heartbeat_interval_ms for group, answer in after.items()} == {"own": 7_000, "other": 5_000}
