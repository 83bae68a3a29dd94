"""kill -9 of a process that appends, on the real file system, again and again on the same directory."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.logfiles.data_directory import read_layout
from barnabas.logfiles.findings import Finding
from barnabas.logfiles.partition_check import check_partition
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.builder import build_batch
from barnabas.protocol.records.record import iter_records
from barnabas.storage.directories.log_directory import LogDirectory
from barnabas.storage.disk.files import RealFiles
from barnabas.storage.log.log import PartitionLog
from tests.support.processes.append_forever import CONFIG, PRODUCER_ID

KILLS = 12


def values(log: PartitionLog) -> list[int]:
    found: list[int] = []
    while True:
        result = log.read(len(found), 1 << 20, committed=False, force_first_batch=True)
        if not result.size:
            return found
        data = memoryview(result.read_all())
        for position, header in iter_batches(data):
            batch = data[position : position + header.size_in_bytes]
            found += [int(record.value or b"") for record in iter_records(batch)]


def findings(data_dir: Path) -> list[Finding]:
    """What `barnabas log verify` would say."""
    layout = read_layout(str(data_dir), lambda topic, partition: True)
    return [finding for files in layout for finding in check_partition(files)]


def append_and_kill(data_dir: Path, count: int) -> int:
    """Let the process say `count` numbers, then kill it; returns the last number it said."""
    command = [sys.executable, "-m", "tests.support.processes.append_forever", str(data_dir)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    assert process.stdout is not None
    assert process.stdout.readline().startswith("opened ")
    said = [process.stdout.readline() for _ in range(count)]
    process.kill()
    said += process.stdout.readlines()  # what was acknowledged before the kill struck
    process.stdout.close()
    process.wait()
    return int(said[-1])


@pytest.mark.both_forms
def test_nothing_a_killed_process_acknowledged_is_lost_or_doubled(tmp_path: Path) -> None:
    chance = random.Random(7)
    for _ in range(KILLS):
        last = append_and_kill(tmp_path / "data", chance.randint(1, 400))

        directory = LogDirectory.open(str(tmp_path / "data"), RealFiles(), node_id=1, new_id=lambda: os.urandom(16))
        log = directory.open_log("t", 0, bytes(range(16)), CONFIG, 0)
        assert findings(tmp_path / "data") == []
        found = values(log)
        assert found == list(range(len(found)))
        assert len(found) > last
        for number in found[-5:]:
            again = build_batch(
                [(None, b"%d" % number, (), 0)], producer_id=PRODUCER_ID, producer_epoch=0, base_sequence=number
            )
            result = log.append(again, leader_epoch=0, now_ms=0)
            assert (result.base_offset, result.is_duplicate) == (number, True)
        directory.close(clean=chance.random() < 0.3)
