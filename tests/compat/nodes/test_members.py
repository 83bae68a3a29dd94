"""Members of a group come and go while leaders and the coordinator move, and nodes stop: each record is delivered.

What must hold is in `chaos/ledger.py`. The records are written by an idempotent producer of librdkafka: each is there
once, and in order.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.compat.chaos.members import DEADLINE_S, ConfluentMember, KafkaPythonMember, Member, NewConfluentMember
from tests.compat.chaos.play import play
from tests.compat.model import Client
from tests.compat.nodes.conftest import PARTITIONS, SESSION_TIMEOUT_MS, NewTopic
from tests.compat.nodes.java_members import JavaMember, JavaMembers
from tests.support.processes.moves import Moves
from tests.support.processes.three_nodes import ThreeNodes
from tests.support.waiting import until

STEPS = 6
LONG_STEPS = 60
MEMBERS = 3
KINDS = ("java-classic", "java-consumer", "librdkafka-classic", "librdkafka-consumer", "kafka-python")


@pytest.fixture
def kinds(java_members: JavaMembers) -> Mapping[str, Callable[..., Member]]:
    return {
        "java-classic": partial(JavaMember, members=java_members, protocol="classic"),
        "java-consumer": partial(JavaMember, members=java_members, protocol="consumer"),
        "librdkafka-classic": ConfluentMember,
        "librdkafka-consumer": NewConfluentMember,
        "kafka-python": KafkaPythonMember,
    }


class Group:
    """A group that reads a topic of its name, which is written all the while."""

    def __init__(self, server: ThreeNodes, topic: str, moves: Moves, reader: Client) -> None:
        self._address, self._topic, self._moves, self._reader = server.address, topic, moves, reader

    def play(self, members: Sequence[Callable[..., Member]], *, steps: int, seed: int) -> None:
        """A step of the nodes for each that a member makes; then everything is as if nothing had moved."""

        def step(number: int) -> None:
            if number == 0:  # so that there is something to lose
                until(lambda: any(offset > 0 for offset in self._committed().values()), DEADLINE_S)
            self._moves.make()

        ledger = play(
            self._address,
            self._topic,
            members,
            is_static=False,
            seed=seed,
            moves=steps,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            before_move=step,
        )
        assert ledger.verdict() == [], self._moves.told
        written: dict[int, list[int]] = {number: [] for number in range(PARTITIONS)}
        for record in self._reader.read(self._address, self._topic):
            written[record.partition].append(int(record.value or b""))
        assert all(values == sorted(values) for values in written.values()), "in order, and none twice"
        everything = sorted(value for values in written.values() for value in values)
        assert everything == list(range(len(everything)))
        assert ledger.handovers > PARTITIONS, "nothing ever changed hands"
        committed = self._committed()
        for number, offset in ledger.acknowledged().items():
            assert offset <= committed[number] <= len(written[number])

    def _committed(self) -> dict[int, int]:
        admin = AdminClient({"bootstrap.servers": self._address})
        asked = ConsumerGroupTopicPartitions(self._topic, [TopicPartition(self._topic, n) for n in range(PARTITIONS)])
        told = admin.list_consumer_group_offsets([asked])[self._topic].result(timeout=30)
        return {each.partition: each.offset for each in told.topic_partitions}


@pytest.mark.parametrize("kind", KINDS)
def test_records_are_delivered_while_leaders_and_the_coordinator_move(
    server: ThreeNodes,
    clients: Mapping[str, Client],
    kinds: Mapping[str, Callable[..., Member]],
    new_topic: NewTopic,
    moves: Callable[..., Moves],
    kind: str,
) -> None:
    topic = new_topic(f"delivered-{kind}")
    group = Group(server, topic, moves(topic), clients["confluent-kafka"])
    group.play([kinds[kind]] * MEMBERS, steps=STEPS, seed=7)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_they_are_so_for_long(
    server: ThreeNodes,
    clients: Mapping[str, Client],
    kinds: Mapping[str, Callable[..., Member]],
    new_topic: NewTopic,
    moves: Callable[..., Moves],
    kind: str,
    seed: int,
) -> None:
    topic = new_topic(f"long-{kind}-{seed}")
    group = Group(server, topic, moves(topic), clients["confluent-kafka"])
    group.play([kinds[kind]] * MEMBERS, steps=LONG_STEPS, seed=seed)
