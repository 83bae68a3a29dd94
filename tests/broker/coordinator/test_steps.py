"""The end of a transaction is held up at each of its steps, and goes on when it is let go; nobody else waits."""

import asyncio
from asyncio import Future
from typing import Any

import pytest

from barnabas.broker.coordinator.transaction.decisions.states import TransactionState as S
from barnabas.broker.coordinator.transaction.prepared_transactions import finish_transactions
from barnabas.broker.runtime.events import EventKind
from barnabas.broker.runtime.events.events import Facts
from barnabas.protocol.errors import ErrorCode as E
from tests.support.worlds.broker import settle
from tests.support.worlds.transactional_broker import TransactionalBroker

STEPS = ["transaction.prepared", "transaction.marker_writing", "transaction.marker_written", "transaction.marked"]


class Barrier:
    """Holds up whatever comes to one step, and notes all steps that are told."""

    def __init__(self, world: TransactionalBroker, step: str, **matching: object) -> None:
        self.told: list[tuple[str, Facts]] = []
        self.held: list[Future[None]] = []
        self._step = step
        self._matching = matching
        world.broker.services.events.listen(self)

    def __call__(self, kind: EventKind, facts: Facts) -> Future[None] | None:
        self.told.append((kind.name, facts))
        if kind.name != self._step or any(facts[name] != value for name, value in self._matching.items()):
            return None
        self.held.append(asyncio.get_running_loop().create_future())
        return self.held[-1]

    def names(self) -> list[str]:
        return [name for name, _ in self.told if name in STEPS]

    async def let_go(self) -> None:
        while waiting := [future for future in self.held if not future.done()]:
            for future in waiting:
                future.set_result(None)
            await settle()


def markers(world: TransactionalBroker) -> list[int]:
    return [world.log(partition).log_end_offset - 1 for partition in range(3)]


@pytest.mark.parametrize(
    ("step", "facts", "are_shown", "are_marked"),
    [
        ("transaction.prepared", {}, 0, [0, 0, 0]),
        ("transaction.marker_writing", {"position": 1}, 0, [0, 0, 0]),
        ("transaction.marker_written", {"position": 1}, 0, [1, 0, 0]),
        ("transaction.marker_writing", {"partition": 2}, 0, [1, 1, 0]),
        ("transaction.marker_written", {"topic": "t", "partition": 2}, 0, [1, 1, 1]),
        ("transaction.marked", {}, 1, [1, 1, 1]),
    ],
)
async def test_a_paused_transaction_is_visible_up_to_its_step(
    world: TransactionalBroker, step: str, facts: dict[str, Any], are_shown: int, are_marked: list[int]
) -> None:
    barrier = Barrier(world, step, **facts)
    producer = await world.written(0, 1, 2)
    assert (await world.end(producer, commit=True)).error is E.NONE, "the decision is answered"
    await settle()
    assert len(barrier.held) == 1
    assert (world.shown(), markers(world)) == ([are_shown] * 3, are_marked)
    assert world.txn().state is S.PREPARE_COMMIT
    await world.advance(3_600_000)
    assert (world.shown(), markers(world)) == ([are_shown] * 3, are_marked), "time alone does not let it go"
    await barrier.let_go()
    assert (world.shown(), markers(world)) == ([1, 1, 1], [1, 1, 1])
    assert world.txn().state is S.COMPLETE_COMMIT
    assert len(barrier.held) == 1, "a step is told once"


@pytest.mark.parametrize("step", STEPS)
async def test_of_one_partition_the_steps_mean_the_same(world: TransactionalBroker, step: str) -> None:
    barrier = Barrier(world, step)
    producer = await world.written(0)
    assert (await world.end(producer, commit=True)).error is E.NONE
    await settle()
    assert world.shown()[0] == (step == "transaction.marked")
    await barrier.let_go()
    assert world.shown()[0] == 1
    assert barrier.names() == STEPS


async def test_others_go_on(world: TransactionalBroker) -> None:
    barrier = Barrier(world, "transaction.marker_writing", transactional_id="held", position=2)
    held, other = await world.written(0, 1, name="held"), await world.written(2, name="other")
    for producer in (held, other):
        assert (await world.end(producer, commit=True)).error is E.NONE
    await settle()
    assert world.shown() == [0, 0, 1]
    assert (world.txn("held").state, world.txn("other").state) == (S.PREPARE_COMMIT, S.COMPLETE_COMMIT)
    await barrier.let_go()
    assert world.shown() == [1, 1, 1]


@pytest.mark.parametrize("step", STEPS)
async def test_a_stop_lets_go_what_is_held_up_and_finishes_it(world: TransactionalBroker, step: str) -> None:
    barrier = Barrier(world, step)
    producer = await world.written(0, 1, 2)
    assert (await world.end(producer, commit=True)).error is E.NONE
    await settle()
    assert len(barrier.held) == 1
    assert await world.until(finish_transactions(world.coordinator))
    assert world.txn().state is S.COMPLETE_COMMIT
    assert world.shown() == [1, 1, 1]
    await barrier.let_go()
    assert markers(world) == [1, 1, 1], "no marker is written twice"


async def test_a_transaction_paused_at_a_kill_is_finished_by_the_next_start(world: TransactionalBroker) -> None:
    barrier = Barrier(world, "transaction.marker_written", position=2)
    producer = await world.written(0, 1, 2)
    assert (await world.end(producer, commit=True)).error is E.NONE
    await settle()
    assert len(barrier.held) == 1
    assert world.shown() == [0, 0, 0]
    after = await world.restart("kill")
    assert after.shown() == [1, 1, 1]
    assert after.txn().state is S.COMPLETE_COMMIT


@pytest.mark.parametrize("step", STEPS)
async def test_the_clock_does_not_wait_for_what_somebody_holds_up(step: str) -> None:
    world = TransactionalBroker(movable=True)
    barrier = Barrier(world, step)
    producer = await world.written(0, 1)
    assert (await world.end(producer, commit=True)).error is E.NONE
    await settle()
    assert len(barrier.held) == 1
    await asyncio.wait_for(world.broker.broker.time_control.get().advance(60_000), 10)
    assert world.txn().state is S.PREPARE_COMMIT
    await barrier.let_go()
    assert world.txn().state is S.COMPLETE_COMMIT
