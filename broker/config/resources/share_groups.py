"""The settings in force for one share group (KIP-932): its own, else the broker's, within the broker's bounds."""

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.broker.config.broker_config import BrokerConfig
from barnabas.broker.config.definitions.values import BY_DURATION, InvalidValue, duration_ns
from barnabas.broker.config.resources.group_configs import GROUP_KEYS, effective, in_bounds

LATEST, EARLIEST = "latest", "earliest"
_NS_PER_MS = 1_000_000


class ShareGroupSettings(NamedTuple):
    """The settings in force for one share group."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    assignment_interval_ms: int
    delivery_count_limit: int
    partition_max_record_locks: int
    record_lock_duration_ms: int
    auto_offset_reset: str
    """`latest`, `earliest`, or `by_duration:` with an ISO 8601 duration."""
    is_read_committed: bool
    renew_acknowledge_enabled: bool
    dead_letter_topic: str
    """Empty without a dead-letter queue."""
    dead_letter_copies: bool
    """Whether the dead-letter queue gets keys and values, too."""

    def reset_back_ms(self) -> int | None:
        """Return how far back from now the group begins; None for `latest` and `earliest`."""
        back_ns = duration_ns(self.auto_offset_reset.removeprefix(BY_DURATION))
        return None if self.auto_offset_reset in (LATEST, EARLIEST) or back_ns is None else back_ns // _NS_PER_MS


def share_group_settings(own: Mapping[str, str], config: BrokerConfig) -> ShareGroupSettings:
    """Return the settings in force for a group with `own` settings. Unreadable ones from another Kafka are ignored."""
    return ShareGroupSettings(
        session_timeout_ms=_number("share.session.timeout.ms", own, config),
        heartbeat_interval_ms=_number("share.heartbeat.interval.ms", own, config),
        assignment_interval_ms=_number("share.assignment.interval.ms", own, config),
        delivery_count_limit=_number("share.delivery.count.limit", own, config),
        partition_max_record_locks=_number("share.partition.max.record.locks", own, config),
        record_lock_duration_ms=_number("share.record.lock.duration.ms", own, config),
        auto_offset_reset=_text("share.auto.offset.reset", own, config),
        is_read_committed=_text("share.isolation.level", own, config) == "read_committed",
        renew_acknowledge_enabled=_flag("share.renew.acknowledge.enable", own, config),
        dead_letter_topic=_text("errors.deadletterqueue.topic.name", own, config),
        dead_letter_copies=_flag("errors.deadletterqueue.copy.record.enable", own, config),
    )


def _number(name: str, own: Mapping[str, str], config: BrokerConfig) -> int:
    return in_bounds(GROUP_KEYS[name], own, config)


def _text(name: str, own: Mapping[str, str], config: BrokerConfig) -> str:
    value = effective(own, config, GROUP_KEYS[name])
    assert isinstance(value, str)
    return value


def _flag(name: str, own: Mapping[str, str], config: BrokerConfig) -> bool:
    try:
        return effective(own, config, GROUP_KEYS[name]) is True
    except InvalidValue:
        return effective({}, config, GROUP_KEYS[name]) is True
