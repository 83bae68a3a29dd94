"""Long work is done in slices: one for each in turn, and only some of it at a time."""

import asyncio
import gc
import weakref
from collections.abc import Callable
from typing import Any, cast

import pytest

from barnabas.broker.runtime.scheduler import (
    LOOK_UP,
    REST_MS_MAX,
    SLICE_MS,
    UNDER_WAY_MAX,
    CooperativeScheduler,
    Work,
    WorkClass,
)
from tests.support.worlds.broker import settle

STEPS_A_SLICE = 3


class Loop:
    """Calls that wait until the test has them made, and how long they should."""

    def __init__(self) -> None:
        self.calls: list[tuple[float, Callable[[], None]]] = []
        self.create_future = asyncio.get_running_loop().create_future
        self.in_thread: list[tuple[Callable[[], Any], asyncio.Future[Any]]] = []

    def run_in_executor(self, _: None, function: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        future = self.create_future()
        self.in_thread.append((lambda: function(*args), future))
        return future

    async def end_thread(self) -> None:
        """What was given to threads is done there now."""
        calls, self.in_thread = self.in_thread, []
        while calls:
            call, future = calls.pop(0)
            if not future.done():
                future.set_result(call())
            del call, future  # the traceback of an error refers to this frame
        await settle()

    def call_soon(self, callback: Callable[..., None], *args: Any) -> None:
        self.call_later(0, callback, *args)

    def call_later(self, delay_s: float, callback: Callable[..., None], *args: Any) -> None:
        self.calls.append((delay_s, lambda: callback(*args)))

    async def turn(self) -> None:
        calls, self.calls = self.calls, []
        for _, call in calls:
            call()
        await settle()


class Stopwatch:
    """Goes on by a part of a slice whenever somebody looks at it, unless it stands still."""

    looks = 0
    stands_still = False

    def __call__(self) -> float:
        self.looks += not self.stands_still
        return self.looks * SLICE_MS / 1000 / STEPS_A_SLICE * 1.001


class World:
    """Slices, what they run on, and a diary of who did a step and who was closed."""

    def __init__(self, *, rests: bool = True) -> None:
        self.loop = Loop()
        self.stopwatch = Stopwatch()
        self.slices = CooperativeScheduler(cast(asyncio.AbstractEventLoop, self.loop), self.stopwatch, rests=rests)
        self.lines: list[str] = []
        self.begun: list[str] = []

    def ask(self, name: str, steps: int, error: Exception | None = None, kind: WorkClass = LOOK_UP) -> Any:
        def work() -> Work[str]:
            self.begun.append(name)
            try:
                for _ in range(steps):
                    self.lines.append(name)
                    yield None
            except GeneratorExit:
                self.lines.append(f"{name} closed")
                raise
            if error is not None:
                raise error
            return f"{name} is over"

        return self.slices.in_slices(work, kind)

    async def until_over(self) -> None:
        for _ in range(1_000):
            if self.slices.are_over:
                return
            assert self.slices.under_way <= UNDER_WAY_MAX
            await self.loop.turn()
        raise AssertionError("it never ends")


@pytest.fixture
async def world() -> World:
    return World()


async def test_short_work_is_over_at_once(world: World) -> None:
    assert world.ask("a", 2) == "a is over"
    with pytest.raises(ValueError, match="no"):
        world.ask("b", 1, ValueError("no"))
    await world.loop.turn()
    assert not world.loop.calls
    assert world.slices.are_over


async def test_each_has_a_slice_in_turn(world: World) -> None:
    first, second = world.ask("a", 7), world.ask("b", 5)

    for _ in range(4):
        world.lines.append("others")
        await world.loop.turn()

    assert world.lines == [*"aaabbb", "others", *"aaa", "others", *"bb", "others", "a", "others"]
    assert (first.result(), second.result()) == ("a is over", "b is over")
    assert world.slices.are_over


@pytest.mark.parametrize("rests", [True, False])
async def test_client_requests_leave_half_of_the_loop_to_others(rests: bool) -> None:
    world = World(rests=rests)
    world.ask("a", 30)
    for _ in range(5):
        await world.loop.turn()
        delays = [delay_s for delay_s, _ in world.loop.calls if delay_s]
        assert [delay_s >= SLICE_MS / 1000 for delay_s in delays] == ([True] if rests else [])


async def test_the_rest_is_short_though_the_machine_stood_still_within_a_slice(world: World) -> None:
    def work() -> Work[None]:
        for _ in range(2):
            world.stopwatch.looks += 1_000_000
            yield None

    world.slices.in_slices(work)
    for _ in range(2):
        assert max(delay_s for delay_s, _ in world.loop.calls) == REST_MS_MAX / 1000
        await world.loop.turn()


async def test_a_stopwatch_that_stands_still_neither_stops_the_work_nor_makes_a_turn_endless(world: World) -> None:
    world.stopwatch.stands_still = True
    asked = world.ask("a", 10, kind=WorkClass(steps_max=4))
    assert world.lines == ["a"] * 4
    await world.loop.turn()
    assert world.lines == ["a"] * 8
    await world.loop.turn()
    assert asked.result() == "a is over"


async def test_an_error_is_that_of_the_work_alone(world: World) -> None:
    first, second = world.ask("a", 4, ValueError("no")), world.ask("b", 4)
    await world.until_over()
    assert isinstance(first.exception(), ValueError)
    assert second.result() == "b is over"


async def test_only_some_hold_what_they_have_begun_and_the_others_wait_in_line(world: World) -> None:
    names = "abcdefg"

    asked = {name: world.ask(name, 5) for name in names}

    assert world.slices.under_way == UNDER_WAY_MAX == 4
    assert [line for line in world.lines if line.endswith("closed")] == ["e closed", "f closed", "g closed"]
    assert world.ask("short", 1) == "short is over", "a line of long work holds nobody up who is short"
    await world.until_over()
    assert [future.result() for future in asked.values()] == [f"{name} is over" for name in names]
    assert world.begun == [*"abcdefg", "short", *"efg"]


async def test_non_repeatable_work_begins_once_there_is_room(world: World) -> None:
    kind = WorkClass(under_way_max=2, may_begin_again=False)
    asked = {name: world.ask(name, 5, kind=kind) for name in "abcd"}
    assert world.begun == ["a", "b"]
    await world.until_over()
    assert [future.result() for future in asked.values()] == [f"{name} is over" for name in "abcd"]
    assert world.begun == [*"abcd"]


async def test_first_slices_that_can_wait_share_a_turn(world: World) -> None:
    kind = WorkClass(first_ms=SLICE_MS)
    asked = {name: world.ask(name, 1 if name == "d" else 5, kind=kind) for name in "abcd"}
    assert world.begun == ["a"], "its slice has used the turn up"
    await world.until_over()
    assert [future.result() for future in asked.values()] == [f"{name} is over" for name in "abcd"]


async def test_work_that_waits_for_something_goes_on_when_that_is_done(world: World) -> None:
    disk: asyncio.Future[None] = world.loop.create_future()

    def work() -> Work[str]:
        yield disk
        return "over"

    asked = world.slices.in_slices(work)
    assert isinstance(asked, asyncio.Future)
    for _ in range(3):
        await world.loop.turn()
    assert not asked.done()
    disk.set_result(None)
    await settle()
    await world.until_over()
    assert asked.result() == "over"


async def test_work_whose_step_was_cancelled_is_cancelled_and_blocks_no_other_client(world: World) -> None:
    disk: asyncio.Future[None] = world.loop.create_future()

    def work() -> Work[str]:
        yield disk
        disk.result()
        return "over"

    asked, other = world.slices.in_slices(work), world.ask("a", 7)
    assert isinstance(asked, asyncio.Future)
    disk.cancel()
    await settle()
    await world.until_over()
    assert asked.cancelled()
    assert other.result() == "a is over"
    assert world.slices.under_way == 0

    at_once = world.slices.in_slices(work)
    assert isinstance(at_once, asyncio.Future)
    assert at_once.cancelled(), "likewise if it is in the first slice"


def in_a_thread(calls: list[str], name: str, error: Exception | None = None) -> Callable[[], Work[Any]]:
    """Work of which one call is done in a thread."""

    def call() -> None:
        calls.append(name)
        if error is not None:
            raise error

    def work() -> Work[Any]:
        yield call
        return f"{name} is over"

    return work


async def test_thread_work_of_a_step_begins_when_there_is_room_for_it(world: World) -> None:
    calls: list[str] = []
    kind = WorkClass(under_way_max=1)
    asked: list[Any] = [world.slices.in_slices(in_a_thread(calls, name), kind) for name in "ab"]
    assert len(world.loop.in_thread) == 1, "the other one is in line and has nothing begun"
    assert not any(future.done() for future in asked)
    await world.loop.end_thread()
    await world.loop.turn()
    assert asked[0].result() == "a is over"
    await world.loop.turn()
    await world.loop.end_thread()
    await world.until_over()
    assert asked[1].result() == "b is over"
    assert calls == ["a", "b"]


async def test_an_exception_in_the_thread_goes_to_who_waits_or_to_nobody(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    works = [in_a_thread([], name, ValueError("no")) for name in "ab"]
    asked, given_up = map(world.slices.in_slices, works)
    given_up.cancel()
    await settle()
    await world.loop.end_thread()
    await world.until_over()
    assert isinstance(asked.exception(), ValueError)
    assert world.slices.under_way == 0
    assert not caplog.records


async def test_work_may_go_on_after_an_exception_in_the_thread(world: World) -> None:
    def work() -> Work[Any]:
        try:
            yield from in_a_thread([], "a", ValueError("no"))()
        except ValueError as error:
            yield None
            return f"nevertheless: {error}"

    asked = world.slices.in_slices(work)
    await world.loop.end_thread()
    await world.until_over()
    assert asked.result() == "nevertheless: no"


async def test_work_that_is_given_up_makes_room_and_is_not_gone_on_with(world: World) -> None:
    asked = {name: world.ask(name, 1000) for name in "abcdef"}

    for name in "abe":
        asked[name].cancel()
    await settle()

    assert world.lines[-2:] == ["a closed", "b closed"], "of what waits in line there is nothing to close"
    assert world.slices.under_way == 3
    lines = len(world.lines)
    for _ in range(6):
        await world.loop.turn()
    assert set(world.lines[lines:]) == {"c", "d", "f"}
    for name in "cdf":
        asked[name].cancel()
    await settle()
    await world.loop.turn()
    assert world.slices.are_over
    assert world.slices.under_way == 0


async def test_a_stop_gives_up_what_is_not_over_and_lets_nothing_long_begin(world: World) -> None:
    asked = {name: world.ask(name, 1000) for name in "abcdef"}
    world.slices.close()
    assert all(future.cancelled() for future in asked.values())
    assert world.lines[-4:] == ["a closed", "b closed", "c closed", "d closed"]
    assert world.ask("short", 1) == "short is over"
    assert world.ask("long", 1000).cancelled()
    await settle()
    await world.loop.turn()
    assert world.slices.are_over


class FailingLater:
    def work(self) -> Work[None]:
        for _ in range(2 * STEPS_A_SLICE):
            yield None
        raise RuntimeError("in a later slice")


class FailingInAThread:
    def work(self) -> Work[None]:
        yield self.fail

    @staticmethod
    def fail() -> None:
        raise RuntimeError("in a thread")


@pytest.mark.pure  # the compiled form keeps no frames
@pytest.mark.parametrize("kind", [FailingLater, FailingInAThread])
async def test_failed_work_closes_its_connection(
    world: World, kind: type[FailingLater] | type[FailingInAThread]
) -> None:
    asker = kind()
    is_gone = weakref.ref(asker)
    work = world.slices.in_slices(asker.work, LOOK_UP)
    del asker
    gc.disable()
    try:
        if kind is FailingInAThread:
            await world.loop.end_thread()
        await world.until_over()
        assert isinstance(cast("asyncio.Future[None]", work).exception(), RuntimeError)
        del work
        assert is_gone() is None
    finally:
        gc.enable()
