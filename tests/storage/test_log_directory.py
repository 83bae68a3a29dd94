"""A data directory from the first start to the last stop: whose it is, what a stop leaves, what a kill costs."""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from protocol.files import meta_properties
from protocol.primitives import uuid_text
from storage.config import LogConfig
from storage.errors import CorruptFile, LockedError, NotADataDirectory, StorageError
from storage.files import Files, RealFiles
from storage.log import PartitionLog
from storage.log_directory import LogDirectory
from tests.support.batches import batch_of
from tests.support.memory_files import MemoryFiles, PowerCut

CONFIG = LogConfig()
TOPIC_ID = bytes(range(16))
NODE_ID = 1
MARKER = ".kafka_cleanshutdown"


def ids() -> Callable[[], bytes]:
    """Ids that look random and are not."""
    numbers = itertools.count(1)
    return lambda: (0x3C0FFEE << 96 | next(numbers)).to_bytes(16, "big")


def start(files: Files, path: str = "/data", *, node_id: int = NODE_ID, open_files_max: int = 64) -> LogDirectory:
    return LogDirectory.open(path, files, node_id=node_id, new_id=ids(), open_files_max=open_files_max)


def open_log(directory: LogDirectory, topic: str = "t", partition: int = 0, topic_id: bytes = TOPIC_ID) -> PartitionLog:
    return directory.open_log(topic, partition, topic_id, CONFIG, now_ms=1_000)


def append(log: PartitionLog, count: int = 1) -> int:
    """Append a batch; returns its base offset."""
    return log.append(batch_of([1_000] * count), leader_epoch=0, now_ms=1_000).base_offset


def flush(log: PartitionLog) -> None:
    plan = log.begin_flush()
    if plan is not None:
        plan.run()
        log.end_flush(plan)


def checkpoint(directory: LogDirectory) -> None:
    job = directory.begin_checkpoint()
    if job is not None:
        job.run()
        directory.end_checkpoint(job)


def kill(files: MemoryFiles) -> None:
    """End the process, not the machine."""
    files.crash("everything")


def content(files: Files, path: str) -> bytes:
    file = files.open(path, read_only=True)
    with_size = file.size()
    data = file.pread(with_size, 0)
    file.close()
    return data


def names_in(files: Files, path: str = "/data") -> set[str]:
    return {entry.name for entry in files.entries(path)}


# --- whose directory it is ---


def test_an_empty_place_becomes_a_data_directory_and_stays_the_same_one() -> None:
    files = MemoryFiles()
    first = start(files, "/some/where/data")
    assert first.meta.node_id == NODE_ID
    first.close(clean=True)
    assert meta_properties.decode(content(files, "/some/where/data/meta.properties")) == first.meta
    again = start(files, "/some/where/data")
    assert again.meta == first.meta
    assert first.meta.directory_id is not None
    assert uuid_text(first.meta.directory_id) != first.meta.cluster_id


def test_a_relative_path_is_made_where_the_process_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    start(RealFiles(), "data").close(clean=True)
    assert (tmp_path / "data" / "meta.properties").exists()


def test_ids_apache_kafka_would_not_take_are_drawn_again() -> None:
    drawn = iter([bytes(16), b"\xfb" * 16, b"\x01" * 16, b"\xf8" + bytes(15), b"\x02" * 16])
    directory = LogDirectory.open("/data", MemoryFiles(), node_id=1, new_id=lambda: next(drawn))
    assert directory.meta.directory_id == b"\x02" * 16
    assert directory.meta.cluster_id == uuid_text(b"\x01" * 16)


def test_a_directory_without_its_id_gets_one() -> None:
    files = MemoryFiles()
    files.mkdir("/data")
    file = files.open("/data/meta.properties", create=True)
    file.pwrite(b"#\nversion=1\ncluster.id=abc\nnode.id=1\n", 0)
    file.close()
    directory = start(files)
    assert directory.meta.cluster_id == "abc"
    assert meta_properties.decode(content(files, "/data/meta.properties")) == directory.meta
    assert directory.meta.directory_id is not None


def _of_another_node(files: MemoryFiles) -> None:
    start(files, node_id=7).close(clean=True)


def _with_a_foreign_directory(files: MemoryFiles) -> None:
    start(files).close(clean=True)
    files.mkdir("/data/lost+found")


def _of_something_else(files: MemoryFiles) -> None:
    files.mkdir("/data")
    files.open("/data/thesis.tex", create=True).close()


def _a_file(files: MemoryFiles) -> None:
    files.open("/data", create=True).close()


