"""Group fsync: who is synced together, and who waits for whom."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.broker.partitions.flush.group_flush import ROUND_LOGS, GroupFlush
from barnabas.broker.partitions.flush.sync_rounds import SyncRounds
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.errors import StorageError
from tests.support.worlds.broker import code_of, turn


class Log:
    """As much of a partition as is flushed, with one record in it."""

    topic, partition = "t", 0

    def __init__(self, number: int, synced: list[int]) -> None:
        self.number = number
        self.recovery_point = 0
        self.failure: StorageError | None = None
        self._synced = synced

    def begin_flush(self) -> Log | None:
        return None if self.recovery_point else self

    def run(self) -> None:
        if self.failure is not None:
            raise self.failure
        self._synced.append(self.number)

    def end_flush(self, plan: object) -> None:
        self.recovery_point = 1

    def flush_failed(self, plan: object, error: StorageError) -> None:
        """Its directory would be offline now."""


class World:
    """Logs, and rounds that end when the test says so. `synced` has the logs' numbers, in order."""

    def __init__(self, helpers_max: int = 0) -> None:
        self.synced: list[int] = []
        self._rounds: list[tuple[Callable[[], Any], asyncio.Future[Any]]] = []
        self.flush = GroupFlush(asyncio.get_running_loop(), self._begin, SyncRounds(helpers_max))

    def _begin(self, run: Callable[[], Any]) -> asyncio.Future[Any]:
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._rounds.append((run, done))
        return done

    def logs(self, count: int, first: int = 0) -> list[Log]:
        return [Log(first + number, self.synced) for number in range(count)]

    def wait_for(self, *logs: Log) -> list[asyncio.Future[None]]:
        return [self.flush.synced(log, 1) for log in logs]  # type: ignore[arg-type]  # because it has all that is asked

    async def round(self) -> int:
        """Let the next round run to its end; how many logs it synced."""
        await turn()
        before = len(self.synced)
        run, done = self._rounds.pop()
        done.set_result(run())
        await turn()
        return len(self.synced) - before


@pytest.fixture
async def world() -> World:
    return World()


async def test_all_waiters_are_synced_in_one_round_and_who_comes_later_in_the_next(world: World) -> None:
    first = world.wait_for(*world.logs(ROUND_LOGS))
    await turn()
    second = world.wait_for(*world.logs(1, first=100))
    assert await world.round() == ROUND_LOGS
    assert all(future.done() for future in first)
    assert not second[0].done()
    assert await world.round() == 1
    assert second[0].done()
    assert not world.flush.is_busy


async def test_thousands_of_logs_hold_neither_the_loop_nor_the_one_that_comes_after_them(world: World) -> None:
    many = world.wait_for(*world.logs(5_000))
    assert await world.round() == ROUND_LOGS
    late = world.wait_for(*world.logs(1, first=5_000))
    await world.round()  # was begun before
    assert await world.round() == ROUND_LOGS
    assert late[0].done()
    assert sum(future.done() for future in many) == 3 * ROUND_LOGS - 1


async def test_newer_ones_keep_nobody_waiting_for_ever(world: World) -> None:
    many = world.wait_for(*world.logs(3 * ROUND_LOGS))
    for round_ in range(6):
        world.wait_for(*world.logs(ROUND_LOGS, first=1_000 * (round_ + 1)))
        await world.round()
    assert all(future.done() for future in many)


async def test_a_round_of_what_is_synced_already_is_followed_by_the_others(world: World) -> None:
    logs = world.logs(2 * ROUND_LOGS)
    for log in logs[: ROUND_LOGS // 2] + logs[-ROUND_LOGS // 2 :]:
        log.recovery_point = 1
    waiting = world.wait_for(*logs)
    await turn()  # nothing to sync: no round
    assert await world.round() == ROUND_LOGS
    assert all(future.done() for future in waiting)


async def test_a_log_that_is_held_is_in_no_round_until_it_is_released(world: World) -> None:
    logs = world.logs(2)
    held = logs[0]
    assert world.flush.hold(held)  # type: ignore[arg-type]  # because it has all that is asked
    waiting = world.wait_for(*logs)
    assert await world.round() == 1
    assert [future.done() for future in waiting] == [False, True]
    assert not world.flush.is_busy, "nothing turns round and round meanwhile"
    world.flush.release(held)  # type: ignore[arg-type]  # because it has all that is asked
    assert await world.round() == 1
    assert waiting[0].done()


async def test_a_log_that_is_being_synced_may_not_be_closed_yet(world: World) -> None:
    (log,) = world.logs(1)
    world.wait_for(log)
    await turn()
    assert not world.flush.hold(log)  # type: ignore[arg-type]  # because it has all that is asked
    await world.round()
    assert world.flush.hold(log)  # type: ignore[arg-type]  # because it has all that is asked


async def test_a_failed_sync_fails_the_waiters_of_that_log(world: World) -> None:
    good, bad = world.logs(2)
    bad.failure = StorageError("/d", "no disk", 5)
    waiting = world.wait_for(good, bad)
    await world.round()
    assert waiting[0].exception() is None
    assert code_of(lambda: waiting[1].result()) is ErrorCode.KAFKA_STORAGE_ERROR


async def test_helpers_sync_the_logs_of_a_round_at_the_same_time_and_each_failure_is_its_own() -> None:
    world = World(helpers_max=3)
    together = threading.Barrier(3, timeout=60)

    class Slow(Log):
        def run(self) -> None:
            together.wait()
            super().run()

    logs = [Slow(number, world.synced) for number in range(3)]
    logs[1].failure = StorageError("t-1", "no")
    first, second, third = world.wait_for(*logs)
    assert await world.round() == 2
    assert first.done()
    assert third.done()
    assert isinstance(second.exception(), KafkaError)
    world.flush.close()
