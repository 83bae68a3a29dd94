"""What a start and a stop of a data directory cost, what a stop leaves, and what a kill or a power cut costs."""

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from barnabas.storage.directories.log_directory import LogDirectory
from barnabas.storage.disk.files import RealFiles
from barnabas.storage.errors import StorageError
from tests.support.files.log_directories import (
    MARKER,
    again,
    append,
    checkpoint,
    content,
    delete_due,
    flush,
    kill,
    names_in,
    offsets,
    open_log,
    start,
    started,
)
from tests.support.files.memory_files import MemoryFiles, PowerCut

# --- what a start and a stop cost ---


def test_a_start_and_a_stop_touch_only_what_is_used(files: MemoryFiles, directory: LogDirectory) -> None:
    for partition in range(300):
        open_log(directory, partition=partition)
    directory.close(clean=True)
    files.calls.clear()
    directory = start(files)
    log = open_log(directory, partition=17)
    append(log)
    directory.close(clean=True)
    touched = {call.path.split("/")[2] for call in files.calls if call.path.count("/") > 2}
    assert touched == {"t-17"}
    assert len(files.calls) < 150


def test_reading_one_partition_syncs_none(files: MemoryFiles, directory: LogDirectory) -> None:
    append(open_log(directory))
    directory = again(directory)
    files.calls.clear()
    open_log(directory)
    directory.close(clean=True)
    synced = [call.path for call in files.calls if call.name == "sync" and "/t-0/" in call.path]
    assert synced == []


def test_a_log_somebody_looked_into_can_be_closed_and_opened_again(files: MemoryFiles, directory: LogDirectory) -> None:
    append(open_log(directory), 3)
    directory.close_log("t", 0)
    directory.close_log("t", 0)
    assert directory.logs == {}
    checkpoint(directory)
    assert offsets(files, "/data/recovery-point-offset-checkpoint") == {("t", 0): 3}
    log = open_log(directory)
    assert (log.log_end_offset, log.recovered.segments_reread) == (3, 0)
    assert append(log) == 3
    directory.close(clean=True)
    assert open_log(start(files)).log_end_offset == 4


