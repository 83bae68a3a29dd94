"""After a kill partitions are recovered in helper processes: on the real disk, while others are served."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.partitions.opening.recoveries import StillRecovering
from barnabas.protocol.errors import ErrorCode as E
from barnabas.storage.disk.files import RealFiles
from tests.support.files.log_directories import was_needed
from tests.support.worlds.broker import ANSWER_TIMEOUT_S, BrokerWorld, code_of, until
from tests.support.worlds.killed_partitions import fetch, fetched

LONG = 700  # batches: more than a first slice


@pytest.fixture(autouse=True)
def short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.storage.recovery.opening.PAUSE_AFTER", 64)


def world_at(path: Path) -> BrokerWorld:
    return BrokerWorld({"log.dirs": str(path)}, files=RealFiles(), helper_processes_max=2)  # type: ignore[arg-type]  # the real disk


@asynccontextmanager
async def killed(path: Path, *sizes: int) -> AsyncIterator[BrokerWorld]:
    """A broker over what a killed one left: topic `t` with so many batches in each partition."""
    first = world_at(path)
    first.services.catalogue.create_topic("t", len(sizes))
    for partition, size in enumerate(sizes):
        for _ in range(size):
            first.append("t", b"v" * 100, partition=partition)
    first.abandon()
    world = world_at(path)
    try:
        yield world
    finally:
        await world.close()


def is_over(world: BrokerWorld) -> bool:
    return world.broker.recovery.progress is None and not len(world.services.partitions.recoveries)


async def answered(peer: Any) -> Any:
    await asyncio.wait_for(peer.until_answered(), ANSWER_TIMEOUT_S)
    (result,) = fetched(peer)
    return result


async def test_a_request_waits_and_is_answered_and_others_are_served_meanwhile(tmp_path: Path) -> None:
    async with killed(tmp_path, LONG, 1) as world:
        waiting, other = world.connect(), world.connect()
        waiting.ask(fetch(world, 0))
        assert ("t", 0) in world.services.partitions.recoveries
        other.ask(fetch(world, 1))
        assert fetched(other)[0].high_watermark == 1
        result = await answered(waiting)
        assert (result.error_code, result.high_watermark) == (E.NONE, LONG)
        assert world.services.workers.pids
    assert not world.services.workers.pids


async def test_a_data_directory_may_be_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with killed(Path("data"), LONG) as world:
        waiting = world.asking(fetch(world, 0))
        result = await answered(waiting)
        assert (result.error_code, result.high_watermark) == (E.NONE, LONG)
        assert world.services.workers.pids


async def test_it_is_closed_and_synced_so_the_next_start_after_a_kill_is_quick(tmp_path: Path) -> None:
    async with killed(tmp_path, LONG) as world:
        with pytest.raises(StillRecovering):
            world.services.partitions.get("t", 0)
        await until(lambda: not len(world.services.partitions.recoveries))
        assert world.services.partitions.get("t", 0).recovery_point == LONG
        assert not was_needed(world.services.partitions.get("t", 0).recovered)


async def test_a_deleted_topic_is_made_again_while_the_old_one_was_being_recovered(tmp_path: Path) -> None:
    async with killed(tmp_path, LONG) as world:
        with pytest.raises(StillRecovering):
            world.services.partitions.get("t", 0)
        await until(lambda: world.services.workers.pids)
        world.services.catalogue.delete_topics(["t"])
        world.services.catalogue.create_topic("t")
        log = world.services.partitions.get("t", 0)
        world.append("t", b"new")
        assert log.log_end_offset == 1
        assert not len(world.services.partitions.recoveries)


async def test_a_stop_gives_a_recovery_up_and_leaves_no_marker(tmp_path: Path) -> None:
    async with killed(tmp_path, LONG) as world:
        with pytest.raises(StillRecovering):
            world.services.partitions.get("t", 0)
        await world.close()
        assert not (tmp_path / ".kafka_cleanshutdown").exists()
    again = world_at(tmp_path)
    with pytest.raises(StillRecovering):
        again.services.partitions.get("t", 0)
    await until(lambda: not len(again.services.partitions.recoveries))
    assert again.services.partitions.get("t", 0).log_end_offset == LONG


async def test_all_partitions_are_recovered_in_the_background(tmp_path: Path) -> None:
    async with killed(tmp_path, LONG, 1, LONG, 2) as world:
        await world.broker.start()
        await until(lambda: is_over(world))
        assert not list(world.services.partitions.open_logs())
        assert [world.services.partitions.directory.resting_end("t", each) for each in range(4)] == [LONG, 1, LONG, 2]
    assert (tmp_path / ".kafka_cleanshutdown").exists()


async def test_short_logs_are_recovered_without_a_process(tmp_path: Path) -> None:
    async with killed(tmp_path, 1, 2, 3) as world:
        await world.broker.start()
        await until(lambda: is_over(world))
        assert world.services.partitions.get("t", 2).log_end_offset == 3
        assert not world.services.workers.pids


async def test_a_damaged_partition_is_refused_at_once_and_the_others_are_recovered(tmp_path: Path) -> None:
    async with killed(tmp_path, LONG, LONG) as world:
        (tmp_path / "t-0" / "leader-epoch-checkpoint").write_bytes(b"not a checkpoint")
        await world.broker.start()
        await until(lambda: is_over(world))
        for _ in range(2):
            assert code_of(lambda: world.services.partitions.get("t", 0)) is E.KAFKA_STORAGE_ERROR
        assert world.services.partitions.get("t", 1).log_end_offset == LONG
        assert list(world.services.partitions.failed.reasons) == [("t", 0)]
