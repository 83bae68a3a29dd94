"""Kafka's tools for administrators: settings, offsets, deleted records, the cluster, its APIs and directories."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from barnabas.broker.api.table import API_TABLE
from barnabas.protocol.registry import ApiKey
from tests.compat.model import PARTITIONS, Client, Message
from tests.compat.tools import (
    API_VERSIONS,
    CLUSTER,
    CONFIGS,
    DELETE_RECORDS,
    FEATURES,
    LOG_DIRS,
    OFFSETS,
    TOPICS,
    Tools,
    settings,
)
from tests.support.processes.server import Server

OF_BROKER = ("--entity-type", "brokers", "--entity-name", "1")
OF_ALL_BROKERS = ("--entity-type", "brokers", "--entity-default")
START_MS = 1_700_000_000_000
_KNOWN_TO_THE_TOOLS = {ApiKey.API_VERSIONS: 4, ApiKey.TXN_OFFSET_COMMIT: 5, ApiKey.DELETE_GROUPS: 2}  # of Kafka 4.3
_NEWER_THAN_THE_TOOLS = {ApiKey.UNREGISTER_CONTROLLER}


def of_topic(name: str) -> tuple[str, ...]:
    return ("--entity-type", "topics", "--entity-name", name)


# --- settings ---


def test_a_topics_settings_are_changed_and_described(server: Server, tools: Tools) -> None:
    tools.ask(server, TOPICS, "--create", "--topic", "configured", "--config", "retention.ms=3600000")
    topic = of_topic("configured")
    tools.ask(
        server, CONFIGS, "--alter", *topic, "--add-config", "max.message.bytes=2048,cleanup.policy=[compact,delete]"
    )
    described = tools.ask(server, CONFIGS, "--describe", *topic)
    assert described.startswith("Dynamic configs for topic configured are:\n")
    assert settings(described) == {
        "cleanup.policy": "compact,delete {DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact,delete,"
        " DEFAULT_CONFIG:log.cleanup.policy=delete}",
        "max.message.bytes": "2048 {DYNAMIC_TOPIC_CONFIG:max.message.bytes=2048,"
        " DEFAULT_CONFIG:message.max.bytes=1048588}",
        "retention.ms": "3600000 {DYNAMIC_TOPIC_CONFIG:retention.ms=3600000,"
        " STATIC_BROKER_CONFIG:log.retention.ms=-1, DEFAULT_CONFIG:log.retention.hours=168}",
    }
    tools.ask(server, CONFIGS, "--alter", *topic, "--delete-config", "max.message.bytes,cleanup.policy")
    assert [*settings(tools.ask(server, CONFIGS, "--describe", *topic))] == ["retention.ms"]


def test_every_setting_of_a_topic_is_told_with_where_it_comes_from(server: Server, tools: Tools) -> None:
    tools.ask(server, TOPICS, "--create", "--topic", "plain")
    everything = settings(tools.ask(server, CONFIGS, "--describe", "--all", *of_topic("plain")))
    assert len(everything) == 36
    assert (
        everything["retention.ms"]
        == "-1 {STATIC_BROKER_CONFIG:log.retention.ms=-1, DEFAULT_CONFIG:log.retention.hours=168}"
    )
    assert everything["segment.bytes"] == "1073741824 {DEFAULT_CONFIG:log.segment.bytes=1073741824}"
    assert everything["segment.ms"] == "604800000 {}"  # its default stands in hours, under another name
    assert everything["remote.storage.enable"] == "false {}"
    assert "Dynamic configs for topic plain are:\n" in tools.ask(
        server, CONFIGS, "--describe", "--entity-type", "topics"
    )


def test_settings_of_one_broker_and_of_all_are_changed_and_reach_topics(server: Server, tools: Tools) -> None:
    tools.ask(server, TOPICS, "--create", "--topic", "heir")
    tools.ask(server, CONFIGS, "--alter", *OF_BROKER, "--add-config", "log.segment.bytes=2097152")
    tools.ask(
        server, CONFIGS, "--alter", *OF_ALL_BROKERS, "--add-config", "message.max.bytes=4000000,log.cleaner.threads=2"
    )

    def topic() -> dict[str, str]:
        return settings(tools.ask(server, CONFIGS, "--describe", "--all", *of_topic("heir")))

    assert settings(tools.ask(server, CONFIGS, "--describe", *OF_BROKER))["log.segment.bytes"] == (
        "2097152 {DYNAMIC_BROKER_CONFIG:log.segment.bytes=2097152, DEFAULT_CONFIG:log.segment.bytes=1073741824}"
    )
    assert settings(tools.ask(server, CONFIGS, "--describe", *OF_ALL_BROKERS)) == {
        "log.cleaner.threads": "2 {DYNAMIC_DEFAULT_BROKER_CONFIG:log.cleaner.threads=2}",
        "message.max.bytes": "4000000 {DYNAMIC_DEFAULT_BROKER_CONFIG:message.max.bytes=4000000}",
    }
    inherited = topic()
    assert inherited["segment.bytes"].startswith("2097152 {DYNAMIC_BROKER_CONFIG:log.segment.bytes=2097152, ")
    assert inherited["max.message.bytes"].startswith(
        "4000000 {DYNAMIC_DEFAULT_BROKER_CONFIG:message.max.bytes=4000000, "
    )

    tools.ask(server, CONFIGS, "--alter", *OF_BROKER, "--delete-config", "log.segment.bytes")
    tools.ask(server, CONFIGS, "--alter", *OF_ALL_BROKERS, "--delete-config", "message.max.bytes,log.cleaner.threads")
    assert settings(tools.ask(server, CONFIGS, "--describe", *OF_ALL_BROKERS)) == {}
    assert topic()["segment.bytes"] == "1073741824 {DEFAULT_CONFIG:log.segment.bytes=1073741824}"


@pytest.mark.parametrize(
    ("entity", "change", "refusal"),
    [
        (
            of_topic("strict"),
            "max.message.bytes=x",
            "Invalid value x for configuration max.message.bytes: Not a number",
        ),
        (
            of_topic("strict"),
            "max.message.bytes=-5",
            "Invalid value -5 for configuration max.message.bytes: Value must",
        ),
        (of_topic("strict"), "cleanup.policy=burn", "Invalid value burn for configuration cleanup.policy"),
        (of_topic("strict"), "no.such.key=5", "Unknown topic config name: no.such.key"),
        (of_topic("absent"), "retention.ms=5", "The topic 'absent' does not exist."),
        (OF_BROKER, "log.retention.ms=foo", "Invalid value foo for configuration log.retention.ms: Not a number"),
        (OF_BROKER, "log.dirs=/elsewhere", "Cannot update these configs dynamically: [log.dirs]"),
        (OF_BROKER, "log.segment.bytes=1", "Invalid value 1 for configuration log.segment.bytes"),
        (OF_ALL_BROKERS, "node.id=3", "Cannot update these configs dynamically: [node.id]"),
        (OF_ALL_BROKERS, "message.max.bytes=-1", "Invalid value -1 for configuration message.max.bytes"),
    ],
)
def test_a_bad_setting_is_refused(
    server: Server, tools: Tools, entity: tuple[str, ...], change: str, refusal: str
) -> None:
    tools.ask(server, TOPICS, "--create", "--topic", "strict", "--if-not-exists")
    assert refusal in tools.fail(server, CONFIGS, "--alter", *entity, "--add-config", change)
    assert settings(tools.ask(server, CONFIGS, "--describe", *of_topic("strict"))) == {}


def test_settings_of_what_is_not_there_are_not_told(server: Server, tools: Tools) -> None:
    absent = tools.ask(server, CONFIGS, "--describe", *of_topic("absent"))
    assert absent == "The topic 'absent' doesn't exist and doesn't have dynamic config.\n"
    absent = tools.ask(server, CONFIGS, "--describe", "--entity-type", "brokers", "--entity-name", "7")
    assert absent == "The broker '7' doesn't exist and doesn't have dynamic config.\n"


# --- offsets ---


@pytest.fixture(scope="module")
def measured(server: Server, clients: Mapping[str, Client]) -> str:
    """A topic with four records in partition 0, of which the third is the newest, and one in partition 2."""
    times = [START_MS + seconds * 1000 for seconds in (0, 10, 30, 20)]
    messages = [Message(0, None, b"x", (), time) for time in times] + [Message(2, None, b"x", (), START_MS)]
    clients["confluent-kafka"].write(server.address, "measured", messages, "none")
    return "measured"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("--topic measured", "0:4 1:0 2:1"),
        ("--topic measured --time latest", "0:4 1:0 2:1"),
        ("--topic measured --time -2", "0:0 1:0 2:0"),
        ("--topic measured --time max-timestamp", "0:2 2:0"),
        (f"--topic measured --time {START_MS + 1}", "0:1"),
        (f"--topic measured --time {START_MS + 60_000}", ""),
        ("--topic measured --time earliest-local", "0:0 1:0 2:0"),
        ("--topic measured --time latest-tiered", ""),
        ("--topic-partitions measured:0-2", "0:4 1:0"),
        ("--topic meas.* --partitions 2", "2:1"),
        ("--topic-partitions measured:2,absent:0", "2:1"),
    ],
)
def test_offsets_are_told(server: Server, tools: Tools, measured: str, asked: str, told: str) -> None:
    found = tools.ask(server, OFFSETS, *asked.split()).split()
    assert found == [f"{measured}:{each}" for each in told.split()]


@pytest.mark.parametrize(
    "asked", ["--topic absent", "--topic measured --partitions 9", "--topic-partitions measured:9"]
)
def test_offsets_of_what_is_not_there_are_not_told(server: Server, tools: Tools, measured: str, asked: str) -> None:
    assert "Could not match any topic-partitions" in tools.fail(server, OFFSETS, *asked.split())


# --- records deleted ---


def delete_records(server: Server, tools: Tools, wish: Path, *offsets: tuple[str, int, int]) -> str:
    partitions = [{"topic": topic, "partition": number, "offset": offset} for topic, number, offset in offsets]
    wish.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return tools.ask(server, DELETE_RECORDS, "--offset-json-file", str(wish))


def test_records_are_deleted_up_to_an_offset_that_is_there(
    server: Server, tools: Tools, clients: Mapping[str, Client], tmp_path: Path
) -> None:
    wish = tmp_path / "wish.json"
    messages = [Message(number % PARTITIONS, None, b"x") for number in range(30)]
    clients["confluent-kafka"].write(server.address, "shortened", messages, "none")
    said = delete_records(server, tools, wish, ("shortened", 0, 4), ("shortened", 1, -1), ("shortened", 2, 11))
    assert "partition: shortened-0\tlow_watermark: 4\n" in said
    assert "partition: shortened-1\tlow_watermark: 10\n" in said  # -1 is up to the end
    assert re.search(r"partition: shortened-2\terror: .*OffsetOutOfRangeException", said)
    for unfit in (3, -2):  # it was deleted already; it is no offset
        said = delete_records(server, tools, wish, ("shortened", 0, unfit))
        assert ("low_watermark: 4" in said) if unfit == 3 else ("OffsetOutOfRangeException" in said)
    earliest = tools.ask(server, OFFSETS, "--topic", "shortened", "--time", "earliest").split()
    assert earliest == ["shortened:0:4", "shortened:1:10", "shortened:2:0"]
    kept = clients["confluent-kafka"].read(server.address, "shortened")
    assert sorted((each.partition, each.offset) for each in kept) == [
        *((0, offset) for offset in range(4, 10)),
        *((2, offset) for offset in range(10)),
    ]


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ('{"version": 1, "partitions": []', "The input string is not a valid JSON"),
        ('{"version": 1}', "Missing partitions field"),
        (
            '{"version": 1, "partitions": [{"topic": "t", "partition": 0, "offset": 1},'
            ' {"topic": "t", "partition": 0, "offset": 2}]}',
            "duplicate topic partitions: t-0",
        ),
    ],
)
def test_a_wish_that_is_not_clear_deletes_nothing(
    server: Server, tools: Tools, tmp_path: Path, text: str, refusal: str
) -> None:
    (tmp_path / "wish.json").write_text(text)
    assert refusal in tools.fail(server, DELETE_RECORDS, "--offset-json-file", str(tmp_path / "wish.json"))


# --- the cluster ---


def test_the_cluster_and_its_endpoint_are_told(server: Server, tools: Tools) -> None:
    told = tools.run(CLUSTER, "cluster-id", "--bootstrap-server", server.address)
    kept = (server.data_dir / "meta.properties").read_text()
    assert (
        told.out.strip()
        == "Cluster ID: " + dict(line.split("=", 1) for line in kept.split() if "=" in line)["cluster.id"]
    )
    told = tools.run(CLUSTER, "list-endpoints", "--bootstrap-server", server.address)
    assert [line.split() for line in told.out.splitlines()] == [
        ["ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE"],
        ["1", "127.0.0.1", str(server.port), "null", "unfenced", "broker"],
    ]


def test_every_api_is_offered_in_the_versions_that_kafka_offers(server: Server, tools: Tools) -> None:
    told = tools.ask(server, API_VERSIONS)
    assert told.startswith(f"{server.address} (id: 1 rack: null isFenced: false) -> (")
    ranges = {
        int(key): (int(low), int(high or low), int(usable))
        for key, low, high, usable in re.findall(
            r"^\t\w+\((\d+)\): (\d+)(?: to (\d+))? \[usable: (\d+)\]", told, re.MULTILINE
        )
    }
    for row in API_TABLE:
        if row.key in _NEWER_THAN_THE_TOOLS:
            assert f"\tUNKNOWN({row.key}): " in told
            continue
        usable = min(row.max_version, _KNOWN_TO_THE_TOOLS.get(row.key, row.max_version))
        assert ranges[row.key] == (row.advertised_min_version, row.max_version, usable)


def test_features_are_described(server: Server, tools: Tools) -> None:
    told = dict(
        re.findall(
            r"^Feature: (\S+)\s+SupportedMinVersion: (\S+\s+SupportedMaxVersion: \S+)",
            tools.ask(server, FEATURES, "describe"),
            re.MULTILINE,
        )
    )
    assert {
        name: re.split(r"\s+SupportedMaxVersion: ", versions)
        for name, versions in told.items()
        if name in ("metadata.version", "kraft.version", "eligible.leader.replicas.version")
    } == {
        "metadata.version": ["3.3-IV3", "UNKNOWN"],  # which the tools, of Kafka 4.3, have no name for
        "kraft.version": ["0", "1"],
        "eligible.leader.replicas.version": ["0", "1"],
    }


def test_log_directories_are_told_for_what_is_there(server: Server, tools: Tools, measured: str) -> None:
    def directory(*asked: str) -> list[str]:
        text = tools.ask(server, LOG_DIRS, "--describe", *asked)
        [broker] = json.loads(text[text.index("{") :])["brokers"]
        [directory] = broker["logDirs"]
        assert (broker["broker"], directory["error"], directory["logDir"]) == (1, None, str(server.data_dir))
        return [partition["partition"] for partition in directory["partitions"]]

    assert set(directory()) >= {f"{measured}-{number}" for number in range(PARTITIONS)}
    assert directory("--topic-list", "absent", "--broker-list", "1") == []
    refusal = tools.fail(server, LOG_DIRS, "--describe", "--broker-list", "9")
    assert "The given brokers do not exist from --broker-list: 9. Current existent brokers: 1" in refusal
