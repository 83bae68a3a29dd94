"""The environment as Apache Kafka's image reads it."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.broker.config import ConfigError, load_config
from barnabas.broker.config.definitions.ignored_keys import ACCEPTED
from barnabas.broker.config.definitions.keys import KEYS
from barnabas.broker.config.environment import NOT_KEYS, EnvironmentSettings, key_of, read_environment
from barnabas.broker.config.load import LoadedConfig

PARTS = st.lists(st.tuples(st.sampled_from("._-"), st.text("abz09", min_size=1, max_size=4)), max_size=6)
KEY = PARTS.map(lambda parts: "key" + "".join(mark + word for mark, word in parts))


def variable_of(key: str) -> str:
    """The name the image's guide tells people to give a key."""
    return "KAFKA_" + "".join({".": "_", "_": "__", "-": "___"}.get(char, char) for char in key).upper()


def load(variables: Mapping[str, str], **more: Any) -> LoadedConfig:
    return load_config(environment=read_environment(variables), **more)


def refusal_of(variables: Mapping[str, str], **more: Any) -> str:
    with pytest.raises(ConfigError) as refused:
        load(variables, **more)
    return str(refused.value)


@settings(max_examples=100, deadline=None)
@given(KEY)
def test_every_key_comes_back_from_the_name_the_images_guide_gives_it(key: str) -> None:
    assert key_of(variable_of(key)) == key


def test_no_key_of_the_broker_is_hidden_by_a_name_that_means_something_else() -> None:
    assert NOT_KEYS & {variable_of(key) for key in (*KEYS, *ACCEPTED)} == set()


def test_underscores_are_read_from_the_left_as_the_image_does() -> None:
    assert [key_of(f"KAFKA_A{'_' * count}B") for count in range(1, 8)] == [
        "a.b",
        "a_b",
        "a-b",
        "a-.b",
        "a-_b",
        "a--b",
        "a--.b",
    ]


def test_a_value_is_read_as_a_line_of_a_properties_file() -> None:
    found = read_environment({"KAFKA_A": r"C:\\data", "KAFKA_B": "1\nc=2", "KAFKA_D": "", "KAFKA_E": "  x "})
    assert found.settings == {"a": r"C:\data", "b": "1", "c": "2", "d": "", "e": "x "}
    assert found.variables["b"] == "KAFKA_B"


def test_a_value_with_line_breaks_is_named_once_and_its_lines_are_not_reported() -> None:
    cut_off = "its value has line breaks and ends at the first, as in Apache Kafka's image: write \\n for each"
    pem = {
        "KAFKA_SSL_KEYSTORE_KEY": "-----BEGIN PRIVATE KEY-----\nMIIEvAIBADANBg\nsecret.a=b\n-----END PRIVATE KEY-----\n"
    }
    escaped = {"KAFKA_SSL_KEYSTORE_CERTIFICATE_CHAIN": "a\\nb", "KAFKA_LOG_DIRS": "/d\n"}
    assert load(pem | escaped).warnings == [f"KAFKA_SSL_KEYSTORE_KEY: {cut_off}"]
    plain = "org.apache.kafka.common.security.plain.PlainLoginModule"
    jaas = {"KAFKA_SASL_ENABLED_MECHANISMS": "PLAIN", "KAFKA_LISTENERS": "SASL_PLAINTEXT://:0"}
    jaas |= {"KAFKA_LISTENER_NAME_SASL__PLAINTEXT_PLAIN_SASL_JAAS_CONFIG": f'{plain} required\n  user_a="secret";'}
    refusal = refusal_of(jaas)
    assert (f"SASL_JAAS_CONFIG: {cut_off}" in refusal, "secret" in refusal) == (True, False)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (
            r"C:\users",
            "KAFKA_A: a \\u is not followed by four hexadecimal digits: write a plain backslash as \\\\",
        ),
        (r"\ud83d", "KAFKA_A: half of a surrogate pair is no character: \\ud83d\\ude00 is, \\ud83d is not"),
        ("secret\udcff", "KAFKA_A: its value has bytes that are not UTF-8"),
    ],
)
def test_a_value_that_nobody_can_read_is_refused_by_the_name_of_its_variable(value: str, sentence: str) -> None:
    assert refusal_of({"KAFKA_B": "\u00e9", "KAFKA_A": value, "KAFKA_C": "x"}) == sentence


def test_a_value_has_the_characters_of_the_variable() -> None:
    assert read_environment({"KAFKA_A": "gr\u00fc\U0001f600\\u00fc"}).settings == {"a": "gr\u00fc\U0001f600\u00fc"}


def test_names_of_scripts_and_logging_and_of_others_are_no_keys() -> None:
    others = dict.fromkeys(NOT_KEYS, "x") | {"PATH": "/", "XKAFKA_A": "1", "kafka_a": "1"}
    assert read_environment(others).settings == {}


