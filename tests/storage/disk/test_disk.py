"""Health, descriptors and names of a data directory: disk.py, directory.py, disk_file.py, sync_job.py."""

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from barnabas.storage.disk.disk_file import FileSlice
from barnabas.storage.disk.files import RealFiles
from barnabas.storage.disk.small_file import Replacement, SmallFile
from barnabas.storage.disk.sync_job import SyncJob
from barnabas.storage.errors import DirectoryFull, DirectoryOffline, FileRemoved, StorageError, SyncFailed
from tests.support.files.memory_files import MemoryFiles, PowerCut

CHANGES_OF_A_REPLACE = 6  # create, truncate, pwrite, sync, rename, sync_directory


def open_memory(seed: int = 0, *, open_files_max: int = 10) -> tuple[MemoryFiles, Directory]:
    files = MemoryFiles(seed).with_directory()
    return files, files.directory(open_files_max=open_files_max)


def replacement(directory: Directory, name: str, data: bytes) -> Replacement:
    file = SmallFile(directory, name)
    file.changed()
    return file.replacement(data)


def test_more_files_than_descriptors_stay_usable(tmp_path: Path) -> None:
    root = Directory(Disk(RealFiles(), str(tmp_path), open_files_max=3), str(tmp_path))
    before = len(os.listdir("/dev/fd"))
    files = [root.open(f"{number}", create=True) for number in range(50)]
    for turn in range(3):
        for number, file in enumerate(files):
            file.pwrite(b"%d" % (number % 10), turn)
            assert len(os.listdir("/dev/fd")) <= before + 3
    assert all(file.pread(9, 0) == b"%d" % (number % 10) * 3 for number, file in enumerate(files))
    root.disk.close()
    assert len(os.listdir("/dev/fd")) == before


def test_a_slice_reads_on_after_its_file_was_renamed_and_evicted(root: Directory) -> None:
    file = root.open("a.log", create=True)
    file.pwrite(b"0123456789", 0)
    piece = FileSlice(file, 2, 5)
    file.rename("a.log.deleted")
    file.close()
    assert (piece.read(0, 3), piece.read(3, 100), piece.read_all()) == (b"234", b"56", b"23456")
    buffer = memoryview(bytearray(3))
    assert (piece.read_into(buffer, 1), bytes(buffer)) == (3, b"345")


def test_a_slice_reads_on_after_its_directory_was_renamed(root: Directory) -> None:
    partition = root.subdirectory("t-0")
    partition.create()
    file = partition.open("a.log", create=True)
    file.pwrite(b"abc", 0)
    partition.move_to("t-0.gone")
    file.close()
    assert FileSlice(file, 0, 3).read_all() == b"abc"


def test_a_slice_of_a_removed_file_is_refused_even_if_the_name_is_taken_again(root: Directory) -> None:
    file = root.open("a.log", create=True)
    file.pwrite(b"abc", 0)
    file.remove()
    root.open("a.log", create=True).pwrite(b"xyz", 0)
    with pytest.raises(FileRemoved):
        FileSlice(file, 0, 3).read_all()


def test_a_short_write_goes_on_where_it_stopped(files: MemoryFiles, root: Directory) -> None:
    file = root.open("a.log", create=True)
    files.fail("pwrite", errno.ENOSPC, times=1, short=4)
    file.pwrite(b"0123456789", 0)
    assert file.pread(20, 0) == b"0123456789"


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT])
def test_memory_listeners_receive_each_failed_allocation(error: int) -> None:
    files, root = open_memory()
    told: list[DirectoryFull] = []
    root.disk.when_no_room = told.append
    file = root.open("a.log", create=True)
    calls: list[tuple[str, Callable[[], object]]] = [
        ("pwrite", lambda: file.pwrite(b"abc", 0)),
        ("pwrite", lambda: root.write("b.index", b"abc", 0)),
        ("pwrite", lambda: root.replace("c", b"abc")),
        ("pwrite", lambda: replacement(root, "d", b"abc").run()),
        ("create", lambda: root.open("e.log", create=True)),
        ("mkdir", lambda: root.subdirectory("f-0").create()),
        ("rename", lambda: root.rename("a.log", "g.log")),
    ]
    for number, (name, call) in enumerate(calls, 1):
        files.fail(name, error)
        with contextlib.suppress(DirectoryFull):  # only how often it is told matters here
            call()
        files.heal()
        assert len(told) == number, (name, number)
    files.fail("pwrite", errno.EIO)
    with pytest.raises(StorageError):
        file.pwrite(b"abc", 0)
    assert len(told) == len(calls)


