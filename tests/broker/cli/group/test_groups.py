"""`barnabas groups` against a running broker: what is told of groups, and what is done to them."""

import json
from itertools import count
from typing import Any

import pytest

from barnabas.broker.cli.group.group_offsets import both_ends, standing
from barnabas.client.client import Client
from barnabas.client.consume.group_consumer import GroupConsumer
from barnabas.client.offsets import READ_COMMITTED, READ_UNCOMMITTED, commit_offsets, committed_offsets
from barnabas.client.produce.producer import Producer
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.protocol.registry import ApiKey
from tests.support.command_line import Barnabas
from tests.support.processes.own_broker import OwnBroker
from tests.support.scripted.broker import ScriptedBroker

FIRST_MS = 1_700_000_000_000  # 2023-11-14T22:13:20Z


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name of its own for each test's topic and group."""
    name: str = request.node.name.replace("[", "-").replace("]", "")
    return name[:200]


@pytest.fixture
def topic(barnabas: Barnabas, client: Client, name: str) -> str:
    """Two partitions of ten records each, a second apart."""
    barnabas("topics", "create", name, "--partitions", "2")
    with Producer(client) as producer:
        for number in range(20):
            producer.send(name, b"v", partition=number % 2, timestamp=FIRST_MS + number // 2 * 1000)
    return name


@pytest.fixture
def group(client: Client, topic: str) -> str:
    """A group without members that stands at 4 in partition 0, and nowhere in partition 1."""
    commit_offsets(client, topic, {(topic, 0): 4})
    return topic


def offsets_of(barnabas: Barnabas, group: str, *options: str) -> list[dict[str, Any]]:
    outcome = barnabas("groups", "offsets", group, "--json", *options)
    assert outcome.status == 0, outcome.stderr
    rows: list[dict[str, Any]] = json.loads(outcome.stdout)["offsets"]
    return rows


# --- list and describe ---


def test_groups_are_listed_by_state_and_type(barnabas: Barnabas, group: str) -> None:
    assert f"{group}  Empty" in " ".join(barnabas("groups", "list").stdout.split()).replace(f"{group} ", f"{group}  ")
    listed = {each["group"]: each for each in json.loads(barnabas("groups", "list", "--json").stdout)}
    assert listed[group] == {"group": group, "state": "Empty", "type": "classic", "protocol_type": ""}
    for options, is_there in [
        (["--state", "empty"], True),
        (["--state", "Stable"], False),
        (["--state", "Stable", "--state", "Empty", "--type", "Classic"], True),
        (["--type", "share"], False),
    ]:
        found = json.loads(barnabas("groups", "list", "--json", *options).stdout)
        assert (group in {each["group"] for each in found}) is is_there, options


def test_members_and_what_they_read_are_described(barnabas: Barnabas, broker: OwnBroker, topic: str) -> None:
    with Client(broker.address, client_id="reader") as other, GroupConsumer(other, topic, [topic]) as consumer:
        while not consumer.assignment:
            consumer.poll(100)
        lines = barnabas("groups", "describe", topic).stdout.splitlines()
        (described,) = json.loads(barnabas("groups", "describe", topic, "--json").stdout)
        (first, second) = offsets_of(barnabas, topic)
    assert lines[0] == f"{topic}  Stable  protocol consumer range  1 members"
    assert lines[1].split() == ["member_id", "instance_id", "client_id", "client_host", "assignment"]
    assert lines[2].split()[1:] == ["-", "reader", "/127.0.0.1", f"{topic}:0,1"]
    (member,) = described["members"]
    assert (described["state"], described["coordinator"]) == ("Stable", broker.address)
    assert (member["topics"], member["assignment"], member["instance_id"]) == ([topic], {topic: [0, 1]}, None)
    assert [row["member_id"] for row in (first, second)] == [member["member_id"]] * 2
    assert (second["log_end_offset"], second["client_host"]) == (10, "/127.0.0.1")


def test_every_group_is_described_when_none_is_named(barnabas: Barnabas, group: str) -> None:
    assert group in {each["group"] for each in json.loads(barnabas("groups", "describe", "--json").stdout)}


@pytest.mark.parametrize("command", [["describe"], ["offsets"], ["delete"]])
def test_a_group_that_is_not_there_is_reported(barnabas: Barnabas, command: list[str]) -> None:
    outcome = barnabas("groups", *command, "nobody-knows")
    assert (outcome.status, outcome.stdout) == (1, "")
    assert outcome.stderr.startswith("barnabas: GROUP_ID_NOT_FOUND: group 'nobody-knows': ")
    assert outcome.stderr.count("\n") == 1


# --- offsets ---


def test_offsets_and_both_lags_are_reported(barnabas: Barnabas, group: str) -> None:
    header, row = barnabas("groups", "offsets", group).stdout.splitlines()
    assert header.split() == [
        *["topic", "partition", "current_offset", "log_end_offset", "lag", "last_stable_offset"],
        *["lag_committed", "member_id", "client_host"],
    ]
    assert row.split() == [group, "0", "4", "10", "6", "10", "6", "-", "-"]


@pytest.mark.parametrize(
    ("current", "end", "stable", "lags"),
    [
        (4, 10, 8, (6, 4)),  # an open transaction from 8 on
        (8, 10, 8, (2, 0)),  # all that a read_committed consumer gets has been read
        (9, 10, 8, (1, 0)),  # committed by one that reads everything
        (None, 10, 8, (None, None)),
        (4, None, None, (None, None)),  # the partition is gone
    ],
)
def test_kafkas_lag_counts_to_the_end_and_the_other_to_the_last_stable_offset(
    current: int | None, end: int | None, stable: int | None, lags: tuple[int | None, int | None]
) -> None:
    row = standing(("t", 0), current, end, stable)
    assert (row["lag"], row["lag_committed"]) == lags


def test_a_stable_offset_is_never_above_the_end_of_a_log_that_grows() -> None:
    ends = count(10, 10)

    def answer(request: ListOffsetsRequest) -> ListOffsetsResponse:
        found = ListOffsetsPartitionResponse(partition_index=0, error_code=0, offset=next(ends))
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=[found])])

    with ScriptedBroker({ApiKey.LIST_OFFSETS: answer}, {"t": 1}) as broker, Client(broker.address) as client:
        assert both_ends(client, [("t", 0)]) == ({("t", 0): 10}, {("t", 0): 20})
    assert [each.isolation_level for each in broker.of(ListOffsetsRequest)] == [READ_COMMITTED, READ_UNCOMMITTED]


