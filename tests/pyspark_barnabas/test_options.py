"""Options in Kafka's and Spark's words: what they come to, and the sentence for what means nothing."""

import pickle
from pathlib import Path

import pytest

from barnabas.client.security.properties import KEYS
from pyspark_barnabas import option_table
from pyspark_barnabas.options import OptionError, check_names, connection, json_object, sink, stream_sink, text
from pyspark_barnabas.sink.settings import SinkSettings

SERVERS = {"kafka.bootstrap.servers": "a:1,b:2"}


def _lowered(**options: str) -> dict[str, str]:
    return SERVERS | {name.replace("__", ".").lower(): value for name, value in options.items()}


def _refusal(**options: str) -> str:
    with pytest.raises(OptionError) as refused:
        sink(_lowered(**options))
    return str(refused.value)


def test_the_brokers_and_a_topic_are_enough() -> None:
    settings = sink(_lowered(topic="orders"))
    assert settings == SinkSettings(connection(SERVERS), topic="orders")
    assert settings.connection.bootstrap_servers == "a:1,b:2"


def test_spark_lowers_the_names_and_people_do_not() -> None:
    assert text({"transactionalidprefix": "shop"}, "transactionalIdPrefix") == "shop"
    assert text({"transactionalIdPrefix": " shop "}, "transactionalIdPrefix") == "shop"


def test_kafkas_words_become_settings() -> None:
    settings = sink(
        _lowered(
            transactionalIdPrefix="shop",
            kafka__transaction__timeout__ms="60000",
            kafka__compression__type="ZSTD",
            kafka__batch__size="100000",
            kafka__max__request__size="2000000",
            kafka__delivery__timeout__ms="5000",
            kafka__request__timeout__ms="4000",
            kafka__client__id="till",
            kafka__group__id="progress",
            atomic="True",
            firstBatch="17",
            twoPhaseCommit="off",
            newTopicPartitions="12",
            checkpointLocation="/tmp/checkpoint",
        )
    )
    assert (settings.prefix, settings.transaction_timeout_ms, settings.compression) == ("shop", 60_000, "zstd")
    assert (settings.batch_bytes, settings.max_request_bytes) == (100_000, 2_000_000)
    assert (settings.delivery_timeout_ms, settings.connection.request_timeout_ms) == (5_000, 4_000)
    assert (settings.connection.client_id, settings.group_id) == ("till", "progress")
    assert (settings.creates_topics, settings.new_topic_partitions) == (True, 12)
    assert (settings.is_atomic, settings.first_batch, settings.two_phase) == (True, 17, "off")


def test_an_empty_group_is_no_group_and_none_given_is_the_prefix() -> None:
    assert sink(_lowered(kafka__group__id="")).group_id == ""
    assert sink(_lowered()).group_id is None


def test_a_batch_of_records_fits_a_request() -> None:
    assert sink(_lowered(kafka__max__request__size="2048")).batch_bytes == 2048


def test_a_batch_size_of_0_is_a_batch_for_each_record() -> None:
    assert sink(_lowered(kafka__batch__size="0")).batch_bytes == 1


@pytest.mark.parametrize("option", ["kafka.compresion.type", "transactionalIdPrefx", "checkpointLocaton"])
def test_an_option_with_a_slip_in_its_name_is_refused_with_the_one_that_was_meant(option: str) -> None:
    with pytest.raises(OptionError, match="did you mean") as refused:
        check_names({option: "x"})
    assert "Known are" not in str(refused.value)


def test_an_unknown_setting_of_kafkas_is_refused_with_those_that_are_known() -> None:
    sentence = _refusal(kafka__metric__reporters="s3cr3t")
    assert "kafka.compression.type" in sentence
    assert "kafka.bootstrap.servers" in sentence
    assert "firstBatch" not in sentence
    assert "s3cr3t" not in sentence
    assert "firstBatch" in _refusal(xyz="x")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"kafka__acks": "1"}, "must be 'all'"),
        ({"kafka__security__protocol": "SASL_SSL"}, "that begin with kafka.: sasl.mechanism is not set"),
        ({"kafka__security__protocol": "TLS"}, "security.protocol is 'TLS', and must be one of"),
        ({"kafka__transactional__id": "mine"}, "set transactionalIdPrefix"),
        ({"transactionalIdPrefix": "a b"}, "letters, digits, dots"),
        ({"transactionalIdPrefix": "x" * 201}, "1 to 200"),
        ({"path": "somewhere"}, "not to a path"),
        ({"topic": ".."}, "letters, digits, dots"),
        ({"kafka__batch__size": "many"}, "whole number from 0"),
        ({"firstBatch": "-1"}, "whole number from 0"),
        ({"kafka__transaction__timeout__ms": str(2**31)}, "whole number from 1 to 2147483647"),
        ({"kafka__compression__type": "brotli"}, "one of none, gzip"),
        ({"atomic": "yes"}, "true or false"),
        ({"newTopicPartitions": "0"}, "whole number from 1"),
        ({"newTopicPartitions": "3", "createTopics": "false"}, "omit one of them"),
        ({"kafka__bootstrap__servers": "host:port"}, "kafka.bootstrap.servers: not a broker address"),
    ],
)
def test_a_value_that_means_nothing_is_refused_with_a_sentence(options: dict[str, str], sentence: str) -> None:
    assert sentence in _refusal(**options)


def test_a_stream_has_no_idempotency_key() -> None:
    with pytest.raises(OptionError, match="knows from its checkpoint"):
        stream_sink(_lowered(topic="orders", idempotencyKey="monday"))


def test_without_a_broker_it_is_said_how_one_is_named() -> None:
    with pytest.raises(OptionError, match=r"set kafka\.bootstrap\.servers"):
        sink({"topic": "orders"})


def test_an_object_in_json_is_one() -> None:
    assert json_object({"assign": '{"orders":[0,1]}'}, "assign") == {"orders": [0, 1]}
    assert json_object({}, "assign") is None
    with pytest.raises(OptionError, match="not JSON"):
        json_object({"assign": "{orders"}, "assign")
    with pytest.raises(OptionError, match="should be a JSON object"):
        json_object({"assign": "[1]"}, "assign")


def test_the_page_has_the_table_of_all_options() -> None:
    assert option_table.as_markdown() in Path("docs/pipeline.md").read_text()


def test_no_option_is_there_twice() -> None:
    names = [option.name.lower() for _, section in option_table.SECTIONS for option in section]
    assert len(names) == len(set(names))


def test_a_secured_cluster_is_reached_with_kafkas_own_settings() -> None:
    jaas = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="s3cr3t";'
    given = {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": jaas,
        "kafka.ssl.truststore.location": "/stores/trust.jks",
        "kafka.ssl.truststore.password": "s3cr3t",
    }
    settings = sink(SERVERS | {"topic": "orders"} | given)
    assert settings.connection.security is not None
    assert settings.connection.security.protocol == "SASL_SSL"
    assert "s3cr3t" not in f"{settings!r}"
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_where_connections_are_plain_nothing_of_security_is_looked_at() -> None:
    assert connection(SERVERS | {"kafka.sasl.mechanism": "GSSAPI"}).security is None


def test_every_property_of_security_is_an_option() -> None:
    assert {option.name for option in option_table.SECURITY} == {f"kafka.{key}" for key in KEYS}
