"""The decision tables of recovery, and the golden stories that show every case of them."""

import re
from itertools import product
from pathlib import Path

import pytest

from barnabas.storage.config import LONG_MAX
from barnabas.storage.errors import CorruptFile
from barnabas.storage.recovery.listing import Listing
from barnabas.storage.recovery.missing_files import check_segments
from barnabas.storage.recovery.recovery_decisions import (
    SEGMENT_CASES,
    TAIL_CASES,
    Leftovers,
    Tail,
    decide_tail,
    finished_swaps,
    half_deleted,
    orphaned_indexes,
    stray_snapshots,
    trust_segment,
    unfinished_files,
)
from tests.support.files.memory_files import MemoryFiles
from tests.support.stories.golden import comes_out_as_written
from tests.support.stories.recovery import Story

STORIES = sorted((Path(__file__).parents[2] / "golden" / "recovery").glob("*.txt"))
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXY"


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_story_comes_out_as_it_is_written(path: Path, request: pytest.FixtureRequest) -> None:
    comes_out_as_written(path, Story().run, request.config)


def test_every_case_has_a_story() -> None:
    """A case shows in the letters an `open` prints, or in the message of a refusal."""
    told = "\n".join(path.read_text() for path in STORIES)
    seen = set("".join(re.findall(r"^([A-Z]+) end ", told, re.MULTILINE)))
    seen |= set(re.findall(r"case ([A-Z])", told))
    assert "".join(sorted(seen)) == LETTERS


def test_every_observation_of_a_segment_has_exactly_one_case() -> None:
    cases = {
        trust_segment(was_clean=clean, is_synced=synced, has_indexes=indexes).letter
        for clean, synced, indexes in product((True, False), repeat=3)
    }
    assert cases == {case.letter for case in SEGMENT_CASES}


def test_every_tail_has_exactly_one_case() -> None:
    cases = {decide_tail(tail, is_synced=synced).letter for tail, synced in product(Tail, (True, False))}
    assert cases == {case.letter for case in TAIL_CASES}


def test_letters_are_used_once() -> None:
    letters = [case.letter for case in (*SEGMENT_CASES, *TAIL_CASES)]
    assert len(set(letters)) == len(letters)
    assert all(case.why for case in (*SEGMENT_CASES, *TAIL_CASES))


def name(base: int, suffix: str) -> str:
    return f"{base:020d}{suffix}"


def test_half_done_work_of_a_stop_is_removed() -> None:
    names = [name(0, ".log"), name(0, ".index.deleted"), name(5, ".log.cleaned"), name(3, ".log.swap")]
    names += [name(5, ".log.swap"), name(9, ".index.swap"), "partition.metadata"]
    assert unfinished_files(Listing(names)) == Leftovers([names[1], names[2], names[4], names[5]], [], "KLM")


@pytest.mark.parametrize("deleted", [".log.deleted", ".log.1.deleted"])
def test_a_segment_that_was_being_replaced_is_not_missed(deleted: str) -> None:
    """Another segment of this name, replaced before, may wait to be removed as well, under `.deleted`."""
    names = [name(0, ".log.swap"), name(5, deleted), name(5, ".timeindex"), name(9, ".log")]
    directory = MemoryFiles(0).directory()
    assert check_segments(directory, Listing(names), LONG_MAX) == []
    assert half_deleted(Listing(names)) == Leftovers([name(5, ".timeindex")], [], "K")
    with pytest.raises(CorruptFile):
        check_segments(directory, Listing(each for each in names if each != name(5, deleted)), LONG_MAX)


def test_a_finished_swap_replaces_all_it_covers() -> None:
    names = [name(base, suffix) for base in (0, 5, 9) for suffix in (".log", ".index", ".timeindex")]
    names += [name(0, ".log.swap"), name(0, ".index.swap")]
    found = finished_swaps(Listing(names), {0: 9})
    assert found.removals == sorted(names[:6])
    assert found.renames == [(names[-1], name(0, ".index")), (names[-2], name(0, ".log"))]
    assert finished_swaps(Listing(names[:9]), {}) == Leftovers([], [], "")


def test_indexes_without_a_log_are_removed() -> None:
    names = [name(0, ".log"), name(0, ".index"), name(5, ".index"), name(5, ".txnindex"), name(7, ".snapshot")]
    assert orphaned_indexes(Listing(names)).removals == names[2:4]


def test_snapshots_are_kept_at_segment_bases_and_the_newest() -> None:
    assert stray_snapshots([0, 3, 5, 8, 9, 12], [0, 5], 10) == [3, 8, 12]
    assert stray_snapshots([], [0], 0) == []
