"""What is given up is removed in time, once, and is not lost when removing fails."""

import errno

import pytest

from barnabas.storage.disk.deletion import RETRY_MS, Deletions
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from barnabas.storage.errors import StorageError
from tests.support.files.memory_files import MemoryFiles


def open_partition() -> tuple[MemoryFiles, Directory]:
    files = MemoryFiles()
    files.mkdir("/d")
    partition = Directory(Disk(files, "/d"), "/d").subdirectory("t-0")
    partition.create()
    for name in ("a.deleted", "b.deleted", "c.log"):
        partition.open(name, create=True)
    return files, partition


def test_files_go_when_they_are_due_and_not_before() -> None:
    _, partition = open_partition()
    deletions = Deletions()
    deletions.schedule(200, partition, ["b.deleted"])
    deletions.schedule(100, partition, ["a.deleted", "never-was.deleted"])
    assert deletions.remove_due(99) == 100
    assert deletions.remove_due(100) == 200
    assert partition.names() == ["b.deleted", "c.log"]
    assert deletions.remove_due(1_000) is None
    assert partition.names() == ["c.log"]


def test_what_takes_a_sync_first_counts_as_many() -> None:
    (_, partition), deletions = open_partition(), Deletions()
    for number in range(30):
        deletions.schedule(0, partition, [f"{number}.deleted"], before_last=lambda: True)
    assert deletions.remove_due(0, at_most=25) == 0
    assert len(deletions) == 27


def test_a_directory_goes_with_all_in_it() -> None:
    files, partition = open_partition()
    deletions = Deletions()
    deletions.schedule(100, partition)
    assert deletions.remove_due(100) is None
    assert files.entries("/d") == []


def test_what_cannot_be_removed_is_tried_again_later() -> None:
    files, partition = open_partition()
    deletions = Deletions()
    deletions.schedule(100, partition, ["a.deleted"])
    files.fail("remove", errno.EIO)
    with pytest.raises(StorageError):
        deletions.remove_due(100)
    files.heal()
    assert deletions.remove_due(101) == 100 + RETRY_MS
    assert deletions.remove_due(100 + RETRY_MS) is None
    assert partition.names() == ["b.deleted", "c.log"]


def test_what_can_never_be_removed_keeps_nothing_else_on_the_disk() -> None:
    files, partition = open_partition()
    deletions = Deletions()
    deletions.schedule(0, partition, ["a.deleted"])  # of a run long ago
    deletions.schedule(100 * RETRY_MS, partition, ["b.deleted"])
    files.fail("remove", errno.EIO, path="a.deleted")
    with pytest.raises(StorageError):
        deletions.remove_due(100 * RETRY_MS)
    deletions.remove_due(100 * RETRY_MS + 1)
    assert partition.names() == ["a.deleted", "c.log"]


def test_files_of_a_directory_that_was_renamed_or_removed_meanwhile_are_no_trouble() -> None:
    files, partition = open_partition()
    deletions = Deletions()
    deletions.schedule(200, partition, ["a.deleted"])
    deletions.schedule(400, partition, ["b.deleted"])
    partition.move_to("t-0.gone-delete")
    deletions.schedule(300, partition)
    assert deletions.remove_due(200) == 300
    assert partition.names() == ["b.deleted", "c.log"]
    assert deletions.remove_due(400) is None
    assert files.entries("/d") == []


def test_where_room_is_wanted_nothing_waits_but_what_could_not_be_removed() -> None:
    files, partition = open_partition()
    deletions = Deletions()
    deletions.schedule(0, partition, ["a.deleted"])
    files.fail("remove", errno.EIO)
    with pytest.raises(StorageError):
        deletions.remove_due(0)
    files.heal()
    deletions.schedule(60_000, partition, ["b.deleted"])
    assert deletions.hurry(5)
    assert deletions.remove_due(5) == RETRY_MS
    assert partition.names() == ["a.deleted", "c.log"]
    assert not deletions.hurry(6)
