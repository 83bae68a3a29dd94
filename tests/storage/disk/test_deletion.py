"""What is given up is removed in time, once, and is not lost when removing fails."""

import errno

import pytest

from barnabas.storage.disk.deletion import RETRY_MS, Deletions
from barnabas.storage.disk.directory import Directory
from barnabas.storage.errors import StorageError
from tests.support.files.memory_files import MemoryFiles
from tests.support.work import finish_work


def remove_due(deletions: Deletions, now_ms: int) -> int | None:
    """Everything at once; when the next is due."""
    finish_work(deletions.removing(now_ms))
    return deletions.next_due_ms


@pytest.fixture
def deletions() -> Deletions:
    return Deletions()


@pytest.fixture
def partition(root: Directory) -> Directory:
    partition = root.subdirectory("t-0")
    partition.create()
    for name in ("a.deleted", "b.deleted", "c.log"):
        partition.open(name, create=True)
    partition.sync()
    root.sync()
    return partition


def test_new_names_are_synced_before_the_first_of_them_goes(files: MemoryFiles, partition: Directory) -> None:
    """A power cut could bring back a segment with half of its files."""
    partition.rename("c.log", "c.log.deleted")
    deletions = Deletions()
    deletions.schedule(0, partition, ["a.deleted", "c.log.deleted"])
    files.fail("sync_directory", errno.EIO)
    with pytest.raises(StorageError):
        remove_due(deletions, 0)
    assert {entry.name for entry in files.entries("/d/t-0")} == {"a.deleted", "b.deleted", "c.log.deleted"}


def test_files_go_when_they_are_due_and_not_before(deletions: Deletions, partition: Directory) -> None:
    deletions.schedule(200, partition, ["b.deleted"])
    deletions.schedule(100, partition, ["a.deleted", "never-was.deleted"])
    assert remove_due(deletions, 99) == 100
    assert remove_due(deletions, 100) == 200
    assert partition.names() == ["b.deleted", "c.log"]
    assert remove_due(deletions, 1_000) is None
    assert partition.names() == ["c.log"]


def test_another_thread_may_remove_while_the_owner_changes_names(partition: Directory, deletions: Deletions) -> None:
    deletions.schedule(0, partition, ["a.deleted", "b.deleted"])
    removing = deletions.removing(0)
    calls = [next(removing)]
    changes = partition.changes
    calls[0]()
    assert partition.names() == ["b.deleted", "c.log"]
    assert partition.changes == changes, "the count has one owner: a change that got lost would never be synced"
    partition.move_to("t-0.gone-delete")
    calls.extend(removing)
    calls[1]()
    assert (partition.names(), len(calls)) == (["c.log"], 2)


def test_one_that_fails_holds_up_no_other(files: MemoryFiles, partition: Directory, deletions: Deletions) -> None:
    for name in ("a.deleted", "b.deleted"):
        deletions.schedule(0, partition, [name])
    files.fail("remove", errno.EIO, path="a.deleted")
    with pytest.raises(StorageError):
        remove_due(deletions, 0)
    assert (partition.names(), deletions.next_due_ms) == (["a.deleted", "c.log"], RETRY_MS)


def test_a_directory_goes_with_all_in_it(deletions: Deletions, files: MemoryFiles, partition: Directory) -> None:
    deletions.schedule(100, partition)
    assert remove_due(deletions, 100) is None
    assert files.entries("/d") == []


def test_a_failed_deletion_is_retried_later(files: MemoryFiles, partition: Directory) -> None:
    deletions = Deletions()
    deletions.schedule(100, partition, ["a.deleted"])
    with files.failing("remove", errno.EIO), pytest.raises(StorageError):
        remove_due(deletions, 100)
    assert remove_due(deletions, 101) == 100 + RETRY_MS
    assert remove_due(deletions, 100 + RETRY_MS) is None
    assert partition.names() == ["b.deleted", "c.log"]


def test_an_undeletable_file_does_not_stop_other_deletions(files: MemoryFiles, partition: Directory) -> None:
    deletions = Deletions()
    deletions.schedule(0, partition, ["a.deleted"])  # of a run long ago
    deletions.schedule(100 * RETRY_MS, partition, ["b.deleted"])
    files.fail("remove", errno.EIO, path="a.deleted")
    with pytest.raises(StorageError):
        remove_due(deletions, 100 * RETRY_MS)
    remove_due(deletions, 100 * RETRY_MS + 1)
    assert partition.names() == ["a.deleted", "c.log"]


def test_files_of_a_directory_that_was_renamed_or_removed_meanwhile_are_no_trouble(
    files: MemoryFiles, partition: Directory, deletions: Deletions
) -> None:
    deletions.schedule(200, partition, ["a.deleted"])
    deletions.schedule(400, partition, ["b.deleted"])
    partition.move_to("t-0.gone-delete")
    deletions.schedule(300, partition)
    assert remove_due(deletions, 200) == 300
    assert partition.names() == ["b.deleted", "c.log"]
    assert remove_due(deletions, 400) is None
    assert files.entries("/d") == []


def test_where_room_is_wanted_nothing_waits_but_what_could_not_be_removed(
    files: MemoryFiles, partition: Directory, deletions: Deletions
) -> None:
    deletions.schedule(0, partition, ["a.deleted"])
    with files.failing("remove", errno.EIO), pytest.raises(StorageError):
        remove_due(deletions, 0)
    deletions.schedule(60_000, partition, ["b.deleted"])
    assert deletions.hurry(5)
    assert remove_due(deletions, 5) == RETRY_MS
    assert partition.names() == ["a.deleted", "c.log"]
    assert not deletions.hurry(6)
