"""Jobs for another thread that run late: after the topic was deleted and made again, or what they write was written."""

import pytest

from barnabas.storage.directories.log_directory import LogDirectory
from barnabas.storage.errors import StorageError
from barnabas.storage.log.flush import FlushPlan
from barnabas.storage.log.log import PartitionLog
from tests.support.files.interrupted_files import InterruptedFiles
from tests.support.files.log_directories import (
    CONFIG,
    append,
    checkpoint,
    content,
    delete_due,
    flush,
    names_in,
    offsets,
    open_log,
    start,
    started,
)
from tests.support.files.memory_files import MemoryFiles
from tests.support.records.batches import batch_of

NEW_ID = b"\x07" * 16
EPOCHS = "/data/t-0/leader-epoch-checkpoint"


def append_in_epoch(log: PartitionLog, epoch: int) -> None:
    log.append(batch_of([1_000]), leader_epoch=epoch, now_ms=1_000)


def flush_begun(directory: LogDirectory, epoch: int) -> tuple[PartitionLog, FlushPlan]:
    """A log with one batch in `epoch`, and the plan that would make both durable."""
    log = open_log(directory)
    append_in_epoch(log, epoch)
    plan = log.begin_flush()
    assert plan is not None
    return log, plan


def finish(log: PartitionLog, plan: FlushPlan) -> None:
    plan.run()
    log.end_flush(plan)


def delete_first_segment(log: PartitionLog, now_ms: int) -> None:
    log.config = CONFIG._replace(segment_bytes=100)
    for _ in range(2):
        append(log)
    log.delete_records_before(1)
    assert log.apply_retention(now_ms)


def deleted_in(files: MemoryFiles) -> set[str]:
    return {name for name in names_in(files, "/data/t-0") if name.endswith(".deleted")}


def readable(log: PartitionLog) -> tuple[int, int, int]:
    """(first offset, bytes from there on, log end) of what can be read."""
    found = log.read(log.log_start_offset, 1 << 20, committed=False, force_first_batch=True)
    assert found.data is not None
    return log.log_start_offset, len(found.data.read_all()), log.log_end_offset


# --- the checkpoints in the root ---


@pytest.mark.parametrize("is_late", [True, False])
def test_a_checkpoint_does_not_bring_the_rows_of_a_deleted_topic_back(is_late: bool) -> None:
    """Neither one that was begun before the deletion and runs late, nor the one before, while the next is held."""
    files, directory = started()
    old = open_log(directory)
    append(old, 50)
    flush(old)
    old.delete_records_before(40)
    job = directory.begin_checkpoint()
    assert job is not None
    if not is_late:
        job.run()
        directory.end_checkpoint(job)
    directory.delete_log("t", 0, bytes(16), due_ms=10**9)
    if not is_late:
        assert directory.begin_checkpoint() is not None, "it says that the rows are gone, and is held"
    new = open_log(directory, topic_id=NEW_ID)
    append(new, 60)
    flush(new)
    written = readable(new)
    if is_late:
        job.run()
        directory.end_checkpoint(job)
    files.crash("nothing")
    assert readable(open_log(start(files), topic_id=NEW_ID)) == written


def test_entries_missing_in_a_late_checkpoint_are_in_the_next_one(files: MemoryFiles, directory: LogDirectory) -> None:
    append(open_log(directory), 5)
    checkpoint(directory)
    append(open_log(directory, "u"), 7)
    job = directory.begin_checkpoint()
    assert job is not None
    directory.delete_log("t", 0, bytes(16), due_ms=10**9)
    append(open_log(directory, topic_id=NEW_ID), 3)
    job.run()
    directory.end_checkpoint(job)
    checkpoint(directory)
    assert offsets(files, "/data/replication-offset-checkpoint") == {("t", 0): 3, ("u", 0): 7}


# --- the leader epochs of a partition ---


def test_a_flush_that_runs_late_does_not_write_the_epochs_of_a_deleted_topic_into_the_new_one() -> None:
    files, directory = started()
    old, plan = flush_begun(directory, 7)
    directory.delete_log("t", 0, bytes(16), due_ms=10**9)
    new = open_log(directory, topic_id=NEW_ID)
    append_in_epoch(new, 0)
    flush(new)
    finish(old, plan)
    assert content(files, EPOCHS) == b"0\n1\n0 0\n"


