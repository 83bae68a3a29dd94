"""Jobs are done in helper processes, or in slices: the same steps, the same results, the same errors."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import uvloop

from barnabas.broker.runtime.scheduler import CooperativeScheduler
from barnabas.broker.runtime.workers.sliced_job import steps_in_slices
from barnabas.broker.runtime.workers.workers import HelperDied, Workers
from barnabas.storage.disk.files import RealFiles
from barnabas.storage.errors import StorageError
from tests.support import waiting
from tests.support.jobs import Count, Die, Fail, Hold
from tests.support.worlds.broker import until

TIMEOUT_S = 30


@contextmanager
def open_workers(processes_max: int = 2, **settings: object) -> Iterator[Workers]:
    loop = asyncio.get_running_loop()
    workers = Workers(loop, CooperativeScheduler(loop, rests=False), RealFiles(), processes_max, **settings)  # type: ignore[arg-type]  # the test says which
    try:
        yield workers
    finally:
        workers.close_now()


def note(order: list[str], name: str, _: object) -> None:
    order.append(name)


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("processes_max", [0, 1])
async def test_a_job_gives_its_result(processes_max: int, tmp_path: Path) -> None:
    with open_workers(processes_max) as workers:
        async with asyncio.timeout(TIMEOUT_S):
            pauses, pid = await workers.run(Count(str(tmp_path), 7))
    assert pauses == 7
    assert (pid == os.getpid()) is (processes_max == 0)


def test_it_runs_under_uvloop(tmp_path: Path) -> None:
    async def run() -> tuple[int, int]:
        with open_workers(1) as workers:
            return await asyncio.wait_for(workers.run(Count(str(tmp_path))), TIMEOUT_S)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(run())[1] != os.getpid()


@pytest.mark.parametrize("processes_max", [0, 1])
async def test_an_exception_of_a_job_is_raised_unchanged(processes_max: int, tmp_path: Path) -> None:
    with open_workers(processes_max) as workers:
        with pytest.raises(StorageError, match="cannot write: no room") as raised:
            await asyncio.wait_for(workers.run(Fail(str(tmp_path))), TIMEOUT_S)
        reason = await asyncio.wait_for(workers.run(Fail(str(tmp_path), in_call=True)), TIMEOUT_S)
    assert (raised.value.path, raised.value.reason, raised.value.errno) == (
        f"{tmp_path}/x",
        "cannot write: no room",
        28,
    )
    assert reason == "cannot write: no room"


async def test_a_process_does_one_job_after_another(tmp_path: Path) -> None:
    with open_workers(1) as workers:
        async with asyncio.timeout(TIMEOUT_S):
            done = await asyncio.gather(*(workers.run(Count(str(tmp_path))) for _ in range(3)))
        assert len({pid for _, pid in done}) == 1
        assert len(workers.pids) == 1


async def test_there_are_no_more_processes_than_allowed(tmp_path: Path) -> None:
    directories = [tmp_path / str(number) for number in range(3)]
    with open_workers(2) as workers:
        for directory in directories:
            directory.mkdir()
            workers.run(Hold(str(directory))).add_done_callback(lambda done: done.cancelled() or done.result())
        await asyncio.to_thread(waiting.until, lambda: sum((each / "begun").exists() for each in directories) == 2)
        assert len(workers.pids) == 2
        (directories[0] / "go on").touch()
        await asyncio.to_thread(waiting.until, lambda: (directories[2] / "begun").exists())
        assert len(workers.pids) == 2


async def test_waiters_come_before_background_work(tmp_path: Path) -> None:
    order: list[str] = []
    with open_workers(1) as workers:
        (tmp_path / "held").mkdir()
        held = workers.run(Hold(str(tmp_path / "held")))
        behind = workers.run(Count(str(tmp_path)), in_background=True)
        hurried = workers.run(Count(str(tmp_path)), in_background=True)
        asked = workers.run(Count(str(tmp_path)))
        named = {"behind": behind, "hurried": hurried, "asked": asked}
        for name, future in named.items():
            future.add_done_callback(partial(note, order, name))
        workers.hurry(hurried)
        (tmp_path / "held" / "go on").touch()
        async with asyncio.timeout(TIMEOUT_S):
            await asyncio.gather(held, *named.values())
    assert order == ["hurried", "asked", "behind"]


@pytest.mark.parametrize("processes_max", [0, 1])
async def test_progress_is_reported(processes_max: int, tmp_path: Path) -> None:
    told: list[int] = []
    with open_workers(processes_max) as workers:
        future = workers.run(Hold(str(tmp_path)), on_progress=told.append)
        async with asyncio.timeout(TIMEOUT_S):
            await until(lambda: len(told) >= 3)
            (tmp_path / "go on").touch()
            await future
    assert told == sorted(told)


async def test_a_job_that_is_given_up_ends_with_its_process(tmp_path: Path) -> None:
    with open_workers(1) as workers:
        future = workers.run(Hold(str(tmp_path)))
        await asyncio.to_thread(waiting.until, (tmp_path / "begun").exists)
        (pid,) = workers.pids
        workers.give_up(future)
        assert future.cancelled()
        assert workers.pids == []
        await asyncio.to_thread(waiting.until, lambda: is_gone(pid))
        assert (await asyncio.wait_for(workers.run(Count(str(tmp_path))), TIMEOUT_S))[1] != pid


async def test_a_job_whose_process_dies_is_begun_again(tmp_path: Path) -> None:
    with open_workers(1) as workers:
        assert await asyncio.wait_for(workers.run(Die(str(tmp_path), 1)), TIMEOUT_S) == 1


async def test_a_job_whose_process_dies_twice_fails(tmp_path: Path) -> None:
    with open_workers(1) as workers:
        with pytest.raises(HelperDied, match=str(tmp_path)):
            await asyncio.wait_for(workers.run(Die(str(tmp_path), 5)), TIMEOUT_S)
        assert len(os.listdir(tmp_path)) == 2
        assert (await asyncio.wait_for(workers.run(Count(str(tmp_path))), TIMEOUT_S))[0] == 3


@pytest.mark.parametrize("times", [1, 5])
async def test_a_process_that_says_nothing_any_more_is_killed_and_its_job_begun_again(
    times: int, tmp_path: Path
) -> None:
    with open_workers(1, quiet_s=3) as workers:
        job = workers.run(Die(str(tmp_path), times, signal.SIGSTOP))
        if times == 1:
            assert await asyncio.wait_for(job, TIMEOUT_S) == 1
        else:
            with pytest.raises(HelperDied, match=str(tmp_path)):
                await asyncio.wait_for(job, TIMEOUT_S)
        assert len(os.listdir(tmp_path)) == min(times, 2)
        assert (await asyncio.wait_for(workers.run(Count(str(tmp_path))), TIMEOUT_S))[0] == 3


async def test_a_process_that_tells_of_its_progress_may_take_its_time(tmp_path: Path) -> None:
    with open_workers(1, quiet_s=2) as workers:
        future = workers.run(Hold(str(tmp_path)))
        await asyncio.wait([future], timeout=3)
        (tmp_path / "go on").touch()
        await asyncio.wait_for(future, TIMEOUT_S)


async def test_an_idle_process_ends(tmp_path: Path) -> None:
    with open_workers(1, idle_s=0.01) as workers:
        await asyncio.wait_for(workers.run(Count(str(tmp_path))), TIMEOUT_S)
        async with asyncio.timeout(TIMEOUT_S):
            await until(lambda: not workers.pids)
            assert (await workers.run(Count(str(tmp_path))))[0] == 3


async def test_an_idle_process_that_is_killed_is_no_loss(tmp_path: Path) -> None:
    with open_workers(1) as workers:
        await asyncio.wait_for(workers.run(Count(str(tmp_path))), TIMEOUT_S)
        os.kill(workers.pids[0], signal.SIGKILL)
        assert (await asyncio.wait_for(workers.run(Count(str(tmp_path))), TIMEOUT_S))[0] == 3


@pytest.mark.parametrize("program", [["/no/such/program"], [sys.executable, "-c", "raise SystemExit(3)"]])
async def test_where_no_process_starts_the_job_is_done_in_slices(program: list[str], tmp_path: Path) -> None:
    with open_workers(2, program=program) as workers:
        async with asyncio.timeout(TIMEOUT_S):
            done = await asyncio.gather(*(workers.run(Count(str(tmp_path))) for _ in range(3)))
        assert not workers.has_processes
        workers.close()
        await workers.ended()  # a second one may be about to start
    assert [pid for _, pid in done] == [os.getpid()] * 3


async def test_after_close_there_is_neither_job_nor_process(tmp_path: Path) -> None:
    with open_workers(1) as workers:
        begun = workers.run(Hold(str(tmp_path)))
        waits = workers.run(Count(str(tmp_path)))
        await asyncio.to_thread(waiting.until, (tmp_path / "begun").exists)
        pids = workers.pids
        workers.close()
        await workers.ended()
        assert all(map(is_gone, pids))
        assert begun.cancelled()
        assert waits.cancelled()
        assert workers.run(Count(str(tmp_path))).cancelled()


async def test_a_directory_made_anew_under_a_job_is_not_touched(tmp_path: Path) -> None:
    directory = tmp_path / "t-0"
    directory.mkdir()
    with open_workers(1) as workers:
        future = workers.run(Hold(str(directory)))
        await asyncio.to_thread(waiting.until, (directory / "begun").exists)
        directory.rename(tmp_path / "t-0.gone")
        directory.mkdir()
        (directory / "go on").touch()
        (tmp_path / "t-0.gone" / "go on").touch()
        await asyncio.wait_for(future, TIMEOUT_S)
    assert os.listdir(directory) == ["go on"]


async def test_a_directory_that_is_gone_is_a_storage_error(tmp_path: Path) -> None:
    with open_workers(1) as workers, pytest.raises(StorageError, match="cannot enter the directory"):
        await asyncio.wait_for(workers.run(Count(str(tmp_path / "none"))), TIMEOUT_S)


async def test_a_job_in_slices_is_held_to_its_rate(tmp_path: Path) -> None:
    told: list[int] = []
    loop = asyncio.get_running_loop()
    work = steps_in_slices(Count(str(tmp_path), 2), RealFiles(), 1, told.append, loop)
    pause = next(work)
    assert isinstance(pause, asyncio.Future)
    assert told == [10]
    work.close()
    assert next(steps_in_slices(Count(str(tmp_path), 2), RealFiles(), 0, told.append, loop)) is None
