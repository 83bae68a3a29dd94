"""Timers: order, cancelling, and what a broken one does to the others."""

import asyncio
from time import monotonic

import pytest

from barnabas.broker.runtime.clock import SystemClock, TimerQueue
from tests.support.virtual_clock import VirtualClock


def test_timers_run_in_order_of_their_due_time_and_then_of_their_creation() -> None:
    clock = VirtualClock()
    ran: list[tuple[str, int]] = []
    start_ms = clock.now_ms()
    for name, delay_ms in (("late", 100), ("early", 5), ("also early", 5), ("at once", 0)):
        clock.call_later(delay_ms, lambda name=name: ran.append((name, clock.now_ms() - start_ms)))  # type: ignore[misc]  # because mypy does not see the default
    clock.advance(100)
    assert ran == [("at once", 0), ("early", 5), ("also early", 5), ("late", 100)]


def test_a_timer_that_a_timer_adds_runs_in_the_same_advance_when_it_is_due() -> None:
    clock = VirtualClock()
    ran: list[int] = []

    def again() -> None:
        ran.append(clock.now_ms())
        clock.call_later(10, again)

    clock.call_later(10, again)
    clock.advance(35)
    assert len(ran) == 3


def test_a_cancelled_timer_never_runs_and_is_not_counted() -> None:
    clock = VirtualClock()
    ran: list[str] = []
    timer = clock.call_later(5, lambda: ran.append("cancelled"))
    clock.call_later(6, lambda: ran.append("kept"))
    timer.cancel()
    timer.cancel()
    assert clock.pending_timers() == 1
    clock.advance(10)
    assert ran == ["kept"]
    timer.cancel()
    assert clock.pending_timers() == 0


def test_cancelled_timers_do_not_pile_up() -> None:
    queue = TimerQueue()
    for due in range(10_000):
        queue.add(1e9 + due, lambda: None).cancel()
    assert len(queue) == 0
    assert len(queue._heap) < 200


def _fail() -> None:
    raise KeyError("missing")


def test_a_timer_that_raises_is_reported_and_the_others_run() -> None:
    errors: list[Exception] = []
    queue = TimerQueue(errors.append)
    ran: list[str] = []
    queue.add(1, _fail)
    queue.add(2, lambda: ran.append("next"))
    queue.run_due(2)
    assert ran == ["next"]
    assert [type(error) for error in errors] == [KeyError]


def test_without_anybody_to_tell_the_error_of_a_timer_is_raised() -> None:
    queue = TimerQueue()
    queue.add(1, _fail)
    with pytest.raises(KeyError):
        queue.run_due(1)


async def test_the_system_clock_runs_timers_on_the_loop_the_earliest_first() -> None:
    made_s = monotonic()
    read = [lambda: made_s]  # so that no pause of the machine comes between the three
    clock = SystemClock(asyncio.get_running_loop(), monotonic=lambda: read[0]())
    done = asyncio.Event()
    ran: list[str] = []
    clock.call_later(20, done.set)
    clock.call_later(10, lambda: ran.append("second"))
    clock.call_later(1, lambda: ran.append("first"))
    read[0] = monotonic
    await asyncio.wait_for(done.wait(), 10)
    assert ran == ["first", "second"]
    assert clock.monotonic() <= clock.monotonic()
    assert clock.now_ms() > 1_700_000_000_000


def test_cancelling_a_timer_that_ran_changes_no_count() -> None:
    queue = TimerQueue()
    ran = queue.add(1.0, lambda: None)
    queue.add(2.0, lambda: None)
    queue.run_due(1.0)
    ran.cancel()
    assert len(queue) == 1
