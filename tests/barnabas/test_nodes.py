"""A broker that is several nodes, as an object and as a fixture; and `barnabas nodes`, which does the same."""

import json
from collections.abc import Iterable, Iterator

import pytest

from barnabas import Barnabas, BarnabasError
from barnabas.broker.cli import main
from barnabas.broker.cli.nodes import led_by
from barnabas.client.admin.topics import delete_topic, describe_topics
from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.metadata import ClusterInfo, PartitionInfo
from tests.support.clients.committed import begun


@pytest.fixture(scope="module", params=[False, True], ids=["process", "thread"])
def three(request: pytest.FixtureRequest) -> Iterator[Barnabas]:
    with Barnabas(brokers=3, topics={"t": 3}, in_process=request.param) as broker:
        yield broker


def leaders(broker: Barnabas) -> list[int]:
    with Client(broker.bootstrap_servers) as client:
        (topic,) = describe_topics(client, ["t"])
        return [info.leader_id for info in topic.partitions.values()]


def test_clients_find_three_nodes_and_a_leader_on_each(three: Barnabas) -> None:
    assert len(three.bootstrap_servers.split(",")) == 3
    assert sorted(leaders(three)) == [1, 2, 3]
    assert [three.leader("t", number) for number in range(3)] == leaders(three)


def test_a_leader_is_moved_and_its_node_stopped_and_started(three: Barnabas) -> None:
    three.move_leader("t", 0, 2)
    three.move_leader("t", 0, 3)
    assert leaders(three)[0] == 3
    three.stop_node(3)
    assert leaders(three)[0] == three.leader("t") == 2, "which has been a replica since it led"
    three.start_node(3)
    three.move_leader("t", 0, 3)
    assert leaders(three)[0] == 3


def test_a_missing_resource_is_reported(three: Barnabas) -> None:
    for ask in (
        lambda: three.stop_node(4),
        lambda: three.move_leader("t", 9, 1),
        lambda: three.move_leader("t", 0, 9),
        lambda: three.leader("nothing"),
    ):
        with pytest.raises(BarnabasError, match=r"There is no node|there is no partition"):
            ask()


def test_a_restart_keeps_ports_leaders_and_who_is_stopped() -> None:
    with Barnabas(brokers=3, topics={"t": 3}) as broker:
        before = broker.bootstrap_servers
        broker.move_leader("t", 1, 1)
        broker.stop_node(3)
        placed = [broker.leader("t", number) for number in range(3)]
        broker.restart()
        assert broker.bootstrap_servers == before
        assert [broker.leader("t", number) for number in range(3)] == placed
        with Client(broker.bootstrap_servers) as client:
            assert sorted(client.connect().brokers) == [1, 2]


def test_transactions_of_all_nodes_are_reported() -> None:
    with Barnabas(brokers=3, topics={"t": 3}) as broker, Client(broker.bootstrap_servers) as client:
        for name in "abcdef":
            with begun(client, name, b"v") as producer:
                producer.commit()
        assert [each.transactional_id for each in broker.transactions()] == list("abcdef")


@pytest.mark.barnabas(brokers=3, topics={"t": 3})
def test_the_fixture_gives_as_many_nodes_as_its_mark_says(barnabas: Barnabas) -> None:
    assert sorted(leaders(barnabas)) == [1, 2, 3]


def test_one_node_is_not_stopped_alone(barnabas: Barnabas) -> None:
    with pytest.raises(BarnabasError, match="there is one node"):
        barnabas.stop_node(1)


def test_ports_that_are_too_few_are_refused() -> None:
    with pytest.raises(BarnabasError, match=r"there are too few from .*:65535 on"):
        Barnabas(brokers=2, port=65535).start()


def test_a_number_of_nodes_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="brokers 17 is not a number from 1 to 16"):
        Barnabas(brokers=17)


# --- from a shell ----------------------------------------------------------------------------------------------------


def shell(capsys: pytest.CaptureFixture[str], broker: Barnabas, *words: str) -> tuple[int, str]:
    status = main(["nodes", *words, "--bootstrap-server", broker.bootstrap_servers])
    out, err = capsys.readouterr()
    return status, (out + err).strip()


@pytest.mark.barnabas(
    brokers=3, topics={"t": 6}, config={"default.replication.factor": 3, "broker.rack": ["a", "", "c"]}
)
def test_the_command_lists_moves_stops_and_starts(barnabas: Barnabas, capsys: pytest.CaptureFixture[str]) -> None:
    status, listed = shell(capsys, barnabas, "list", "--json")
    assert status == 0
    assert [(each["node"], each["rack"], each["leads"], each["follows"]) for each in json.loads(listed)] == [
        (1, "a", 2, 4),
        (2, "", 2, 4),
        (3, "c", 2, 4),
    ]
    assert shell(capsys, barnabas, "move", "t:0,1", "--to", "3") == (0, "node 3 leads 2 partitions")
    assert [barnabas.leader("t", number) for number in (0, 1)] == [3, 3]
    assert shell(capsys, barnabas, "stop", "3") == (0, "stopped node 3")
    states = {each["node"]: each["state"] for each in json.loads(shell(capsys, barnabas, "list", "--json")[1])}
    assert states == {1: "running", 2: "running", 3: "stopped"}
    assert "stopped" in shell(capsys, barnabas, "list")[1]
    assert shell(capsys, barnabas, "start", "3") == (0, "started node 3")
    assert shell(capsys, barnabas, "move", "t", "--to", "1") == (0, "node 1 leads 6 partitions")


@pytest.mark.barnabas(brokers=2, topics={"t": 1})
def test_a_topic_that_is_deleted_once_a_move_has_found_it_is_told_to_be_gone(
    barnabas: Barnabas, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    refresh = Client.refresh

    def then_deleted(client: Client, topics: Iterable[str] | None, deadline: Deadline) -> ClusterInfo:
        found = refresh(client, topics, deadline)
        monkeypatch.setattr(Client, "refresh", refresh)
        delete_topic(client, "t")
        return found

    monkeypatch.setattr(Client, "refresh", then_deleted)
    status, said = shell(capsys, barnabas, "move", "t", "--to", "2")
    assert (status, "Unable to find a topic named t" in said, said.count("\n")) == (1, True, 0), said


@pytest.mark.barnabas(brokers=2, topics={"t": 1})
@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["stop", "3"], 1, "There is no node 3"),
        (["start", "9"], 1, "There is no node 9"),
        (["move", "none", "--to", "1"], 1, "topic 'none': There is no such topic or partition here"),
        (["move", "t:1", "--to", "1"], 1, "topic 't' has no partition 1"),
        (["move", "t:x", "--to", "1"], 2, "'x' is not a whole number"),
        (["move", "t", "--to", "3"], 1, "includes broker 3, but no such broker is registered"),
    ],
)
def test_impossible_values_are_reported_in_one_line(
    barnabas: Barnabas, capsys: pytest.CaptureFixture[str], words: list[str], status: int, says: str
) -> None:
    told = shell(capsys, barnabas, *words)
    assert (told[0], says in told[1]) == (status, True), told


def test_a_node_that_is_no_replica_takes_the_place_of_the_leader() -> None:
    info = PartitionInfo(leader_id=2, leader_epoch=0, replicas=(1, 2), isr=(1, 2), error_code=0)
    assert led_by(3, info) == [3, 1]
    assert led_by(1, info) == [1, 2]
