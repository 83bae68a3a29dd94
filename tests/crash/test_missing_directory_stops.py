"""Topics that are deleted, made again or forgotten, stopped before every change: no start misses a directory."""

from collections.abc import Callable, Iterator

import pytest

from barnabas.storage.directories.log_directory import LogDirectory
from tests.support.files.log_directories import TOPIC_ID, append, checkpoint, delete_due, flush, kill, open_log, start
from tests.support.files.memory_files import MemoryFiles, Survival, is_lived_to_its_end

NEW_ID = bytes(range(16, 32))
SURVIVALS: tuple[Survival, ...] = ("nothing", "some", "everything")
Life = Callable[[MemoryFiles, list[bytes]], Iterator[None]]


def _written(files: MemoryFiles) -> LogDirectory:
    directory = start(files)
    for topic in ("t", "u"):
        log = open_log(directory, topic)
        append(log, 2)
        flush(log)
    checkpoint(directory)
    return directory


def deleted(files: MemoryFiles, topic_id: list[bytes]) -> Iterator[None]:
    """A topic is deleted and made again, and its directory is removed before anybody uses the new one."""
    directory = _written(files)
    yield
    topic_id[0] = NEW_ID
    directory.delete_log("t", 0, bytes(16), 0)
    yield
    delete_due(directory, 0)
    yield
    checkpoint(directory)
    directory.close(clean=True)


def set_aside(files: MemoryFiles, topic_id: list[bytes]) -> Iterator[None]:
    """A directory of another topic is put out of the way."""
    directory = _written(files)
    directory.close(clean=True)
    topic_id[0] = NEW_ID
    directory = start(files)
    yield
    log = open_log(directory, topic_id=NEW_ID)
    append(log)
    flush(log)
    checkpoint(directory)
    yield
    directory.close(clean=True)


def forgotten(files: MemoryFiles, topic_id: list[bytes]) -> Iterator[None]:
    """The catalogue does not know the directory; then a topic of that name is made."""
    directory = _written(files)
    topic_id[0] = NEW_ID
    directory.set_aside("t", 0)
    yield
    checkpoint(directory)
    directory.close(clean=True)


@pytest.mark.parametrize("survival", SURVIVALS)
@pytest.mark.parametrize("life", [deleted, set_aside, forgotten])
def test_before_whichever_change_the_run_ends_nothing_is_missed(life: Life, survival: Survival) -> None:
    change, is_over = 0, False
    seen = set()
    while not is_over:
        files, topic_id = MemoryFiles(change), [TOPIC_ID]
        files.cut_power_at(change)
        is_over = is_lived_to_its_end(life(files, topic_id))
        files.crash(survival)
        change += 1
        found = (topic_id[0], files.image())
        if found in seen:
            continue  # it goes on as it did from there before
        seen.add(found)
        for _ in range(2):  # the second start finds what the first one left
            directory = start(files)
            assert directory.resting.missing == [], (change, survival)
            open_log(directory, topic_id=topic_id[0])
            open_log(directory, "u")
            delete_due(directory, 0)
            kill(files)
    assert change > 30
    assert len(seen) > 5