def test_500_partitions_live_under_16_descriptors(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    directory = start(RealFiles(), str(tmp_path / "data"), open_files_max=16)
    logs = [open_log(directory, partition=partition) for partition in range(500)]
    for turn in range(2):
        assert {append(log) for log in logs} == {turn}
    assert len(os.listdir("/dev/fd")) <= before + 16 + 2  # and the lock, and the directory
    result = logs[0].read(0, 1 << 20, committed=False, force_first_batch=True)
    assert len(result.read_all()) > 0
    directory.close(clean=True)
    assert len(os.listdir("/dev/fd")) == before


# --- clean and not clean ---


def test_a_clean_stop_leaves_the_marker_last_and_a_start_takes_it_away_first() -> None:
    files, directory = started()
    append(open_log(directory))
    files.calls.clear()
    directory.close(clean=True, broker_epoch=42)
    assert content(files, f"/data/{MARKER}") == b'{"version":0,"brokerEpoch":42}'
    changes = [call.path for call in files.calls if call.name in ("rename", "sync", "pwrite")]
    last = max(index for index, path in enumerate(changes) if MARKER not in path)
    assert min(index for index, path in enumerate(changes) if MARKER in path) > last
    directory = start(files)
    assert directory.was_clean
    assert MARKER not in names_in(files)
    files.crash("nothing")
    assert MARKER not in names_in(files), "the removal was synced"
    assert not start(files).was_clean


def test_a_stop_at_once_leaves_no_marker_and_frees_the_lock(files: MemoryFiles, directory: LogDirectory) -> None:
    append(open_log(directory))
    directory.close(clean=False)
    directory = start(files)
    assert not directory.was_clean
    assert open_log(directory).log_end_offset == 1


def test_an_untouched_partition_still_counts_as_closed_after_a_kill() -> None:
    files, directory = started()
    for topic in ("idle", "busy"):
        append(open_log(directory, topic), 5)
    directory = again(directory)
    append(open_log(directory, "busy"))
    checkpoint(directory)
    kill(files)
    directory = start(files)
    assert not directory.was_clean
    idle, busy = open_log(directory, "idle"), open_log(directory, "busy")
    assert (idle.log_end_offset, idle.recovery_point, idle.recovered.segments_reread) == (5, 5, 0)
    assert (busy.log_end_offset, busy.recovered.segments_reread) == (6, 1)


def test_rows_of_partitions_nobody_opened_survive_every_run(files: MemoryFiles, directory: LogDirectory) -> None:
    for topic in ("idle", "busy"):
        append(open_log(directory, topic), 5)
    directory.close(clean=True)
    for run in range(3):
        directory = start(files)
        append(open_log(directory, "busy"))
        directory.close(clean=True)
        rows = offsets(files, "/data/recovery-point-offset-checkpoint")
        assert rows == {("busy", 0): 6 + run, ("idle", 0): 5}
    assert offsets(files, "/data/replication-offset-checkpoint") == {("busy", 0): 8, ("idle", 0): 5}
    assert content(files, "/data/log-start-offset-checkpoint") == b"0\n0\n"


def test_a_clean_stop_vouches_for_nothing_it_has_not_looked_at(files: MemoryFiles, directory: LogDirectory) -> None:
    """Killed with a torn tail, then a run that never opens that partition: its stop must not say that all is whole."""
    append(open_log(directory, "torn"), 5)
    kill(files)
    file = files.open("/data/torn-0/00000000000000000000.log")
    file.pwrite(b"half", file.size())
    file.close()
    directory = start(files)
    assert directory.unrecovered == {("torn", 0)}
    append(open_log(directory, "other"))
    directory.close(clean=True)
    assert MARKER not in names_in(files)
    directory = start(files)
    torn = open_log(directory, "torn")
    assert (torn.log_end_offset, torn.recovered.bytes_dropped) == (5, 4)
    open_log(directory, "other")
    assert directory.unrecovered == frozenset()
    directory.close(clean=True)
    assert MARKER in names_in(files)


def test_a_log_that_could_not_be_opened_costs_the_marker(files: MemoryFiles, directory: LogDirectory) -> None:
    append(open_log(directory))
    directory = again(directory)
    with files.failing("pread", path="/t-0/00000000000000000000.log"), pytest.raises(StorageError):
        open_log(directory)
    directory.close(clean=True)
    assert MARKER not in names_in(files)


def test_a_stop_that_cannot_be_clean_says_so_and_leaves_no_marker(files: MemoryFiles, directory: LogDirectory) -> None:
    append(open_log(directory))
    files.fail("pwrite", errno.ENOSPC, path=".snapshot")
    with files.failing("pwrite", errno.ENOSPC, path="index"), pytest.raises(StorageError, match="No space left"):
        directory.close(clean=True)
    assert MARKER not in names_in(files)
    assert open_log(start(files)).log_end_offset == 1


def test_an_offline_directory_is_left_as_it_is(files: MemoryFiles, directory: LogDirectory) -> None:
    log = open_log(directory)
    append(log)
    files.fail("sync", times=1)
    plan = log.begin_flush()
    assert plan is not None
    with pytest.raises(StorageError) as failure:
        plan.run()
    log.flush_failed(plan, failure.value)
    assert directory.offline_reason is not None
    for attempt in (lambda: append(log), lambda: open_log(directory, "new"), lambda: directory.begin_checkpoint()):
        with pytest.raises(StorageError, match="offline"):
            attempt()
    changes = files.changes_made
    directory.close(clean=True)
    assert files.changes_made == changes + 1, "only the lock's file goes"
    assert MARKER not in names_in(files)


def test_the_catalogues_log_is_recovered_at_every_start_and_has_no_rows() -> None:
    files, directory = started()
    append(open_log(directory, "__cluster_metadata"), 2)
    directory.close(clean=True)
    assert content(files, "/data/recovery-point-offset-checkpoint") == b"0\n0\n"
    directory = start(files)
    assert directory.was_clean
    assert open_log(directory, "__cluster_metadata").recovered.segments_reread == 1
    kill(files)
    directory = start(files)
    assert directory.unrecovered == frozenset(), "its owner reads all of it anyway"


def test_a_deleted_start_is_kept_in_its_checkpoint(files: MemoryFiles, directory: LogDirectory) -> None:
    log = open_log(directory)
    append(log, 10)
    log.delete_records_before(4)
    checkpoint(directory)
    assert offsets(files, "/data/log-start-offset-checkpoint") == {("t", 0): 4}
    kill(files)
    assert open_log(start(files)).log_start_offset == 4


def test_a_checkpoint_that_fails_is_written_the_next_time(files: MemoryFiles, directory: LogDirectory) -> None:
    append(open_log(directory))
    job = directory.begin_checkpoint()
    assert job is not None
    files.fail("pwrite", errno.ENOSPC)
    with pytest.raises(StorageError) as failure:
        job.run()
    directory.end_checkpoint(job, failure.value)
    files.heal()
    checkpoint(directory)
    assert offsets(files, "/data/replication-offset-checkpoint") == {("t", 0): 1}
    assert directory.begin_checkpoint() is None


# --- the power cut, at every call ---


def _life(files: MemoryFiles, promised: dict[str, int]) -> Iterator[None]:
    """A busy run; notes in `promised` how far each topic was flushed. Yields nothing, it only makes a generator."""
    directory = start(files)
    for topic in ("a", "b"):
        log = open_log(directory, topic)
        append(log, 2)
        flush(log)
        promised[topic] = max(promised.get(topic, 0), log.recovery_point)
    checkpoint(directory)
    directory.delete_log("b", 0, bytes(16), due_ms=0)
    promised["b"] = 0
    delete_due(directory, 0)
    append(open_log(directory, "a"), 3)
    append(open_log(directory, "b"), 1)
    directory.close(clean=True)
    yield


def test_a_power_cut_at_any_call_of_a_whole_life_loses_nothing_promised() -> None:
    counting = MemoryFiles()
    next(_life(counting, {}))
    assert counting.changes_made > 80
    for change in range(counting.changes_made + 1):
        files = MemoryFiles(change)
        promised: dict[str, int] = {}
        files.cut_power_at(change)
        with suppress(PowerCut):  # the change may come before the cut
            next(_life(files, promised))
        files.crash("some", torn=change % 2 == 0)
        directory = start(files)
        for topic, flushed in promised.items():
            log = open_log(directory, topic)
            assert log.log_end_offset >= flushed, f"cut before change {change}: {files.calls[-1]}"
            log.read(log.log_start_offset, 1 << 20, committed=False, force_first_batch=True).read_all()
        directory.close(clean=True)
        assert MARKER in names_in(files) or directory.unrecovered
