"""A stopped data directory of ours boots in Apache Kafka with everything in it, and Kafka's opens here."""

from pathlib import Path

import pytest

from barnabas.broker.config import BrokerConfig
from barnabas.broker.metadata.catalogue import Catalogue
from barnabas.broker.metadata.catalogue.config_alterations import Alteration
from barnabas.client.admin.configs import ConfigSource, ResourceType, describe_configs
from barnabas.client.admin.topics import create_topic, list_topics
from barnabas.client.client import Client
from barnabas.client.consume.consumer import Consumer
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.files.checkpoints import encode_clean_shutdown
from barnabas.protocol.files.names import CLEAN_SHUTDOWN, PARTITION_METADATA
from barnabas.protocol.messages.init_producer_id import InitProducerIdResponse
from tests.support.clients.java import run_tool
from tests.support.depth import long
from tests.support.files.data_directory import CLUSTER_METADATA, open_catalogue, write_partition
from tests.support.kafka.handed_over import levels_for
from tests.support.kafka.jars import KAFKA_VERSION
from tests.support.kafka.process import KafkaProcess
from tests.support.requests import init_producer
from tests.support.waiting import until

_RECORDS = {("orders", 0): [b"one", b"two"], ("orders", 2): [b"three"], ("logs", 0): [b"four"]}


def _config(*, with_snapshots: bool) -> BrokerConfig:
    return BrokerConfig({"metadata.log.max.record.bytes.between.snapshots": "1"} if with_snapshots else {})


def _snapshots(data_dir: Path) -> list[Path]:
    """Those of a running broker, not the one that formatting leaves."""
    return [path for path in (data_dir / CLUSTER_METADATA).glob("*.checkpoint") if int(path.name[:20]) > 0]


def _fill(data_dir: Path, *, with_snapshots: bool = False, version: str = KAFKA_VERSION) -> Catalogue:
    """Two runs' worth of topics, settings, used partitions, a deleted topic and producer ids."""
    config = _config(with_snapshots=with_snapshots)
    catalogue = open_catalogue(data_dir, config)
    catalogue.set_features(levels_for(version))
    catalogue.create_topic("orders", 3, {"retention.ms": "-1", "cleanup.policy": "compact"})
    catalogue.create_topic("gone")
    catalogue.delete_topics(["gone"])
    catalogue.close()
    catalogue = open_catalogue(data_dir, config)
    catalogue.create_topic("logs", 1, {"retention.ms": "-1"})
    catalogue.alter_configs(2, "orders", [Alteration("cleanup.policy", 3, "compact")])
    catalogue.alter_configs(4, "", [Alteration("log.flush.interval.ms", 0, "1000")])
    for (topic, partition), values in _RECORDS.items():
        write_partition(data_dir, catalogue, topic, partition, values)
    write_partition(data_dir, catalogue, "orders", 1, [])
    catalogue.allocate_producer_ids()
    assert catalogue.allocate_producer_ids() == range(1000, 2000)
    return catalogue


def _read(client: Client, topic: str, partition: int, count: int) -> list[bytes | None]:
    consumer = Consumer(client)
    consumer.assign({(topic, partition): 0})
    deadline = client.deadline(60_000)
    found: list[bytes | None] = []
    while len(found) < count and not deadline.is_over:
        found += [consumed.record.value for consumed in consumer.poll()]
    return found


def _new_producer_id(client: Client) -> int:
    """Kafka fetches its first block of ids when first asked; till then it answers COORDINATOR_LOAD_IN_PROGRESS."""
    deadline = client.deadline(60_000)
    while not deadline.is_over:
        answer: InitProducerIdResponse = client.ask_any(init_producer(None))
        if answer.error_code == ErrorCode.NONE:
            return answer.producer_id
    raise AssertionError("Kafka gave out no producer id")


@pytest.mark.parametrize(
    ("stopped_cleanly", "with_snapshots", "version"),
    [
        long(True, False, KAFKA_VERSION),
        (False, False, KAFKA_VERSION),
        (True, True, KAFKA_VERSION),
        long(False, True, KAFKA_VERSION),
        pytest.param(True, False, "4.0.0", marks=pytest.mark.long),
        pytest.param(False, False, "4.0.0", marks=pytest.mark.long),
        pytest.param(True, True, "4.0.0", marks=pytest.mark.long),
    ],
)
def test_kafka_boots_our_directory_with_everything_in_it(
    tmp_path: Path, stopped_cleanly: bool, with_snapshots: bool, version: str
) -> None:
    data_dir = tmp_path / "data"
    catalogue = _fill(data_dir, with_snapshots=with_snapshots, version=version)
    if stopped_cleanly:
        catalogue.close()
    assert bool(_snapshots(data_dir)) == with_snapshots
    directories = {path.name for path in data_dir.iterdir() if path.is_dir()}
    with KafkaProcess(data_dir, version=version) as kafka, Client(kafka.address) as client:
        topics = {topic.name: topic for topic in list_topics(client)}
        assert {"orders", "logs"} <= topics.keys()
        assert "gone" not in topics
        settings = {value.name: value for value in describe_configs(client, ResourceType.TOPIC, "orders")}
        assert (settings["retention.ms"].value, settings["retention.ms"].source) == ("-1", ConfigSource.TOPIC)
        assert settings["cleanup.policy"].value == ""
        assert settings["flush.ms"].value == "1000"
        for (topic, partition), values in _RECORDS.items():
            assert _read(client, topic, partition, len(values)) == values
        assert _new_producer_id(client) >= 2000
        assert kafka.complaints() == []
    assert directories <= {path.name for path in data_dir.iterdir() if path.is_dir()}


