"""Small files that are replaced by several at a time: whatever the order, the newest content stays."""

import errno
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from barnabas.storage.disk.files import RealFiles
from barnabas.storage.disk.small_file import Replacement, SmallFile
from barnabas.storage.errors import StorageError
from tests.support.files.interrupted_files import InterruptedFiles

NAME = "small"
TEMPORARY = f"/d/{NAME}.tmp"


def open_memory() -> tuple[InterruptedFiles, Directory]:
    files = InterruptedFiles().with_directory()
    return files, files.directory()


@pytest.fixture
def files() -> InterruptedFiles:
    return InterruptedFiles().with_directory()


def newer(file: SmallFile) -> Replacement:
    """The next version, whose content is its number."""
    file.changed()
    return file.replacement(b"%d" % file.version)


def test_an_atomic_write_survives_a_power_cut(files: InterruptedFiles, root: Directory) -> None:
    file = SmallFile(root, NAME)
    assert not file.is_dirty
    file.changed()
    assert file.is_dirty
    file.write(b"new")
    assert not file.is_dirty
    files.crash("nothing")
    assert files.directory().read(NAME) == b"new"


@pytest.mark.parametrize("changes_meanwhile", [False, True])
def test_it_is_dirty_until_its_directory_was_synced_and_longer_if_it_changed_meanwhile(changes_meanwhile: bool) -> None:
    file = SmallFile(open_memory()[1], NAME)
    replacement = newer(file)
    if changes_meanwhile:
        file.changed()
    replacement.run()
    assert file.is_dirty
    replacement.finish()
    assert file.is_dirty == changes_meanwhile


def test_a_write_that_fails_can_be_tried_again(files: InterruptedFiles, root: Directory) -> None:
    file = SmallFile(root, NAME)
    replacement = newer(file)
    files.fail("pwrite", errno.ENOSPC, times=1)
    with pytest.raises(StorageError):
        replacement.run()
    assert (file.is_dirty, root.read(NAME)) == (True, None)
    file.write(b"again")
    assert (file.is_dirty, root.read(NAME)) == (False, b"again")


def test_a_file_that_was_given_up_is_neither_made_nor_replaced(root: Directory) -> None:
    file = SmallFile(root, NAME)
    replacement = newer(file)
    file.give_up()
    replacement.run()
    assert root.names() == []


def test_an_aborted_writer_does_not_touch_the_next_temporary_file() -> None:
    files, root = open_memory()
    old, new = SmallFile(root, NAME), SmallFile(root, NAME)
    late = newer(old)
    current = newer(new)

    def take_over() -> None:
        old.give_up()
        files.interrupt("sync", TEMPORARY, lambda: None)
        current.run()

    files.interrupt("pwrite", TEMPORARY, take_over)
    late._replace(data=b"of the old owner").run()
    assert (root.names(), root.read(NAME)) == ([NAME], b"1")


@given(
    order=st.permutations(range(4)),
    held_at=st.lists(st.sampled_from(["truncate", "pwrite", "sync"]), min_size=4, max_size=4),
    nested=st.integers(0, 4),
)
def test_in_whatever_order_replacements_run_the_newest_of_those_that_ran_is_there(
    order: list[int], held_at: list[str], nested: int
) -> None:
    """The first `nested` run inside each other, each held in the middle by the next; the others one after another."""
    files, root = open_memory()
    file = SmallFile(root, NAME)
    replacements = [newer(file) for _ in range(4)]
    ran: list[int] = []

    def run(position: int) -> None:
        if position + 1 < nested:
            files.interrupt(held_at[position], TEMPORARY, lambda: run(position + 1))
        replacements[order[position]].run()
        ran.append(order[position])
        assert root.read(NAME) == b"%d" % (max(ran) + 1)

    run(0)
    for position in range(max(nested, 1), 4):
        run(position)
    assert (root.names(), len(ran)) == ([NAME], 4)


def test_threads_that_write_at_the_same_time_leave_the_newest_content(tmp_path: Path) -> None:
    root = Directory(Disk(RealFiles(), str(tmp_path)), str(tmp_path))
    file = SmallFile(root, NAME)
    replacements = [newer(file) for _ in range(60)]
    with ThreadPoolExecutor(3) as threads:
        for done in [threads.submit(replacement.run) for replacement in replacements]:
            done.result()
    assert (root.names(), root.read(NAME)) == ([NAME], b"60")
