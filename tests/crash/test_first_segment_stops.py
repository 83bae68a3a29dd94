"""A log whose segments retention takes, stopped before every change of the disk: no start misses what was taken."""

from collections.abc import Callable, Iterator

import pytest

from tests.support.files.five_segments import DUE_MS, NOW_MS, append, filled, keep, opened
from tests.support.files.log_directories import apply_retention, checkpoint, delete_due, flush, start
from tests.support.files.memory_files import MemoryFiles, PowerCut, Survival, is_lived_to_its_end

SURVIVALS: tuple[Survival, ...] = ("nothing", "some", "everything")
Life = Callable[[MemoryFiles], Iterator[None]]


def idle(files: MemoryFiles) -> Iterator[None]:
    """Nobody writes after retention has been at work, twice."""
    directory, log = filled(files)
    keep(log, 4)
    yield
    delete_due(directory, DUE_MS)
    keep(log, 2)
    checkpoint(directory)
    delete_due(directory, DUE_MS)
    yield
    checkpoint(directory)


def records_deleted(files: MemoryFiles) -> Iterator[None]:
    """Records are deleted up to the middle of a segment, and all of them at last."""
    directory, log = filled(files)
    log.delete_records_before(3)
    checkpoint(directory)
    apply_retention(log, NOW_MS)
    flush(log)
    yield
    log.delete_records_before(-1)
    apply_retention(log, NOW_MS)
    checkpoint(directory)
    delete_due(directory, DUE_MS)
    append(log, 3)
    yield
    checkpoint(directory)
    directory.close(clean=True)


def closed_and_opened(files: MemoryFiles) -> Iterator[None]:
    """The log is closed and opened again while files wait to be removed."""
    directory, log = filled(files)
    keep(log, 4)
    directory.close_log("t", 0)
    log = opened(directory)
    keep(log, 2)
    delete_due(directory, DUE_MS)
    yield
    directory.delete_log("t", 0, bytes(16), DUE_MS)
    delete_due(directory, DUE_MS)
    log = opened(directory)
    append(log, 3)
    flush(log)
    yield
    directory.close(clean=True)


@pytest.mark.parametrize("survival", SURVIVALS)
@pytest.mark.parametrize("life", [idle, records_deleted, closed_and_opened])
def test_before_whichever_change_the_run_or_a_start_ends_nothing_is_missed(life: Life, survival: Survival) -> None:
    change, is_over = 0, False
    images = set()
    while not is_over:
        files = MemoryFiles(change)
        files.cut_power_at(change)
        is_over = is_lived_to_its_end(life(files))
        files.crash(survival)
        change += 1
        if survival != "some" and files.image() in images:
            continue  # without chance, it goes on as it did from there before
        images.add(files.image())
        later, is_open = 0, False
        while not is_open:
            files.cut_power_at(files.changes_made + later)
            try:
                opened(start(files))
                is_open = True
            except PowerCut:
                later += 1
            files.crash(survival)
        directory = start(files)
        log = opened(directory)
        append(log, 1)
        delete_due(directory, DUE_MS)
        checkpoint(directory)
        files.crash("everything")
        opened(start(files))
    assert change > 30
    assert len(images) > 5
