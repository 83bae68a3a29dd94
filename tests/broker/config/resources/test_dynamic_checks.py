"""What does not go together is refused while the broker runs, with Apache Kafka's sentences."""

import pytest

from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.resources.dynamic_checks import objection

HALF = "value should be at least half the current value"
DOUBLE = "value should not be greater than double the current value"


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("num.io.threads=16", None),
        ("num.io.threads=4", None),
        ("num.io.threads=17", f"Dynamic thread count update validation failed for num.io.threads=17, {DOUBLE} 8"),
        ("num.io.threads=3", f"Dynamic thread count update validation failed for num.io.threads=3, {HALF} 8"),
        ("log.retention.ms=100", None),
        ("log.local.retention.ms=604800000", None),
        (
            "log.local.retention.ms=604800001",
            "Invalid value 604800001 for configuration log.local.retention.ms: "
            "Value must not be more than log.retention.ms property value: 604800000",
        ),
        (
            "log.local.retention.ms=-1",
            "Invalid value -1 for configuration log.local.retention.ms: "
            "Value must not be -1 as log.retention.ms value is set as 604800000.",
        ),
        ("log.local.retention.bytes=100", None),  # there is no limit that it could be above
        (
            "log.remote.copy.lag.ms=604800001",
            "Invalid value 604800001 for configuration log.remote.copy.lag.ms: "
            "Value must not exceed log.local.retention.ms (effective value: 604800000)",
        ),
        (
            "group.consumer.assignment.interval.ms=20000",
            "group.consumer.assignment.interval.ms must be less than or equal to "
            "group.consumer.max.assignment.interval.ms",
        ),
        ("no.such.key=1", None),
        ("leader.replication.throttled.rate=1", None),
    ],
)
def test_a_setting_is_held_against_what_is_in_force(setting: str, sentence: str | None) -> None:
    name, _, text = setting.partition("=")
    assert objection(BrokerConfig(), {name: text}, {}) == sentence
    assert objection(BrokerConfig(), {}, {name: text}) == sentence


def test_a_connected_principal_of_a_listener_is_not_changed() -> None:
    name = "listener.name.inside.plain.sasl.jaas.config"
    static = {"listeners": "INSIDE://h:1", "listener.security.protocol.map": "INSIDE:SASL_PLAINTEXT", name: "x"}
    sentence = (
        "Configs cannot be updated dynamically for existing listener INSIDE, restart broker or create a new listener "
        "for update"
    )
    assert objection(BrokerConfig(static), {name: "y"}, {}) == sentence
    assert objection(BrokerConfig(static), {name: "x"}, {}) is None
    assert objection(BrokerConfig(static), {"listener.name.other.sasl.enabled.mechanisms": "PLAIN"}, {}) is None


def test_a_setting_of_all_brokers_that_this_one_has_its_own_for_is_not_in_force() -> None:
    config = BrokerConfig()
    config.follow({"num.io.threads": "10"}, {})
    assert objection(config, {"num.io.threads": "10"}, {"num.io.threads": "100"}) is None
    assert objection(config, {}, {"num.io.threads": "100"}) is not None