def test_kafkas_dump_tool_reads_every_record_of_the_catalogue(tmp_path: Path) -> None:
    _fill(tmp_path).close()
    log = tmp_path / CLUSTER_METADATA / "00000000000000000000.log"
    dump = run_tool("org.apache.kafka.tools.DumpLogSegments", "--cluster-metadata-decoder", "--files", str(log))
    assert "Error" not in dump
    assert "isvalid: false" not in dump
    assert dump.count('"type":"TOPIC_RECORD"') == 3
    assert dump.count('"type":"REMOVE_TOPIC_RECORD"') == 1
    assert dump.count('"type":"PARTITION_RECORD"') == 5
    assert '{"name":"metadata.version","featureLevel":25}' in dump
    assert '"nextProducerId":2000' in dump
    assert dump.count("LeaderChange: {") == 2
    assert dump.count("KRaftVoters {") == 1


def test_kafkas_dump_tool_reads_every_record_of_a_snapshot(tmp_path: Path) -> None:
    _fill(tmp_path, with_snapshots=True).close()
    (snapshot,) = _snapshots(tmp_path)
    dump = run_tool("org.apache.kafka.tools.DumpLogSegments", "--cluster-metadata-decoder", "--files", str(snapshot))
    assert "Error" not in dump
    assert "isvalid: false" not in dump
    assert dump.count('"type":"TOPIC_RECORD"') == 2
    assert dump.count('"type":"PARTITION_RECORD"') == 4
    assert '"nextProducerId":2000' in dump
    assert [dump.count(kind) for kind in ("SnapshotHeader", "KRaftVersion", "KRaftVoters", "SnapshotFooter")] == [1] * 4


@pytest.mark.parametrize(("killed", "with_snapshots"), [(False, True), long(True, False)])
def test_a_kafka_directory_opens_here_and_again_in_kafka(tmp_path: Path, killed: bool, with_snapshots: bool) -> None:
    data_dir = tmp_path / "data"
    with KafkaProcess(data_dir) as kafka:
        with Client(kafka.address) as client:
            configs = {"retention.ms": "-1", "min.insync.replicas": "1"}
            create_topic(client, "theirs", partitions=2, configs=configs)
        if killed:
            named = [data_dir / f"theirs-{number}" / PARTITION_METADATA for number in (0, 1)]
            until(lambda: all(path.exists() for path in named))  # a Kafka killed before takes its own files for strays
            kafka.kill()
        else:
            kafka.stop()
    catalogue = open_catalogue(data_dir, _config(with_snapshots=with_snapshots))
    assert catalogue.feature_levels["metadata.version"] == 33
    theirs = catalogue.topics["theirs"]
    assert len(theirs.partitions) == 2
    assert theirs.configs == configs
    assert catalogue.leader_epoch("theirs", 0) == catalogue.current_leader_epoch("theirs", 0)
    catalogue.create_topic("ours", configs={"retention.ms": "-1"})
    write_partition(data_dir, catalogue, "ours", 0, [b"written here"])
    catalogue.close()
    assert with_snapshots == (f"{catalogue.features_epoch:020d}" in {path.name[:20] for path in _snapshots(data_dir)})
    (data_dir / CLEAN_SHUTDOWN).write_bytes(encode_clean_shutdown(catalogue.broker_epoch))  # as a clean stop does
    with KafkaProcess(data_dir) as kafka, Client(kafka.address) as client:
        assert {topic.name: topic for topic in list_topics(client)}["theirs"].topic_id == theirs.topic_id
        assert _read(client, "ours", 0, 1) == [b"written here"]
        assert kafka.complaints() == []


@pytest.mark.parametrize("version", [KAFKA_VERSION, long("4.2.0")])
def test_a_directory_that_kafka_only_formatted_begins_with_what_it_was_formatted_with(
    tmp_path: Path, version: str
) -> None:
    data_dir = tmp_path / "data"
    KafkaProcess(data_dir, version=version, format_arguments=("--feature", "transaction.version=1")).command()
    levels = {KAFKA_VERSION: 33, "4.2.0": 29}
    for _ in range(2):
        catalogue = open_catalogue(data_dir)
        assert catalogue.feature_levels["metadata.version"] == levels[version]
        assert catalogue.feature_levels["transaction.version"] == 1
        assert catalogue.broker_epoch >= 0
    catalogue.create_topic("ours", configs={"retention.ms": "-1"})
    write_partition(data_dir, catalogue, "ours", 0, [b"written here"])
    catalogue.close()
    (data_dir / CLEAN_SHUTDOWN).write_bytes(encode_clean_shutdown(catalogue.broker_epoch))  # as a clean stop does
    with KafkaProcess(data_dir, version=version) as kafka, Client(kafka.address) as client:
        assert _read(client, "ours", 0, 1) == [b"written here"]
        assert kafka.complaints() == []
