"""Long work is done in slices: one for each in turn, and only some of it at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from barnabas.broker.slices import SLICE_MS, UNDER_WAY_MAX, Slices
from barnabas.storage.steps import Steps
from tests.support.broker_world import settle
from tests.support.virtual_clock import VirtualClock

STEPS_A_SLICE = 3


class Stopwatch(VirtualClock):
    """A clock that goes on by a part of a slice whenever somebody looks at it."""

    looks = 0

    def monotonic(self) -> float:
        self.looks += 1
        return super().monotonic() + self.looks * SLICE_MS / 1000 / STEPS_A_SLICE * 1.001


class Diary:
    """Who did a step, and who was closed."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.begun: list[str] = []

    def work(self, name: str, steps: int, error: Exception | None = None) -> Callable[[], Steps[str]]:
        def begin() -> Steps[str]:
            self.begun.append(name)
            try:
                for _ in range(steps):
                    self.lines.append(name)
                    yield
            except GeneratorExit:
                self.lines.append(f"{name} closed")
                raise
            if error is not None:
                raise error
            return f"{name} is over"

        return begin


@pytest.fixture
async def world() -> tuple[Slices, Stopwatch, Diary]:
    clock = Stopwatch()
    return Slices(clock, asyncio.get_running_loop()), clock, Diary()


async def turn(clock: VirtualClock) -> None:
    clock.advance(SLICE_MS)
    await settle()


World = tuple[Slices, Stopwatch, Diary]


async def test_short_work_is_over_at_once(world: World) -> None:
    slices, clock, diary = world

    assert slices.run(diary.work("a", 2)) == "a is over"
    with pytest.raises(ValueError, match="no"):
        slices.run(diary.work("b", 1, ValueError("no")))
    assert clock.pending_timers() == slices.under_way == 0


async def test_each_has_a_slice_in_turn(world: World) -> None:
    slices, clock, diary = world
    first, second = slices.run(diary.work("a", 7)), slices.run(diary.work("b", 5))
    assert isinstance(first, asyncio.Future)
    assert isinstance(second, asyncio.Future)

    for _ in range(4):
        diary.lines.append("others")
        await turn(clock)

    assert diary.lines == [*"aaabbb", "others", *"aaa", "others", *"bb", "others", "a", "others"]
    assert (first.result(), second.result()) == ("a is over", "b is over")
    assert clock.pending_timers() == slices.under_way == 0


async def test_an_error_is_that_of_the_work_alone(world: World) -> None:
    slices, clock, diary = world
    first, second = slices.run(diary.work("a", 4, ValueError("no"))), slices.run(diary.work("b", 4))

    await turn(clock)
    await turn(clock)

    assert isinstance(first, asyncio.Future)
    assert isinstance(second, asyncio.Future)
    assert isinstance(first.exception(), ValueError)
    assert second.result() == "b is over"


async def test_only_some_hold_what_they_have_begun_and_the_others_wait_in_line(world: World) -> None:
    slices, clock, diary = world
    names = "abcdefg"

    asked = {name: slices.run(diary.work(name, 5)) for name in names}

    assert slices.under_way == UNDER_WAY_MAX == 4
    assert [line for line in diary.lines if line.endswith("closed")] == ["e closed", "f closed", "g closed"]
    assert slices.run(diary.work("short", 1)) == "short is over", "a line of long work holds nobody up who is short"
    for _ in range(20):
        await turn(clock)
        assert slices.under_way <= UNDER_WAY_MAX
    assert [future.result() for future in asked.values()] == [f"{name} is over" for name in names]
    assert diary.begun == [*"abcdefg", "short", *"efg"]


async def test_work_that_is_given_up_makes_room_and_is_not_gone_on_with(world: World) -> None:
    slices, clock, diary = world
    asked = {name: slices.run(diary.work(name, 1000)) for name in "abcdef"}

    for name in "abe":
        asked[name].cancel()
    await settle()

    assert diary.lines[-2:] == ["a closed", "b closed"], "of what waits in line there is nothing to close"
    assert slices.under_way == 3
    lines = len(diary.lines)
    for _ in range(6):
        await turn(clock)
    assert set(diary.lines[lines:]) == {"c", "d", "f"}
    for name in "cdf":
        asked[name].cancel()
    await settle()
    await turn(clock)
    assert clock.pending_timers() == slices.under_way == 0
