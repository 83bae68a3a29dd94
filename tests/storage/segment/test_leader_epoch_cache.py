"""The leader-epoch cache: Kafka's table of answers, and its file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.files.checkpoints import decode_leader_epochs
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.sync_job import SyncJob
from barnabas.storage.errors import CorruptFile
from barnabas.storage.segment.leader_epoch_cache import LeaderEpochCache
from tests.support.files.memory_files import MemoryFiles

LOG_END = 100


def open_root() -> Directory:
    return MemoryFiles().with_directory().directory()


def write(epochs: LeaderEpochCache) -> None:
    """As a flush does."""
    replacement = epochs.replacement()
    SyncJob(replacement.file.directory.disk, replacements=[replacement]).run_here()


def epochs_of(*entries: tuple[int, int]) -> LeaderEpochCache:
    epochs = LeaderEpochCache(open_root())
    for epoch, start_offset in entries:
        assert epochs.assign(epoch, start_offset)
    return epochs


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (-1, (-1, -1)),
        (1, (1, 10)),  # older than all: where the first known one begins
        (2, (2, 40)),
        (3, (2, 40)),  # never was: the one before it
        (5, (5, 60)),
        (6, (5, 60)),
        (7, (7, LOG_END)),
        (8, (-1, -1)),
    ],
)
def test_the_end_of_an_epoch_is_where_the_next_begins(asked: int, answer: tuple[int, int]) -> None:
    epochs = epochs_of((2, 10), (5, 40), (7, 60))
    for leader_epoch in (-1, 7):
        epochs.leader_epoch = leader_epoch
        assert epochs.end_offset_for(asked, LOG_END) == answer


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (-1, (-1, -1)),
        (5, (5, 60)),
        (7, (7, LOG_END)),
        (8, (7, LOG_END)),  # never was: the one before it
        (9, (9, LOG_END)),
        (10, (-1, -1)),
    ],
)
def test_readers_see_the_epoch_of_the_leader_before_anything_is_appended_in_it(
    asked: int, answer: tuple[int, int]
) -> None:
    epochs = epochs_of((2, 10), (5, 40), (7, 60))
    write(epochs)
    epochs.leader_epoch = 9
    assert epochs.end_offset_for(asked, LOG_END) == answer
    assert not epochs.is_dirty
    assert epochs.latest_epoch == 7


@pytest.mark.parametrize("entries", [[], [(3, LOG_END)], [(1, 10), (3, LOG_END)], [(1, 10), (3, 20)]])
def test_readers_see_what_will_be_there_after_the_first_append(entries: list[tuple[int, int]]) -> None:
    led = epochs_of(*entries)
    led.leader_epoch = 5
    seen = list(led.seen_by_readers(LOG_END))
    appended = epochs_of(*entries)
    appended.assign(5, LOG_END)
    assert seen == appended.entries == list(appended.seen_by_readers(LOG_END + 1))


def test_nothing_is_known_of_an_empty_log_that_nobody_leads() -> None:
    epochs = epochs_of()
    assert (epochs.latest_epoch, epochs.end_offset_for(0, 0)) == (-1, (-1, -1))


def test_the_latest_epoch_is_assigned_once() -> None:
    epochs = epochs_of((2, 10))
    assert not epochs.assign(2, 50)
    assert epochs.entries == [(2, 10)]


def test_assigning_takes_away_what_contradicts_it() -> None:
    epochs = epochs_of((2, 10), (5, 40), (7, 60))
    epochs.assign(6, 40)
    assert epochs.entries == [(2, 10), (6, 40)]


@pytest.mark.parametrize(
    ("offset", "left"), [(61, [(2, 10), (5, 40), (7, 60)]), (60, [(2, 10), (5, 40)]), (11, [(2, 10)]), (10, [])]
)
def test_truncating_the_end_drops_what_began_there(offset: int, left: list[tuple[int, int]]) -> None:
    epochs = epochs_of((2, 10), (5, 40), (7, 60))
    epochs.truncate_from_end(offset)
    assert epochs.entries == left


@pytest.mark.parametrize(
    ("offset", "left"),
    [(5, [(2, 10), (5, 40)]), (10, [(2, 10), (5, 40)]), (25, [(2, 25), (5, 40)]), (40, [(5, 40)]), (70, [(5, 70)])],
)
def test_truncating_the_start_keeps_the_epoch_that_reaches_over_it(offset: int, left: list[tuple[int, int]]) -> None:
    epochs = epochs_of((2, 10), (5, 40))
    write(epochs)
    epochs.truncate_from_start(offset)
    assert epochs.entries == left
    assert epochs.is_dirty == (left != [(2, 10), (5, 40)])


def test_the_file_follows_when_it_is_written(root: Directory) -> None:
    epochs = LeaderEpochCache(root)
    assert not epochs.is_dirty
    assert root.names() == [], "nothing to say, no file"
    epochs.assign(3, 0)
    epochs.assign(4, 8)
    assert epochs.is_dirty
    write(epochs)
    assert not epochs.is_dirty
    assert root.read("leader-epoch-checkpoint") == b"0\n2\n3 0\n4 8\n"
    assert LeaderEpochCache(root).entries == epochs.entries


@pytest.mark.parametrize("content", [b"1\n0\n", b"0\n2\n3 0\n", b"0\n1\nthree 0\n", b"0\n2\n3 0\n2 5\n", b"\xff"])
def test_a_file_that_cannot_be_is_refused_with_its_path(root: Directory, content: bytes) -> None:
    root.write("leader-epoch-checkpoint", content, 0)
    with pytest.raises(CorruptFile, match=r"^/d/leader-epoch-checkpoint: "):
        LeaderEpochCache(root)


@given(
    st.lists(
        st.tuples(st.sampled_from(["assign", "end", "start"]), st.integers(0, 20), st.integers(0, 100)), max_size=25
    )
)
def test_whatever_happens_epochs_and_offsets_increase(steps: list[tuple[str, int, int]]) -> None:
    epochs = LeaderEpochCache(open_root())
    for step, epoch, offset in steps:
        if step == "assign":
            epochs.assign(epoch, offset)
        elif step == "end":
            epochs.truncate_from_end(offset)
        else:
            epochs.truncate_from_start(offset)
        entries = decode_leader_epochs(epochs.content())
        assert entries == epochs.entries
        starts = [entry.start_offset for entry in entries]
        assert starts == sorted(set(starts))
