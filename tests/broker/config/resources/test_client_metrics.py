"""Subscriptions to client metrics: which there may be, and which clients they are for."""

import pytest

from barnabas.broker.config.resources.client_metrics import subscription, validate
from barnabas.protocol.errors import ErrorCode, KafkaError

REQUEST, CONFIG = ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CONFIG
BOUNDS = "interval must be between 100 and 3600000 (1 hour)"
CLIENT = {
    "client_instance_id": "AAAAAAAAAAAAAAAAAAAAAQ",
    "client_id": "orders-1",
    "client_software_name": "librdkafka",
    "client_software_version": "2.16.1",
    "client_source_address": "127.0.0.1",
    "client_source_port": None,
}


def test_a_subscription_without_settings_is_for_everybody_and_requests_nothing() -> None:
    found = subscription({})
    assert (found.metrics, found.interval_ms) == (frozenset(), 300_000)
    assert found.is_for(CLIENT)


@pytest.mark.parametrize(
    ("match", "is_for"),
    [
        ("client_id=orders-.*", True),
        ("client_id=orders", False),  # the whole of it has to match
        ("client_id = orders-1", True),
        ("client_id=orders-1=", True),  # as Java reads it
        ("client_software_name=librdkafka,client_software_version=2\\..*", True),
        ("client_software_name=librdkafka,client_software_version=1\\..*", False),
        ("client_source_port=[0-9]+", False),  # nobody knows it
    ],
)
def test_a_client_matches_if_all_its_attributes_do(match: str, is_for: bool) -> None:
    assert subscription({"match": match}).is_for(CLIENT) is is_for


@pytest.mark.parametrize(
    ("configs", "code", "sentence"),
    [
        ({"no.such": "1"}, REQUEST, "Unknown client metrics configuration: no.such"),
        ({"interval.ms": "99"}, REQUEST, f"Invalid value 99 for interval.ms, {BOUNDS}"),
        ({"interval.ms": "x"}, CONFIG, "Invalid value x for configuration interval.ms: Not a number of type INT"),
        ({"metrics": "a,,b"}, CONFIG, "Configuration 'metrics' values must not be empty."),
        *(
            ({"match": pattern}, CONFIG, f"Illegal client matching pattern: {pattern}")
            for pattern in ("client_id", "client_id=a=b", "color=a", "client_id=[", r"client_id=(a)\1")
        ),
    ],
)
def test_an_invalid_subscription_is_refused_with_kafkas_sentence(
    configs: dict[str, str], code: ErrorCode, sentence: str
) -> None:
    for judge in (subscription, lambda configs: validate("s", configs)):
        with pytest.raises(KafkaError) as refusal:
            judge(configs)
        assert (refusal.value.code, refusal.value.message) == (code, sentence)


def test_a_subscription_has_a_name() -> None:
    with pytest.raises(KafkaError) as refusal:
        validate("", {})
    assert refusal.value.code == ErrorCode.INVALID_REQUEST
