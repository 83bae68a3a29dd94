"""Kafka's dump tool decodes what groups leave in `__consumer_offsets`: members, commits, transactions, deletions."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.clients.java import run_tool
from tests.support.processes.broker import BrokerProcess
from tests.support.waiting import PATIENCE_S

DUMP = "org.apache.kafka.tools.DumpLogSegments"
PARTITION = "__consumer_offsets-0"
RECORD = re.compile(r"\| offset: (\d+) .*key: (\{.*\}) payload: (.*)$")
MARKER = re.compile(r"endTxnMarker: (\w+)")


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the tool prints of the one partition of all groups, after a clean stop."""
    data_dir = tmp_path_factory.mktemp("groups") / "data"
    with BrokerProcess(data_dir, {"offsets.topic.num.partitions": 1}) as broker:
        admin = AdminClient({"bootstrap.servers": broker.address})
        admin.create_topics([NewTopic("read", 2, 1)])["read"].result(PATIENCE_S)
        consumer = _member(broker.address)
        _in_transactions(broker.address, consumer)
        consumer.commit(offsets=[TopicPartition("read", 0, 7, "told")], asynchronous=False)
        _simple(broker.address, admin)
        consumer.close()  # a static member stays in its group
        assert broker.stop() == 0
    return run_tool(DUMP, "--files", str(next((Path(data_dir) / PARTITION).glob("*.log"))), "--offsets-decoder")


def _member(address: str) -> Consumer:
    settings = {"bootstrap.servers": address, "group.id": "members", "group.instance.id": "one", "client.id": "reader"}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    consumer.subscribe(["read"])
    for _ in range(300):
        consumer.poll(0.1)
        if consumer.assignment():
            return consumer
    raise AssertionError("nothing was assigned")


def _in_transactions(address: str, consumer: Consumer) -> None:
    producer = Producer({"bootstrap.servers": address, "transactional.id": "copier"})
    producer.init_transactions(30)
    for offset, is_commit in ((41, True), (99, False)):
        producer.begin_transaction()
        offsets = [TopicPartition("read", 1, offset)]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), 30)
        if is_commit:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)


def _simple(address: str, admin: AdminClient) -> None:
    consumer = Consumer({"bootstrap.servers": address, "group.id": "simple"})
    consumer.commit(offsets=[TopicPartition("read", 0, 3)], asynchronous=False)
    consumer.close()
    admin.delete_consumer_groups(["simple"])["simple"].result(PATIENCE_S)


def _records(printed: str) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    """(key, value) of every record that the tool could decode; None for a deletion."""
    found = []
    for line in printed.splitlines():
        if match := RECORD.match(line):
            value = match[3].strip()
            found.append((json.loads(match[2]), None if value in ("<DELETE>", "null") else json.loads(value)))
    return found


def _said_of(printed: str, type_: str, group: str) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    return [
        (key["data"], value and value["data"])
        for key, value in _records(printed)
        if key["type"] == type_ and key["data"]["group"] == group
    ]


def test_a_generation_and_its_static_member_are_decoded(printed: str) -> None:
    last = _said_of(printed, "2", "members")[-1][1]
    assert last is not None
    assert (last["protocolType"], last["protocol"], last["generation"]) == ("consumer", "range", 1)
    [member] = last["members"]
    assert (member["groupInstanceId"], member["clientId"]) == ("one", "reader")
    assert last["leader"] == member["memberId"]
    assert member["clientHost"] == "/127.0.0.1"


def test_commits_are_decoded_those_in_transactions_too(printed: str) -> None:
    told = [(key["partition"], value and value["offset"]) for key, value in _said_of(printed, "1", "members")]
    assert told == [(1, 41), (1, 99), (0, 7)]
    plain = _said_of(printed, "1", "members")[-1][1]
    assert plain is not None
    assert plain["metadata"] == "told\0"  # confluent-kafka sends the end of its C string, too
    assert MARKER.findall(printed) == ["COMMIT", "ABORT"]
    transactional = [line for line in printed.splitlines() if "isTransactional: true" in line]
    assert len(transactional) == 4  # two commits and their markers


def test_a_deleted_groups_records_end_with_deletions(printed: str) -> None:
    assert [value and value["offset"] for _, value in _said_of(printed, "1", "simple")] == [3, None]
    assert _said_of(printed, "2", "simple")[-1][1] is None


def test_the_tool_finds_nothing_wrong(printed: str) -> None:
    lines = [line for line in printed.splitlines() if not line.startswith(("|", "baseOffset"))]
    assert not [line for line in lines if re.search(r"mismatch|corrupt|error|exception|could not", line, re.IGNORECASE)]
