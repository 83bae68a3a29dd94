"""Transactions while their coordinator moves, in the middle and while they end: what is committed is there once, and
what is aborted is not.
"""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import pytest

from tests.compat.nodes.conftest import NewTopic
from tests.support.processes.moves import Moves
from tests.support.processes.three_nodes import ThreeNodes
from tests.support.waiting import until
from tests.transactions.clients.programs import PROGRAMS
from tests.transactions.conftest import programs as programs
from tests.transactions.model import Program
from tests.transactions.test_java_copiers import ConsumeTransformProduce, writing
from tests.transactions.test_java_programs import TransactionalProducer, records
from tests.transactions.views import committed_offsets, values

JAVA = "4.4.0"
MOVES_AFTER_S = (0.0, 0.001, 0.002, 0.004, 0.008)  # an end was asked for: no event tells how far it is
IN_SHORT_RUNS = ("confluent-kafka",)
STEPS = 6
LONG_STEPS = 60
DEADLINE_S = 60.0


class Producer(Protocol):
    """A transactional producer, as tests/transactions/model.py has it."""

    def begin(self) -> None: ...
    def send(self, topic: str, partition: int, value: str) -> None: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...
    def close(self) -> None: ...


# --- each client, step by step ---


@pytest.mark.parametrize("name", IN_SHORT_RUNS)
def test_transactions_end_as_they_are_told_while_the_coordinator_moves(
    server: ThreeNodes,
    programs: Mapping[str, Program],
    new_topic: NewTopic,
    moves: Callable[..., Moves],
    name: str,
) -> None:
    topic = new_topic(f"ended-{name}")
    check_transactions(server, programs[name].open(server.address, topic), topic, moves(topic))


@pytest.mark.long
@pytest.mark.parametrize("name", [each for each in PROGRAMS if each not in IN_SHORT_RUNS])
def test_they_do_so_in_every_client(
    server: ThreeNodes,
    programs: Mapping[str, Program],
    new_topic: NewTopic,
    moves: Callable[..., Moves],
    name: str,
) -> None:
    topic = new_topic(f"ended-{name}")
    check_transactions(server, programs[name].open(server.address, topic), topic, moves(topic))


def check_transactions(server: ThreeNodes, producer: Producer, topic: str, nodes: Moves) -> None:
    """Commit and abort transactions, whose coordinator moves; readers see all and only what is committed."""
    committed: list[str] = []
    for number, after_s in enumerate(MOVES_AFTER_S):
        producer.begin()
        producer.send(topic, 0, f"{number} first")
        nodes.coordinate_elsewhere()
        producer.send(topic, 1, f"{number} second")
        nodes.lead_elsewhere()
        producer.send(topic, 0, f"{number} third")
        is_committed = number % 3 != 2
        with ThreadPoolExecutor(1) as thread:
            ending = thread.submit(producer.commit if is_committed else producer.abort)
            threading.Event().wait(after_s)
            nodes.coordinate_elsewhere()
            ending.result()
        if is_committed:
            committed += [f"{number} {which}" for which in ("first", "second", "third")]
        assert values(server.address, topic) == sorted(committed), nodes.told
    producer.close()


# --- the Java client ---


def test_javas_transactions_are_there_once_while_coordinator_and_leaders_move(
    server: ThreeNodes, new_topic: NewTopic, moves: Callable[..., Moves]
) -> None:
    topic = new_topic("java-transactions")
    nodes = moves(topic)
    names: list[str] = []
    with TransactionalProducer(server, JAVA, topic) as program:
        for number, after_s in enumerate(MOVES_AFTER_S):
            name = f"{number}"
            program.send(name)
            nodes.coordinate_elsewhere()
            is_committed = number % 3 != 2
            program.tell("commit" if is_committed else "fail")
            threading.Event().wait(after_s)
            nodes.make()
            nodes.coordinate_elsewhere()
            program.line(f"committed {name}" if is_committed else f"aborted {name}")
            names += [name] if is_committed else []
            assert values(server.address, topic) == sorted(records(*names)), nodes.told


def test_java_copies_exactly_once_while_coordinators_and_leaders_move(
    server: ThreeNodes, new_topic: NewTopic, moves: Callable[..., Moves]
) -> None:
    _check_copies(server, new_topic("copied"), new_topic("copies"), moves, STEPS)


@pytest.mark.long
def test_java_does_so_for_long(server: ThreeNodes, new_topic: NewTopic, moves: Callable[..., Moves]) -> None:
    _check_copies(server, new_topic("long-copied"), new_topic("long-copies"), moves, LONG_STEPS)


def _check_copies(server: ThreeNodes, source: str, target: str, moves: Callable[..., Moves], steps: int) -> None:
    nodes = moves(source, target)
    with ConsumeTransformProduce(server, JAVA, source, target) as program:
        with writing(server.address, source) as written:
            for _ in range(steps):
                nodes.make()
                program.commits()
        until(lambda: len(values(server.address, target)) >= len(written), DEADLINE_S)
        until(lambda: committed_offsets(server.address, f"group-of-{target}", source) >= len(written), DEADLINE_S)
    assert values(server.address, target) == sorted(value.upper() for value in written), nodes.told
    assert committed_offsets(server.address, f"group-of-{target}", source) == len(written)