def _of_zookeeper_days(files: MemoryFiles) -> None:
    files.mkdir("/data")
    file = files.open("/data/meta.properties", create=True)
    file.pwrite(b"version=0\nbroker.id=1\n", 0)
    file.close()


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (_of_another_node, "belongs to node.id 7, and this is 1"),
        (_with_a_foreign_directory, r"the directory lost\+found in it is no partition"),
        (_of_something_else, "not empty, and without meta.properties not a data directory: thesis.tex"),
        (_a_file, "cannot list the directory: Not a directory"),
        (_of_zookeeper_days, "meta.properties has version 0, only 1 is supported"),
    ],
)
def test_what_is_no_data_directory_of_this_node_is_refused_untouched(
    prepare: Callable[[MemoryFiles], None], words: str
) -> None:
    files = MemoryFiles()
    prepare(files)
    before = [call for call in files.calls if call.name in ("rename", "remove")]
    with pytest.raises(NotADataDirectory, match=f"^/data: {words}"):
        start(files)
    after = [call for call in files.calls if call.name in ("rename", "remove")]
    assert [call for call in after[len(before) :] if not call.path.endswith(".lock")] == []


def test_no_permission_is_said_in_a_sentence() -> None:
    files = MemoryFiles()
    files.mkdir("/data")
    files.fail("lock", errno.EACCES)
    with pytest.raises(StorageError, match=r"^/data/.lock: cannot lock: Permission denied"):
        start(files)


def test_a_second_process_is_kept_out_with_the_pid_of_the_first() -> None:
    files = MemoryFiles()
    first = start(files)
    with pytest.raises(LockedError, match=f"^/data: process {os.getpid()} is using this data directory"):
        start(files)
    first.close(clean=True)
    start(files).close(clean=True)
    assert ".lock" not in names_in(files)


def test_a_refused_start_lets_the_lock_go() -> None:
    files = MemoryFiles()
    _of_another_node(files)
    for _ in range(2):
        with pytest.raises(NotADataDirectory):
            start(files)


# --- partitions ---


def test_a_partition_is_made_once_and_found_again() -> None:
    files = MemoryFiles()
    directory = start(files)
    log = open_log(directory)
    assert open_log(directory) is log
    assert content(files, "/data/t-0/partition.metadata") == f"version: 0\ntopic_id: {uuid_text(TOPIC_ID)}\n".encode()
    assert append(log, 3) == 0
    directory.close(clean=True)
    directory = start(files)
    assert directory.partitions == {("t", 0)}
    assert open_log(directory).log_end_offset == 3


def test_a_directory_of_an_older_topic_of_the_same_name_is_set_aside() -> None:
    """The catalogue deleted the topic and made it again; the process was killed before the directory was renamed."""
    files = MemoryFiles()
    directory = start(files)
    append(open_log(directory), 5)
    checkpoint(directory)
    kill(files)
    directory = start(files)
    log = open_log(directory, topic_id=b"\x07" * 16)
    assert (log.log_end_offset, log.recovery_point) == (0, 0)
    stray = next(name for name in names_in(files) if name.endswith("-stray"))
    assert directory.notices == [f"/data/{stray} is set aside: the catalogue does not know it"]
    assert "00000000000000000000.log" in names_in(files, f"/data/{stray}")
    assert append(log) == 0
    directory.close(clean=True)
    assert start(files).notices == [f"/data/{stray} is left alone"]


def test_a_partition_the_catalogue_does_not_know_can_be_set_aside() -> None:
    files = MemoryFiles()
    directory = start(files)
    append(open_log(directory))
    directory.set_aside("t", 0)
    directory.set_aside("t", 0)
    assert directory.partitions == frozenset()
    assert len([name for name in names_in(files) if name.endswith("-stray")]) == 1


def test_a_directory_without_its_topic_id_gets_it() -> None:
    files = MemoryFiles()
    directory = start(files)
    append(open_log(directory), 5)
    directory.close(clean=True)
    files.remove("/data/t-0/partition.metadata")
    assert open_log(start(files)).log_end_offset == 5
    assert files.stat("/data/t-0/partition.metadata").size == 44


def test_a_damaged_topic_id_is_no_licence_to_guess() -> None:
    files = MemoryFiles()
    directory = start(files)
    open_log(directory)
    directory.close(clean=True)
    file = files.open("/data/t-0/partition.metadata")
    file.truncate(3)
    file.close()
    with pytest.raises(CorruptFile, match=r"partition\.metadata"):
        open_log(start(files))


def test_strays_are_left_alone_and_told_of_and_unfinished_deletions_finished() -> None:
    files = MemoryFiles()
    start(files).close(clean=True)
    unique = "0123456789abcdef" * 2
    for name in (f"a-0.{unique}-stray", f"b-1.{unique}-future", f"c-2.{unique}-delete", "remote-log-index-cache"):
        files.mkdir(f"/data/{name}")
    files.open(f"/data/c-2.{unique}-delete/x.log", create=True).close()
    directory = start(files)
    assert directory.notices == [
        f"/data/a-0.{unique}-stray is left alone",
        f"/data/b-1.{unique}-future is left alone",
    ]
    assert directory.partitions == frozenset()
    assert directory.delete_due(0) is None
    assert f"c-2.{unique}-delete" not in names_in(files)
    assert {f"a-0.{unique}-stray", f"b-1.{unique}-future"} < names_in(files)


