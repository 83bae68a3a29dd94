"""The settings in force for one streams group (KIP-1071): its own, else the broker's, within the broker's bounds."""

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.broker.config.broker_config import BrokerConfig
from barnabas.broker.config.definitions.values import InvalidValue
from barnabas.broker.config.resources.group_configs import GROUP_KEYS, effective, in_bounds


class StreamsGroupSettings(NamedTuple):
    """The settings in force for one streams group."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    assignment_interval_ms: int
    initial_rebalance_delay_ms: int
    num_standby_replicas: int
    rack_aware_tags: tuple[str, ...]
    task_offset_interval_ms: int
    acceptable_recovery_lag: int


def streams_group_settings(own: Mapping[str, str], config: BrokerConfig) -> StreamsGroupSettings:
    """Return the settings in force for a group with `own` settings. Unreadable ones from another Kafka are ignored."""
    standby = _number("streams.num.standby.replicas", own, config)
    return StreamsGroupSettings(
        session_timeout_ms=in_bounds(GROUP_KEYS["streams.session.timeout.ms"], own, config),
        heartbeat_interval_ms=in_bounds(GROUP_KEYS["streams.heartbeat.interval.ms"], own, config),
        assignment_interval_ms=in_bounds(GROUP_KEYS["streams.assignment.interval.ms"], own, config),
        initial_rebalance_delay_ms=_number("streams.initial.rebalance.delay.ms", own, config),
        num_standby_replicas=min(standby, config.integer("group.streams.max.standby.replicas")),
        rack_aware_tags=_names("streams.rack.aware.assignment.tags", own, config),
        task_offset_interval_ms=_number("streams.task.offset.interval.ms", own, config),
        acceptable_recovery_lag=_number("streams.acceptable.recovery.lag", own, config),
    )


def _names(name: str, own: Mapping[str, str], config: BrokerConfig) -> tuple[str, ...]:
    value = effective(own, config, GROUP_KEYS[name])
    assert isinstance(value, (list, tuple))
    return tuple(value)


def _number(name: str, own: Mapping[str, str], config: BrokerConfig) -> int:
    try:
        value = effective(own, config, GROUP_KEYS[name])
    except InvalidValue:
        value = effective({}, config, GROUP_KEYS[name])
    assert isinstance(value, int)
    return value
