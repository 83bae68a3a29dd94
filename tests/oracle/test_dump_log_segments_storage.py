"""Kafka's dump tool reads what storage alone can write already: transactions, their markers, what is indexed of them.

One partition with rolled segments, committed, aborted and open transactions; once closed cleanly, once recovered from a
kill with its indexes removed. Both times the tool must say the same of the same bytes.
"""

import os
import re
from pathlib import Path

import pytest

from barnabas.protocol.records.builder import build_batch
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.storage.config import LogConfig
from barnabas.storage.directories.log_directory import LogDirectory
from barnabas.storage.disk.files import RealFiles
from barnabas.storage.log.log import PartitionLog
from tests.support.clients.java import run_tool

DUMP = "org.apache.kafka.tools.DumpLogSegments"
NOW = 1_700_000_000_000
SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
CONFIG = LogConfig(segment_bytes=8000, index_interval_bytes=500)


def open_log(data_dir: Path) -> tuple[LogDirectory, PartitionLog]:
    directory = LogDirectory.open(str(data_dir), RealFiles(), node_id=1, new_id=lambda: os.urandom(16))
    return directory, directory.open_log("t", 0, bytes(range(16)), CONFIG, NOW)


def append(log: PartitionLog, producer_id: int, sequence: int, *, transactional: bool = True) -> None:
    batch = build_batch(
        [(b"k", b"v" * 50, (), NOW + log.log_end_offset)] * 3,
        producer_id=producer_id,
        producer_epoch=2,
        base_sequence=sequence,
        transactional=transactional,
    )
    log.append(batch, leader_epoch=4, now_ms=NOW)


def mark(log: PartitionLog, producer_id: int, *, commit: bool) -> None:
    marker = EndTxnMarker(commit, producer_id, 2, 7, -1, NOW + log.log_end_offset)
    log.append_marker(marker, leader_epoch=4, now_ms=NOW)


@pytest.fixture(scope="module", params=["closed cleanly", "recovered"])
def dump(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the tool prints, by the suffix of the files."""
    data_dir = tmp_path_factory.mktemp("storage") / "data"
    directory, log = open_log(data_dir)
    for round_ in range(40):
        append(log, 1, round_ * 3)
        append(log, 2, round_ * 3)
        append(log, 3, round_ * 3, transactional=False)
        mark(log, 1, commit=round_ % 2 == 0)
        if round_ % 3 == 0:
            mark(log, 2, commit=False)
    append(log, 1, 120)  # stays open
    if request.param == "recovered":
        directory.close(clean=False)
        for path in (data_dir / "t-0").iterdir():
            if path.suffix in (".index", ".timeindex", ".txnindex", ".snapshot"):
                path.unlink()
        directory, log = open_log(data_dir)
        assert log.recovered.segments_reread > 2
    directory.close(clean=True)
    files = sorted(str(path) for path in (data_dir / "t-0").iterdir() if path.suffix in SUFFIXES)
    said = run_tool(DUMP, "--deep-iteration", "--index-sanity-check", "--files", ",".join(files))
    parts = said.split("Dumping ")[1:]
    return {suffix: "Dumping ".join(part for part in parts if suffix in part.split()[0]) for suffix in SUFFIXES}


def test_every_batch_and_marker_is_valid(dump: dict[str, str]) -> None:
    said = dump[".log"]
    assert said.count("isvalid: true") == 3 * 40 + 40 + 14 + 1
    assert "isvalid: false" not in said
    assert said.count("endTxnMarker: COMMIT") == 20
    assert said.count("endTxnMarker: ABORT") == 20 + 14
    assert set(re.findall(r"coordinatorEpoch: (-?\d+)", said)) == {"7"}


def test_the_indexes_pass_the_sanity_check(dump: dict[str, str]) -> None:
    for suffix in (".index", ".timeindex"):
        assert dump[suffix].count("passed sanity check") == dump[suffix].count("Dumping ") + 1 > 2


def test_aborted_transactions_are_indexed_as_kafka_reads_them(dump: dict[str, str]) -> None:
    entries = re.findall(
        r"version: (\d+) producerId: (\d+) firstOffset: (\d+) lastOffset: (\d+) lastStableOffset: (\d+)",
        dump[".txnindex"],
    )
    assert len(entries) == 20 + 14
    assert {(version, producer) for version, producer, *_ in entries} == {("0", "1"), ("0", "2")}
    first = next(entry for entry in entries if entry[1] == "2")
    assert first == ("0", "2", "3", "10", "11")  # of producer 1 nothing was open any more


def test_the_last_snapshot_knows_epochs_sequences_and_the_open_transactions(dump: dict[str, str]) -> None:
    last = dump[".snapshot"].split("Dumping ")[-1]
    found = re.findall(
        r"producerId: (\d+) producerEpoch: (\d+) coordinatorEpoch: (-?\d+) currentTxnFirstOffset: (\S+) .*"
        r"firstSequence: (\d+) lastSequence: (\d+)",
        last,
    )
    assert [row[:3] + row[4:] for row in sorted(found)] == [
        ("1", "2", "7", "120", "122"),
        ("2", "2", "7", "117", "119"),
        ("3", "2", "-1", "117", "119"),
    ]
    assert [re.search(r"\d+", row[3]) is not None for row in sorted(found)] == [True, False, False]
