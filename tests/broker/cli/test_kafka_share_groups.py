"""kafka-share-groups about a group with a member; without members: tests/golden/tools/share_groups.txt."""

from collections.abc import Callable, Iterator

import pytest

from barnabas import Barnabas
from barnabas.broker.cli.kafka import main as kafka_tool
from barnabas.client.admin.newer_groups import describe_share_group
from barnabas.client.client import Client
from barnabas.client.consume.share.share_consumer import ShareConsumer
from tests.support.command_line import run_here

Tool = Callable[..., tuple[int, list[list[str]], str]]
"""Returns the status, the lines of stdout as words, and stderr."""


@pytest.fixture
def tool(capsysbinary: pytest.CaptureFixture[bytes]) -> Iterator[Tool]:
    """The tool beside a member `m` of the group `workers`, which reads two partitions of `jobs`."""
    offline = run_here(kafka_tool, capsysbinary)
    with Barnabas(in_process=True) as broker, Client(broker.bootstrap_servers) as client:
        broker.create_topic("jobs", 2)

        def run(words: str) -> tuple[int, list[list[str]], str]:
            address = ("--bootstrap-server", broker.bootstrap_servers)
            status, out, err = offline("kafka-share-groups", *address, *words.split())
            return status, [line.split() for line in out.splitlines() if line], err.strip()

        with ShareConsumer(client, "workers", ["jobs"], member_id="m") as member:
            member.poll(100, 1)
            while not any(each.assignment for each in describe_share_group(client, "workers").members):
                member.poll(100, 1)
            yield run


def test_members_have_their_partitions(tool: Tool) -> None:
    who = ["workers", "m", "/127.0.0.1", "barnabas-client", "2"]
    header = ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]
    _, (shown, row), err = tool("--describe --group workers --members")
    assert (shown, row, err) == ([*header, "ASSIGNMENT"], [*who, "jobs:0,1"], "")
    _, (shown, row), _ = tool("--describe --group workers --members --verbose")
    assert (shown, row[:5], row[6]) == ([*header, "MEMBER-EPOCH", "ASSIGNMENT"], who, "jobs:0,1")


def test_a_group_with_members_is_not_changed(tool: Tool) -> None:
    assert tool("--reset-offsets --group workers --topic jobs --to-earliest --execute") == (
        1,
        [],
        "Share group 'workers' is not empty.",
    )
    _, (_, reason), _ = tool("--delete --group workers")
    assert " ".join(reason) == "* Group 'workers' could not be deleted due to: Share group 'workers' is not EMPTY."
    _, (error, *_), _ = tool("--delete-offsets --group workers --topic jobs")
    assert " ".join(error) == "Error: The group still has members."


def test_of_several_groups_those_that_can_be_deleted_are(tool: Tool) -> None:
    tool("--reset-offsets --group idle --topic jobs --to-earliest --execute")
    _, lines, _ = tool("--delete --group workers --group idle")
    assert " ".join(lines[-1]) == "These share groups were deleted successfully: 'idle'"
    assert [each[0] for each in tool("--list")[1]] == ["workers"]


def test_an_unknown_state_is_refused(tool: Tool) -> None:
    assert tool("--list --state Sleeping")[::2] == (
        1,
        "Invalid state list 'Sleeping'. Valid states are: Stable, Dead, Empty",
    )
