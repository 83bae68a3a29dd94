"""Which settings are in force for a streams group."""

import pytest

from barnabas.broker.config.broker_config import BrokerConfig
from barnabas.broker.config.resources.streams_groups import StreamsGroupSettings, streams_group_settings


def test_a_group_without_settings_has_kafkas_defaults() -> None:
    found = streams_group_settings({}, BrokerConfig({}))
    assert found == StreamsGroupSettings(45_000, 5_000, 1_000, 3_000, 0, (), 60_000, 10_000)


@pytest.mark.parametrize(
    ("name", "value", "field", "in_force"),
    [
        ("streams.num.standby.replicas", "1", "num_standby_replicas", 1),
        ("streams.num.standby.replicas", "9", "num_standby_replicas", 2),  # stored before the maximum was lowered
        ("streams.rack.aware.assignment.tags", "zone, row", "rack_aware_tags", ("zone", "row")),
        ("streams.initial.rebalance.delay.ms", "0", "initial_rebalance_delay_ms", 0),
        ("streams.initial.rebalance.delay.ms", "nonsense", "initial_rebalance_delay_ms", 3_000),
        ("streams.session.timeout.ms", "1", "session_timeout_ms", 45_000),
        ("streams.heartbeat.interval.ms", "6000", "heartbeat_interval_ms", 6_000),
        ("streams.task.offset.interval.ms", "15000", "task_offset_interval_ms", 15_000),
    ],
)
def test_a_groups_own_settings_count_within_the_brokers_bounds(
    name: str, value: str, field: str, in_force: object
) -> None:
    assert getattr(streams_group_settings({name: value}, BrokerConfig({})), field) == in_force
