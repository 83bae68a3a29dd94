"""A clock that is stopped, moved ahead and let go on, over a machine's clock that a test moves."""

import asyncio
import itertools

import pytest

from barnabas.broker.control.time_control.movable_clock import MOVE_MS_MAX, TIMES_IN_A_MOVE, ClockRefused, MovableClock
from tests.support.virtual_clock import VirtualClock

START_MS = 1_700_000_000_000


async def at_once() -> None:
    """Nothing is under way."""


def both(ahead_ms: int = 0) -> tuple[VirtualClock, MovableClock]:
    machine = VirtualClock(START_MS)
    return machine, MovableClock(machine, ahead_ms=ahead_ms)


def test_while_it_runs_it_is_the_machines_clock() -> None:
    machine, clock = both()
    ran: list[int] = []
    clock.call_later(1000, lambda: ran.append(clock.now_ms()))
    machine.advance(999)
    assert not ran
    machine.advance(1)
    assert ran == [START_MS + 1000]
    assert (clock.ahead_ms, clock.is_frozen, clock.is_moving) == (0, False, False)


def test_timers_run_in_the_order_of_their_times_whenever_they_were_made() -> None:
    machine, clock = both()
    ran: list[str] = []
    clock.call_later(2000, lambda: ran.append("second"))
    clock.call_later(1000, lambda: ran.append("first"))
    clock.call_later(1500, lambda: ran.append("never")).cancel()
    machine.advance(5000)
    assert ran == ["first", "second"]


async def test_a_clock_that_stands_still_shows_one_time_and_runs_no_timer() -> None:
    machine, clock = both()
    ran: list[str] = []
    clock.call_later(1000, lambda: ran.append("due"))
    clock.freeze()
    clock.call_later(500, lambda: ran.append("made while it stands"))
    machine.advance(60_000)
    assert (clock.now_ms(), ran, clock.is_frozen) == (START_MS, [], True)
    clock.run()
    assert clock.ahead_ms == -60_000
    machine.advance(500)
    assert ran == ["made while it stands"]
    machine.advance(500)
    assert ran == ["made while it stands", "due"]
    assert clock.now_ms() == START_MS + 1000


async def test_each_timer_on_the_way_runs_at_its_own_time_and_those_that_they_make() -> None:
    _, clock = both()
    seen: list[tuple[str, int]] = []

    def note(name: str) -> None:
        seen.append((name, clock.now_ms() - START_MS))

    def first() -> None:
        note("first")
        clock.call_later(500, lambda: note("made by the first"))

    clock.call_later(3000, lambda: note("third"))
    clock.call_later(1000, first)
    clock.call_later(5001, lambda: note("beyond"))
    clock.freeze()
    await clock.advance(5000, at_once)
    assert seen == [("first", 1000), ("made by the first", 1500), ("third", 3000)]
    assert (clock.now_ms(), clock.is_frozen) == (START_MS + 5000, True)


async def test_due_timers_finish_before_the_clock_moves_on() -> None:
    _, clock = both()
    seen: list[tuple[str, int]] = []
    clock.call_later(1000, lambda: seen.append(("due", clock.now_ms())))
    clock.call_later(2000, lambda: seen.append(("due", clock.now_ms())))

    async def settled() -> None:
        seen.append(("settled", clock.now_ms()))

    await clock.advance(3000, settled)
    assert [(what, now_ms - START_MS) for what, now_ms in seen] == [
        ("settled", 0),
        ("due", 1000),
        ("settled", 1000),
        ("due", 2000),
        ("settled", 2000),
        ("settled", 3000),
    ]


async def test_a_running_clock_goes_on_so_far_ahead_after_a_move() -> None:
    machine, clock = both()
    ran: list[int] = []
    clock.call_later(90_000, lambda: ran.append(clock.now_ms()))
    await clock.advance(60_000, at_once)
    assert (clock.ahead_ms, clock.is_frozen) == (60_000, False)
    machine.advance(30_000)
    assert ran == [START_MS + 90_000]


async def test_two_moves_come_as_far_as_one() -> None:
    _, clock = both()
    clock.freeze()
    for _ in range(100):
        ran: list[int] = []
        clock.call_later(1000, lambda ran=ran: ran.append(clock.now_ms()))  # type: ignore[misc]  # because of the default
        begin_ms = clock.now_ms()
        for step in (1, 332, 667):
            assert not ran
            await clock.advance(step, at_once)
        assert ran == [begin_ms + 1000] == [clock.now_ms()]


