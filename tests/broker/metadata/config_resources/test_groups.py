"""What is in force for a group: its own settings, inside the broker's bounds, or the broker's; kept over a restart."""

from typing import Any

import pytest

from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.resources.group_configs import ConsumerGroupSettings
from barnabas.broker.metadata.catalogue.config_alterations import Alteration, AlterConfigOp
from barnabas.broker.metadata.config_resources.groups import GroupConfigs
from barnabas.broker.metadata.image.framing import Versioned
from barnabas.broker.metadata.image.image import BROKER_RESOURCE, GROUP_RESOURCE
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.log_records.catalogue import ConfigRecord
from tests.support.worlds.catalogue import CatalogueWorld

DEFAULTS = ConsumerGroupSettings(45_000, 5_000, 1_000)
NO_ASSIGNOR = "is not a registered task assignor. Registered assignors are: [sticky]."


def groups(world: CatalogueWorld) -> GroupConfigs:
    return GroupConfigs(world.catalogue, world.config)


def alter(world: CatalogueWorld, name: str, value: Any, *, group: str = "g") -> None:
    operation = AlterConfigOp.DELETE if value is None else AlterConfigOp.SET
    text = None if value is None else str(value)
    world.catalogue.alter_configs(GROUP_RESOURCE, group, [Alteration(name, operation, text)])


def test_a_group_without_settings_has_the_brokers() -> None:
    assert groups(CatalogueWorld()).consumer_group("g") == DEFAULTS
    world = CatalogueWorld(settings={"group.consumer.heartbeat.interval.ms": "7000"})
    assert groups(world).consumer_group("g") == DEFAULTS._replace(heartbeat_interval_ms=7_000)


def test_a_group_has_its_own_settings_and_others_have_not() -> None:
    world = CatalogueWorld()
    alter(world, "consumer.session.timeout.ms", 50_000)
    alter(world, "consumer.heartbeat.interval.ms", 6_000)
    alter(world, "consumer.assignment.interval.ms", 0)
    assert groups(world).consumer_group("g") == ConsumerGroupSettings(50_000, 6_000, 0)
    assert groups(world).consumer_group("other") == DEFAULTS
    alter(world, "consumer.session.timeout.ms", None)
    assert groups(world).consumer_group("g") == ConsumerGroupSettings(45_000, 6_000, 0)


@pytest.mark.parametrize("again", ["kill", "cut_power", "stop"])
def test_settings_of_groups_survive(again: str) -> None:
    world = CatalogueWorld()
    alter(world, "consumer.session.timeout.ms", 50_000)
    getattr(world, again)()
    assert world.catalogue.configured(GROUP_RESOURCE) == ["g"]
    assert groups(world).consumer_group("g").session_timeout_ms == 50_000


def test_a_setting_outside_of_bounds_that_changed_since_is_the_nearest_inside() -> None:
    world = CatalogueWorld()
    alter(world, "consumer.session.timeout.ms", 60_000)
    own = world.catalogue.configs_of(GROUP_RESOURCE, "g")
    world.config = BrokerConfig({"group.consumer.max.session.timeout.ms": "50000"})
    assert own == {"consumer.session.timeout.ms": "60000"}
    assert groups(world).consumer_group("g").session_timeout_ms == 50_000


def test_unreadable_files_of_another_kafka_are_skipped() -> None:
    world = CatalogueWorld()
    record = ConfigRecord(
        resource_type=GROUP_RESOURCE, resource_name="g", name="consumer.session.timeout.ms", value="soon"
    )
    world.catalogue._image.replay(Versioned(record).record, 1)
    assert groups(world).consumer_group("g") == DEFAULTS


def test_the_settings_of_a_share_group_are_those_of_now() -> None:
    world = CatalogueWorld()
    known = groups(world)
    limit = "share.delivery.count.limit"
    counts = [known.share_group("g").delivery_count_limit]
    assert known.share_group("g") is known.share_group("g")
    for value in (3, 4, None):
        alter(world, limit, value)
        counts.append(known.share_group("g").delivery_count_limit)
    world.config.follow({}, {f"group.{limit}": "6"})
    assert [*counts, known.share_group("g").delivery_count_limit] == [5, 3, 4, 5, 6]
    assert known.share_group("other").delivery_count_limit == 6


def test_settings_of_as_many_share_groups_as_clients_name_take_no_memory() -> None:
    known = groups(CatalogueWorld())
    for number in range(2_500):
        known.share_group(f"g{number}")
    assert len(known._share_groups) < 1_010


def test_the_brokers_interval_of_assignments_changes_while_it_runs() -> None:
    world = CatalogueWorld()
    name = "group.consumer.assignment.interval.ms"
    world.catalogue.alter_configs(BROKER_RESOURCE, "", [Alteration(name, AlterConfigOp.SET, "2000")])
    assert groups(world).consumer_group("g").assignment_interval_ms == 2_000


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("consumer.session.timeout.ms", 44_999, "{} must be in the range 45000 to 60000 inclusive."),
        ("consumer.heartbeat.interval.ms", 0, "Invalid value 0 for configuration {}: "),
        ("streams.num.standby.replicas", 3, "{} must be less than or equal to 2"),
        ("streams.task.offset.interval.ms", 1, "{} must be greater than or equal to 15000"),
        ("streams.assignor.name", "mine", f"{{}} 'mine' {NO_ASSIGNOR}"),
        ("streams.rack.aware.assignment.tags", "a, b,a", "{} must not contain duplicate tag keys."),
        ("streams.rack.aware.assignment.tags", "a,,b", "Configuration '{}' values"),
        ("errors.deadletterqueue.topic.name", "__x", "{}: DLQ topic name must not "),
        ("consumer.no.such", 1, "Unknown group config name: {}"),
        ("share.auto.offset.reset", "by_duration:-PT1H", "Invalid value by_duration:-PT1H for configuration share."),
        ("share.auto.offset.reset", "by_duration:PT", "Invalid value by_duration:PT for configuration share."),
        ("share.auto.offset.reset", "first", "Invalid value first for configuration share.auto.offset.reset: "),
    ],
)
def test_a_setting_that_may_not_be_is_refused_with_kafkas_sentence(name: str, value: Any, sentence: str) -> None:
    world = CatalogueWorld()
    with pytest.raises(KafkaError) as refusal:
        alter(world, name, value)
    assert refusal.value.code == ErrorCode.INVALID_CONFIG
    assert (refusal.value.message or "").startswith(sentence.format(name))
    assert world.catalogue.configured(GROUP_RESOURCE) == []


@pytest.mark.parametrize("value", ["earliest", "by_duration:P1DT2H3M4.5S", "by_duration:pt0s"])
def test_a_share_group_begins_where_kafkas_may(value: str) -> None:
    world = CatalogueWorld()
    alter(world, "share.auto.offset.reset", value)
    assert world.catalogue.configs_of(GROUP_RESOURCE, "g") == {"share.auto.offset.reset": value}


def test_a_session_is_longer_than_a_heartbeat_also_where_one_is_the_brokers() -> None:
    world = CatalogueWorld(
        settings={"group.consumer.min.session.timeout.ms": "1000", "group.consumer.max.heartbeat.interval.ms": "50000"}
    )
    with pytest.raises(KafkaError) as refusal:
        alter(world, "consumer.session.timeout.ms", 5_000)
    assert refusal.value.message == "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms"
