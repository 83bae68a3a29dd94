"""A partition that was recovered elsewhere is opened as after a clean stop: none of its records is read."""

import random

import pytest

from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.storage.config import LogConfig
from barnabas.storage.directories.log_directory import LogDirectory
from barnabas.storage.directories.recovered_logs import ClosedLog
from barnabas.storage.disk.deletion import Deletions
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from barnabas.storage.errors import CorruptFile, DirectoryOffline, SyncFailed
from barnabas.storage.log.log import PartitionLog
from barnabas.storage.recovery.log_loader import load_log
from barnabas.storage.recovery.opening import open_at_once
from tests.support.files.log_directories import was_needed
from tests.support.files.memory_files import MemoryFiles

TOPIC_ID = bytes(15) + b"\1"
CONFIG = LogConfig(segment_bytes=4_000)
KEY = ("t", 0)
COUNT = 100


def opened(files: MemoryFiles) -> LogDirectory:
    return LogDirectory.open("/d", files, node_id=1, new_id=lambda: random.Random(3).randbytes(16))


def killed() -> MemoryFiles:
    """A directory with one partition in several segments, whose broker was killed."""
    files = MemoryFiles(0)
    log = opened(files).open_log(*KEY, TOPIC_ID, CONFIG, 0)
    for number in range(COUNT):
        batch = bytearray(build_batch([NewRecord(None, b"%d" % number * 50, (), number)]))
        log.append(batch, leader_epoch=0, now_ms=0)
    files.crash("everything")
    return files


def recover(files: MemoryFiles, directory: LogDirectory) -> ClosedLog:
    """As broker/partitions/opening/recovery_job.py does it."""
    path = "/d/t-0"
    checkpoint = directory.recovered.checkpoint(KEY, was_clean=False, meta=directory.meta)
    there = Directory(Disk(files, path), path)
    loaded = open_at_once(load_log(there, CONFIG, checkpoint, 0))
    log = PartitionLog(there, *KEY, TOPIC_ID, CONFIG, loaded, checkpoint, Deletions())
    log.close()
    return ClosedLog(
        log.recovered, log.recovery_point, log.high_watermark, log.log_start_offset, log.first_segment_base_offset
    )


def test_opening_it_reads_none_of_its_records_but_the_last_few() -> None:
    files = killed()
    directory = opened(files)
    directory.recovered.note(KEY, recover(files, directory))
    before = len(files.calls)
    log = directory.open_log(*KEY, TOPIC_ID, CONFIG, 0)
    reads = [call for call in files.calls[before:] if call.name == "pread" and call.path.endswith(".log")]
    assert len({call.path for call in reads}) <= 1
    assert log.log_end_offset == log.high_watermark == log.recovery_point == COUNT
    assert log.segments_count > 3
    assert not was_needed(log.recovered)
    directory.close(clean=True)


def test_it_counts_as_looked_into_so_a_stop_is_clean() -> None:
    files = killed()
    directory = opened(files)
    assert directory.recovered.is_awaited(KEY)
    directory.recovered.note(KEY, recover(files, directory))
    assert not directory.recovered.is_awaited(KEY)
    assert directory.unrecovered == frozenset()
    assert directory.resting.summary(*KEY) is not None
    directory.close(clean=True)
    again = opened(files)
    assert again.was_clean
    assert again.resting.end(*KEY) == COUNT
    assert again.open_log(*KEY, TOPIC_ID, CONFIG, 0).log_end_offset == COUNT
    again.close(clean=True)


def test_after_another_kill_nothing_is_missing() -> None:
    files = killed()
    directory = opened(files)
    directory.recovered.note(KEY, recover(files, directory))
    files.crash("nothing")
    again = opened(files)
    assert again.open_log(*KEY, TOPIC_ID, CONFIG, 0).log_end_offset == COUNT
    again.close(clean=True)


def test_one_of_the_same_name_knows_nothing_of_it() -> None:
    files = killed()
    directory = opened(files)
    directory.recovered.note(KEY, recover(files, directory))
    directory.delete_log(*KEY, bytes(16), 0)
    assert KEY not in directory.recovered
    assert directory.open_log(*KEY, TOPIC_ID, CONFIG, 0).log_end_offset == 0
    directory.close(clean=True)


def test_a_sync_that_failed_takes_the_directory_offline_and_damage_does_not() -> None:
    files = killed()
    directory = opened(files)
    directory.recovered.failed(CorruptFile("/d/t-0/x", "damaged"))
    assert directory.offline_reason is None
    directory.recovered.failed(SyncFailed("/d/t-0/x", "cannot sync"))
    with pytest.raises(DirectoryOffline):
        directory.open_log(*KEY, TOPIC_ID, CONFIG, 0)
    directory.close(clean=False)


def test_a_clean_start_reads_no_log() -> None:
    files = killed()
    directory = opened(files)
    directory.open_log(*KEY, TOPIC_ID, CONFIG, 0)
    directory.close(clean=True)
    before = len(files.calls)
    opened(files).close(clean=False)
    assert not [call for call in files.calls[before:] if "/t-0" in call.path]
