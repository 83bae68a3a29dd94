"""What is told of a segment's files that are not as they should be, and that nothing is told of others."""

from pathlib import Path

import pytest

from barnabas.logfiles.data_directory import read_layout
from barnabas.logfiles.findings import Finding, FindingKind
from barnabas.logfiles.segment_check import CheckTally, check_segment
from barnabas.protocol.files import offset_index, producer_snapshot, time_index, txn_index
from barnabas.protocol.files.checkpoints import encode_offsets
from barnabas.protocol.files.names import (
    CLEAN_SHUTDOWN,
    CLEANER_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    SEGMENT_CHECKSUMS,
    FileKind,
)
from barnabas.protocol.files.producer_snapshot import ProducerEntry
from barnabas.protocol.records.batch import HEADER_SIZE, encode_batch, iter_batches, parse_header
from tests.support.files.segment_files import TIME_MS, LogWriter


def found_in(log: LogWriter, *, with_records: bool = True, tally: CheckTally | None = None) -> list[Finding]:
    log.roll()
    (files,) = read_layout(str(log.directory), lambda topic, partition: True)
    return [
        finding
        for number in range(len(files.segments))
        for finding in check_segment(files, number, with_records=with_records, tally=tally)
    ]


def log_batches(path: Path) -> list[bytes]:
    data = path.read_bytes()
    return [data[position : position + header.size_in_bytes] for position, header in iter_batches(data)]


@pytest.fixture
def log(tmp_path: Path) -> LogWriter:
    """Two segments with indexes, with a transaction aborted in the first, and the second not yet written."""
    log = LogWriter(tmp_path)
    log.data([b"a", b"b"])
    log.data([b"c"], producer=(7, 0))
    log.marker((7, 0), commit=False)
    log.aborted = [txn_index.AbortedTxn(7, 2, 3, 4)]
    log.roll()
    log.data([b"d"])
    log.data([b"e"])
    return log


def test_nothing_is_said_of_files_that_are_right(log: LogWriter) -> None:
    log.marker((8, 0), commit=False)  # of a producer without data here: there is no entry for it
    log.roll()
    log.data([b"f"])
    assert found_in(log) == []


def test_a_flipped_bit_is_named_with_its_file_and_offset(log: LogWriter) -> None:
    log.batches[1] = log.batches[1][:-1] + b"?"
    path, position = str(log.path()), len(log.batches[0])
    (found,) = found_in(log)
    assert (found.kind, found.path, found.position, found.offset) == (FindingKind.CRC, path, position, 5)


def test_a_torn_tail_is_named(log: LogWriter) -> None:
    log.batches[1] = log.batches[1][:-1]
    (found,) = found_in(log)
    assert found.kind is FindingKind.TORN


def test_a_log_that_was_cut_since_it_was_listed_is_read_as_far_as_it_goes(log: LogWriter) -> None:
    log.data([b"torn"])
    log.roll()
    (files,) = read_layout(str(log.directory), lambda topic, partition: True)
    number = next(each for each, segment in enumerate(files.segments) if segment.base_offset == 4)
    path = Path(files.log_path(number))
    path.write_bytes(b"".join(log_batches(path)[:-1]))
    Path(files.path(number, FileKind.OFFSET_INDEX)).unlink(missing_ok=True)
    Path(files.path(number, FileKind.TIME_INDEX)).unlink(missing_ok=True)
    assert [each.kind for each in check_segment(files, number) if each.kind is not FindingKind.HOLE] == []


def test_missing_offsets_between_segments_are_named(log: LogWriter) -> None:
    log.roll()
    log.next_offset = log.base_offset = 10
    log.data([b"x"])
    (found,) = found_in(log)
    assert (found.kind, found.offset) == (FindingKind.HOLE, 6)


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        (FileKind.OFFSET_INDEX, offset_index.encode([(2, 50)]), FindingKind.OFFSET_INDEX),
        (FileKind.TIME_INDEX, time_index.encode([(TIME_MS + 77, 2)]), FindingKind.TIME_INDEX),
        (FileKind.TIME_INDEX, b"nonsense" * 3, FindingKind.TIME_INDEX),
        (FileKind.TXN_INDEX, txn_index.encode([txn_index.AbortedTxn(7, 2, 2, 4)]), FindingKind.TRANSACTION_INDEX),
        (FileKind.TXN_INDEX, b"", FindingKind.TRANSACTION_INDEX),
        (FileKind.TXN_INDEX, b"nonsense", FindingKind.TRANSACTION_INDEX),
    ],
)
def test_an_index_that_lies_is_named(log: LogWriter, kind: FileKind, data: bytes, expected: FindingKind) -> None:
    (log.directory / f"{0:020d}{kind.value}").write_bytes(data)
    found = found_in(log)
    assert {each.kind for each in found} == {expected}
    assert all(each.path.endswith(kind.value) for each in found)


@pytest.mark.parametrize("snapshot", [b"nonsense", producer_snapshot.encode([ProducerEntry(7, 0, 0, 4, 0, 0, -1, -1)])])
def test_a_snapshot_that_cannot_be_believed_is_named(log: LogWriter, snapshot: bytes) -> None:
    (log.directory / f"{0:020d}.snapshot").write_bytes(producer_snapshot.encode([]))
    assert found_in(log) == []
    (log.directory / f"{4:020d}.snapshot").write_bytes(snapshot)
    (log.data_dir / RECOVERY_POINT_CHECKPOINT).write_text("0\n1\norders 0 5\n")
    assert [(each.kind, each.offset, each.is_note) for each in found_in(log)] == [
        (FindingKind.PRODUCER_SNAPSHOT, 4, False)
    ]


