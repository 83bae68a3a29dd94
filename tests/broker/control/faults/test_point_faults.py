"""Faults at steps: what goes on there is held up until it is released, or the process ends there."""

import asyncio
import logging
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker.control.faults.armed import Armed
from barnabas.broker.control.faults.plan.of_points import FLAGS, NUMBERS, TEXTS, points
from barnabas.broker.control.faults.plan.reading import Known, plan_of
from barnabas.broker.control.faults.point_faults import CRASHING, PointFaults
from barnabas.broker.control.faults.registry import FaultRegistry
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState as S
from barnabas.broker.insight.why.sources.armed_faults import ArmedFaults
from barnabas.broker.services import Deferred
from barnabas.embedded import crashes
from barnabas.protocol.errors import ErrorCode as E
from tests.support.worlds.broker import settle
from tests.support.worlds.transactional_broker import Producer, TransactionalBroker


class FaultyTransactions(TransactionalBroker):
    """With faults at steps; `ended` notes what had ended the process."""

    def __init__(self) -> None:
        super().__init__()
        events = self.broker.services.events
        self.registry = FaultRegistry(asyncio.get_running_loop(), self.broker.machine_clock, events)
        self.ended: list[list[int]] = []
        self.points = PointFaults(self.registry, events, lambda: self.ended.append(self.markers()))

    def arm(self, point: str, does: str, times: Any = 1, **facts: Any) -> Armed:
        known = Known(apis={}, nodes=[1], listeners=[], points=points())
        fault = {"name": "f", "match": {"point": point, **facts}, "do": {does: True}, "times": times}
        (armed,) = self.registry.arm(plan_of(fault, known))
        return armed

    def held_up(self) -> ArmedFaults:
        """As questions ask for what is held up."""
        faults: Deferred[Any] = Deferred(lambda: SimpleNamespace(registry=self.registry))
        faults.get()
        return ArmedFaults(faults)

    async def committed(self) -> Producer:
        """A producer that has asked for a commit over three partitions."""
        producer = await self.producer()
        for partition in range(3):
            assert (await producer.send(b"v", partition)).error_code == E.NONE
        assert (await self.end(producer, commit=True)).error is E.NONE
        await settle()
        return producer

    def markers(self) -> list[int]:
        return [self.log(partition).log_end_offset - 1 for partition in range(3)]

    def shown(self) -> list[int]:
        return [len(self.read(partition)) for partition in range(3)]


@pytest.fixture
async def world() -> AsyncIterator[FaultyTransactions]:
    world = FaultyTransactions()
    yield world
    world.registry.close()
    await world.close()


async def test_a_paused_step_holds_until_it_is_released(world: FaultyTransactions) -> None:
    armed = world.arm("transaction.marker_written", "pause", position=2)
    await world.committed()
    assert (armed.chances.fired, armed.standing) == (1, 1)
    assert (world.markers(), world.shown()) == ([1, 1, 0], [0, 0, 0])
    assert world.registry.release("f") == 1
    await settle()
    assert (world.markers(), world.shown()) == ([1, 1, 1], [1, 1, 1])
    assert world.txn().state is S.COMPLETE_COMMIT


@pytest.mark.parametrize(
    "facts", [{"topic": "other"}, {"transactional_id": "no*"}, {"is_commit": False}, {"position": 4}]
)
async def test_a_step_with_other_facts_is_another(world: FaultyTransactions, facts: dict[str, Any]) -> None:
    armed = world.arm("transaction.marker_written", "pause", **facts)
    await world.committed()
    assert armed.chances.matched == 0
    assert world.shown() == [1, 1, 1]


async def test_a_fault_that_is_taken_back_lets_go_what_it_holds_up(world: FaultyTransactions) -> None:
    world.arm("transaction.prepared", "pause")
    await world.committed()
    assert world.shown() == [0, 0, 0]
    world.registry.reset()
    await settle()
    assert world.shown() == [1, 1, 1]


async def test_a_crash_names_fault_and_step_in_the_last_line_and_ends_the_process_just_there(
    world: FaultyTransactions, caplog: pytest.LogCaptureFixture
) -> None:
    world.arm("transaction.marker_written", "crash", position=2)
    with caplog.at_level(logging.ERROR):
        await world.committed()
    assert world.ended == [[1, 1, 0]]
    (said,) = [each for each in caplog.messages if each.startswith(CRASHING)]
    assert crashes.crash_in(f"now ERROR faults {said}") == crashes.Crash("f", "transaction.marker_written")


async def test_without_armed_faults_there_is_no_listener(world: FaultyTransactions) -> None:
    events = world.broker.services.events
    assert not events.is_on
    world.arm("transaction.prepared", "pause")
    assert events.is_on
    world.registry.reset()
    assert not events.is_on


def test_it_is_known_of_every_fact_what_it_may_be() -> None:
    told = {fact for kind in points().values() for fact in kind.facts}
    assert told == {*NUMBERS, *FLAGS, *TEXTS, "topic", "partition"}
