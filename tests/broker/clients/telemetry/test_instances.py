"""A client instance is told what to push and when, and is held to it, as Apache Kafka 4.4.0 holds it."""

import pytest

from barnabas.broker.clients.telemetry.instances import Instance
from barnabas.broker.config.resources.client_metrics import subscription
from barnabas.protocol.errors import ErrorCode

ID = bytes(range(16))
ATTRIBUTES = {"client_id": "me", "client_instance_id": "AAECAwQFBgcICQoLDA0ODw"}
INTERVAL_MS = 1_000
EVERY = subscription({"metrics": "a.,b.", "interval.ms": str(INTERVAL_MS)})


def instance(*configs: dict[str, str]) -> Instance:
    return Instance(ID, ATTRIBUTES, [subscription(each) for each in configs] or [EVERY], 1)


def push(request_usage: Instance, now_ms: float, **changes: int) -> ErrorCode:
    what = {"subscription_id": request_usage.subscription_id, "is_terminating": False, "compression": 0, "size": 10}
    return request_usage.judge_push(now_ms, bytes_max=100, **(what | changes))  # type: ignore[arg-type] # of several types


def test_subscriptions_that_match_are_put_together() -> None:
    request_usage = instance(
        {"metrics": "b.,a.", "interval.ms": "5000"},
        {"metrics": "c.,a.", "interval.ms": "4000", "match": "client_id=m."},
        {"metrics": "d.", "interval.ms": "1000", "match": "client_id=you"},
    )
    assert (request_usage.metrics, request_usage.interval_ms) == (["a.", "b.", "c."], 4_000)


def test_all_metrics_are_all_there_are_and_nobody_pushes_more_seldom_than_kafkas_clients() -> None:
    request_usage = instance({"metrics": "*,a.", "interval.ms": "3600000"})
    assert (request_usage.metrics, request_usage.interval_ms) == (["*"], 300_000)


def test_the_subscription_id_tells_subscriptions_and_clients_apart() -> None:
    ids = {
        instance({"metrics": "a."}).subscription_id,
        instance({"metrics": "b."}).subscription_id,
        instance({"metrics": "a.", "interval.ms": "5000"}).subscription_id,
        Instance(bytes(15) + b"\x07", ATTRIBUTES, [subscription({"metrics": "a."})], 1).subscription_id,
    }
    assert len(ids) == 4
    assert all(-(1 << 31) <= each < 1 << 31 for each in ids)


def test_a_client_asks_and_pushes_once_in_an_interval() -> None:
    request_usage = instance()
    assert request_usage.judge_get(0) is ErrorCode.NONE
    assert request_usage.judge_get(1) is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert push(request_usage, 2) is ErrorCode.NONE  # the first after it asked
    assert push(request_usage, 2 + INTERVAL_MS - 1) is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert push(request_usage, 2 + INTERVAL_MS) is ErrorCode.NONE


def test_the_last_push_comes_whenever_it_will_and_nothing_after_it() -> None:
    request_usage = instance()
    assert request_usage.judge_get(0) is ErrorCode.NONE
    assert push(request_usage, 1) is ErrorCode.NONE
    assert push(request_usage, 2, is_terminating=True) is ErrorCode.NONE
    assert push(request_usage, 2 + INTERVAL_MS, is_terminating=True) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"subscription_id": 1}, ErrorCode.UNKNOWN_SUBSCRIPTION_ID),
        ({"compression": 5}, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
    ],
)
def test_a_client_whose_push_is_not_known_may_ask_at_once(change: dict[str, int], code: ErrorCode) -> None:
    request_usage = instance()
    assert request_usage.judge_get(0) is ErrorCode.NONE
    assert push(request_usage, 1, **change) is code
    assert request_usage.judge_get(2) is ErrorCode.NONE
    assert request_usage.judge_get(3) is ErrorCode.THROTTLING_QUOTA_EXCEEDED


def test_a_push_that_is_too_large_waits_for_the_next_interval() -> None:
    request_usage = instance()
    assert request_usage.judge_get(0) is ErrorCode.NONE
    assert push(request_usage, 1, size=101) is ErrorCode.TELEMETRY_TOO_LARGE
    assert request_usage.judge_get(2) is ErrorCode.THROTTLING_QUOTA_EXCEEDED


def test_an_instance_is_known_for_three_intervals_and_a_minute_at_least() -> None:
    request_usage = instance()
    request_usage.stay(5.0)
    assert request_usage.expires_ms == 60_005
    request_usage = instance({"metrics": "a."})
    request_usage.stay(5.0)
    assert request_usage.expires_ms == 900_005
