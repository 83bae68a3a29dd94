"""What the settings say of a group now: its own where it has some, else the broker's, also after these changed."""

from barnabas.broker.catalogue.alterations import Alteration, Operation
from barnabas.broker.catalogue.image import BROKER_RESOURCE, GROUP_RESOURCE
from barnabas.broker.config_resources.groups import GroupConfigs
from barnabas.broker.coordinator.group_config import ConsumerConfigs
from tests.support.worlds.catalogue import CatalogueWorld


def configs(world: CatalogueWorld) -> ConsumerConfigs:
    return ConsumerConfigs(world.config, GroupConfigs(world.catalogue, world.config))


def alter(world: CatalogueWorld, kind: int, resource: str, name: str, value: str) -> None:
    world.catalogue.alter_configs(kind, resource, [Alteration(name, Operation.SET, value)])


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
