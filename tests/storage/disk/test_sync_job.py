"""Jobs run by one sync for all of them: what is durable then, what may share, and how it fails."""

import errno

import pytest

from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from barnabas.storage.disk.small_file import SmallFile
from barnabas.storage.disk.sync_job import SyncJob, run_together
from barnabas.storage.errors import DirectoryOffline, SyncFailed
from tests.support.files.memory_files import MemoryFiles


class World:
    """A directory with files `a`, `b` and `c` that have a byte each, and nothing of it synced but the directory."""

    def __init__(self) -> None:
        self.files = MemoryFiles().with_directory()
        self.disk = Disk(self.files, "/d")
        self.disk.open_common_sync()
        self.root = Directory(self.disk, "/d")
        self.opened = {name: self.root.open(name, create=True) for name in "abc"}
        for file in self.opened.values():
            file.pwrite(b"x", 0)

    def job(self, name: str) -> SyncJob:
        return SyncJob(self.disk, [self.opened[name]], directories=[self.root])

    def run(self, *jobs: SyncJob) -> None:
        assert self.disk.common_sync is not None
        run_together(jobs, self.disk.common_sync)

    def left_by_a_power_cut(self) -> dict[str, bytes | None]:
        self.files.crash("nothing")
        return {name: self.files.peek(f"/d/{name}") for name in self.opened}


@pytest.fixture
def world() -> World:
    return World()


def test_all_that_the_jobs_name_is_durable_after_one_call(world: World) -> None:
    jobs = [world.job("a"), world.job("b")]
    world.run(*jobs)
    for job in jobs:
        job.finish()
    assert [call for call in world.files.calls if call.name == "sync_together"] == [("sync_together", "/d")]
    assert not world.root.is_dirty
    assert world.left_by_a_power_cut() == {"a": b"x", "b": b"x", "c": b""}


def test_a_job_counts_its_syncs(world: World) -> None:
    job = SyncJob(world.disk, [world.opened["a"], world.opened["b"]], ["/d/c"], [world.root])
    assert job.syncs == 4
    job.finish()


def test_a_job_that_writes_small_files_or_has_no_file_open_does_not_share(world: World) -> None:
    small = SmallFile(world.root, "small")
    small.changed()
    assert not SyncJob(world.disk, [world.opened["a"]], replacements=[small.replacement(b"1")]).can_share
    assert not SyncJob(world.disk, paths=["/d/a"]).can_share
    assert world.job("a").can_share


def test_a_failed_call_is_a_failed_sync_for_each_job(world: World) -> None:
    world.files.fail("sync_together", errno.EIO)
    jobs = [world.job("a"), world.job("b")]
    with pytest.raises(SyncFailed, match="/d: cannot sync: Input/output") as failed:
        world.run(*jobs)
    for job in jobs:
        job.failed(failed.value)
    assert world.disk.offline_reason is not None
    with pytest.raises(DirectoryOffline):
        world.job("a")


def test_nothing_is_synced_once_the_directory_is_offline(world: World) -> None:
    job = world.job("a")
    world.disk.go_offline("elsewhere")
    world.files.calls.clear()
    with pytest.raises(DirectoryOffline):
        world.run(job)
    assert not [call for call in world.files.calls if call.name.startswith("sync")]