def test_half_a_temporary_file_takes_no_room(files: MemoryFiles, root: Directory) -> None:
    files.fail("pwrite", errno.ENOSPC, short=4)
    with pytest.raises(DirectoryFull):
        root.replace("a", b"0123456789")
    assert files.used() == 0


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_a_failed_write_is_an_error_and_the_directory_stays_online(error: int) -> None:
    files, root = open_memory()
    file = root.open("a.log", create=True)
    files.fail("pwrite", error)
    with pytest.raises(StorageError, match=r"/d/a.log: cannot write 3 bytes at 7") as failure:
        file.pwrite(b"abc", 7)
    assert failure.value.errno == error
    files.heal()
    file.pwrite(b"abc", 0)
    assert root.disk.offline_reason is None


def test_after_a_failed_sync_nothing_is_done_again(files: MemoryFiles, root: Directory) -> None:
    file, other = root.open("a", create=True), root.open("b", create=True)
    other.pwrite(b"x", 0)
    files.fail("sync", times=1)
    with pytest.raises(SyncFailed):
        file.sync()
    calls = len(files.calls)
    for attempt in (
        lambda: file.sync(),
        lambda: other.pwrite(b"x", 0),
        lambda: other.pread(1, 0),
        lambda: root.read("a"),
        lambda: root.names(),
        lambda: root.sync(),
        lambda: root.write_atomically("c", b""),
        lambda: root.rename("a", "c"),
        lambda: root.remove("a"),
        lambda: SyncJob(root.disk, [file]),
    ):
        with pytest.raises(DirectoryOffline, match="offline until restart: /d/a: cannot sync"):
            attempt()
    assert len(files.calls) == calls


@pytest.mark.parametrize("call", ["sync", "sync_directory"])
def test_a_failed_sync_of_a_small_file_takes_the_directory_offline_too(call: str) -> None:
    files, root = open_memory()
    files.fail(call)
    with pytest.raises(SyncFailed):
        root.write_atomically("checkpoint", b"1")
    assert root.disk.offline_reason is not None


def test_every_call_that_fails_is_a_storage_error(files: MemoryFiles, root: Directory) -> None:
    partition = root.subdirectory("t-0")
    partition.create()
    file = root.open("a", create=True)
    files.fail("any", errno.EIO)
    for attempt in (
        lambda: file.pwrite(b"x", 0),
        lambda: file.pread(1, 0),
        lambda: file.size(),
        lambda: file.truncate(0),
        lambda: root.open("b", create=True),
        lambda: root.read("a"),
        lambda: root.read_last_entry("a", 1),
        lambda: root.write("a", b"", 0),
        lambda: root.replace("a", b""),
        lambda: root.names(),
        lambda: root.exists("a"),
        lambda: root.size("a"),
        lambda: root.modified_ms("a"),
        lambda: root.rename("a", "b"),
        lambda: root.remove("a"),
        lambda: root.subdirectory("u-0").create(),
        lambda: partition.move_to("x"),
        lambda: partition.remove_tree(),
    ):
        with pytest.raises(StorageError, match=r"^/d"):
            attempt()
    assert root.disk.offline_reason is None


def test_a_replaced_file_is_the_old_or_the_new_one_after_a_power_cut_at_any_point() -> None:
    for change in range(CHANGES_OF_A_REPLACE + 1):
        for seed in range(8):
            files, root = open_memory(seed)
            root.write_atomically("checkpoint", b"old")
            files.cut_power_at(files.changes_made + change)
            done = False
            with contextlib.suppress(PowerCut):  # `done` stays False
                root.write_atomically("checkpoint", b"new" * 300)
                done = True
            assert done == (change == CHANGES_OF_A_REPLACE)
            files.crash("some", torn=True)
            found = files.directory().read("checkpoint")
            assert found in ([b"new" * 300] if done else [b"old", b"new" * 300])


def test_names_are_dirty_until_their_directory_is_synced(root: Directory) -> None:
    root.open("a", create=True)
    assert root.is_dirty
    root.sync()
    assert not root.is_dirty
    root.open("a", create=True)
    root.remove("not there")
    assert not root.is_dirty
    root.rename("a", "b")
    assert root.is_dirty