# --- what a start and a stop cost ---


def test_a_start_and_a_stop_touch_only_what_is_used() -> None:
    files = MemoryFiles()
    directory = start(files)
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


def test_reading_one_partition_syncs_none() -> None:
    files = MemoryFiles()
    directory = start(files)
    append(open_log(directory))
    directory.close(clean=True)
    directory = start(files)
    files.calls.clear()
    open_log(directory)
    directory.close(clean=True)
    synced = [call.path for call in files.calls if call.name == "sync" and "/t-0/" in call.path]
    assert synced == []


def test_a_log_somebody_looked_into_can_be_closed_and_opened_again() -> None:
    files = MemoryFiles()
    directory = start(files)
    append(open_log(directory), 3)
    directory.close_log("t", 0)
    directory.close_log("t", 0)
    assert directory.logs == {}
    checkpoint(directory)
    assert content(files, "/data/recovery-point-offset-checkpoint") == b"0\n1\nt 0 3\n"
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
    assert len(os.listdir("/dev/fd")) <= before + 16 + 1  # and the lock
    result = logs[0].read(0, 1 << 20, committed=False, force_first_batch=True)
    assert len(result.read_all()) > 0
    directory.close(clean=True)
    assert len(os.listdir("/dev/fd")) == before


# --- clean and not clean ---


def test_a_clean_stop_leaves_the_marker_last_and_a_start_takes_it_away_first() -> None:
    files = MemoryFiles()
    directory = start(files)
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


def test_a_stop_at_once_leaves_no_marker_and_frees_the_lock() -> None:
    files = MemoryFiles()
    directory = start(files)
    append(open_log(directory))
    directory.close(clean=False)
    directory = start(files)
    assert not directory.was_clean
    assert open_log(directory).log_end_offset == 1


def test_a_partition_nobody_touched_still_counts_as_closed_after_a_kill() -> None:
    files = MemoryFiles()
    directory = start(files)
    for topic in ("idle", "busy"):
        append(open_log(directory, topic), 5)
    directory.close(clean=True)
    directory = start(files)
    append(open_log(directory, "busy"))
    checkpoint(directory)
    kill(files)
    directory = start(files)
    assert not directory.was_clean
    idle, busy = open_log(directory, "idle"), open_log(directory, "busy")
    assert (idle.log_end_offset, idle.recovery_point, idle.recovered.segments_reread) == (5, 5, 0)
    assert (busy.log_end_offset, busy.recovered.segments_reread) == (6, 1)


def test_rows_of_partitions_nobody_opened_survive_every_run() -> None:
    files = MemoryFiles()
    directory = start(files)
    for topic in ("idle", "busy"):
        append(open_log(directory, topic), 5)
    directory.close(clean=True)
    for run in range(3):
        directory = start(files)
        append(open_log(directory, "busy"))
        directory.close(clean=True)
        rows = content(files, "/data/recovery-point-offset-checkpoint")
        assert rows == f"0\n2\nbusy 0 {6 + run}\nidle 0 5\n".encode()
    assert content(files, "/data/replication-offset-checkpoint") == b"0\n2\nbusy 0 8\nidle 0 5\n"
    assert content(files, "/data/log-start-offset-checkpoint") == b"0\n0\n"


def test_a_clean_stop_vouches_for_nothing_it_has_not_looked_at() -> None:
    """Killed with a torn tail, then a run that never opens that partition: its stop must not say that all is whole."""
    files = MemoryFiles()
    directory = start(files)
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


def test_a_log_that_could_not_be_opened_costs_the_marker() -> None:
    files = MemoryFiles()
    directory = start(files)
    append(open_log(directory))
    directory.close(clean=True)
    directory = start(files)
    files.fail("pread", path="/t-0/00000000000000000000.log")
    with pytest.raises(StorageError):
        open_log(directory)
    files.heal()
    directory.close(clean=True)
    assert MARKER not in names_in(files)


def test_a_stop_that_cannot_be_clean_says_so_and_leaves_no_marker() -> None:
    files = MemoryFiles()
    directory = start(files)
    append(open_log(directory))
    files.fail("pwrite", errno.ENOSPC, path=".snapshot")
    files.fail("pwrite", errno.ENOSPC, path="index")
    with pytest.raises(StorageError, match="No space left"):
        directory.close(clean=True)
    files.heal()
    assert MARKER not in names_in(files)
    assert open_log(start(files)).log_end_offset == 1


