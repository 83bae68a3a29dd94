"""Rounds of syncs over real logs: when one call carries them all, how it fails, and when it is left alone."""

import asyncio
import errno
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.broker.partitions.flush.group_flush import GroupFlush
from barnabas.broker.partitions.flush.sync_rounds import REST_S, REST_S_MAX, SLOW_S, SYNCS_MIN, SyncPace, SyncRounds
from barnabas.protocol.errors import ErrorCode
from barnabas.storage.errors import StorageError
from barnabas.storage.log.flush import FlushPlan
from tests.support.files.log_directories import append, flush, open_log, start
from tests.support.files.memory_common_sync import MemoryCommonSync
from tests.support.files.memory_files import MemoryFiles
from tests.support.records.batches import batch_of
from tests.support.worlds.broker import code_of, turn

MANY = SYNCS_MIN + 2
VERY_SLOW_S = 60 * SLOW_S


class World:
    """Logs that are synced, a stopwatch that a test turns, and a disk whose one call takes `call_s`."""

    def __init__(self, logs: int = MANY, *, has_call: bool = True, elsewhere: str = "") -> None:
        self.files = MemoryFiles()
        self.directory = start(self.files)
        common_sync = self.directory.common_sync
        assert isinstance(common_sync, MemoryCommonSync)
        common_sync.elsewhere.add(elsewhere)
        self._common_sync = common_sync
        self.logs = [open_log(self.directory, partition=partition) for partition in range(logs)]
        for log in self.logs:
            append(log)
            flush(log)
        self.files.calls.clear()
        self.now_s = 0.0
        self.call_s = 0.0
        self.rounds = SyncRounds(0, self if has_call else None, lambda: self.now_s)
        self.is_there = True

    # as the common sync that it measures

    def is_usable(self) -> bool:
        return self.is_there

    def sync(self, files: Any, paths: Any) -> None:
        self.now_s += self.call_s
        self._common_sync.sync(files, paths)

    def covers(self, path: str) -> bool:
        return self._common_sync.covers(path)

    def close(self) -> None:
        """Never called: the directory's own is."""

    # what tests do

    def plans(self) -> list[FlushPlan]:
        """One for each log, with a batch each."""
        for log in self.logs:
            append(log)
        return [plan for log in self.logs if (plan := log.begin_flush())]

    def round(self) -> str:
        """A round from append to end: "together" or "by file"."""
        self.files.calls.clear()
        plans = self.plans()
        self.end(plans, self.rounds.run(plans))
        return "together" if self.calls() else "by file"

    def end(self, plans: list[FlushPlan], errors: list[StorageError | None]) -> None:
        for log, plan, error in zip(self.logs, plans, errors, strict=True):
            assert error is None
            log.end_flush(plan)

    def calls(self) -> int:
        return sum(call.name == "sync_together" for call in self.files.calls)


def ends_after_a_power_cut(world: World) -> list[int]:
    world.files.crash("nothing")
    directory = start(world.files)
    return [open_log(directory, partition=partition).log_end_offset for partition in range(len(world.logs))]


@pytest.fixture
def world() -> World:
    return World()


def test_a_round_of_many_is_one_call_and_all_of_it_is_on_the_disk_then(world: World) -> None:
    assert world.round() == "together"
    assert world.calls() == 1
    assert [log.recovery_point for log in world.logs] == [2] * MANY
    assert ends_after_a_power_cut(world) == [2] * MANY


@pytest.mark.parametrize("cut", range(MANY))
def test_a_power_cut_in_the_middle_of_the_call_takes_nothing_that_was_synced_before(world: World, cut: int) -> None:
    plans = world.plans()
    world.files.cut_power_at(world.files.changes_made + cut)
    with pytest.raises(BaseException, match="before change"):
        world.rounds.run(plans)
    assert all(end in (1, 2) for end in ends_after_a_power_cut(world))


def test_a_round_of_few_is_synced_file_by_file() -> None:
    world = World(logs=SYNCS_MIN - 1)
    assert world.round() == "by file"
    assert ends_after_a_power_cut(world) == [2] * (SYNCS_MIN - 1)