def test_only_the_partitions_named_are_reported(barnabas: Barnabas, client: Client, group: str) -> None:
    commit_offsets(client, group, {(group, 1): 1})
    assert [row["partition"] for row in offsets_of(barnabas, group)] == [0, 1]
    assert [row["partition"] for row in offsets_of(barnabas, group, "--topic", f"{group}:1")] == [1]
    assert [row["lag"] for row in offsets_of(barnabas, group, "--topic", group)] == [6, 9]
    outcome = barnabas("groups", "offsets", group, "--topic", f"{group}:7")
    assert (outcome.status, "has no partition 7" in outcome.stderr) == (1, True)


# --- reset ---


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (["--to-earliest"], 0),
        (["--to-latest"], 10),
        (["--to-offset", "7"], 7),
        (["--to-offset", "700"], 10),
        (["--to-datetime", "2023-11-14T22:13:23.000"], 3),
        (["--to-datetime", "2023-11-14T23:13:22.500+01:00"], 3),
        (["--to-datetime", "2033-01-01T00:00:00Z"], 10),
        (["--shift-by", "3"], 7),
        (["--shift-by", "-3"], 1),
        (["--shift-by", "-30"], 0),
    ],
    ids=lambda value: "_".join(value).strip("-").replace(":", "").replace("+", "p") if isinstance(value, list) else "",
)
def test_a_group_is_moved_only_when_told_to(
    barnabas: Barnabas, client: Client, group: str, where: list[str], expected: int
) -> None:
    command = ["groups", "reset", group, "--topic", f"{group}:0", *where]
    shown = barnabas(*command)
    assert (shown.status, shown.stderr) == (0, "nothing was changed: --execute does it\n")
    assert shown.stdout.splitlines()[1].split() == [group, "0", "4", str(expected)]
    assert committed_offsets(client, group) == {(group, 0): 4}

    done = json.loads(barnabas(*command, "--execute", "--json").stdout)
    moved = {"topic": group, "partition": 0, "current_offset": 4, "new_offset": expected}
    assert done == {"group": group, "executed": True, "offsets": [moved]}
    assert committed_offsets(client, group) == {(group, 0): expected}