async def test_to_a_moment_and_there_it_stands() -> None:
    _, clock = both()
    told: list[int] = []
    await clock.advance_to(START_MS + 7000, at_once, begins=told.append)
    assert (clock.now_ms(), clock.is_frozen, told) == (START_MS + 7000, True, [7000])


async def test_it_never_goes_back_and_not_beyond_reason() -> None:
    _, clock = both()
    with pytest.raises(ClockRefused, match="does not go back"):
        await clock.advance_to(START_MS - 1, at_once)
    with pytest.raises(ClockRefused, match="does not go back"):
        await clock.advance(-1, at_once)
    with pytest.raises(ClockRefused, match="hundred years"):
        await clock.advance(MOVE_MS_MAX + 1, at_once)
    assert (clock.now_ms(), clock.is_frozen) == (START_MS, False)


async def test_a_move_that_cannot_be_settled_ends_where_it_came() -> None:
    machine, clock = both()

    async def settled() -> None:
        if due:
            raise ClockRefused("stuck")

    due: list[int] = []
    clock.call_later(1000, lambda: due.append(1))
    with pytest.raises(ClockRefused, match="stuck"):
        await clock.advance(5000, settled)
    assert (clock.now_ms(), clock.is_moving) == (START_MS + 1000, False)
    machine.advance(10)
    assert clock.now_ms() == START_MS + 1010


async def test_moves_take_turns() -> None:
    _, clock = both()
    await asyncio.gather(clock.advance(1000, at_once), clock.advance(2000, at_once))
    assert clock.now_ms() == START_MS + 3000


async def test_a_freeze_and_a_run_during_a_move_say_how_it_ends() -> None:
    _, clock = both()
    clock.call_later(500, clock.freeze)
    await clock.advance(1000, at_once)
    assert clock.is_frozen
    clock.call_later(500, clock.run)
    await clock.advance(1000, at_once)
    assert (clock.is_frozen, clock.now_ms()) == (False, START_MS + 2000)


async def test_repeated_timers_run_a_bounded_number_of_times_in_a_move() -> None:
    _, clock = both()
    done: list[int] = []

    def again() -> None:
        done.append(clock.now_ms() - START_MS)
        clock.call_later(clock.until_next(10_000), again)

    clock.call_later(10_000, again)
    clock.freeze()
    await clock.advance(7 * 86_400_000, at_once)
    assert len(done) <= 2 * TIMES_IN_A_MOVE
    assert 7 * 86_400_000 - done[-1] < 10_000
    del done[:]
    await clock.advance(60_000, at_once)
    assert len(done) == 6  # so few that each is done
    assert clock.until_next(10_000) == 10_000


async def test_many_timers_of_one_time_leave_the_loop_to_others_in_between() -> None:
    machine = VirtualClock(START_MS)
    milliseconds = itertools.count()
    clock = MovableClock(machine, stopwatch=lambda: next(milliseconds) / 1000)
    turns: list[int] = []
    ran: list[int] = []
    loop = asyncio.get_running_loop()

    def turn() -> None:
        turns.append(len(ran))
        if len(ran) < 100:
            loop.call_soon(turn)

    for number in range(100):
        clock.call_later(1000, lambda number=number: ran.append(number))  # type: ignore[misc]  # because of the default
    turn()
    await clock.advance(1000, at_once)
    assert ran == list(range(100))
    assert max(later - sooner for sooner, later in itertools.pairwise(turns)) <= 3


def test_it_may_begin_ahead_of_the_machine() -> None:
    machine, clock = both(ahead_ms=5000)
    assert clock.now_ms() == START_MS + 5000
    clock.start_ahead(6000)
    machine.advance(1)
    assert clock.now_ms() == START_MS + 6001


def test_a_timer_that_fails_stops_no_other() -> None:
    machine = VirtualClock(START_MS)
    failures: list[Exception] = []
    clock = MovableClock(machine, failures.append)
    ran: list[str] = []

    def fail() -> None:
        raise ValueError("a bug")

    clock.call_later(1000, fail)
    clock.call_later(1000, lambda: ran.append("the other"))
    machine.advance(1000)
    assert (ran, [str(each) for each in failures]) == (["the other"], ["a bug"])
