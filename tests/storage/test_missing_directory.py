"""A partition's directory that is gone is missed, unless somebody took it away.

That a kill is no reason to, whenever it comes, tests/crash/test_missing_directory_stops.py shows.
"""

import errno

import pytest

from barnabas.storage.directories.log_directory import LogDirectory
from barnabas.storage.errors import WHAT_TO_DO, CorruptFile, StorageError
from tests.support.files.log_directories import (
    append,
    checkpoint,
    delete_due,
    end,
    flush,
    kill,
    names_in,
    offsets,
    open_log,
    start,
    started,
)
from tests.support.files.memory_files import MemoryFiles, Survival

NEW_ID = bytes(range(16, 32))
POINTS = "/data/recovery-point-offset-checkpoint"
SURVIVALS: tuple[Survival, ...] = ("nothing", "some", "everything")


def remove(files: MemoryFiles, path: str) -> None:
    for name in names_in(files, path):
        files.remove(f"{path}/{name}")
    files.rmdir(path)
    files.sync_directory(path.rpartition("/")[0])


def filled(*, is_clean: bool) -> MemoryFiles:
    """Two partitions, all of them synced."""
    files, directory = started()
    for topic in ("t", "u"):
        log = open_log(directory, topic)
        append(log, 3)
        flush(log)
    checkpoint(directory)
    end(files, directory, is_clean=is_clean)
    return files


@pytest.mark.parametrize("is_clean", [True, False], ids=["stopped", "killed"])
def test_a_directory_that_is_gone_is_refused_at_every_start_and_not_made_anew(is_clean: bool) -> None:
    files = filled(is_clean=is_clean)
    remove(files, "/data/t-0")
    for _ in range(3):
        directory = start(files)
        assert directory.resting.missing == [("t", 0)]
        assert directory.resting.end("t", 0) is None
        assert directory.resting.summary("t", 0) is None
        with pytest.raises(CorruptFile) as refused:
            open_log(directory)
        assert str(refused.value) == (
            "/data/t-0: the directory is missing, but was synced up to offset 3: its records are lost (case Z). "
            f"{WHAT_TO_DO}"
        )
        assert open_log(directory, "u").log_end_offset == 3
        assert open_log(directory, "new").log_end_offset == 0
        assert "t-0" not in names_in(files)
        checkpoint(directory)
        directory.close(clean=True)


def test_a_directory_of_which_nothing_was_synced_is_made_anew(files: MemoryFiles, directory: LogDirectory) -> None:
    append(open_log(directory), 3)
    checkpoint(directory)
    kill(files)
    remove(files, "/data/t-0")
    assert open_log(start(files)).log_end_offset == 0


def test_a_missing_partition_that_is_deleted_is_not_missed_any_more() -> None:
    files = filled(is_clean=True)
    remove(files, "/data/t-0")
    directory = start(files)
    directory.delete_log("t", 0, bytes(16), 0)
    kill(files)
    assert offsets(files, POINTS) == {("u", 0): 3}
    assert open_log(start(files), topic_id=NEW_ID).log_end_offset == 0


def test_where_the_rows_cannot_be_written_the_files_go_and_the_name_of_the_directory_stays() -> None:
    files = filled(is_clean=True)
    directory = start(files)
    directory.delete_log("t", 0, bytes(16), 0)
    files.fail("pwrite", errno.ENOSPC)
    with pytest.raises(StorageError, match="No space left"):
        delete_due(directory, 0)
    (gone,) = (name for name in names_in(files) if name.endswith("-delete"))
    assert names_in(files, f"/data/{gone}") == set()
    kill(files)
    files.heal()
    directory = start(files)
    assert directory.resting.missing == []
    assert open_log(directory, topic_id=NEW_ID).log_end_offset == 0
    delete_due(directory, 0)
    assert gone not in names_in(files)


def test_rows_are_written_at_most_once_for_many_directories_that_go() -> None:
    files, directory = started()
    for partition in range(20):
        log = open_log(directory, partition=partition)
        append(log)
        flush(log)
    checkpoint(directory)
    for partition in range(20):
        directory.delete_log("t", partition, bytes(16), 0)
    files.calls.clear()
    delete_due(directory, 0)
    assert len([call for call in files.calls if call.name == "rename" and "recovery-point" in call.path]) == 1
    checkpoint(directory)
    for partition in range(20):
        open_log(directory, partition=partition, topic_id=NEW_ID)