def test_a_new_directory_makes_its_files_unsafe_until_the_parent_is_synced(files: MemoryFiles, root: Directory) -> None:
    partition = root.subdirectory("t-0")
    partition.create()
    file = partition.open("a.log", create=True)
    file.pwrite(b"abc", 0)
    partition.sync()
    assert partition.is_dirty
    SyncJob(root.disk, [file], directories=[partition]).run_here()
    assert not partition.is_dirty
    files.crash("nothing")
    assert files.directory().subdirectory("t-0").read("a.log") == b"abc"


def test_a_sync_job_makes_all_it_was_given_durable(files: MemoryFiles, root: Directory) -> None:
    held, named = root.open("held", create=True), root.open("named", create=True)
    held.pwrite(b"1", 0)
    named.pwrite(b"2", 0)
    job = SyncJob(root.disk, [held], ["/d/named", "/d/gone"], [root], [replacement(root, "small", b"3")])
    held.pwrite(b"later", 1)
    job.run()
    job.finish()
    files.crash("nothing")
    after = files.directory()
    assert (after.read("held"), after.read("named"), after.read("small")) == (b"1later", b"2", b"3")


def test_a_name_made_while_a_job_runs_stays_dirty(root: Directory) -> None:
    root.open("a", create=True)
    job = SyncJob(root.disk, directories=[root])
    root.open("b", create=True)
    job.finish()
    assert root.is_dirty


def test_a_file_being_synced_elsewhere_is_not_closed_under_its_thread() -> None:
    _, root = open_memory(open_files_max=1)
    held, other = root.open("held", create=True), root.open("other", create=True)
    job = SyncJob(root.disk, [held])
    other.pwrite(b"x", 0)
    held.close()
    held.pwrite(b"y", 0)
    job.run()
    job.finish()
    assert held.pread(1, 0) == b"y"


def test_a_file_evicted_while_it_is_synced_elsewhere_is_closed_when_that_is_done(tmp_path: Path) -> None:
    root = Directory(Disk(RealFiles(), str(tmp_path)), str(tmp_path))
    file = root.open("a", create=True)
    before = len(os.listdir("/dev/fd"))
    jobs = [SyncJob(root.disk, [file]), SyncJob(root.disk, [file])]
    root.disk.close()
    file.pwrite(b"x", 0)
    assert len(os.listdir("/dev/fd")) == before + 2
    for job in jobs:
        job.run_here()
    assert len(os.listdir("/dev/fd")) == before + 1
    file.close()
    assert len(os.listdir("/dev/fd")) == before


def test_a_job_whose_sync_fails_takes_the_directory_offline_when_it_ends(files: MemoryFiles, root: Directory) -> None:
    file = root.open("a", create=True)
    job = SyncJob(root.disk, [file])
    files.fail("sync")
    with pytest.raises(SyncFailed) as failure:
        job.run()
    assert root.disk.offline_reason is None, "the thread changes nothing"
    job.failed(failure.value)
    assert root.disk.offline_reason is not None


def test_a_job_that_cannot_write_leaves_the_directory_online_and_dirty(files: MemoryFiles, root: Directory) -> None:
    job = SyncJob(root.disk, replacements=[replacement(root, "small", b"3")])
    files.fail("pwrite", errno.ENOSPC)
    with pytest.raises(StorageError) as failure:
        job.run()
    job.failed(failure.value)
    assert root.disk.offline_reason is None
    assert root.is_dirty


def test_a_directory_that_goes_offline_closes_its_files(root: Directory) -> None:
    file = root.open("a", create=True)
    file.pwrite(b"x", 0)
    root.disk.go_offline("because")
    root.disk.go_offline("again")
    assert (len(root.disk.descriptors), root.disk.offline_reason) == (0, "because")


def test_remove_tree_removes_the_directory_and_forgives_a_missing_one(root: Directory) -> None:
    partition = root.subdirectory("t-0")
    partition.create()
    partition.create()
    partition.open("a", create=True)
    partition.remove_tree()
    partition.remove_tree()
    assert root.entries() == []


def test_write_cuts_the_file_behind_what_it_wrote(root: Directory) -> None:
    root.write("index", b"0123456789", 0)
    root.write("index", b"AB", 4)
    assert root.read("index") == b"0123AB"
    assert root.read_last_entry("index", 4) == b"0123"
    assert root.read_last_entry("none", 4) is None
