"""Transactions while their coordinator moves, in the middle and while they end: what is committed is there once, and
what is aborted is not.
"""

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import pytest

from tests.compat.nodes.conftest import Nodes
from tests.support.depth import long
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


@pytest.mark.parametrize("name", [name if name in IN_SHORT_RUNS else long(name) for name in PROGRAMS])
def test_transactions_end_as_they_are_told_while_the_coordinator_moves(
    nodes: Nodes, programs: Mapping[str, Program], name: str
) -> None:
    topic = nodes.topic(f"ended-{name}")
    check_transactions(nodes, programs[name].open(nodes.address, topic), topic)


def check_transactions(nodes: Nodes, producer: Producer, topic: str) -> None:
    """Commit and abort transactions, whose coordinator moves; readers see all and only what is committed."""
    moves = nodes.moves(topic)
    committed: list[str] = []
    for number, after_s in enumerate(MOVES_AFTER_S):
        producer.begin()
        producer.send(topic, 0, f"{number} first")
        moves.coordinate_elsewhere()
        producer.send(topic, 1, f"{number} second")
        moves.lead_elsewhere()
        producer.send(topic, 0, f"{number} third")
        is_committed = number % 3 != 2
        with ThreadPoolExecutor(1) as thread:
            ending = thread.submit(producer.commit if is_committed else producer.abort)
            threading.Event().wait(after_s)
            moves.coordinate_elsewhere()
            ending.result()
        if is_committed:
            committed += [f"{number} {which}" for which in ("first", "second", "third")]
        assert values(nodes.address, topic) == sorted(committed), moves.done
    producer.close()


# --- the Java client ---


def test_javas_transactions_are_there_once_while_coordinator_and_leaders_move(nodes: Nodes) -> None:
    topic = nodes.topic("java-transactions")
    moves = nodes.moves(topic)
    names: list[str] = []
    with TransactionalProducer(nodes.server, JAVA, topic) as program:
        for number, after_s in enumerate(MOVES_AFTER_S):
            name = f"{number}"
            program.send(name)
            moves.coordinate_elsewhere()
            is_committed = number % 3 != 2
            program.tell("commit" if is_committed else "fail")
            threading.Event().wait(after_s)
            moves.make()
            moves.coordinate_elsewhere()
            program.line(f"committed {name}" if is_committed else f"aborted {name}")
            names += [name] if is_committed else []
            assert values(nodes.address, topic) == sorted(records(*names)), moves.done


@pytest.mark.parametrize("steps", [STEPS, long(LONG_STEPS)])
def test_java_copies_exactly_once_while_coordinators_and_leaders_move(nodes: Nodes, steps: int) -> None:
    source, target = nodes.topic(f"copied-{steps}"), nodes.topic(f"copies-{steps}")
    moves = nodes.moves(source, target)
    with ConsumeTransformProduce(nodes.server, JAVA, source, target) as program:
        with writing(nodes.address, source) as written:
            for _ in range(steps):
                moves.make()
                program.commits()
        until(lambda: len(values(nodes.address, target)) >= len(written), DEADLINE_S)
        until(lambda: committed_offsets(nodes.address, f"group-of-{target}", source) >= len(written), DEADLINE_S)
    assert values(nodes.address, target) == sorted(value.upper() for value in written), moves.done
    assert committed_offsets(nodes.address, f"group-of-{target}", source) == len(written)
