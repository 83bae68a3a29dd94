"""The first segments of a log are missed when they are gone, unless retention took them.

That a kill is no reason to, whenever it comes, tests/crash/test_first_segment_stops.py shows.
"""

import errno

import pytest

from barnabas.protocol.files import meta_properties
from barnabas.protocol.files.checkpoints import decode_leader_epochs, decode_offsets, encode_offsets
from barnabas.storage.directories.log_directory import LogDirectory
from barnabas.storage.errors import WHAT_TO_DO, CorruptFile, StorageError
from barnabas.storage.log.log import PartitionLog
from tests.support.files.five_segments import DUE_MS, NOW_MS, SMALL, append, filled, keep, opened
from tests.support.files.log_directories import (
    apply_retention,
    checkpoint,
    content,
    delete_due,
    end,
    flush,
    kill,
    names_in,
    start,
)
from tests.support.files.memory_files import MemoryFiles


def remove(files: MemoryFiles, base_offset: int) -> None:
    """A segment with all of its files."""
    for name in names_in(files, "/data/t-0"):
        if name.startswith(f"{base_offset:020d}"):
            files.remove(f"/data/t-0/{name}")


def epochs_begin_at(files: MemoryFiles) -> int:
    return decode_leader_epochs(content(files, "/data/t-0/leader-epoch-checkpoint"))[0].start_offset


STATES = pytest.mark.parametrize("is_clean", [True, False], ids=["stopped", "killed"])

# --- missed ---


@pytest.mark.parametrize("retained", [5, 3])
@STATES
def test_segments_that_are_gone_are_missed(files: MemoryFiles, retained: int, is_clean: bool) -> None:
    directory, log = filled(files)
    first = 0
    if retained < 5:
        keep(log, retained)
        delete_due(directory, DUE_MS)
        first = log.first_segment_base_offset
    end(files, directory, is_clean=is_clean)
    for gone in range(first, 8, 2):
        remove(files, gone)
        before = names_in(files, "/data/t-0")
        with pytest.raises(CorruptFile) as refused:
            opened(start(files))
        assert str(refused.value) == (
            f"/data/t-0/{first:020d}.log: the first segment is missing: by leader-epoch-checkpoint the log began at "
            f"offset {first}, but the first existing segment begins at {gone + 2} (case Y). {WHAT_TO_DO}"
        )
        assert names_in(files, "/data/t-0") == before, "what is refused is left as it is"
        kill(files)


def test_segments_lost_during_a_retention_pass_are_reported(files: MemoryFiles) -> None:
    _, log = filled(files)
    keep(log, 4)
    log.delete_records_before(3)
    flush(log)
    kill(files)
    remove(files, 0)
    remove(files, 2)
    with pytest.raises(CorruptFile, match="the first segment is missing"):
        opened(start(files))


@STATES
def test_segments_between_others_are_missed(is_clean: bool) -> None:
    for gone in ([2], [4], [6], [2, 4], [4, 6], [2, 4, 6], [2, 6]):
        files = MemoryFiles()
        directory, _ = filled(files)
        end(files, directory, is_clean=is_clean)
        for base_offset in gone:
            remove(files, base_offset)
        with pytest.raises(CorruptFile, match=f"/{gone[0]:020d}.log: it is missing, by segment-checksums: offsets"):
            opened(start(files))


@STATES
def test_the_only_segment_is_missed_though_it_is_empty(files: MemoryFiles, is_clean: bool) -> None:
    directory, log = filled(files)
    log.config = SMALL._replace(retention_ms=10)
    apply_retention(log, NOW_MS + 100)
    assert (log.segments_count, log.log_start_offset, log.log_end_offset) == (1, 9, 9)
    flush(log)
    delete_due(directory, DUE_MS * 2)
    end(files, directory, is_clean=is_clean)
    remove(files, 9)
    with pytest.raises(CorruptFile, match="the log ends at offset 0, but was synced up to 9"):
        opened(start(files))


# --- not missed ---


def test_a_row_of_a_segment_whose_offsets_are_elsewhere_says_nothing(files: MemoryFiles) -> None:
    filled(files)
    kill(files)
    path = "/data/t-0/segment-checksums"
    rows = decode_offsets(content(files, path))
    files.put(path, encode_offsets({**rows, ("3", 78): 0}))
    assert opened(start(files)).log_end_offset == 9


def test_the_last_trace_of_a_segment_goes_when_the_epochs_are_written(files: MemoryFiles) -> None:
    directory, log = filled(files)
    keep(log, 3)
    assert epochs_begin_at(files) == 0
    files.fail("pwrite", errno.ENOSPC, path="leader-epoch")
    with pytest.raises(StorageError, match="No space left"):
        delete_due(directory, DUE_MS)
    gone = [name for name in names_in(files, "/data/t-0") if name.startswith(f"{0:020d}")]
    assert len(gone) == 1
    assert not gone[0].endswith(".log.deleted"), "which had most of the room"
    assert opened_after_a_kill(files).log_start_offset == 4


def test_where_there_is_no_room_at_a_start_the_deleted_logs_make_it(files: MemoryFiles) -> None:
    _, log = filled(files)
    keep(log, 3)
    kill(files)
    files.fail("pwrite", errno.ENOSPC, path="leader-epoch", times=1)
    assert opened(start(files)).log_start_offset == 4
    assert epochs_begin_at(files) == 4


def test_an_earlier_version_left_no_trace_of_what_retention_took(files: MemoryFiles) -> None:
    _, log = filled(files)
    keep(log, 3)
    kill(files)
    for name in (name for name in names_in(files, "/data/t-0") if name.endswith(".deleted")):
        files.remove(f"/data/t-0/{name}")
    made_by_an_earlier_version(files)
    directory = start(files)
    assert opened(directory).log_start_offset == 4
    assert epochs_begin_at(files) == 4
    directory.close(clean=True)
    start(files)
    kill(files)
    remove(files, 4)
    with pytest.raises(CorruptFile, match="the first segment is missing"):
        opened(start(files))


@STATES
def test_an_earlier_version_that_was_stopped_cleanly_lost_nothing(files: MemoryFiles, is_clean: bool) -> None:
    directory, _ = filled(files)
    directory.close(clean=True)
    made_by_an_earlier_version(files)
    if not is_clean:
        start(files)
        kill(files)
    remove(files, 0)
    with pytest.raises(CorruptFile, match="the first segment is missing"):
        opened(start(files))


def made_by_an_earlier_version(files: MemoryFiles) -> None:
    """Its meta.properties does not say that such traces are left."""
    meta = meta_properties.decode(content(files, "/data/meta.properties"))
    files.put("/data/meta.properties", meta_properties.encode(meta._replace(tells_log_starts=False)))


def opened_after_a_kill(files: MemoryFiles) -> PartitionLog:
    kill(files)
    files.heal()
    return opened(start(files))


def test_a_log_that_begins_anew_at_its_start_is_whole(files: MemoryFiles, directory: LogDirectory) -> None:
    """What was deleted was never synced, and a power cut took it: the start alone is known."""
    log = opened(directory)
    append(log, 1)
    flush(log)
    append(log, 8)
    log.delete_records_before(9)
    checkpoint(directory)
    files.crash("nothing")
    directory = start(files)
    assert opened(directory).log_start_offset == 9
    checkpoint(directory)
    assert opened_after_a_kill(files).log_start_offset == 9
