"""Offset checkpoints: rows, Kafka's text, and the power cut at every call."""

import pytest

from barnabas.storage.disk.checkpoints import OffsetCheckpoint
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from barnabas.storage.disk.sync_job import SyncJob
from barnabas.storage.errors import CorruptFile, StorageError
from tests.support.files.memory_files import MemoryFiles, PowerCut

NAME = "recovery-point-offset-checkpoint"
OLD = {("a", 0): 1, ("b-c", 7): 2}
NEW = {("a", 0): 10, ("d", 1): 3}


def open_root(files: MemoryFiles) -> Directory:
    return Directory(Disk(files, "/d"), "/d")


def new_files(seed: int = 0) -> MemoryFiles:
    files = MemoryFiles(seed)
    files.mkdir("/d")
    files.sync_directory("/")
    return files


def test_rows_come_and_go_and_the_text_is_kafkas() -> None:
    files = new_files()
    checkpoint = OffsetCheckpoint(open_root(files), NAME)
    checkpoint.update(OLD)
    checkpoint.write()
    checkpoint.update({("b-c", 7): None, ("a", 0): 10, ("d", 1): 3, ("never", 0): None})
    checkpoint.write()
    assert open_root(files).read(NAME) == b"0\n3\na 0 10\nd 1 3\n!crc32c 0 656869398\n"
    assert OffsetCheckpoint(open_root(files), NAME).offsets == NEW


def test_a_file_that_already_says_so_is_not_written_again() -> None:
    files = new_files()
    OffsetCheckpoint(open_root(files), NAME).write()
    assert open_root(files).read(NAME) == b"0\n0\n"
    checkpoint = OffsetCheckpoint(open_root(files), NAME)
    checkpoint.update(OLD)
    checkpoint.write()
    before = files.changes_made
    checkpoint.update(OLD)
    checkpoint.write()
    assert files.changes_made == before


def test_kafkas_empty_file_is_an_empty_checkpoint() -> None:
    files = new_files()
    open_root(files).write(NAME, b"", 0)
    assert OffsetCheckpoint(open_root(files), NAME).offsets == {}


def test_a_file_that_cannot_be_is_refused_with_its_path() -> None:
    files = new_files()
    open_root(files).write(NAME, b"0\n2\na 0 1\n", 0)
    with pytest.raises(CorruptFile, match=rf"^/d/{NAME}: checkpoint says 2 entries and has 1"):
        OffsetCheckpoint(open_root(files), NAME)


@pytest.mark.parametrize("torn", [False, True])
def test_a_power_cut_at_any_call_leaves_the_old_rows_or_the_new_ones(torn: bool) -> None:
    seen = set()
    for change in range(8):
        for seed in range(10):
            files = new_files(seed)
            checkpoint = OffsetCheckpoint(open_root(files), NAME)
            checkpoint.update(OLD)
            checkpoint.write()
            checkpoint.update({("b-c", 7): None, **NEW})
            files.cut_power_at(files.changes_made + change)
            done = False
            try:
                checkpoint.write()
                done = True
            except PowerCut:
                pass
            files.crash("some", torn=torn)
            found = OffsetCheckpoint(open_root(files), NAME).offsets
            assert found == NEW if done else found in (OLD, NEW)
            seen.add((done, found == NEW))
    assert seen == {(False, False), (False, True), (True, True)}


@pytest.mark.parametrize("call", ["create", "remove", "truncate", "pwrite", "sync", "rename", "sync_directory"])
def test_a_call_that_fails_leaves_the_old_rows_or_the_new_ones(call: str) -> None:
    files = new_files()
    checkpoint = OffsetCheckpoint(open_root(files), NAME)
    checkpoint.update(OLD)
    checkpoint.write()
    checkpoint.update({("b-c", 7): None, **NEW})
    files.fail(call)
    with pytest.raises(StorageError):
        checkpoint.write()
    files.heal()
    assert OffsetCheckpoint(open_root(files), NAME).offsets in (OLD, NEW)
    assert checkpoint.is_dirty, "it will be tried again"


def test_a_row_may_be_in_the_file_until_a_write_without_it() -> None:
    files = new_files()
    checkpoint = OffsetCheckpoint(open_root(files), NAME)
    assert not checkpoint.is_written(("a", 0))
    checkpoint.update(OLD)
    checkpoint.write()
    checkpoint.update({("a", 0): None})
    assert checkpoint.is_written(("a", 0))
    checkpoint.write()
    assert not checkpoint.is_written(("a", 0))


def test_a_row_is_in_the_file_from_when_a_job_could_write_it_until_a_job_without_it_has_run() -> None:
    checkpoint = OffsetCheckpoint(root := open_root(new_files()), NAME)
    checkpoint.update(OLD)
    with_row = SyncJob(root.disk, replacements=[checkpoint.replacement()])
    checkpoint.update({("a", 0): None})
    assert checkpoint.is_written(("a", 0)), "the job is under way"
    with_row.run_here()
    assert checkpoint.is_written(("a", 0)), "it ran"
    without_row = SyncJob(root.disk, replacements=[checkpoint.replacement()])
    assert checkpoint.is_written(("a", 0)), "the job without it is under way"
    without_row.run_here()
    assert not checkpoint.is_written(("a", 0))


def test_a_job_that_failed_may_have_written_the_row_or_not() -> None:
    files = new_files()
    checkpoint = OffsetCheckpoint(root := open_root(files), NAME)
    checkpoint.update(OLD)
    files.fail("rename", times=1)
    with pytest.raises(StorageError):
        SyncJob(root.disk, replacements=[checkpoint.replacement()]).run_here()
    checkpoint.update({("a", 0): None})
    assert checkpoint.is_dirty
    assert checkpoint.is_written(("a", 0))