def test_an_offline_directory_is_left_as_it_is() -> None:
    files = MemoryFiles()
    directory = start(files)
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
    files = MemoryFiles()
    directory = start(files)
    append(open_log(directory, "__cluster_metadata"), 2)
    directory.close(clean=True)
    assert content(files, "/data/recovery-point-offset-checkpoint") == b"0\n0\n"
    directory = start(files)
    assert directory.was_clean
    assert open_log(directory, "__cluster_metadata").recovered.segments_reread == 1
    kill(files)
    directory = start(files)
    assert directory.unrecovered == frozenset(), "its owner reads all of it anyway"


def test_a_deleted_start_is_kept_in_its_checkpoint() -> None:
    files = MemoryFiles()
    directory = start(files)
    log = open_log(directory)
    append(log, 10)
    log.delete_records_before(4)
    checkpoint(directory)
    assert content(files, "/data/log-start-offset-checkpoint") == b"0\n1\nt 0 4\n"
    kill(files)
    assert open_log(start(files)).log_start_offset == 4


def test_a_checkpoint_that_fails_is_written_the_next_time() -> None:
    files = MemoryFiles()
    directory = start(files)
    append(open_log(directory))
    job = directory.begin_checkpoint()
    assert job is not None
    files.fail("pwrite", errno.ENOSPC)
    with pytest.raises(StorageError) as failure:
        job.run()
    directory.end_checkpoint(job, failure.value)
    files.heal()
    checkpoint(directory)
    assert content(files, "/data/replication-offset-checkpoint") == b"0\n1\nt 0 1\n"
    assert directory.begin_checkpoint() is None


# --- deleting a partition ---


def test_a_deleted_partition_is_out_of_sight_now_and_gone_later() -> None:
    files = MemoryFiles()
    directory = start(files)
    log = open_log(directory)
    append(log)
    held = log.read(0, 1 << 20, committed=False, force_first_batch=True)
    checkpoint(directory)
    directory.delete_log("t", 0, bytes(range(16)), due_ms=5_000)
    directory.delete_log("t", 0, bytes(range(16)), due_ms=5_000)
    gone = f"t-0.{bytes(range(16)).hex()}-delete"
    assert gone in names_in(files)
    assert directory.partitions == frozenset()
    assert len(held.read_all()) > 0, "a fetch under way is finished"
    checkpoint(directory)
    assert content(files, "/data/recovery-point-offset-checkpoint") == b"0\n0\n"
    assert directory.delete_due(4_999) == 5_000
    assert directory.delete_due(5_000) is None
    assert gone not in names_in(files)


def test_a_partition_that_was_never_opened_can_be_deleted() -> None:
    files = MemoryFiles()
    directory = start(files)
    append(open_log(directory))
    directory.close(clean=True)
    directory = start(files)
    directory.delete_log("t", 0, bytes(16), due_ms=0)
    directory.delete_due(0)
    assert not {name for name in names_in(files) if name.startswith("t-0")}


def test_a_new_topic_of_an_old_name_starts_from_nothing_even_after_a_power_cut() -> None:
    for seed in range(20):
        files = MemoryFiles(seed)
        directory = start(files)
        log = open_log(directory)
        append(log, 50)
        flush(log)
        checkpoint(directory)
        directory.delete_log("t", 0, bytes(16), due_ms=10**9)
        log = open_log(directory, topic_id=b"\x07" * 16)
        append(log, 3)
        flush(log)
        append(log, 4)
        files.crash("some", torn=True)
        log = open_log(start(files), topic_id=b"\x07" * 16)
        assert log.log_end_offset in (3, 7)
        assert log.recovery_point <= 3, "the old rows are gone"


def test_rows_of_a_partition_that_is_gone_do_not_speak_for_a_new_one() -> None:
    """Killed after the directory was renamed and before the checkpoints were written."""
    files = MemoryFiles()
    directory = start(files)
    append(open_log(directory), 50)
    flush(open_log(directory))
    checkpoint(directory)
    directory.delete_log("t", 0, bytes(16), due_ms=10**9)
    kill(files)
    append(open_log(start(files), topic_id=b"\x07" * 16), 3)
    kill(files)
    assert content(files, "/data/recovery-point-offset-checkpoint") == b"0\n0\n"
    log = open_log(start(files), topic_id=b"\x07" * 16)
    assert (log.log_end_offset, log.recovery_point) == (3, 0)


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
    directory.delete_due(0)
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
        with suppress(PowerCut):
            next(_life(files, promised))
        files.crash("some", torn=change % 2 == 0)
        directory = start(files)
        for topic, flushed in promised.items():
            log = open_log(directory, topic)
            assert log.log_end_offset >= flushed, f"cut before change {change}: {files.calls[-1]}"
            log.read(log.log_start_offset, 1 << 20, committed=False, force_first_batch=True).read_all()
        directory.close(clean=True)
        assert MARKER in names_in(files) or directory.unrecovered
