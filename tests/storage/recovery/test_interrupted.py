"""Finishing what a stop interrupted may be interrupted itself, by a power cut at any of its changes."""

import pytest

from barnabas.storage.config import LONG_MAX, LogConfig
from barnabas.storage.recovery.interrupted import AT_ONCE_BYTES_MAX, AT_ONCE_MAX, Interrupted
from barnabas.storage.recovery.listing import Listing
from barnabas.storage.recovery.missing_files import check_segments
from barnabas.storage.recovery.opening import open_at_once
from barnabas.storage.recovery.report import RecoveryReport
from tests.support.files.memory_files import MemoryFiles, PowerCut
from tests.support.records.batches import batch_of

OLD = [f"{base:020d}{suffix}" for base in (0, 5) for suffix in (".log", ".index", ".timeindex", ".txnindex")]
NEW = [f"{0:020d}{suffix}" for suffix in (".log", ".index", ".timeindex")]
BEHIND = f"{9:020d}.log"


def finish(files: MemoryFiles) -> list[str]:
    directory = files.directory()
    open_at_once(Interrupted(directory, LogConfig(), 0, RecoveryReport()).finish(Listing(directory.names())))
    return directory.names()


@pytest.mark.parametrize("change", range(1, 13))
def test_a_power_cut_while_a_swap_is_finished_loses_no_segment(change: int) -> None:
    for seed in range(40):
        files = MemoryFiles(seed).with_directory()
        directory = files.directory()
        for name in [*OLD, *(f"{each}.swap" for each in NEW), BEHIND]:
            file = directory.open(name, create=True)
            if name.endswith(".log.swap"):
                file.pwrite(batch_of(range(9)), 0)
            file.sync()
        files.sync_directory("/d")
        files.sync_directory("/")
        files.cut_power_at(files.changes_made + change)
        with pytest.raises(PowerCut):
            finish(files)
        files.crash("some")

        assert check_segments(files.directory(), Listing(files.directory().names()), LONG_MAX) == []
        assert [name for name in finish(files) if name.endswith(".log")] == [NEW[0], BEHIND]


@pytest.mark.parametrize(("count", "size"), [(AT_ONCE_MAX, 0), (1, AT_ONCE_BYTES_MAX)])
def test_unused_files_are_removed_in_a_thread_if_that_takes_long(count: int, size: int) -> None:
    files = MemoryFiles().with_directory()
    directory = files.directory()
    deleted = [f"{base:020d}.log.deleted" for base in range(100, 101 + count)]
    for name in [*OLD, *deleted]:
        directory.open(name, create=True)
    directory.open(deleted[0]).truncate(size + 1)
    finishing = Interrupted(directory, LogConfig(), 0, RecoveryReport()).finish(Listing(directory.names()))
    job = next(finishing)
    assert job is not None
    assert set(deleted) < set(directory.names())
    job.run()
    job.finish()
    with pytest.raises(StopIteration):
        next(finishing)
    assert directory.names() == sorted(OLD)
