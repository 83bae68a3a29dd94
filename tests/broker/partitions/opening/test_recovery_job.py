"""The recovery of a partition as a job: whatever cuts it off, the next one finds what the first one would have."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.broker.partitions.opening.recovery_job import RecoverPartition
from barnabas.broker.runtime.workers.counted_files import CountedFiles
from barnabas.broker.runtime.workers.process import go_through
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.storage.config import LogConfig
from barnabas.storage.directories.log_directory import LogDirectory
from barnabas.storage.directories.recovered_logs import ClosedLog
from barnabas.storage.errors import CorruptFile
from barnabas.storage.recovery import log_loader
from barnabas.storage.recovery.opening import PauseCounter
from tests.support.files.memory_files import MemoryFiles

TOPIC_ID = bytes(15) + b"\1"
KEY = ("t", 0)
PRODUCERS = 30
COUNT = 2 * PRODUCERS  # batches and aborts


@pytest.fixture(autouse=True)
def many_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.storage.recovery.opening.PAUSE_AFTER", 8)


def config(segment_bytes: int = 2_000) -> LogConfig:
    return LogConfig(segment_bytes=segment_bytes)


def opened(files: MemoryFiles) -> LogDirectory:
    return LogDirectory.open("/d", files, node_id=1, new_id=lambda: random.Random(3).randbytes(16))


def killed(segment_bytes: int = 2_000) -> MemoryFiles:
    """A partition of aborted transactions, whose broker was killed."""
    files = MemoryFiles(0)
    log = opened(files).open_log(*KEY, TOPIC_ID, config(segment_bytes), 0)
    for producer_id in range(PRODUCERS):
        records = [NewRecord(None, b"v" * 50, (), 0)]
        batch = build_batch(records, producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True)
        log.append(bytearray(batch), leader_epoch=0, now_ms=0)
        marker = EndTxnMarker(False, producer_id, 0, 0, -1, 0)
        log.append_marker(marker, leader_epoch=0, now_ms=0)
    files.crash("everything")
    return files


def job_of(directory: LogDirectory, segment_bytes: int = 2_000) -> RecoverPartition:
    checkpoint = directory.recovered.checkpoint(KEY, was_clean=directory.was_clean, meta=directory.meta)
    return RecoverPartition("/d/t-0", *KEY, TOPIC_ID, config(segment_bytes), checkpoint, 0)


def done(job: RecoverPartition, files: MemoryFiles, tell: Callable[[Any], None] = lambda _: None) -> ClosedLog:
    result = go_through(job, files, 0, tell)
    assert isinstance(result, ClosedLog)
    return result


def test_it_tells_what_the_checkpoints_have_to_say_and_how_much_it_read() -> None:
    files = killed()
    told: list[Any] = []
    closed = done(job_of(opened(files)), files, told.append)
    assert (closed.recovery_point, closed.high_watermark, closed.log_start_offset) == (COUNT, COUNT, 0)
    assert closed.recovered.segments_reread == 3
    assert told[-1].done_bytes > PRODUCERS * 100


def test_a_second_one_finds_nothing_to_do() -> None:
    files = killed()
    directory = opened(files)
    directory.recovered.note(KEY, done(job_of(directory), files))
    assert done(job_of(directory), files).recovered.segments_reread == 0


def test_cut_off_anywhere_it_loses_nothing() -> None:
    whole = killed()
    size = opened(whole).resting.size_of(*KEY)
    whole.crash("everything")
    steps_count = 0
    for step in job_of(opened(whole)).steps(whole):
        steps_count += 1
        if not isinstance(step, int):
            step()
    assert steps_count > 5
    for cut in range(steps_count):
        files = killed()
        directory = opened(files)
        steps = job_of(directory).steps(files)
        for _ in range(cut):
            step = next(steps)
            if not isinstance(step, int):
                step()
        steps.close()
        assert done(job_of(directory), files).recovery_point == COUNT, cut
        log = directory.open_log(*KEY, TOPIC_ID, config(), 0)
        assert log.last_stable_offset == COUNT
        assert log.size == size
        directory.close(clean=False)


def test_damage_is_reported_and_every_file_closed() -> None:
    files = killed()
    directory = opened(files)
    file = files.open("/d/t-0/leader-epoch-checkpoint", create=True)
    file.pwrite(b"not a checkpoint", 0)
    file.close()
    before = set(files.open_paths)
    with pytest.raises(CorruptFile):
        done(job_of(directory), files)
    assert set(files.open_paths) == before


@pytest.mark.pure
def test_memory_is_bounded_however_many_transactions_a_segment_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_loader, "_ABORTED_HELD_MAX", 4)
    files = killed(segment_bytes=1 << 20)
    held: list[int] = []
    is_over = PauseCounter.is_over

    class Watched(log_loader._Loader):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            watched.append(self)

    watched: list[Any] = []

    def look(pace: PauseCounter, size: int) -> bool:
        held.extend(segment.txn_index.in_memory for each in watched for segment in each._segments)
        return is_over(pace, size)

    monkeypatch.setattr(log_loader, "_Loader", Watched)
    monkeypatch.setattr(PauseCounter, "is_over", look)
    closed = done(job_of(opened(files), 1 << 20), files)
    assert closed.recovery_point == COUNT
    assert 0 < max(held) <= 4


def test_bytes_are_counted() -> None:
    files = MemoryFiles(0)
    counted = CountedFiles(files)
    counted.mkdir("/a")
    file = counted.open("/a/b", create=True)
    file.pwrite(b"12345", 0)
    assert file.pread(3, 0) == b"123"
    assert (counted.taken(), counted.taken()) == (8, 0)
    file.sync()
    file.truncate(2)
    assert file.size() == counted.stat("/a/b").size == 2
    file.close()
    counted.rename("/a/b", "/a/c")
    counted.sync_directory("/a")
    assert [entry.name for entry in counted.entries("/a")] == ["c"]
    counted.remove("/a/c")
    assert counted.volume("/a").total_bytes > 0
    counted.rmdir("/a")
    assert (counted.common_sync("/") is None) is (files.common_sync("/") is None)
    counted.lock("/lock").release()
