"""Offset checkpoints: rows, Kafka's text, and the power cut at every call."""

from contextlib import suppress

import pytest

from barnabas.storage.disk.checkpoints import OffsetCheckpoint
from barnabas.storage.disk.sync_job import SyncJob
from barnabas.storage.errors import CorruptFile, StorageError
from tests.support.files.memory_files import MemoryFiles, PowerCut

NAME = "recovery-point-offset-checkpoint"
OLD = {("a", 0): 1, ("b-c", 7): 2}
NEW = {("a", 0): 10, ("d", 1): 3}


def with_old_rows(files: MemoryFiles) -> OffsetCheckpoint:
    checkpoint = OffsetCheckpoint(files.directory(), NAME)
    checkpoint.update(OLD)
    checkpoint.write()
    return checkpoint


def test_rows_come_and_go_and_the_text_is_kafkas(files: MemoryFiles) -> None:
    checkpoint = with_old_rows(files)
    checkpoint.update({("b-c", 7): None, ("a", 0): 10, ("d", 1): 3, ("never", 0): None})
    checkpoint.write()
    assert files.directory().read(NAME) == b"0\n3\na 0 10\nd 1 3\n!crc32c 0 656869398\n"
    assert OffsetCheckpoint(files.directory(), NAME).offsets == NEW


def test_a_file_that_already_says_so_is_not_written_again(files: MemoryFiles) -> None:
    OffsetCheckpoint(files.directory(), NAME).write()
    assert files.directory().read(NAME) == b"0\n0\n"
    checkpoint = with_old_rows(files)
    before = files.changes_made
    checkpoint.update(OLD)
    checkpoint.write()
    assert files.changes_made == before


def test_kafkas_empty_file_is_an_empty_checkpoint(files: MemoryFiles) -> None:
    files.directory().write(NAME, b"", 0)
    assert OffsetCheckpoint(files.directory(), NAME).offsets == {}


def test_a_file_that_cannot_be_is_refused_with_its_path(files: MemoryFiles) -> None:
    files.directory().write(NAME, b"0\n2\na 0 1\n", 0)
    with pytest.raises(CorruptFile, match=rf"^/d/{NAME}: checkpoint has a count of 2, but 1 entries"):
        OffsetCheckpoint(files.directory(), NAME)


@pytest.mark.parametrize("torn", [False, True])
def test_a_power_cut_at_any_call_leaves_the_old_rows_or_the_new_ones(torn: bool) -> None:
    seen = set()
    for change in range(8):
        for seed in range(10):
            files = MemoryFiles(seed).with_directory()
            checkpoint = with_old_rows(files)
            checkpoint.update({("b-c", 7): None, **NEW})
            files.cut_power_at(files.changes_made + change)
            done = False
            with suppress(PowerCut):  # `done` stays False
                checkpoint.write()
                done = True
            files.crash("some", torn=torn)
            found = OffsetCheckpoint(files.directory(), NAME).offsets
            assert found == NEW if done else found in (OLD, NEW)
            seen.add((done, found == NEW))
    assert seen == {(False, False), (False, True), (True, True)}


@pytest.mark.parametrize("call", ["create", "remove", "truncate", "pwrite", "sync", "rename", "sync_directory"])
def test_a_call_that_fails_leaves_the_old_rows_or_the_new_ones(files: MemoryFiles, call: str) -> None:
    checkpoint = with_old_rows(files)
    checkpoint.update({("b-c", 7): None, **NEW})
    with files.failing(call), pytest.raises(StorageError):
        checkpoint.write()
    assert OffsetCheckpoint(files.directory(), NAME).offsets in (OLD, NEW)
    assert checkpoint.is_dirty, "it will be tried again"


def test_a_row_may_be_in_the_file_until_a_write_without_it(files: MemoryFiles) -> None:
    checkpoint = OffsetCheckpoint(files.directory(), NAME)
    assert not checkpoint.is_written(("a", 0))
    checkpoint.update(OLD)
    checkpoint.write()
    checkpoint.update({("a", 0): None})
    assert checkpoint.is_written(("a", 0))
    checkpoint.write()
    assert not checkpoint.is_written(("a", 0))


def test_a_row_is_in_the_file_from_when_a_job_could_write_it_until_a_job_without_it_has_run() -> None:
    checkpoint = OffsetCheckpoint(root := MemoryFiles().with_directory().directory(), NAME)
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


def test_a_job_that_failed_may_have_written_the_row_or_not(files: MemoryFiles) -> None:
    checkpoint = OffsetCheckpoint(root := files.directory(), NAME)
    checkpoint.update(OLD)
    files.fail("rename", times=1)
    with pytest.raises(StorageError):
        SyncJob(root.disk, replacements=[checkpoint.replacement()]).run_here()
    checkpoint.update({("a", 0): None})
    assert checkpoint.is_dirty
    assert checkpoint.is_written(("a", 0))