def test_a_flush_of_a_deleted_partition_succeeds_where_its_directory_is_now() -> None:
    files, directory = started()
    log, plan = flush_begun(directory, 7)
    directory.delete_log("t", 0, bytes(16), due_ms=0)
    delete_due(directory, 0)
    finish(log, plan)
    assert not {name for name in names_in(files) if name.startswith("t-0")}


def test_a_flush_that_runs_after_its_log_was_closed_leaves_the_file_to_who_opened_it_again() -> None:
    files, directory = started()
    log, plan = flush_begun(directory, 1)
    directory.close_log("t", 0)
    again = open_log(directory)
    append_in_epoch(again, 2)
    flush(again)
    finish(log, plan)
    assert content(files, EPOCHS) == b"0\n2\n1 0\n2 1\n"


def test_a_flush_that_runs_late_does_not_take_a_newer_epoch_away(files: MemoryFiles) -> None:
    log, held = flush_begun(start(files), 1)
    append_in_epoch(log, 2)
    flush(log)
    finish(log, held)
    assert content(files, EPOCHS) == b"0\n2\n1 0\n2 1\n"
    assert log.recovery_point == 2


# --- two who write at the same time ---


def test_a_flush_on_the_loop_and_one_in_the_thread_do_not_meet_in_one_temporary_file() -> None:
    files = InterruptedFiles()
    log, plan = flush_begun(start(files), 1)
    append_in_epoch(log, 2)
    files.interrupt("sync", f"{EPOCHS}.tmp", lambda: flush(log))
    finish(log, plan)
    assert content(files, EPOCHS) == b"0\n2\n1 0\n2 1\n"


def test_a_topic_may_be_deleted_and_made_again_in_the_middle_of_its_flush() -> None:
    files = InterruptedFiles()
    directory = start(files)
    log, plan = flush_begun(directory, 7)

    def make_again() -> None:
        directory.delete_log("t", 0, bytes(16), due_ms=10**9)
        append_in_epoch(open_log(directory, topic_id=NEW_ID), 0)
        flush(open_log(directory, topic_id=NEW_ID))

    files.interrupt("sync", f"{EPOCHS}.tmp", make_again)
    finish(log, plan)
    assert content(files, EPOCHS) == b"0\n1\n0 0\n"
    files.crash("nothing")
    assert open_log(start(files), topic_id=NEW_ID).end_offset_for_epoch(0) == (0, 1)


def test_a_write_at_once_that_fails_leaves_the_one_in_the_thread_to_do_its_own() -> None:
    files = InterruptedFiles()
    log, plan = flush_begun(start(files), 1)
    append_in_epoch(log, 2)

    def fail_to_flush() -> None:
        files.fail("rename", path=EPOCHS, times=1)
        with pytest.raises(StorageError):
            flush(log)

    files.interrupt("sync", f"{EPOCHS}.tmp", fail_to_flush)
    finish(log, plan)

    assert content(files, EPOCHS) == b"0\n1\n1 0\n"
    assert log.recovery_point == 1
    flush(log)
    assert content(files, EPOCHS) == b"0\n2\n1 0\n2 1\n"


# --- removals ---


def test_a_removal_that_is_due_after_its_log_was_opened_again_follows_the_directory() -> None:
    files, directory = started()
    delete_first_segment(open_log(directory), now_ms=1_000)
    directory.close_log("t", 0)
    open_log(directory)
    directory.delete_log("t", 0, bytes(16), due_ms=10**9)
    new = open_log(directory, topic_id=NEW_ID)
    delete_first_segment(new, now_ms=50_000)
    waiting = deleted_in(files)
    assert len(waiting) > 0
    delete_due(directory, 1_000 + CONFIG.file_delete_delay_ms)
    assert deleted_in(files) == waiting
    delete_due(directory, 50_000 + CONFIG.file_delete_delay_ms)
    assert deleted_in(files) == set()
