"""kafka-streams-groups about a group with a member; without groups: tests/golden/tools/streams_groups.txt."""

from collections.abc import Callable, Iterator

import pytest

from barnabas import Barnabas
from barnabas.broker.cli.kafka import main as kafka_tool
from barnabas.client.client import Client
from barnabas.client.offsets import commit_offsets
from tests.support.clients.heartbeats import StreamsMember
from tests.support.command_line import run_here

Tool = Callable[..., list[str]]
"""Returns the lines of stdout with single spaces."""
INTERNAL = ["app-counts-changelog", "app-counts-repartition"]


@pytest.fixture
def broker() -> Iterator[Barnabas]:
    with Barnabas(in_process=True, config={"group.streams.initial.rebalance.delay.ms": 0}) as made:
        made.create_topic("lines", 2)
        yield made


@pytest.fixture
def client(broker: Barnabas) -> Iterator[Client]:
    with Client(broker.bootstrap_servers) as made:
        yield made


@pytest.fixture
def tool(broker: Barnabas, capsysbinary: pytest.CaptureFixture[bytes]) -> Tool:
    offline = run_here(kafka_tool, capsysbinary)

    def run(words: str, *, status: int = 0) -> list[str]:
        done = offline("kafka-streams-groups", "--bootstrap-server", broker.bootstrap_servers, *words.split())
        assert (done.status, done.stderr) == (status, "")
        return [" ".join(line.split()) for line in done.stdout.splitlines() if line]

    return run


def test_a_group_with_a_member_is_described_and_not_changed(client: Client, tool: Tool) -> None:
    member = StreamsMember(client, "app")
    commit_offsets(client, "app", {("lines", 0): 0}, generation_id=member.epoch, member_id="m")
    assert tool("--list --state stable") == ["GROUP STATE", "app Stable"]
    assert tool("--describe --group app")[1:] == [
        f"app {topic} {number} 0" for topic in ("app-counts-repartition", "lines") for number in (0, 1)
    ]
    assert tool("--describe --all-groups --verbose")[3:] == ["app lines 0 0 - 0 0", "app lines 1 - - 0 0"]
    tasks = "0:[0,1]; 1:[0,1];"
    assert tool("--describe --group app --members")[1:] == [f"app m a process barnabas-client ACTIVE: {tasks}"]
    (row,) = tool("--describe --group app --members --verbose")[1:]
    assert row.endswith(f"streams {member.epoch} a process barnabas-client ACTIVE: {tasks} TARGET-ACTIVE: {tasks}")
    assert tool("--reset-offsets --group app --input-topic lines --to-latest --execute") == [
        "Error: Assignments can only be reset if the group 'app' is inactive, but the current state is Stable.",
        "GROUP TOPIC PARTITION NEW-OFFSET",
    ]
    assert "Streams group 'app' is not EMPTY." in tool("--delete --group app")[-1]
    assert "Deleting offsets of a topic is forbidden" in tool("--delete-offsets --group app --all-input-topics")[-1]


def test_a_group_is_deleted_with_its_own_topics_and_no_others(broker: Barnabas, client: Client, tool: Tool) -> None:
    StreamsMember(client, "app").leave()
    assert sorted(broker.topics()) == [*INTERNAL, "lines"]
    tool("--reset-offsets --group app --from-file /dev/null --execute --delete-internal-topic app-counts-changelog")
    assert sorted(broker.topics()) == [*INTERNAL[1:], "lines"]
    failed = "* Internal topics of the streams group 'app' could not be deleted due to: "
    assert tool("--delete --all-groups --delete-all-internal-topics") == [
        "Failed to delete internal topic: app-counts-changelog",
        "Deletion of requested streams groups ('app') was successful.",
        "Deletion of some associated internal topics failed:",
        f"{failed}This server does not host this topic-partition.",
    ]
    assert sorted(broker.topics()) == ["lines"]
    assert tool("--describe --group app", status=1)[0].endswith("Group app not found.")
