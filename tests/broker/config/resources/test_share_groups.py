"""What is in force for a share group: its own settings, inside the broker's bounds, or the broker's."""

from typing import Any

import pytest

from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.resources.share_groups import ShareGroupSettings, share_group_settings

DEFAULTS = ShareGroupSettings(45_000, 5_000, 1_000, 5, 2_000, 30_000, "latest", False, True, "", False)


def settings(own: dict[str, str], **broker: str) -> ShareGroupSettings:
    return share_group_settings(own, BrokerConfig({f"group.share.{name}": text for name, text in broker.items()}))


def test_a_group_without_settings_has_the_defaults() -> None:
    assert settings({}) == DEFAULTS


@pytest.mark.parametrize(
    ("name", "text", "field", "value"),
    [
        ("share.session.timeout.ms", "50000", "session_timeout_ms", 50_000),
        ("share.heartbeat.interval.ms", "6000", "heartbeat_interval_ms", 6_000),
        ("share.assignment.interval.ms", "0", "assignment_interval_ms", 0),
        ("share.delivery.count.limit", "10", "delivery_count_limit", 10),
        ("share.partition.max.record.locks", "100", "partition_max_record_locks", 100),
        ("share.record.lock.duration.ms", "15000", "record_lock_duration_ms", 15_000),
        ("share.auto.offset.reset", "earliest", "auto_offset_reset", "earliest"),
        ("share.isolation.level", "read_committed", "is_read_committed", True),
        ("share.renew.acknowledge.enable", "false", "renew_acknowledge_enabled", False),
        ("errors.deadletterqueue.topic.name", "dlq.t", "dead_letter_topic", "dlq.t"),
        ("errors.deadletterqueue.copy.record.enable", "true", "dead_letter_copies", True),
    ],
)
def test_a_groups_own_setting_is_in_force(name: str, text: str, field: str, value: Any) -> None:
    assert settings({name: text}) == DEFAULTS._replace(**{field: value})


def test_the_brokers_settings_are_inherited() -> None:
    inherited = settings({}, **{"record.lock.duration.ms": "20000", "delivery.count.limit": "7"})
    assert inherited == DEFAULTS._replace(record_lock_duration_ms=20_000, delivery_count_limit=7)


def test_a_setting_outside_of_the_bounds_is_the_nearest_inside() -> None:
    own = {"share.record.lock.duration.ms": "60000", "share.delivery.count.limit": "3"}
    bounds = {"max.record.lock.duration.ms": "40000", "min.delivery.count.limit": "4"}
    found = settings(own, **bounds)
    assert (found.record_lock_duration_ms, found.delivery_count_limit) == (40_000, 4)


def test_a_setting_that_cannot_be_read_counts_as_not_set() -> None:
    own = {"share.renew.acknowledge.enable": "maybe", "share.session.timeout.ms": "soon"}
    assert settings(own) == DEFAULTS


@pytest.mark.parametrize(
    ("reset", "back_ms"),
    [("latest", None), ("earliest", None), ("by_duration:PT1M", 60_000), ("by_duration:P1DT0.25S", 86_400_250)],
)
def test_a_reset_by_duration_goes_back_from_now(reset: str, back_ms: int | None) -> None:
    assert settings({"share.auto.offset.reset": reset}).reset_back_ms() == back_ms
