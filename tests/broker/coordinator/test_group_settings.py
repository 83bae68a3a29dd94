"""What the settings say of a group now: its own where it has some, else the broker's, from the next heartbeat on."""

import pytest

from barnabas.broker.coordinator.group.group_config import ConsumerConfigs
from barnabas.broker.metadata.catalogue.config_alterations import Alteration, AlterConfigOp
from barnabas.broker.metadata.config_resources.groups import GroupConfigs
from barnabas.broker.metadata.image.image import BROKER_RESOURCE, GROUP_RESOURCE
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from tests.broker.metadata.cluster.test_three_nodes import ask, create
from tests.support.requests import alter_config
from tests.support.worlds.broker import BrokerWorld
from tests.support.worlds.catalogue import CatalogueWorld


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


def configs(world: CatalogueWorld) -> ConsumerConfigs:
    return ConsumerConfigs(world.config, GroupConfigs(world.catalogue, world.config))


def alter(world: CatalogueWorld, kind: int, resource: str, name: str, value: str) -> None:
    world.catalogue.alter_configs(kind, resource, [Alteration(name, AlterConfigOp.SET, value)])


def test_groups_see_the_brokers_settings_as_soon_as_they_change() -> None:
    world = CatalogueWorld()
    found = configs(world)
    assert found.of("g").assignment_interval_ms == 1_000
    alter(world, BROKER_RESOURCE, "", "group.consumer.assignment.interval.ms", "7000")
    assert found.of("g").assignment_interval_ms == 7_000
    assert found.of("other") is found.of("g")


def test_a_groups_own_settings_are_its_own() -> None:
    world = CatalogueWorld()
    found = configs(world)
    alter(world, GROUP_RESOURCE, "g", "consumer.heartbeat.interval.ms", "6000")
    assert found.of("g").heartbeat_interval_ms == 6_000
    assert found.of("other").heartbeat_interval_ms == 5_000
    alter(world, GROUP_RESOURCE, "g", "consumer.heartbeat.interval.ms", "8000")
    assert found.of("g").heartbeat_interval_ms == 8_000
