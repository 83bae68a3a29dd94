"""Finishing what a stop interrupted may be interrupted itself, by a power cut at any of its changes."""

import pytest

from barnabas.storage.config import LONG_MAX, LogConfig
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from barnabas.storage.recovery.interrupted import Interrupted
from barnabas.storage.recovery.missing import check_segments
from barnabas.storage.recovery.report import Report
from tests.support.files.memory_files import MemoryFiles, PowerCut
from tests.support.records.batches import batch_of

OLD = [f"{base:020d}{suffix}" for base in (0, 5) for suffix in (".log", ".index", ".timeindex", ".txnindex")]
NEW = [f"{0:020d}{suffix}" for suffix in (".log", ".index", ".timeindex")]
BEHIND = f"{9:020d}.log"


def directory_of(files: MemoryFiles) -> Directory:
    return Directory(Disk(files, "/d"), "/d")


def finish(files: MemoryFiles) -> list[str]:
    finishing = Interrupted(directory_of(files), LogConfig(), 0, Report()).finish()
    try:
        while True:
            next(finishing)
    except StopIteration as stop:
        return sorted(stop.value)


@pytest.mark.parametrize("change", range(1, 13))
def test_a_power_cut_while_a_swap_is_finished_loses_no_segment(change: int) -> None:
    for seed in range(40):
        files = MemoryFiles(seed)
        files.mkdir("/d")
        directory = directory_of(files)
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

        assert check_segments(directory_of(files), directory_of(files).names(), LONG_MAX) == []
        assert [name for name in finish(files) if name.endswith(".log")] == [NEW[0], BEHIND]
