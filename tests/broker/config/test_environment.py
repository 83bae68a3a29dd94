"""The environment as Apache Kafka's image reads it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.broker.config import ConfigError, load_config
from barnabas.broker.config.accepted import ACCEPTED
from barnabas.broker.config.environment import NOT_KEYS, key_of, read_environment
from barnabas.broker.config.keys import KEYS

PARTS = st.lists(st.tuples(st.sampled_from("._-"), st.text("abz09", min_size=1, max_size=4)), max_size=6)
KEY = PARTS.map(lambda parts: "key" + "".join(mark + word for mark, word in parts))


def variable_of(key: str) -> str:
    """The name the image's guide tells people to give a key."""
    return "KAFKA_" + "".join({".": "_", "_": "__", "-": "___"}.get(char, char) for char in key).upper()


@settings(max_examples=100, deadline=None)
@given(KEY)
def test_every_key_comes_back_from_the_name_the_images_guide_gives_it(key: str) -> None:
    assert key_of(variable_of(key)) == key


def test_no_key_of_the_broker_is_hidden_by_a_name_that_means_something_else() -> None:
    assert NOT_KEYS & {variable_of(key) for key in (*KEYS, *ACCEPTED)} == set()


def test_underscores_are_read_from_the_left_as_the_image_does() -> None:
    assert [key_of(f"KAFKA_A{'_' * count}B") for count in range(1, 8)] == [
        "a.b", "a_b", "a-b", "a-.b", "a-_b", "a--b", "a--.b",
    ]  # fmt: skip


def test_a_value_is_read_as_a_line_of_a_properties_file() -> None:
    found = read_environment({"KAFKA_A": r"C:\\data", "KAFKA_B": "1\nc=2", "KAFKA_D": "", "KAFKA_E": "  x "})
    assert found.settings == {"a": r"C:\data", "b": "1", "c": "2", "d": "", "e": "x "}
    assert found.variables["b"] == "KAFKA_B"


def test_names_of_scripts_and_logging_and_of_others_are_no_keys() -> None:
    others = dict.fromkeys(NOT_KEYS, "x") | {"PATH": "/", "XKAFKA_A": "1", "kafka_a": "1"}
    assert read_environment(others).settings == {}


def test_the_cluster_id_and_the_container_are_told_beside_the_keys() -> None:
    assert read_environment({})[2:] == (None, False)
    assert read_environment({"CLUSTER_ID": "", "BARNABAS_CONTAINER": ""})[2:] == (None, False)
    found = read_environment({"CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw", "BARNABAS_CONTAINER": "1"})
    config = load_config(environment=found).config
    assert (config.cluster_id, config.is_container) == ("4L6g3nShT-eMCtK--X86sw", True)


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("KAFKA_NUM_PARTITIONS", "two", "KAFKA_NUM_PARTITIONS: Invalid value two for configuration num.partitions"),
        ("KAFKA_LISTENERS", "9092", "KAFKA_LISTENERS: listeners: 9092 is not of the form"),
        ("KAFKA_LISTENERS", "SASL_SSL://:9092", "KAFKA_LISTENERS: listener SASL_SSL asks for SASL_SSL"),
        ("KAFKA_ADVERTISED_LISTENERS", "PLAINTEXT://0.0.0.0:9092", "KAFKA_ADVERTISED_LISTENERS: advertised.listeners"),
        ("KAFKA_LISTENER_SECURITY_PROTOCOL_MAP", "A:B", "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: listener.sec"),
        ("KAFKA_SSL_KEYSTORE_FILENAME", "k.jks", "KAFKA_SSL_KEYSTORE_FILENAME: ssl.keystore.filename asks for TLS"),
        ("KAFKA_PROCESS_ROLES", "controller", "KAFKA_PROCESS_ROLES: process.roles does not name broker"),
    ],
)
def test_what_is_wrong_is_told_under_the_name_of_the_variable(variable: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load_config(environment=read_environment({variable: value}))
    assert str(refused.value).startswith(said)


def test_the_variable_is_not_blamed_for_what_a_setting_says() -> None:
    with pytest.raises(ConfigError) as refused:
        load_config(environment=read_environment({"KAFKA_NUM_PARTITIONS": "2"}), settings=["num.partitions=none"])
    assert str(refused.value).startswith("Invalid value none")