def test_without_the_call_rounds_are_file_by_file() -> None:
    assert World(has_call=False).round() == "by file"
    unusable = World()
    unusable.is_there = False
    assert unusable.round() == "by file"


def test_a_plan_that_writes_a_small_file_syncs_by_itself_beside_the_others(world: World) -> None:
    world.logs[1].append(batch_of([1_000]), leader_epoch=7, now_ms=1_000)
    plans = world.plans()
    assert [plan.can_share for plan in plans] == [True, False, *[True] * (MANY - 2)]
    world.end(plans, world.rounds.run(plans))
    assert world.calls() == 1
    assert ends_after_a_power_cut(world) == [2, 3, *[2] * (MANY - 2)]
    assert b"7 1" in (world.files.peek("/data/t-1/leader-epoch-checkpoint") or b"")


def test_a_log_on_another_file_system_syncs_by_itself_beside_the_others() -> None:
    world = World(elsewhere="/data/t-1")
    assert world.round() == "together"
    named = [call.path.split("/")[2] for call in world.files.calls if call.name == "sync"]
    assert named[0] == "t-1", "before the call, which is for the others"
    assert sorted(named) == sorted(f"t-{partition}" for partition in range(MANY))


def test_a_small_file_that_fails_is_the_failure_of_its_plan_alone(world: World) -> None:
    world.logs[1].append(batch_of([1_000]), leader_epoch=7, now_ms=1_000)
    plans = world.plans()
    world.files.fail("rename", errno.ENOSPC, path="/data/t-1/")
    errors = world.rounds.run(plans)
    assert [error is None for error in errors] == [True, False, *[True] * (MANY - 2)]


async def test_a_failed_call_fails_all_waiters_and_the_directory_goes_offline(world: World) -> None:
    loop = asyncio.get_running_loop()

    def at_once(run: Callable[[], Any]) -> asyncio.Future[Any]:
        done: asyncio.Future[Any] = loop.create_future()
        done.set_result(run())
        return done

    group = GroupFlush(loop, at_once, world.rounds)
    world.files.fail("sync_together", errno.EIO)
    for log in world.logs:
        append(log)
    waiting = [group.synced(log, log.log_end_offset) for log in world.logs]
    await turn()
    await turn()
    for future in waiting:
        assert code_of(future.result) is ErrorCode.KAFKA_STORAGE_ERROR
    assert world.directory.offline_reason is not None
    assert [log.recovery_point for log in world.logs] == [1] * MANY


def test_a_slow_call_is_left_for_a_time_and_then_tried_again(world: World) -> None:
    world.call_s = VERY_SLOW_S
    assert world.round() == "together"
    world.call_s = 0.0
    assert world.round() == "by file"
    world.now_s += REST_S - 1
    assert world.round() == "by file"
    world.now_s += 1
    assert world.round() == "together"
    assert world.round() == "together"


def test_one_hiccup_is_not_slow_and_many_are() -> None:
    pace = SyncPace()
    pace.note_together(2 * SLOW_S, 0.0)
    assert not pace.is_resting(0.0)
    for _ in range(20):
        pace.note_together(2 * SLOW_S, 0.0)
    assert pace.is_resting(0.0)


def test_on_a_disk_that_is_slow_file_by_file_too_the_call_is_not_left() -> None:
    pace = SyncPace()
    for _ in range(40):
        pace.note_by_file(4 * SLOW_S)
    for _ in range(40):
        pace.note_together(5 * SLOW_S, 0.0)
    assert not pace.is_resting(0.0)


def test_rests_grow_while_the_call_stays_slow_and_start_over_when_it_was_quick() -> None:
    pace, now_s, rests = SyncPace(), 0.0, []
    for _ in range(7):
        pace.note_together(VERY_SLOW_S, now_s)
        before = now_s
        while pace.is_resting(now_s):
            now_s += REST_S / 2
        rests.append(now_s - before)
    assert rests[:3] == [REST_S, 2 * REST_S, 4 * REST_S]
    assert rests[-1] == REST_S_MAX
    pace.note_together(0.0, now_s)
    pace.note_together(VERY_SLOW_S, now_s)
    assert not pace.is_resting(now_s + REST_S)
