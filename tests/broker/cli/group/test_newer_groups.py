"""`barnabas groups` with share groups and streams groups."""

import json
from collections.abc import Iterator

import pytest

from barnabas import Barnabas as Broker
from barnabas.client.addresses import Address
from barnabas.client.admin.group_descriptions import MemberDescription, StreamsMemberDescription, read_streams_group
from barnabas.client.client import Client
from barnabas.client.consume.share.share_consumer import ShareConsumer
from barnabas.protocol.messages import streams_group_describe as streams
from tests.support.clients.queues import new_queue
from tests.support.command_line import Barnabas

WAIT_MS = 20_000


@pytest.fixture
def client(queue_broker: Broker) -> Iterator[Client]:
    with Client(queue_broker.bootstrap_servers) as connected:
        yield connected


@pytest.fixture
def group(client: Client, request: pytest.FixtureRequest) -> str:
    """A group without members that has accepted the first three of ten records of its only partition."""
    name = new_queue(client, request.node.name)
    with ShareConsumer(client, name, [name]) as member:
        assert len(member.poll(WAIT_MS, 3)) == 3
        assert member.commit() == {}
    return name


def test_a_share_group_is_described_with_its_members(cli: Barnabas, client: Client, group: str) -> None:
    with ShareConsumer(client, group, [group], member_id="m") as member:
        member.poll(WAIT_MS, 1)
        title, header, row = cli("groups", "describe", group).stdout.splitlines()
        (facts,) = json.loads(cli("groups", "describe", group, "--json").stdout)
        rows = cli("groups", "offsets", group).stdout.splitlines()
    assert title.startswith(f"{group}  Stable  type share  assignor simple  group epoch ")
    assert title.endswith("  1 members")
    assert header.split() == ["member_id", "client_id", "client_host", "assignment", "epoch", "subscription"]
    (found,) = facts["members"]
    assert row.split() == ["m", "barnabas-client", "/127.0.0.1", f"{group}:0", str(found["epoch"]), group]
    assert (facts["type"], facts["protocol"], found["assignment"]) == ("share", "simple", {group: [0]})
    assert [line.split() for line in rows] == [
        ["topic", "partition", "start_offset", "lag", "members"],
        [group, "0", rows[1].split()[2], "7", "m"],
    ]


def test_an_empty_share_group_is_listed_described_and_deleted(cli: Barnabas, group: str) -> None:
    listed = json.loads(cli("groups", "list", "--type", "share", "--json").stdout)
    assert {"group": group, "state": "Empty", "type": "share", "protocol_type": "share"} in listed
    assert group in cli("groups", "describe").stdout
    assert cli("groups", "delete", group) == (0, f"deleted group {group}\n", "")
    assert cli("groups", "offsets", group).status == 1


def test_a_share_group_is_reset(cli: Barnabas, client: Client, group: str) -> None:
    words = ("groups", "reset", group, "--all-topics", "--json")
    (shown,) = json.loads(cli(*words, "--to-latest").stdout)["offsets"]
    assert shown["new_offset"] == 10
    assert json.loads(cli(*words, "--to-offset", "8", "--execute").stdout)["executed"]
    (row,) = json.loads(cli("groups", "offsets", group, "--json").stdout)["offsets"]
    assert (row["start_offset"], row["members"]) == (8, [])
    (shifted,) = json.loads(cli(*words, "--shift-by", "1").stdout)["offsets"]
    assert (shifted["current_offset"], shifted["new_offset"]) == (8, 9)
    with ShareConsumer(client, group, [group]) as member:
        assert [each.record.value for each in member.poll(WAIT_MS)] == [b"8", b"9"]
        refused = cli(*words, "--to-earliest", "--execute")
    assert refused.status == 1
    assert "NON_EMPTY_GROUP" in refused.stderr


def test_the_offsets_of_a_share_group_are_deleted_by_topic(cli: Barnabas, group: str) -> None:
    outcome = cli("groups", "delete", group, "--topic", f"{group}:0")
    assert (outcome.status, f"by topic: --topic {group}" in outcome.stderr) == (2, True)
    deleted = f"group {group}: deleted its start offsets in 1 topic, where it begins anew\n"
    assert cli("groups", "delete", group, "--topic", group) == (0, deleted, "")
    assert cli("groups", "offsets", group) == (0, "", f"group {group} has begun nothing\n")
    again = cli("groups", "delete", group, "--topic", group)
    assert (again.status, "UNKNOWN_TOPIC_OR_PARTITION" in again.stderr) == (1, True)


def _tasks(**tasks: list[int]) -> list[streams.TaskIds]:
    return [streams.TaskIds(subtopology_id=name.lstrip("s"), partitions=numbers) for name, numbers in tasks.items()]


def _assignment(active: list[streams.TaskIds], standby: list[streams.TaskIds]) -> streams.Assignment:
    return streams.Assignment(active_tasks=active, standby_tasks=standby, warmup_tasks=[])


def test_a_streams_group_is_described_with_its_tasks(capsys: pytest.CaptureFixture[str]) -> None:
    member = streams.Member(
        member_id="m",
        member_epoch=3,
        client_id="c",
        client_host="/h",
        topology_epoch=0,
        process_id="p",
        client_tags=[],
        task_offsets=[],
        task_end_offsets=[],
        assignment=_assignment(_tasks(s1=[0], s0=[2, 1]), _tasks(s0=[0])),
        target_assignment=_assignment(_tasks(s0=[1]), []),
        is_classic=False,
    )
    described = streams.DescribedGroup(
        error_code=0, group_id="g", group_state="Reconciling", group_epoch=4, assignment_epoch=3, members=[member]
    )
    group = read_streams_group(described, Address("h", 1))
    tasks = StreamsMemberDescription(3, "p", {"0": [1, 2], "1": [0]}, {"0": [0]}, {}, {"0": [1]})
    assert group.members == [MemberDescription("m", None, "c", "/h", None, None, streams=tasks)]
    from barnabas.broker.cli.group.described import group_facts, print_group

    print_group(group)
    title, header, row = capsys.readouterr().out.splitlines()
    assert title == "g  Reconciling  type streams  group epoch 4  assignment epoch 3  1 members"
    assert header.split()[4:] == ["process_id", "active", "standby", "warmup", "target", "epoch"]
    assert row.split()[4:] == ["p", "0:1,2", "1:0", "0:0", "-", "0:1", "3"]
    (facts,) = group_facts(group)["members"]
    assert (facts["active"], facts["epoch"]) == ({"0": [1, 2], "1": [0]}, 3)
