"""Our own client, and `barnabas produce` and `consume`, while leaders and coordinators move and nodes stop."""

import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from barnabas.client.client import Client
from barnabas.client.consume.classic_membership import ClassicProtocol
from barnabas.client.consume.consumer import ConsumedRecord
from barnabas.client.consume.consumer_membership import ConsumerProtocol
from barnabas.client.consume.group_consumer import GroupConsumer
from barnabas.client.consume.membership import GroupProtocol
from barnabas.client.offsets import committed_offsets
from barnabas.client.produce.batching import Delivery
from barnabas.client.produce.producer import Producer
from barnabas.client.transactions.producer import TransactionalProducer
from tests.compat.model import Client as StockClient
from tests.compat.nodes.conftest import Nodes
from tests.compat.nodes.test_transactions import check_transactions
from tests.support.processes.moves import OFFSETS
from tests.support.processes.program import Program
from tests.support.processes.server import ROOT
from tests.support.waiting import until

BARNABAS = str(ROOT / ".venv" / "bin" / "barnabas")
PROTOCOLS: Mapping[str, GroupProtocol] = {"classic": ClassicProtocol(), "consumer": ConsumerProtocol()}
STEPS = 12
LONG_STEPS = 120
TURNS = 4  # of writing and reading, while the nodes make a step
AT_ONCE = 20
LINES = 50
DEADLINE_S = 60.0

many_steps = pytest.mark.parametrize("steps", [STEPS, pytest.param(LONG_STEPS, marks=pytest.mark.long)])


@many_steps
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_our_producer_and_member_lose_nothing_while_leaders_and_the_coordinator_move(
    nodes: Nodes, clients: Mapping[str, StockClient], protocol: str, steps: int
) -> None:
    topic = nodes.topic(f"own-{protocol}-{steps}")
    moves = nodes.moves(topic)
    sent: list[Delivery] = []
    came: list[ConsumedRecord] = []
    told = {"protocol": PROTOCOLS[protocol], "auto_offset_reset": "earliest"}
    with Client(nodes.address) as client, Producer(client) as producer, ThreadPoolExecutor(1) as thread:
        with GroupConsumer(client, topic, [topic], **told) as member:  # type: ignore[arg-type]  # each is of its own type
            for _ in range(steps):
                moving = thread.submit(moves.make)
                for _ in range(TURNS):
                    sent += [producer.send(topic, b"%d" % (len(sent) + number)) for number in range(AT_ONCE)]
                    producer.flush()
                    came += member.poll(timeout_ms=20)
                moving.result()
            deadline = client.deadline()
            while len({_place(each) for each in came}) < len(sent):
                assert not deadline.is_over, moves.done
                came += member.poll()
        ends = committed_offsets(client, topic)
    found = clients["confluent-kafka"].read(nodes.address, topic)
    assert sorted(int(record.value or b"") for record in found) == list(range(len(sent)))
    acknowledged = sorted((each.partition, each.result()) for each in sent)
    assert sorted((record.partition, record.offset) for record in found) == acknowledged
    assert sum(ends.values()) == len(sent)
    _check_order(came)


def _place(consumed: ConsumedRecord) -> tuple[int, int]:
    return consumed.partition, consumed.record.offset


def _check_order(came: list[ConsumedRecord]) -> None:
    """Nothing is passed by: whoever joins again begins at what is committed, at the latest behind what was read."""
    read_to: dict[int, int] = {}
    for partition, offset in map(_place, came):
        assert offset <= read_to.get(partition, 0)
        read_to[partition] = max(read_to.get(partition, 0), offset + 1)


class OwnProducer:
    """Our transactional producer, as tests/transactions/model.py has those of others."""

    def __init__(self, client: Client, transactional_id: str) -> None:
        self._producer = TransactionalProducer(client, transactional_id)
        self._producer.init()
        self.begin, self.commit, self.abort = self._producer.begin, self._producer.commit, self._producer.abort

    def send(self, topic: str, partition: int, value: str) -> None:
        self._producer.send(topic, value.encode(), partition=partition)
        self._producer.flush()

    def close(self) -> None:
        """It has nothing to close."""


def test_our_transactions_end_as_they_are_told_while_the_coordinator_moves(nodes: Nodes) -> None:
    topic = nodes.topic("ended-own")
    with Client(nodes.address) as client:
        check_transactions(nodes, OwnProducer(client, topic), topic)


# --- from a shell ---


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_commands_go_on_while_the_nodes_command_moves_stops_and_starts(
    nodes: Nodes, clients: Mapping[str, StockClient], protocol: str
) -> None:
    topic = nodes.topic(f"shell-{protocol}")
    at = ("--bootstrap-server", nodes.address)
    consume = (BARNABAS, "consume", topic, *at, "--group", topic, "--group-protocol", protocol, "--from-beginning")
    written: list[str] = []
    with Program([BARNABAS, "produce", topic, *at]) as producer, Program(consume) as consumer:
        for words in (
            ("move", topic, "--to", "1"),
            ("move", OFFSETS, "--to", "3"),
            ("stop", "1"),
            ("move", f"{topic}:1", "--to", "3"),
            ("start", "1"),
            ("move", topic, OFFSETS, "--to", "1"),
        ):
            lines = [f"line {len(written) + number}" for number in range(LINES)]
            for line in lines:
                producer.tell(line)
            written.extend(lines)
            subprocess.run([BARNABAS, "nodes", *words, *at], check=True, capture_output=True, timeout=DEADLINE_S)
            until(lambda: set(consumer.lines) >= set(written), DEADLINE_S)
        producer.close_input()
        producer.succeed()
        assert consumer.stop() == 0
    found = clients["confluent-kafka"].read(nodes.address, topic)
    assert sorted((record.value or b"").decode() for record in found) == sorted(written)
    assert set(consumer.lines) == set(written)
