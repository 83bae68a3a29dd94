"""Retention and deletion, stopped before every change of the disk: the start never goes back, nothing kept is lost."""

from collections.abc import Callable, Iterator

import pytest

from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.record import iter_records
from barnabas.storage.log.log import PartitionLog
from tests.support.files.five_segments import NOW_MS, SMALL, append, opened
from tests.support.files.log_directories import (
    TOPIC_ID,
    apply_retention,
    checkpoint,
    delete_due,
    flush,
    names_in,
    start,
)
from tests.support.files.memory_files import MemoryFiles, Survival, is_lived_to_its_end

NEW_ID = bytes(range(16, 32))
SURVIVALS: tuple[Survival, ...] = ("nothing", "some", "everything")


class Promise:
    """What a run has done, as far as it came."""

    def __init__(self) -> None:
        self.end = 0
        """Flushed."""
        self.start_asked = 0
        """The largest start that was asked for."""
        self.start_kept = 0
        """The start that a checkpoint or a deleted segment stands for."""
        self.topic_id = TOPIC_ID
        self.first_time_ms = NOW_MS


def retain(files: MemoryFiles, promise: Promise) -> Iterator[None]:
    """Records are deleted, the log grows too large, and at last all of it is too old."""
    directory = start(files)
    log = opened(directory, TOPIC_ID)
    append(log, 9)
    flush(log)
    promise.end = 9
    yield
    promise.start_asked = 3
    log.delete_records_before(3)
    checkpoint(directory)
    promise.start_kept = 3
    yield
    apply_retention(log, NOW_MS)
    yield
    log.config = SMALL._replace(retention_bytes=2 * SMALL.segment_bytes)
    promise.start_asked = 8
    apply_retention(log, NOW_MS)
    promise.start_kept = log.log_start_offset
    assert promise.start_kept > 3
    yield
    delete_due(directory, NOW_MS + SMALL.file_delete_delay_ms)
    checkpoint(directory)
    yield
    log.config = SMALL._replace(retention_ms=10)
    promise.start_asked = 9
    apply_retention(log, NOW_MS + 1_000)
    promise.start_kept = 9
    assert (log.log_start_offset, log.log_end_offset, log.segments_count) == (9, 9, 1)
    append(log, 3)
    flush(log)
    promise.end = 12
    checkpoint(directory)
    directory.close(clean=True)


def recreate(files: MemoryFiles, promise: Promise) -> Iterator[None]:
    """The topic is deleted, one of the same name is made, and both had been written to."""
    directory = start(files)
    log = opened(directory, TOPIC_ID)
    append(log, 9)
    flush(log)
    checkpoint(directory)
    promise.end = 9
    yield
    promise.topic_id, promise.end, promise.first_time_ms = NEW_ID, 0, NOW_MS + 1
    directory.delete_log("t", 0, bytes(16), NOW_MS + 60_000)
    yield
    log = opened(directory, NEW_ID)
    append(log, 3, NOW_MS + 1)
    flush(log)
    promise.end = 3
    yield
    checkpoint(directory)
    delete_due(directory, NOW_MS + 60_000)
    directory.close(clean=True)


def times_in(log: PartitionLog) -> list[int]:
    """The timestamp of each record, in order, from the log's start to its end."""
    found: list[int] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = memoryview(log.read(offset, 1 << 20, committed=False, force_first_batch=True).read_all())
        for position, header in iter_batches(data):
            assert header.base_offset == offset, "no gap"
            records = list(iter_records(data[position : position + header.size_in_bytes]))
            found += [record.timestamp for record in records]
            offset = header.next_offset
    return found


@pytest.mark.parametrize("survival", SURVIVALS)
@pytest.mark.parametrize("life", [retain, recreate])
def test_before_whichever_change_the_run_ends(
    life: Callable[[MemoryFiles, Promise], Iterator[None]], survival: Survival
) -> None:
    change, is_over = 0, False
    seen = set()
    while not is_over:
        files, promise = MemoryFiles(change), Promise()
        files.cut_power_at(change)
        is_over = is_lived_to_its_end(life(files, promise))
        files.crash(survival)
        change += 1
        found = (*vars(promise).values(), files.image())
        if found in seen:
            continue  # it goes on as it did from there before
        seen.add(found)
        directory = start(files)
        log = opened(directory, promise.topic_id)
        assert promise.start_kept <= log.log_start_offset <= promise.start_asked, (change, survival)
        assert log.log_end_offset >= promise.end, (change, survival)
        times = times_in(log)
        assert len(times) == log.log_end_offset - log.log_start_offset
        assert all(time >= promise.first_time_ms for time in times), "a record of the topic that was deleted"
        delete_due(directory, NOW_MS * 10)
        assert not [name for name in names_in(files, "/data/t-0") if name.endswith(".deleted")]
        assert not [name for name in names_in(files) if name.endswith("-delete")]
        append(log, 1, NOW_MS + 2)
        directory.close(clean=True)
    assert change > 30
    assert len(seen) > 5