def test_a_snapshot_that_a_power_cut_may_have_torn_is_a_note(log: LogWriter) -> None:
    (log.directory / f"{4:020d}.snapshot").write_bytes(b"torn")
    (log.data_dir / RECOVERY_POINT_CHECKPOINT).write_text("0\n1\norders 0 4\n")
    assert [(each.kind, each.is_note) for each in found_in(log)] == [(FindingKind.PRODUCER_SNAPSHOT, True)]
    (log.data_dir / CLEAN_SHUTDOWN).touch()
    assert [(each.kind, each.is_note) for each in found_in(log)] == [(FindingKind.PRODUCER_SNAPSHOT, False)]


def test_an_offset_index_with_a_wrong_offset_is_named(log: LogWriter) -> None:
    position = next(iter(offset_index.decode((log.directory / f"{0:020d}.index").read_bytes()))).position
    (log.directory / f"{0:020d}.index").write_bytes(offset_index.encode([(9, position)]))
    (found,) = found_in(log)
    assert found.kind is FindingKind.OFFSET_INDEX
    assert "it ends at 2" in found.detail


def test_records_are_looked_at_only_if_that_is_requested(log: LogWriter) -> None:
    lying = parse_header(log.batches[1])._replace(max_timestamp=TIME_MS + 999)
    log.batches[1] = bytes(encode_batch(lying, log.batches[1][HEADER_SIZE:]))
    tally = CheckTally()
    assert found_in(log, with_records=False, tally=tally) == []
    assert tally.records == 0
    log.roll()
    assert [each.kind for each in found_in(log, tally=tally)] == [FindingKind.TIMESTAMP]
    assert tally.records == 6


def test_entries_about_what_is_damaged_are_no_lies(log: LogWriter) -> None:
    """The indexes tell of a batch that was, of a marker that was, and of the largest timestamp behind both."""
    path = log.directory / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    whole = len(data)
    data[-60] ^= 1  # in the ABORT marker
    data[-78 - 10] ^= 1  # in the record of its transaction
    path.write_bytes(data)
    assert [each.kind for each in found_in(log)] == [FindingKind.CRC, FindingKind.CRC]
    assert len(path.read_bytes()) == whole


def test_indexes_may_tell_of_what_a_broker_appended_since_the_directory_was_listed(log: LogWriter) -> None:
    path, size = log.path(), len(log.batches[0])
    log.roll()
    (files,) = read_layout(str(log.directory), lambda topic, partition: True)
    listed = files._replace(segments=(files.segments[0], files.segments[1]._replace(size=size)))
    assert [found for number in (0, 1) for found in check_segment(listed, number)] == []
    path.write_bytes(path.read_bytes()[:size])
    assert {each.kind for each in check_segment(listed, 1)} == {FindingKind.OFFSET_INDEX, FindingKind.TIME_INDEX}


def test_offsets_are_missing_by_right_where_compaction_has_been(log: LogWriter) -> None:
    log.roll()
    log.next_offset = log.base_offset = 10
    log.data([b"x"])
    assert [(each.kind, each.is_note) for each in found_in(log)] == [(FindingKind.HOLE, False)]
    (log.data_dir / CLEANER_CHECKPOINT).write_text("0\n1\norders 0 9\n")
    assert [(each.kind, each.is_note) for each in found_in(log)] == [
        (FindingKind.HOLE, True)
    ]  # a cleaning was interrupted?
    (log.data_dir / CLEANER_CHECKPOINT).write_text("0\n1\norders 0 10\n")
    assert found_in(log) == []


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_hole_of_an_interrupted_cleaning_is_told_from_a_lost_segment_by_the_sizes(
    log: LogWriter, is_clean: bool
) -> None:
    size = sum(map(len, log.batches))
    log.roll()
    log.next_offset = log.base_offset = 10
    log.data([b"x"])
    log.roll()
    (log.data_dir / CLEANER_CHECKPOINT).write_text("0\n1\norders 0 0\n")  # a first cleaning was begun, and has no end
    if is_clean:
        (log.data_dir / CLEAN_SHUTDOWN).touch()
    sums = log.directory / SEGMENT_CHECKSUMS
    for rows in ({}, {("4", size): 0}, {("4", size + 1): 0, ("7", 300): 0}):  # the one before the hole is another one
        sums.write_bytes(encode_offsets(rows))
        assert found_in(log) == []
    sums.write_bytes(encode_offsets({("4", size): 0, ("7", 300): 0}))
    assert [(each.kind, each.is_note) for each in found_in(log)] == [(FindingKind.HOLE, not is_clean)]


def test_a_torn_tail_of_the_last_segment_is_a_note(log: LogWriter) -> None:
    path = log.path()
    log.roll()
    path.write_bytes(path.read_bytes() + bytes(1000))
    (zeros,) = found_in(log)
    assert (zeros.kind, zeros.is_note) == (FindingKind.ZEROS, True)
    first = log.directory / f"{0:020d}.log"
    first.write_bytes(first.read_bytes() + bytes(1000))
    assert [(each.kind, each.is_note) for each in found_in(log)] == [
        (FindingKind.ZEROS, False),
        (FindingKind.ZEROS, True),
    ]
