"""Quotas of one kind: who waits, who shares, and that what is kept is bounded."""

import pytest

from barnabas.broker.clients.quotas.client_quota_manager import ClientQuotaManager, QuotaClient
from barnabas.broker.clients.quotas.controller_mutation_quota import (
    ControllerMutationQuota,
    ControllerMutationQuotaManager,
)
from barnabas.broker.clients.quotas.quota_limits import Entity, EntityPart, Sharing
from barnabas.broker.clients.quotas.sampled_rate import WindowSettings
from barnabas.broker.clients.quotas.sensors import EXPIRES_AFTER_MS, SENSORS_MAX, Sensors
from barnabas.protocol.errors import ErrorCode, KafkaError

SETTINGS = WindowSettings(11, 1000)
ALICE = QuotaClient("alice", "app")


def test_two_clients_of_a_user_share_the_users_quota() -> None:
    quotas = ClientQuotaManager(SETTINGS)
    quotas.limits.set(Entity("alice"), 1000)
    assert quotas.record(ALICE, 10_000, 0) == 0
    assert quotas.record(QuotaClient("alice", "other"), 1_000, 0) == 1000
    assert quotas.record(QuotaClient("bob", "app"), 10**9, 0) == 0


def test_of_a_default_each_has_one_for_itself() -> None:
    quotas = ClientQuotaManager(SETTINGS)
    quotas.limits.set(Entity(EntityPart.DEFAULT), 1000)
    assert quotas.record(ALICE, 11_000, 0) == 1000
    assert quotas.record(QuotaClient("bob", "app"), 10_000, 0) == 0


def test_a_change_acts_on_what_was_used_before() -> None:
    quotas = ClientQuotaManager(SETTINGS)
    quotas.limits.set(Entity("alice"), 1e9)
    assert quotas.record(ALICE, 20_000, 0) == 0
    quotas.limits.set(Entity("alice"), 1000)
    assert quotas.record(ALICE, 0, 0) == 10_000
    quotas.limits.set(Entity("alice"), None)
    assert quotas.record(ALICE, 0, 0) == 0


def test_revoked_settings_were_never_used() -> None:
    quotas = ClientQuotaManager(SETTINGS)
    quotas.limits.set(Entity("alice"), 1000)
    assert quotas.record(ALICE, 20_000, 0) == 10_000
    quotas.note(ALICE, -20_000, 0)
    assert quotas.record(ALICE, 10_000, 0) == 0
    assert quotas.most_at_once(ALICE) == 10_000


def test_metrics_tell_rates_and_throttles() -> None:
    quotas = ClientQuotaManager(SETTINGS)
    quotas.limits.set(Entity("alice"), 1000)
    quotas.record(ALICE, 20_000, 0)
    quotas.note_throttled(ALICE, 10_000, 0)
    (usage,) = quotas.usage(0)
    assert usage == (Sharing("alice", ""), 2000, 10_000)
    assert list(quotas.usage(EXPIRES_AFTER_MS + 1)) == []


def test_sensors_are_bounded_and_the_quietest_is_dropped() -> None:
    sensors: Sensors[int, list[int]] = Sensors(list)
    for number in range(SENSORS_MAX + 5):
        sensors.get(number, number)
        sensors.get(0, number).append(number)
    assert len(sensors) == SENSORS_MAX
    assert len(sensors.get(0, SENSORS_MAX)) == SENSORS_MAX + 5
    assert sensors.get(1, SENSORS_MAX) == []


def test_a_client_idle_for_an_hour_is_dropped_at_the_next_arrival() -> None:
    sensors: Sensors[str, object] = Sensors(object)
    first = sensors.get("a", 0)
    assert sensors.get("a", EXPIRES_AFTER_MS) is first
    sensors.get("b", 2 * EXPIRES_AFTER_MS + 1)
    assert len(sensors) == 1


def test_a_burst_of_partitions_is_let_through_and_then_refused() -> None:
    quotas, now = ControllerMutationQuotaManager(SETTINGS), [0]
    quotas.limits.set(Entity("alice"), 1)
    strict = ControllerMutationQuota(quotas, ALICE, lambda: now[0], is_strict=True)
    strict.admit(21)  # 11 are there: it may overdraw
    assert strict.throttle_ms() == 0
    with pytest.raises(KafkaError) as refused:
        strict.admit(1)
    assert refused.value.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert strict.throttle_ms() == 10_000
    now[0] = 4_000
    assert strict.throttle_ms() == 6_000
    now[0] = 10_000
    strict.admit(1)


def test_an_old_client_is_served_and_waits() -> None:
    quotas = ControllerMutationQuotaManager(SETTINGS)
    quotas.limits.set(Entity("alice"), 1)
    permissive = ControllerMutationQuota(quotas, ALICE, lambda: 0, is_strict=False)
    permissive.admit(21)
    assert permissive.throttle_ms() == 10_000
    permissive.admit(1)
    assert permissive.throttle_ms() == 11_000
    assert [usage.sharing for usage in quotas.usage(0)] == [Sharing("alice", "")]
