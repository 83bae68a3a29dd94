"""Parked requests: woken, timed out, given up; and nobody's trouble is anybody else's."""

import asyncio
from collections.abc import Callable
from functools import partial

import pytest

from barnabas.broker.partitions.purgatory import DelayedOperation, Purgatory, Woken
from tests.support.virtual_clock import VirtualClock
from tests.support.worlds.broker import settle


class Parking:
    """Waiters on a clock that stands still, and one request with a switch."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.waiters = Purgatory(self.clock, asyncio.get_running_loop())
        self.is_ready = False
        self.finished = 0
        self.woken: Woken = ()

    def park(self, *keys: tuple[str, int], timeout_ms: int = 500) -> DelayedOperation[int]:
        return self.waiters.park(keys, timeout_ms=timeout_ms, is_ready=lambda _: self.is_ready, finish=self._finish)

    def _finish(self, woken: Woken) -> int:
        self.finished += 1
        self.woken = woken
        return self.finished


@pytest.fixture
async def parking() -> Parking:
    return Parking()


async def test_a_request_is_finished_once_when_it_is_woken_and_ready(parking: Parking) -> None:
    future = parking.park(("t", 0), ("t", 1))
    parking.waiters.wake("t", 0)
    await settle()
    assert not future.done()
    parking.is_ready = True
    parking.waiters.wake("t", 1)
    parking.waiters.wake("t", 0)
    assert not future.done(), "never inside the call that wakes it"
    await settle()
    assert (future.result(), parking.finished) == (1, 1)
    assert len(parking.waiters) == 0
    assert parking.clock.pending_timers() == 0


async def test_only_waiters_for_a_partition_are_woken_by_it(parking: Parking) -> None:
    parking.is_ready = True
    future = parking.park(("t", 0))
    for elsewhere in (("t", 1), ("u", 0)):
        parking.waiters.wake(*elsewhere)
    await settle()
    assert not future.done()


async def test_a_deadline_finishes_a_request_that_is_not_ready(parking: Parking) -> None:
    future = parking.park(("t", 0), timeout_ms=500)
    parking.clock.advance(499)
    await settle()
    assert not future.done()
    parking.clock.advance(1)
    await settle()
    assert future.result() == 1


async def test_a_request_given_up_leaves_nothing_behind(parking: Parking) -> None:
    future = parking.park(("t", 0))
    future.cancel()
    await settle()
    assert len(parking.waiters) == 0
    assert parking.clock.pending_timers() == 0
    parking.is_ready = True
    parking.waiters.wake("t", 0)
    await settle()
    assert parking.finished == 0


async def test_a_request_given_up_after_it_was_woken_is_not_finished(parking: Parking) -> None:
    future = parking.park(("t", 0))
    parking.is_ready = True
    parking.waiters.wake("t", 0)
    future.cancel()
    await settle()
    assert parking.finished == 0


async def test_an_exception_reaches_the_parked_request_and_not_who_woke_it() -> None:
    clock = VirtualClock()
    waiters = Purgatory(clock, asyncio.get_running_loop())

    def broken(*_: object) -> bool:
        raise ValueError("mine")

    ill = waiters.park([("t", 0)], timeout_ms=500, is_ready=broken, finish=broken)
    well = waiters.park([("t", 0)], timeout_ms=500, is_ready=lambda _: True, finish=lambda _: "fine")
    waiters.wake("t", 0)
    await settle()
    with pytest.raises(ValueError, match="mine"):
        ill.result()
    assert well.result() == "fine"


async def test_at_the_end_everything_parked_is_finished(parking: Parking) -> None:
    futures = [parking.park(("t", number)) for number in range(3)]
    parking.waiters.wake_all()
    await settle()
    assert [future.result() for future in futures] == [1, 2, 3]


async def test_its_owner_is_reported_before_anything_else_of_that_turn_happens(parking: Parking) -> None:
    parking.is_ready = True
    order: list[str] = []
    parking.park(("t", 0)).add_done_callback(lambda waiting: order.append(f"answer {waiting.result()}"))
    parking.waiters.wake("t", 0)
    asyncio.get_running_loop().call_soon(order.append, "another connection")
    await settle()
    assert order == ["answer 1", "another connection"]


async def test_a_request_is_told_which_partitions_were_woken_until_it_is_finished(parking: Parking) -> None:
    parking.park(("t", 0), ("t", 1), ("t", 2), ("t", 3))
    parking.waiters.wake("t", 3)
    await settle()
    assert parking.finished == 0
    parking.is_ready = True
    parking.waiters.wake("t", 1)
    parking.waiters.wake("t", 2)
    await settle()
    assert parking.woken == {("t", 1), ("t", 2), ("t", 3)}


@pytest.mark.parametrize("ending", ["its deadline", "the end of the broker"])
async def test_a_request_that_nobody_woke_is_told_to_look_at_everything(parking: Parking, ending: str) -> None:
    parking.park(("t", 0), ("t", 1))
    parking.waiters.wake("t", 1)
    if ending == "its deadline":
        parking.clock.advance(500)
    else:
        parking.waiters.wake_all()
    parking.waiters.wake("t", 0)
    await settle()
    assert (parking.finished, parking.woken) == (1, None)


async def test_an_attendant_finishes_its_woken_requests_on_demand(parking: Parking) -> None:
    parking.is_ready = True
    woken = [parking.park(("t", 0)), parking.park(("t", 1))]
    woken[0].add_done_callback(lambda _: parking.waiters.wake("t", 1))
    parking.waiters.is_attended = True
    parking.waiters.wake("t", 0)
    assert not woken[0].done()
    parking.waiters.finish_woken()
    assert [each.done() for each in woken] == [True, True], "what is woken meanwhile is finished, too"
    later = parking.park(("t", 0))
    parking.waiters.wake("t", 0)
    assert not later.done()
    await settle()
    assert later.done(), "nobody attends any more"


@pytest.mark.parametrize("finish", [Purgatory.do_left_over, Purgatory.finish_woken])
async def test_what_a_request_leaves_over_is_done_after_its_answer(
    parking: Parking, finish: Callable[[Purgatory], None]
) -> None:
    done: list[int] = []
    parking.waiters.after_answer(lambda: done.append(1))
    assert done == [1], "nobody attends"
    parking.waiters.is_attended = True
    for number in (2, 3):
        parking.waiters.after_answer(partial(done.append, number))
    assert done == [1]
    finish(parking.waiters)
    assert done == [1, 2, 3]
    finish(parking.waiters)
    assert done == [1, 2, 3], "once"


async def test_an_owner_that_fails_keeps_nobody_else_from_being_signalled(parking: Parking) -> None:
    parking.is_ready = True
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, facts: reported.append(facts["exception"]))
    mistake = ValueError("mine")

    def fail(_: object) -> None:
        raise mistake

    parking.park(("t", 0)).add_done_callback(fail)
    other = parking.park(("t", 0))
    parking.waiters.wake("t", 0)
    parking.waiters.finish_woken()
    assert reported == [mistake]
    assert other.done()
