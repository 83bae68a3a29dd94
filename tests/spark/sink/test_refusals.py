"""What the sink refuses, against a running broker, and what it says then."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from barnabas.client.admin.configs import ConfigChange, ConfigOperation, ResourceType, alter_configs
from barnabas.client.admin.records import delete_records
from barnabas.client.admin.topics import create_topic
from barnabas.client.admin.transactions import fence
from barnabas.client.client import Client
from barnabas.client.produce.producer import Producer
from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.commit.identity import RunToken
from pyspark_barnabas.sink import driver
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.ledger import access as ledger_access
from pyspark_barnabas.sink.settings import SinkSettings
from pyspark_barnabas.sink.target import topics
from pyspark_barnabas.sink.target.checks_before_writing import look_before_writing
from tests.support.clients.committed import begun
from tests.support.processes.broker import BrokerProcess
from tests.support.spark.sink_query import Query, checkpoint, committed_values, rows, transaction_of


@pytest.mark.parametrize(
    ("changed", "part", "says"),
    [
        ({}, pa.record_batch({"text": ["a"]}), "no column `value`, only text"),
        ({"topic": None}, rows(["a"], topic=pa.array([None], pa.string())), "has no topic, and the sink has none"),
        ({"topic": "no topic!"}, rows(["a"]), "correct the option or the column `topic`"),
        ({"max_request_bytes": 10_000}, rows(["x" * 11_000]), r"takes \d+ bytes, and kafka.max.request.size is 10000"),
        ({"two_phase": "on"}, rows(["a"]), "offers no two-phase commits"),
    ],
    ids=["no-value", "no-topic", "a-name-that-is-no-topics", "larger-than-a-request", "two-phase"],
)
def test_unwritable_values_are_refused(
    settings: SinkSettings, changed: dict[str, Any], part: pa.RecordBatch, says: str
) -> None:
    with pytest.raises(SinkFailed, match=says):
        Query(replace(settings, **changed)).write(0, [part])


def test_a_partition_that_does_not_exist_is_refused(client: Client, query: Query) -> None:
    with pytest.raises(SinkFailed, match=r"asks for partition 3 of topic .* which has 3"):
        query.write(0, [rows(["a", "b"], partition=[0, 3])])
    with pytest.raises(SinkFailed, match="partition -1"):
        query.write_part(0, 0, rows(["a"], partition=[-1]))


def test_a_record_that_is_too_large_for_the_topic_is_refused(client: Client, settings: SinkSettings) -> None:
    create_topic(client, settings.topic or "", configs={"max.message.bytes": "1000"})
    with pytest.raises(SinkFailed, match=r"Raise the topic's max\.message\.bytes"):
        Query(settings).write(0, [rows(["x" * 1100])])


def test_a_timeout_above_the_brokers_is_refused(settings: SinkSettings) -> None:
    limit_ms = settings.transaction_timeout_ms
    assert limit_ms is not None
    query = Query(replace(settings, transaction_timeout_ms=limit_ms + 1))
    with pytest.raises(SinkFailed, match=f"is {limit_ms + 1}, but the broker allows at most {limit_ms}"):
        query.write(0, [rows(["a"])])


def test_a_rolled_back_checkpoint_is_refused(client: Client, query: Query) -> None:
    for batch_id in range(3):
        query.play(batch_id, [rows([str(batch_id)])], checkpoint(batch_id))
    query.start()
    with pytest.raises(SinkFailed, match="rolled back or copied"):
        query.play(1, [rows(["other"])], checkpoint(1, "b"))
    with pytest.raises(SinkFailed, match="lost records, or the prefix was changed"):
        query.play(5, [rows(["other"])], checkpoint(5))
    assert sorted(committed_values(client, query.topic)) == ["0", "1", "2"]


def test_a_run_that_was_overtaken_stops(client: Client, settings: SinkSettings) -> None:
    frozen, other = Query(settings), Query(settings)
    other.run_id = "another"
    messages = frozen.write(0, [rows(["frozen"])])
    other.play(0, [rows(["a"])])
    with pytest.raises(SinkFailed, match="another run took over"):
        frozen.commit(0, messages)
    with pytest.raises(SinkFailed, match="another run took over"):
        frozen.write(1, [rows(["frozen"])])
    assert committed_values(client, settings.topic or "") == ["a"]


def test_a_transaction_that_was_ended_from_outside_is_not_decided(client: Client, query: Query) -> None:
    messages = query.write(0, [rows(["a"]), rows(["b"])])
    fence(client, transaction_of(messages[0]).transactional_id)
    with pytest.raises(SinkFailed, match="before the batch was decided"):
        query.commit(0, messages)
    assert committed_values(client, query.topic) == []


@pytest.mark.parametrize(
    ("configs", "told"),
    [
        ({"cleanup.policy": "compact"}, "compacted"),
        ({"cleanup.policy": "delete", "retention.ms": "1000", "retention.bytes": "-1"}, "retention.ms is 1000"),
        ({"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "9"}, "retention.bytes is 9"),
        (None, "has 2 partitions"),
    ],
)
def test_a_topic_that_may_forget_is_no_ledger(
    client: Client, settings: SinkSettings, configs: dict[str, str] | None, told: str
) -> None:
    prefix = told.replace(" ", "-")
    create_topic(client, f"__{prefix}.ledger", partitions=2 if configs is None else 1, configs=configs)
    with pytest.raises(SinkFailed, match=f"cannot be the sink's ledger: .*{told}"):
        Query(replace(settings, prefix=prefix)).write(0, [rows(["a"])])


def test_a_ledger_with_a_foreign_record_is_refused(client: Client, settings: SinkSettings, query: Query) -> None:
    query.play(0, [rows(["a"])])
    with Producer(client) as producer:
        producer.send(f"__{settings.prefix}.ledger", b"hello")
    with pytest.raises(SinkFailed, match="a record of the ledger cannot be read"):
        query.write(1, [rows(["b"])])
    assert committed_values(client, query.topic) == ["a"]


def test_a_ledger_that_lost_its_beginning_is_refused(client: Client, settings: SinkSettings, query: Query) -> None:
    query.play(0, [rows(["a"])])
    delete_records(client, {(f"__{settings.prefix}.ledger", 0): -1})
    query.settings = replace(settings, connection=replace(settings.connection, client_id="anew"))
    forget_ledgers()
    query.start()
    with pytest.raises(SinkFailed, match="were deleted, and it has no record of query q"):
        query.write(0, [rows(["a"])])


def forget_ledgers() -> None:
    """As a process that is new."""
    ledger_access._kept.__dict__.clear()


def test_a_ledger_that_somebody_holds_open_is_waited_for_and_then_told(client: Client, settings: SinkSettings) -> None:
    messages = Query(settings).write(0, [rows(["a"])])
    foreign = begun(client, f"{settings.prefix}-foreign")
    foreign.send(f"__{settings.prefix}.ledger", b"hello")
    foreign.flush()
    with pytest.raises(SinkFailed, match="an open transaction begins there"):
        driver.commit(replace(settings, delivery_timeout_ms=500), 0, messages, query_id="q")
    foreign.abort()
    driver.commit(settings, 0, messages, query_id="q")
    assert committed_values(client, settings.topic or "") == ["a"]


def test_no_broker_is_reported_with_what_to_do(settings: SinkSettings) -> None:
    nowhere = replace(settings.connection, bootstrap_servers="127.0.0.1:1", request_timeout_ms=200)
    with pytest.raises(SinkFailed, match=r"127\.0\.0\.1:1: connection refused.*Check that a broker runs"):
        Query(replace(settings, connection=nowhere, delivery_timeout_ms=200)).write(0, [rows(["a"])])


def test_messages_of_another_run_are_not_decided(client: Client, query: Query) -> None:
    messages = query.write(0, [rows(["a"]), rows(["b"])])
    stranger = replace(messages[1], run=RunToken(999, 0))
    with pytest.raises(SinkFailed, match="nothing was decided"):
        query.commit(0, [messages[0], stranger])
    query.start()
    query.play(0, [rows(["c"])])
    assert committed_values(client, query.topic) == ["c"]


def test_a_setting_of_the_ledger_that_is_changed_later_is_noticed_by_the_next_process(
    client: Client, settings: SinkSettings, query: Query
) -> None:
    query.play(0, [rows(["a"])])
    change = ConfigChange("cleanup.policy", ConfigOperation.SET, "compact")
    alter_configs(client, ResourceType.TOPIC, f"__{settings.prefix}.ledger", [change])
    forget_ledgers()
    with pytest.raises(SinkFailed, match="it is compacted"):
        query.write(1, [rows(["b"])])


def test_a_topic_that_nobody_makes_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(topics, "_CREATION_MS", 2_000)
    monkeypatch.setattr(topics, "_SETTLING_MS", 1_000)
    with BrokerProcess(tmp_path / "data", {"auto.create.topics.enable": "false"}) as server:
        query = Query(SinkSettings(ConnectionSettings(server.address), topic="typo", prefix="p"))
        with pytest.raises(SinkFailed, match=r"UNKNOWN_TOPIC_OR_PARTITION: topic 'typo'.*Check the topic's name"):
            query.write(0, [rows(["a"])])
        with pytest.raises(
            SinkFailed, match=r"'typo' does not exist, but createTopics is false: correct the option topic"
        ):
            Query(replace(query.settings, creates_topics=False)).write(0, [rows(["a"])])
        with Client(server.address) as client:
            assert "typo" not in client.refresh(None, client.deadline()).topics
        assert not caplog.records
        Query(replace(query.settings, new_topic_partitions=4)).write(0, [rows(["a"])])
        (line,) = caplog.records
        assert line.getMessage().startswith("topic 'typo' does not exist, and has been created with 4 partitions")


def test_a_topic_that_the_broker_makes_is_warned_of_with_the_name_that_may_be_meant(
    client: Client, settings: SinkSettings, caplog: pytest.LogCaptureFixture
) -> None:
    create_topic(client, "warned-orders")
    named = replace(settings, topic="warned-ordres")
    with pytest.raises(SinkFailed, match=r"does not exist \(did you mean warned-orders\?\), but createTopics is false"):
        look_before_writing(replace(named, creates_topics=False), ["value"])
    for _ in range(2):
        look_before_writing(named, ["value"])
    (line,) = caplog.records
    assert (
        "(did you mean warned-orders?), and has been created with 3 partitions (the broker's num" in line.getMessage()
    )


def test_a_compacted_topic_is_refused_where_rows_have_no_key(client: Client, settings: SinkSettings) -> None:
    create_topic(client, settings.topic or "", configs={"cleanup.policy": "compact"})
    with pytest.raises(SinkFailed, match=r"is compacted .* add a column `key`"):
        look_before_writing(settings, ["value"])
    look_before_writing(settings, ["value", "key"])
