"""Kafka's dump tool decodes what share groups leave in `__consumer_offsets` and in `__share_group_state`."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.consume.share.share_consumer import ShareConsumer
from barnabas.protocol.acknowledge_type import AcknowledgeType
from tests.support.clients.java import run_tool
from tests.support.clients.queues import FROM_THE_FIRST, send_numbers, set_of_group
from tests.support.processes.broker import BrokerProcess

DUMP = "org.apache.kafka.tools.DumpLogSegments"
RECORD = re.compile(r"\| offset: (\d+) .*key: (\{.*\}) payload: (.*)$")
ONE_PARTITION = {"offsets.topic.num.partitions": 1, "share.coordinator.state.topic.num.partitions": 1}
GROUP, TOPIC, MEMBER = "workers", "jobs", "m"
FIRST_SNAPSHOT_TYPE, UPDATE_TYPE = "0", "1"
AVAILABLE, ARCHIVED, ACKNOWLEDGED = 0, 4, 2
Decoded = list[tuple[str, dict[str, Any], dict[str, Any] | None]]


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A share group that accepted record 0, rejected 1, released 2 and accepted 4; 3 was in flight at the stop."""
    data_dir = tmp_path_factory.mktemp("shares") / "data"
    with BrokerProcess(data_dir, ONE_PARTITION) as broker:
        with (
            Client(broker.address) as client,
            ShareConsumer(client, GROUP, [TOPIC], explicit=True, member_id=MEMBER) as member,
        ):
            create_topic(client, TOPIC, partitions=1)
            set_of_group(client, GROUP, FROM_THE_FIRST)
            send_numbers(client, TOPIC, range(5))
            records = member.poll(20_000)
            kinds = (AcknowledgeType.ACCEPT, AcknowledgeType.REJECT, AcknowledgeType.RELEASE)
            for record, kind in zip(records, kinds, strict=False):
                member.acknowledge(record, kind)
            member.acknowledge(records[4])
            assert member.commit() == {}
            member.acknowledge(records[3], AcknowledgeType.RELEASE)
        assert broker.stop() == 0
    return data_dir


def decoded(data_dir: Path, partition: str, decoder: str) -> Decoded:
    """The type, the key and the value of each record; None for a deletion."""
    printed = run_tool(DUMP, "--files", str(next((data_dir / partition).glob("*.log"))), decoder)
    found: Decoded = []
    for line in printed.splitlines():
        if match := RECORD.match(line):
            key, value = json.loads(match[2]), match[3].strip()
            data = None if value in ("<DELETE>", "null") else json.loads(value)["data"]
            found.append((key["type"], key["data"], data))
    return found


def batch(first: int, last: int, state: int) -> dict[str, int]:
    return {"firstOffset": first, "lastOffset": last, "deliveryState": state, "deliveryCount": 1}


def test_the_states_of_share_partitions_are_decoded(data_dir: Path) -> None:
    (first, _, snapshot), *updates = decoded(data_dir, "__share_group_state-0", "--share-group-state-decoder")
    assert snapshot is not None
    assert (first, snapshot["startOffset"], snapshot["stateBatches"]) == (FIRST_SNAPSHOT_TYPE, -1, [])
    assert {type_ for type_, _, _ in updates} == {UPDATE_TYPE}
    acknowledged = [batch(0, 0, ACKNOWLEDGED), batch(1, 1, ARCHIVED), batch(2, 2, AVAILABLE), batch(4, 4, ACKNOWLEDGED)]
    fields = ("startOffset", "deliveryCompleteCount", "stateBatches")
    assert [tuple(value[name] for name in fields) for _, _, value in updates if value is not None] == [
        (0, 3, acknowledged),
        (2, 1, [batch(3, 3, AVAILABLE)]),
    ]


def test_the_group_and_its_partitions_are_decoded(data_dir: Path) -> None:
    records = decoded(data_dir, "__consumer_offsets-0", "--offsets-decoder")
    assert {key["groupId"] for _, key, _ in records} == {GROUP}
    joined = next(value for type_, _, value in records if type_ == "10")
    assert joined is not None
    assert (joined["clientId"], joined["subscribedTopicNames"]) == ("barnabas-client", [TOPIC])
    initialized = [value["initializedTopics"] for type_, _, value in records if type_ == "15" and value is not None]
    ((topic,),) = filter(None, initialized)
    assert (topic["topicName"], topic["partitions"]) == (TOPIC, [0])
    gone = [(type_, key.get("memberId")) for type_, key, value in records if value is None]
    assert gone == [("14", MEMBER), ("13", MEMBER), ("10", MEMBER)]
