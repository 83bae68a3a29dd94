"""Settings of one listener, and of one of its mechanisms."""

import pytest

from barnabas.broker.config.broker_config import BrokerConfig, find_key, is_dynamic
from barnabas.broker.config.definitions.keys import Update
from barnabas.broker.config.listeners.listener_keys import key_within
from barnabas.broker.config.sasl.listener_settings import ListenerSettings


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("listener.name.outside.ssl.client.auth", "ssl.client.auth"),
        ("listener.name.outside.sasl.enabled.mechanisms", "sasl.enabled.mechanisms"),
        ("listener.name.outside.plain.sasl.jaas.config", "sasl.jaas.config"),
        ("listener.name.outside.scram-sha-256.connections.max.reauth.ms", "connections.max.reauth.ms"),
        ("listener.name.outside.max.connections", "max.connections"),
        ("listener.name.outside.log.dirs", None),
        ("listener.name.outside", None),
        ("listener.name.", None),
        ("ssl.client.auth", None),
    ],
)
def test_the_key_within_a_listeners_setting(name: str, key: str | None) -> None:
    assert key_within(name) == key


def test_a_listeners_own_value_comes_before_the_brokers() -> None:
    config = BrokerConfig({"ssl.client.auth": "required", "listener.name.outside.ssl.client.auth": "none"})
    assert ListenerSettings(config, "OUTSIDE").text("ssl.client.auth") == "none"
    assert ListenerSettings(config, "INSIDE").text("ssl.client.auth") == "required"
    assert ListenerSettings(config, "OUTSIDE").name("ssl.client.auth") == "listener.name.outside.ssl.client.auth"


def test_a_brokers_value_given_while_running_does_not_cover_a_listeners_own() -> None:
    config = BrokerConfig({"listener.name.outside.ssl.client.auth": "none"})
    config.follow({"ssl.client.auth": "required"}, {})
    assert ListenerSettings(config, "OUTSIDE").text("ssl.client.auth") == "none"


def test_a_mechanisms_setting_has_no_other_to_stand_in_for_it() -> None:
    login = "org.example.Login required;"
    config = BrokerConfig({"sasl.jaas.config": login, "listener.name.outside.plain.sasl.jaas.config": login})
    assert ListenerSettings(config, "OUTSIDE").of_mechanism("PLAIN", "sasl.jaas.config") == login
    assert ListenerSettings(config, "OUTSIDE").of_mechanism("SCRAM-SHA-256", "sasl.jaas.config") is None


def test_a_listeners_setting_is_described_as_its_key_is() -> None:
    row = find_key("listener.name.outside.ssl.keystore.password")
    assert row is not None
    assert row.is_sensitive
    assert (row.name, row.default, row.update) == (
        "listener.name.outside.ssl.keystore.password",
        None,
        Update.PER_BROKER,
    )
    assert is_dynamic("listener.name.outside.ssl.keystore.location", "/a/store")
    assert find_key("listener.name.outside.ssl.no.such.key") is None
