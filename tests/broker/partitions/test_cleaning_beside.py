"""Logs are cleaned in helper processes, on the real disk: what becomes of a cleaning whose process is killed."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from barnabas.broker.partitions.cleaning.backoff import FIRST_MS, LONGEST_MS, PutOff
from barnabas.protocol.files.names import FileState
from barnabas.protocol.records.builder import build_batch
from barnabas.storage.disk.files import RealFiles
from tests.support.files.log_directories import flush
from tests.support.worlds.broker import BrokerWorld, until

FIRST, OTHER = ("first", 0), ("other", 0)
COMPACT = {"cleanup.policy": "compact", "segment.ms": "10", "min.cleanable.dirty.ratio": "0.01"}
SLOW = {"log.cleaner.io.max.bytes.per.second": "3000"}  # so that a cleaning says how far it is before it is done
COUNT = 24


@asynccontextmanager
async def cleaning(path: Path) -> AsyncIterator[BrokerWorld]:
    """A broker that has two logs to clean, and has begun with one of them."""
    world = BrokerWorld({"log.dirs": str(path), **SLOW}, files=RealFiles(), helper_processes_max=1)  # type: ignore[arg-type]  # the real disk
    try:
        for topic, _ in (FIRST, OTHER):
            world.services.catalogue.create_topic(topic, 1, COMPACT)
            append(world, topic)
        world.services.cleaner.start()
        await until(lambda: FIRST in world.services.cleaner.rounds)
        yield world
    finally:
        await world.close()


def append(world: BrokerWorld, topic: str) -> None:
    """Records of one key, each in a segment of its own; all but the last are synced."""
    for number in range(COUNT):
        world.clock.advance(20)
        record = (b"key", b"%d" % number, (), world.clock.now_ms())
        world.services.partitions.append(topic, 0, bytearray(build_batch([record])))
    flush(world.services.partitions.get(topic, 0))


async def kill(world: BrokerWorld) -> None:
    """The process that cleans, in the middle of it: once it has told of its progress."""
    cleaning = world.services.cleaner.rounds[FIRST]
    told = cleaning.done_bytes
    await until(lambda: cleaning.done_bytes != told)
    (pid,) = world.services.workers.pids
    os.kill(pid, signal.SIGKILL)
    await until(lambda: pid not in world.services.workers.pids)


def is_clean(world: BrokerWorld, topic: str) -> bool:
    """Of the segments that can be cleaned one record is left."""
    log = world.services.partitions.get(topic, 0)
    data = log.read(0, 1 << 20, committed=False, force_first_batch=True).read_all()
    return len(log.extents) < COUNT and b"%d" % (COUNT - 2) in data


async def test_a_cleaning_whose_process_is_killed_is_done_again(tmp_path: Path) -> None:
    async with cleaning(tmp_path) as world:
        await kill(world)
        await until(lambda: world.services.cleaner.figures.cleanings == 2)
        assert is_clean(world, "first")
        assert is_clean(world, "other")
        assert not world.services.cleaner.figures.set_aside


async def test_a_log_whose_cleaning_is_killed_again_is_tried_later_and_the_others_are_cleaned(tmp_path: Path) -> None:
    async with cleaning(tmp_path) as world:
        await kill(world)
        await kill(world)
        await until(lambda: world.services.cleaner.figures.cleanings == 1)
        assert is_clean(world, "other")
        assert not is_clean(world, "first")
        assert not world.services.cleaner.figures.set_aside
        world.clock.advance(FIRST_MS)
        world.services.cleaner.start()
        await until(lambda: world.services.cleaner.figures.cleanings == 2)
        assert is_clean(world, "first")
        assert FileState.CLEANED.value not in "".join(os.listdir(tmp_path / "first-0"))


def test_repeated_login_failures_wait_longer_and_longer() -> None:
    put_off = PutOff()
    assert not put_off.is_waiting(FIRST, 0)
    delays_ms = [put_off.add(FIRST, 100) for _ in range(10)]
    assert delays_ms[:3] == [FIRST_MS, 2 * FIRST_MS, 4 * FIRST_MS]
    assert delays_ms[-1] == LONGEST_MS
    assert put_off.is_waiting(FIRST, 99 + LONGEST_MS)
    assert not put_off.is_waiting(FIRST, 100 + LONGEST_MS)
    assert not put_off.is_waiting(OTHER, 100)
    put_off.forget(FIRST)
    assert put_off.add(FIRST, 100) == FIRST_MS