def test_the_cluster_id_and_the_container_are_reported_beside_the_keys() -> None:
    assert read_environment({})[2:4] == (None, False)
    assert read_environment({"CLUSTER_ID": "", "BARNABAS_CONTAINER": ""})[2:4] == (None, False)
    found = read_environment({"CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw", "BARNABAS_CONTAINER": "1"})
    config = load_config(environment=found).config
    assert (config.cluster_id, config.is_container) == ("4L6g3nShT-eMCtK--X86sw", True)


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("KAFKA_NUM_PARTITIONS", "two", "KAFKA_NUM_PARTITIONS: Invalid value two for configuration num.partitions"),
        ("KAFKA_CFG_NUM_PARTITIONS", "two", "KAFKA_CFG_NUM_PARTITIONS: Invalid value two"),
        ("KAFKA_LISTENERS", "9092", "KAFKA_LISTENERS: listeners: 9092 is not of the form"),
        ("KAFKA_LISTENERS", "SASL_SSL://:9092", "KAFKA_LISTENERS: listener SASL_SSL requires GSSAPI"),
        ("KAFKA_ADVERTISED_LISTENERS", "PLAINTEXT://0.0.0.0:9092", "KAFKA_ADVERTISED_LISTENERS: advertised.listeners"),
        ("KAFKA_LISTENER_SECURITY_PROTOCOL_MAP", "A:B", "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: listener.sec"),
        ("KAFKA_SSL_CLIENT_AUTH", "maybe", "KAFKA_SSL_CLIENT_AUTH: Invalid value maybe for configuration ssl.client"),
        ("KAFKA_PROCESS_ROLES", "controller", "KAFKA_PROCESS_ROLES: process.roles does not contain broker"),
    ],
)
def test_errors_are_reported_under_the_name_of_the_variable(variable: str, value: str, said: str) -> None:
    assert refusal_of({variable: value}).startswith(said)


def test_the_variable_is_not_blamed_for_what_a_setting_specifies() -> None:
    assert refusal_of({"KAFKA_NUM_PARTITIONS": "2"}, settings=["num.partitions=none"]).startswith("Invalid value none")


@settings(max_examples=100, deadline=None)
@given(KEY)
def test_a_variable_of_bitnamis_images_is_the_same_key(key: str) -> None:
    assert key_of(variable_of(key).replace("KAFKA_", "KAFKA_CFG_", 1)) == key


def test_a_key_under_both_names_is_taken_if_they_agree_and_refused_with_both_names_if_not() -> None:
    agreeing = {"KAFKA_NUM_PARTITIONS": "4", "KAFKA_CFG_NUM_PARTITIONS": "4"}
    assert load(agreeing).config.integer("num.partitions") == 4
    for order in (1, -1):
        pairs = [("KAFKA_NUM_PARTITIONS", "4"), ("KAFKA_CFG_NUM_PARTITIONS", "5")][::order]
        assert refusal_of(dict(pairs)) == (
            "KAFKA_CFG_NUM_PARTITIONS and KAFKA_NUM_PARTITIONS are both num.partitions, with different values: "
            "remove one"
        )


@pytest.mark.parametrize("name", ["CLUSTER_ID", "KAFKA_CLUSTER_ID", "KAFKA_KRAFT_CLUSTER_ID"])
def test_the_cluster_id_has_three_names(name: str) -> None:
    found = read_environment({name: "4L6g3nShT-eMCtK--X86sw"})
    assert (found.cluster_id, found.settings, found.warnings) == ("4L6g3nShT-eMCtK--X86sw", {}, ())


def test_names_of_different_clusters_are_refused() -> None:
    found = read_environment({"CLUSTER_ID": "one", "KAFKA_KRAFT_CLUSTER_ID": "two"})
    assert found.conflict == "CLUSTER_ID and KAFKA_KRAFT_CLUSTER_ID name different clusters: remove all but one"
    assert read_environment({"CLUSTER_ID": "one", "KAFKA_CLUSTER_ID": "one "}).conflict is None


def test_plaintext_listeners_are_allowed_without_being_asked_and_a_no_is_reported() -> None:
    for allowed in ("yes", "true", "1", "YES"):
        assert read_environment({"ALLOW_PLAINTEXT_LISTENER": allowed})._replace(process={}) == EnvironmentSettings(
            {}, {}
        )
    found = read_environment({"ALLOW_PLAINTEXT_LISTENER": "no"})
    assert load_config(environment=found).warnings == [
        "ALLOW_PLAINTEXT_LISTENER is no, which has no effect here: the listeners set their protocols"
    ]


def test_only_unsupported_user_and_certificate_variables_of_bitnami_are_reported() -> None:
    found = read_environment({"KAFKA_CLIENT_USERS": "u", "KAFKA_TLS_TYPE": "PEM", "KAFKA_ENABLE_KRAFT": "yes"})
    assert found.settings == {}
    (warning,) = load_config(environment=found).warnings
    assert warning.startswith("no effect here: KAFKA_CLIENT_USERS, KAFKA_TLS_TYPE. ")


def test_the_compose_file_of_bitnamis_image_starts() -> None:
    found = read_environment(
        {
            "KAFKA_CFG_NODE_ID": "0",
            "KAFKA_CFG_PROCESS_ROLES": "controller,broker",
            "KAFKA_CFG_LISTENERS": "PLAINTEXT://:9092,CONTROLLER://:9093",
            "KAFKA_CFG_ADVERTISED_LISTENERS": "PLAINTEXT://127.0.0.1:9092",
            "KAFKA_CFG_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "KAFKA_CFG_CONTROLLER_QUORUM_VOTERS": "0@kafka:9093",
            "KAFKA_CFG_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
            "KAFKA_KRAFT_CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw",
            "ALLOW_PLAINTEXT_LISTENER": "yes",
        }
    )
    config = load_config(environment=found).config
    assert (config.node_id, [listener.name for listener in config.listeners]) == (0, ["PLAINTEXT"])
