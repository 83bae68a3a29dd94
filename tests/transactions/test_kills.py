"""Programs and brokers that are killed in the middle: a transaction is whole or absent, and whoever is left goes on.

All clients go through each story side by side, since a dead member is missed only after its session's time, and since
one kill of the broker serves them all. What went wrong with one of them, its own test tells.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.processes.server import Server
from tests.support.waiting import PATIENCE_S
from tests.transactions.clients.programs import PROGRAMS
from tests.transactions.model import Producer, Program
from tests.transactions.views import committed_offsets, make_topics, values, wait_for_coordinators, write

COUNT = 30
every_client = pytest.mark.parametrize("name", PROGRAMS)


class Life:
    """One client's way through a story: its producer, its topics, and what went wrong, if anything did."""

    producer: Producer

    def __init__(self, name: str, story: str, address: str) -> None:
        self.program = Program(name, PROGRAMS[name])
        self.address, self.transactional_id = address, f"{story}-{name}"
        self.source, self.target, self.group = (f"{story}-{name}-{what}" for what in ("in", "out", "copiers"))
        self.failure: Exception | None = None
        self.last_commit_failed = False
        make_topics(address, self.source, self.target)
        write(address, self.source, COUNT)

    def open(self) -> None:
        self.producer = self.program.open(self.address, self.transactional_id)

    def copy(self, count: int) -> None:
        self.producer.copy(self.group, self.source, self.target, count)

    def values(self) -> list[str]:
        if self.failure is not None:
            raise self.failure
        return values(self.address, self.target)


Lives = Mapping[str, Life]


def _side_by_side(lives: Lives, act: Callable[[Life], None]) -> None:
    def try_to(life: Life) -> None:
        try:
            act(life)
        except Exception as problem:
            life.failure = problem

    with ThreadPoolExecutor(len(lives)) as pool:
        list(pool.map(try_to, [life for life in lives.values() if life.failure is None]))


@pytest.fixture(scope="module")
def reborn(server: Server) -> Iterator[Lives]:
    """Programs that were killed with a transaction open, started again and left to finish."""

    def live(life: Life) -> None:
        life.open()
        life.producer.begin()
        life.copy(10)
        life.program.kill()
        life.open()
        life.producer.begin()
        life.copy(COUNT)
        life.producer.commit()

    lives = {name: Life(name, "reborn", server.address) for name in PROGRAMS}
    _side_by_side(lives, live)
    yield lives
    for life in lives.values():
        life.program.kill()


@every_client
def test_a_transaction_of_a_killed_program_is_aborted_and_redone_once(reborn: Lives, name: str) -> None:
    life = reborn[name]
    assert life.values() == sorted(map(str, range(COUNT)))
    assert len(values(life.address, life.target, "read_uncommitted")) == COUNT + 10
    assert committed_offsets(life.address, life.group, life.source) == COUNT


@pytest.fixture(scope="module")
def survivors(mortal_server: Server) -> Iterator[Lives]:
    """Programs under which the broker was killed while their transactions were open, and while they committed."""
    server = mortal_server
    lives = {name: Life(name, "survivor", server.address) for name in PROGRAMS}

    def begin(life: Life) -> None:
        life.open()
        life.producer.begin()
        for partition in range(3):
            life.producer.send(life.target, partition, "before the kill")

    def finish_and_copy(life: Life) -> None:
        life.producer.send(life.target, 0, "after the kill")
        life.producer.commit()
        life.producer.begin()
        life.copy(10)

    def commit(life: Life) -> None:
        try:
            life.producer.commit()
        except AssertionError:
            life.last_commit_failed = True
        one_is_through.set()

    _side_by_side(lives, begin)
    server.kill()
    server.start()
    wait_for_coordinators(server.address, [it.transactional_id for it in lives.values() if it.failure is None])
    _side_by_side(lives, finish_and_copy)
    one_is_through = threading.Event()
    committing = threading.Thread(target=_side_by_side, args=(lives, commit))
    committing.start()
    assert one_is_through.wait(PATIENCE_S)
    server.kill()
    server.start()
    committing.join()
    yield lives
    for life in lives.values():
        life.program.kill()


@every_client
def test_over_kills_of_the_broker_a_transaction_stays_open_and_a_commit_is_whole_or_absent(
    survivors: Lives, name: str
) -> None:
    life = survivors[name]
    found = life.values()
    first, copied = [it for it in found if "kill" in it], [it for it in found if "kill" not in it]
    assert first == ["after the kill", "before the kill", "before the kill", "before the kill"]
    assert len(copied) == 10 or (life.last_commit_failed and copied == [])
    assert committed_offsets(life.address, life.group, life.source) == len(copied)