def test_a_new_group_is_put_somewhere_and_all_topics_are_those_committed(
    barnabas: Barnabas, client: Client, topic: str
) -> None:
    assert barnabas("groups", "reset", topic, "--topic", topic, "--to-offset", "2", "--execute").status == 0
    assert committed_offsets(client, topic) == {(topic, 0): 2, (topic, 1): 2}
    assert barnabas("groups", "reset", topic, "--all-topics", "--shift-by", "1", "--execute").status == 0
    assert committed_offsets(client, topic) == {(topic, 0): 3, (topic, 1): 3}


def test_a_group_that_is_read_by_a_client_is_not_moved_nor_deleted(
    barnabas: Barnabas, client: Client, topic: str
) -> None:
    with GroupConsumer(client, topic, [topic], auto_offset_reset="earliest") as consumer:
        while not consumer.assignment:
            consumer.poll(100)
        moved = barnabas("groups", "reset", topic, "--topic", topic, "--to-latest", "--execute")
        deleted = barnabas("groups", "delete", topic)
        forgotten = barnabas("groups", "delete", topic, "--topic", topic)
    assert (moved.status, moved.stdout) == (1, "")
    assert moved.stderr == (
        f"barnabas: NON_EMPTY_GROUP: group '{topic}' is Stable with 1 member: stop them before its offsets are "
        "changed\n"
    )
    assert (deleted.status, deleted.stderr[:27]) == (1, "barnabas: NON_EMPTY_GROUP: ")
    assert (forgotten.status, forgotten.stderr[:36]) == (1, "barnabas: GROUP_SUBSCRIBED_TO_TOPIC:")


def test_an_offset_without_a_commit_cannot_be_shifted(barnabas: Barnabas, client: Client, group: str) -> None:
    outcome = barnabas("groups", "reset", group, "--topic", group, "--shift-by", "1", "--execute")
    assert (outcome.status, f"the group has committed no offset for {group}-1" in outcome.stderr) == (1, True)
    assert committed_offsets(client, group) == {(group, 0): 4}


# --- delete ---


def test_groups_are_deleted_with_what_they_committed(barnabas: Barnabas, client: Client, group: str) -> None:
    assert barnabas("groups", "delete", group) == (0, f"deleted group {group}\n", "")
    assert committed_offsets(client, group) == {}
    gone = barnabas("groups", "delete", group, "--if-exists", "--json")
    assert (gone.status, json.loads(gone.stdout)) == (0, {"group": group, "deleted": False})


def test_offsets_are_dropped_partition_by_partition(barnabas: Barnabas, client: Client, group: str) -> None:
    commit_offsets(client, group, {(group, 1): 5})
    outcome = barnabas("groups", "delete", group, "--topic", f"{group}:0")
    assert outcome == (0, f"group {group}: deleted what it committed for 1 partition\n", "")
    assert committed_offsets(client, group) == {(group, 1): 5}
