"""Who is recovered next: those asked for first, so many of a data directory at a time, and one gives way to another."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from barnabas.broker.config import BrokerConfig
from barnabas.broker.partitions.opening.partition_opening import PartitionOpening
from barnabas.broker.partitions.opening.recovery_queue import RecoveryQueue
from barnabas.broker.runtime.workers.workers import HelperDied, Workers
from barnabas.storage.directories.recovered_logs import ClosedLog
from barnabas.storage.errors import CorruptFile, StorageError
from barnabas.storage.recovery.report import Recovered
from tests.support.worlds.broker import settle

CLOSED = ClosedLog(Recovered(5), 5, 5, 0, 0)


class Jobs:
    """Workers whose jobs end when the test says so. A job is the name of its partition."""

    def __init__(self, jobs_max: int) -> None:
        self.jobs_max = jobs_max
        self.has_processes = True
        self.under_way: dict[str, asyncio.Future[ClosedLog]] = {}
        self.progress: dict[str, Callable[[int], None]] = {}

    def run(self, job: str, *, in_background: bool, on_progress: Callable[[int], None]) -> asyncio.Future[ClosedLog]:
        assert job not in self.under_way
        self.under_way[job] = asyncio.get_running_loop().create_future()
        self.progress[job] = on_progress
        return self.under_way[job]

    def give_up(self, future: asyncio.Future[ClosedLog]) -> None:
        self.under_way = {name: each for name, each in self.under_way.items() if each is not future}
        future.cancel()

    async def end(self, name: str, error: Exception | None = None) -> None:
        future = self.under_way.pop(name)
        if error is None:
            future.set_result(CLOSED)
        else:
            future.set_exception(error)
        await settle()


class Place:
    """A data directory."""

    def __init__(self, path: str) -> None:
        self.path = path


class Partition:
    """One that is not open."""

    def __init__(self, name: str, home: str) -> None:
        self.key = name, 0
        self.home = Place(home)
        self.noted: list[object] = []

    def segments_count(self) -> int:
        return 2

    def job(self) -> str:
        return self.key[0]

    def note(self, closed: ClosedLog) -> None:
        self.noted.append(closed)

    def failed(self, error: StorageError) -> None:
        self.noted.append(error)


class World:
    def __init__(self, jobs_max: int = 2, threads: int = 2) -> None:
        self.jobs = Jobs(jobs_max)
        config = BrokerConfig({"log.dirs": "/d", "num.recovery.threads.per.data.dir": str(threads)})
        self.line = RecoveryQueue(cast(Workers, self.jobs), config)
        self.partitions: dict[str, Partition] = {}
        self.over: dict[str, asyncio.Future[None]] = {}

    def ask(self, name: str, *, home: str = "/d", in_background: bool = False) -> None:
        self.partitions[name] = Partition(name, home)
        self.over[name] = asyncio.get_running_loop().create_future()
        unopened = cast(PartitionOpening, self.partitions[name])
        self.line.recover(unopened, self.over[name], in_background=in_background)

    @property
    def under_way(self) -> list[str]:
        return sorted(self.jobs.under_way)


@pytest.fixture
async def world() -> World:
    """With one process."""
    return World(jobs_max=1)


async def test_a_recovered_partition_is_noted_before_any_waiter_resumes() -> None:
    world = World()
    world.ask("a")
    await world.jobs.end("a")
    assert world.partitions["a"].noted == [CLOSED]
    assert world.over["a"].result() is None


async def test_so_many_of_a_directory_at_a_time() -> None:
    world = World(jobs_max=8, threads=1)
    for name in "abc":
        world.ask(name, home="/one" if name < "c" else "/two")
    assert world.under_way == ["a", "c"]
    await world.jobs.end("a")
    assert world.under_way == ["b", "c"]


async def test_no_more_at_a_time_than_there_are_processes() -> None:
    world = World(jobs_max=1, threads=4)
    world.ask("a")
    world.ask("b", home="/other")
    assert world.under_way == ["a"]


async def test_one_that_is_requested_comes_before_the_background(world: World) -> None:
    world.ask("first")
    world.ask("behind", in_background=True)
    world.ask("asked")
    await world.jobs.end("first")
    assert world.under_way == ["asked"]


async def test_the_background_gives_way_and_is_begun_again() -> None:
    world = World(jobs_max=2)
    world.ask("one", in_background=True)
    world.ask("two", in_background=True)
    world.jobs.progress["two"](100)
    assert world.line.done_bytes == 100
    world.ask("asked")
    assert world.under_way == ["asked", "one"]
    assert world.line.done_bytes == 0
    await world.jobs.end("asked")
    assert world.under_way == ["one", "two"]
    assert not world.over["two"].done()


async def test_a_failed_upgrade_request_evicts_no_member(world: World) -> None:
    world.ask("one")
    world.ask("two")
    assert world.under_way == ["one"]


async def test_of_another_directory_nothing_gives_way_unless_the_processes_are_all_taken() -> None:
    world = World(jobs_max=3, threads=1)
    world.ask("one", home="/one", in_background=True)
    world.ask("two", home="/two", in_background=True)
    world.ask("asked", home="/one")
    assert world.under_way == ["asked", "two"]


async def test_those_of_the_background_that_gave_way_again_and_again_are_begun_in_their_order() -> None:
    world = World()
    for name in "abcd":
        world.ask(name, in_background=True)
    for name in "xyz":
        world.ask(name)
        assert world.under_way == ["a", name]
        await world.jobs.end(name)
    begun = []
    while world.under_way:
        begun += world.under_way
        for name in world.under_way:
            await world.jobs.end(name)
    assert list(dict.fromkeys(begun)) == ["a", "b", "c", "d"]


async def test_one_in_the_background_can_be_hurried(world: World) -> None:
    for name in "ab":
        world.ask(name, in_background=True)
    world.line.hurry(("b", 0))
    assert world.under_way == ["b"]
    world.line.hurry(("none", 0))
    world.line.hurry(("b", 0))
    assert world.under_way == ["b"]


async def test_one_that_leaves_is_given_up_and_makes_room(world: World) -> None:
    for name in "ab":
        world.ask(name)
    world.line.leave(("a", 0))
    assert world.under_way == ["b"]
    assert world.partitions["a"].noted == []


async def test_a_member_that_ends_in_its_turn_is_not_noted(world: World) -> None:
    world.ask("a")
    world.jobs.under_way["a"].set_result(CLOSED)
    world.line.leave(("a", 0))
    before = world.partitions["a"]
    world.jobs.under_way.clear()
    world.ask("a")
    await settle()
    assert before.noted == []
    assert world.under_way == ["a"]


async def test_after_close_nothing_is_begun(world: World) -> None:
    for name in "ab":
        world.ask(name)
    world.line.close()
    world.line.leave(("a", 0))
    assert world.under_way == []


@pytest.mark.parametrize("error", [CorruptFile("/d/a-0/x", "damaged"), HelperDied("it died")])
async def test_a_failure_is_a_storage_error_and_the_next_goes_on(world: World, error: Exception) -> None:
    for name in "ab":
        world.ask(name)
    await world.jobs.end("a", error)
    failure: Any = world.over["a"].exception()
    assert isinstance(failure, StorageError)
    assert world.partitions["a"].noted == [failure]
    assert world.under_way == ["b"]


async def test_requests_under_way_are_counted() -> None:
    world = World(jobs_max=2)
    for name in "abc":
        world.ask(name)
    assert world.line.segments_in("/d") == 4
    assert world.line.segments_in("/other") == 0
    world.jobs.progress["a"](10)
    await world.jobs.end("a")
    world.jobs.progress["b"](5)
    assert world.line.done_bytes == 15
