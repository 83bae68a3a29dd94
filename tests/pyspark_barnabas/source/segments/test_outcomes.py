"""What became of transactions, told from the files alone."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.logfiles.data_directory import PartitionFiles, read_layout
from barnabas.protocol.files.txn_index import AbortedTxn
from pyspark_barnabas.source.segments.outcomes import RecordOutcome, first_open_offset, read_outcomes
from pyspark_barnabas.source.segments.splits import OffsetBounds, plan
from pyspark_barnabas.source.segments.stretches import read_stretches
from tests.support.files.segment_files import LogWriter

A, B = (4000, 1), (4001, 0)


def outcomes_of(files: PartitionFiles, *, split_bytes: int = 1 << 30) -> dict[int, str | None]:
    """The outcome of each batch that is no marker, by its offset."""
    found: dict[int, str | None] = {}
    for part in plan([(files, OffsetBounds())], split_bytes=split_bytes, parts_min=1):
        for piece in part:
            for each in read_stretches(piece, is_committed=False, fail_on_data_loss=True):
                if each.header is not None and not each.header.is_control:
                    found[each.header.base_offset] = each.outcome
    return found


def test_the_next_marker_of_the_producer_decides(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.data([b"a"], producer=A)
    log.data([b"b"], producer=B)
    log.marker(A, commit=True)
    log.data([b"a"], producer=A, sequence=1)
    log.data([b"plain"])
    log.marker(B, commit=False)
    log.marker(A, commit=False)
    log.data([b"a"], producer=A, sequence=2)
    files = log.files()
    assert outcomes_of(files) == {0: "committed", 1: "aborted", 3: "aborted", 4: None, 7: "open"}
    assert first_open_offset(files) == 7


def test_a_marker_in_a_later_segment_decides(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.data([b"a"], producer=A)
    log.data([b"b"], producer=B)
    log.roll()
    log.data([b"plain"])
    log.roll()
    log.marker(A, commit=True)
    log.marker(B, commit=False)
    files = log.files()
    assert outcomes_of(files) == {0: "committed", 1: "aborted", 2: None}
    assert first_open_offset(files) is None


def test_where_the_marker_is_damaged_the_transaction_index_is_queried(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.data([b"a"], producer=A)
    log.data([b"b"], producer=B)
    log.marker(A, commit=False)
    log.aborted = [AbortedTxn(A[0], 0, 2, 1)]
    damaged = bytearray(log.batches[-1])
    damaged[-1] ^= 1
    log.batches[-1] = bytes(damaged)
    files = log.files()
    assert outcomes_of(files) == {0: "aborted", 1: "open"}
    assert first_open_offset(files) == 1


def test_a_transaction_index_that_lies_is_not_asked_where_there_is_a_marker(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.data([b"a"], producer=A)
    log.marker(A, commit=True)
    log.aborted = [AbortedTxn(A[0], 0, 1, 2)]
    assert outcomes_of(log.files()) == {0: "committed"}


def test_a_transaction_index_that_cannot_be_read_is_no_obstacle(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.data([b"a"], producer=A)
    log.roll()
    (log.directory / "00000000000000000000.txnindex").write_bytes(b"nonsense")
    assert outcomes_of(log.files()) == {0: "open"}


@given(st.integers(0, 2**32))
def test_outcomes_are_the_same_however_the_log_is_cut(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """Producers that write, commit and abort in any order, over segments and parts of any size."""
    randomness = random.Random(seed)
    log = LogWriter(tmp_path_factory.mktemp("log"))
    begun: dict[int, list[int]] = {}
    expected: dict[int, str | None] = {}
    for _ in range(randomness.randint(1, 40)):
        producer, step = randomness.randint(0, 3), randomness.random()
        if step < 0.5:
            offset = log.data([b"v"] * randomness.randint(1, 3), producer=(producer, 0))
            begun.setdefault(producer, []).append(offset)
            expected[offset] = RecordOutcome.OPEN
        elif step < 0.6:
            expected[log.data([b"plain"])] = None
        elif step < 0.9:
            commit = randomness.random() < 0.5
            log.marker((producer, 0), commit=commit)
            for offset in begun.pop(producer, []):
                expected[offset] = RecordOutcome.COMMITTED if commit else RecordOutcome.ABORTED
        else:
            log.roll(index=randomness.random() < 0.7)
    if not log.next_offset:
        return
    log.roll()
    (files,) = read_layout(str(log.directory), lambda topic, partition: True)
    assert outcomes_of(files) == expected
    assert outcomes_of(files, split_bytes=randomness.randint(1, 500)) == expected
    assert first_open_offset(files) == min((offset for each in begun.values() for offset in each), default=None)


def test_markers_of_the_first_part_say_nothing_of_the_second(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.data([b"a"], producer=A)
    log.marker(A, commit=True)
    at = sum(map(len, log.batches))
    log.data([b"a"], producer=A, sequence=1)
    log.marker(A, commit=False)
    files = log.files()
    size = files.segments[0].size
    with open(files.log_path(0), "rb") as file:
        assert len(file.read()) == size
    found = read_outcomes(files, 0, at, size)
    (piece,) = plan([(files, OffsetBounds())], split_bytes=1 << 20, parts_min=1)[0]
    (data, _) = read_stretches(piece._replace(start=at), is_committed=False, fail_on_data_loss=True)
    assert data.header is not None
    assert found.of(data.header) is RecordOutcome.ABORTED
