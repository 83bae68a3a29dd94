"""A round of cleaning: what stays in the log, what is written beside it, and what is refused."""

import pickle
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.files import offset_index, time_index
from barnabas.protocol.files.names import FileKind, FileState, segment_file
from barnabas.protocol.records.batch import iter_batches, verify_crc
from barnabas.protocol.records.builder import build_batch
from barnabas.storage import cleaner
from barnabas.storage.cleaner.batch_retention import LastRecord
from barnabas.storage.cleaner.record_filter import HELD_BYTES
from barnabas.storage.errors import CorruptFile, StorageError, SyncFailed
from tests.support.files.memory_files import MemoryFiles
from tests.support.records.batches import without_max_timestamp
from tests.support.work import finish_work
from tests.support.worlds.compacted_log import TIME_MS, CompactedLog

DAY_MS = 86_400_000


@pytest.fixture
def files() -> MemoryFiles:
    return MemoryFiles(now_ms=TIME_MS).with_directory("/log")


@pytest.fixture
def log(files: MemoryFiles) -> CompactedLog:
    return CompactedLog(files, "/log")


def test_the_last_record_of_every_key_stays_at_its_offset(log: CompactedLog) -> None:
    log.segment([(b"a", b"1"), (b"b", b"1")], [(b"a", b"2")])
    log.segment([(b"c", b"1"), (b"b", b"2")])
    result = log.clean()
    assert log.kept() == [(2, b"a", b"2"), (3, b"c", b"1"), (4, b"b", b"2")]
    assert result.end_offset == 5
    assert [group.source_base_offsets for group in result.groups] == [(0, 3)]
    assert all(verify_crc(batch) for _, batch in log.batches())


def test_records_without_a_key_go_and_are_counted(log: CompactedLog) -> None:
    log.segment([(None, b"1"), (b"a", b"1")])
    assert log.clean(high_watermark=-1).stats.invalid_messages == 1
    assert log.kept() == [(1, b"a", b"1")]


def test_a_segment_with_an_open_transaction_is_left_alone(log: CompactedLog) -> None:
    log.segment([(b"a", b"1")], [(b"a", b"2")])
    log.data((b"a", b"3"))
    log.data((b"a", b"4"), producer=(1, 0), transactional=True)
    log.roll()
    assert log.clean().end_offset == 2
    assert log.kept() == [(1, b"a", b"2"), (2, b"a", b"3"), (3, b"a", b"4")]


def test_aborted_data_go_at_once_and_their_marker_after_two_more_rounds(log: CompactedLog) -> None:
    log.data((b"a", b"1"))
    log.data((b"a", b"2"), producer=(1, 0), transactional=True)
    log.marker((1, 0), commit=False)
    log.segment([(b"b", b"1")])
    log.last_records.clear()
    log.clean()
    assert log.kept() == [(0, b"a", b"1"), (3, b"b", b"1")]
    assert log.markers() == [2]
    assert [entry.producer_id for entry in log.aborted(0)] == [1]
    log.clean()
    assert log.markers() == [2]
    assert log.aborted(0) == []
    horizon = next(header for header, _ in log.batches() if header.is_control)
    assert horizon.has_delete_horizon
    assert horizon.base_timestamp == TIME_MS + DAY_MS
    log.clean(now_ms=TIME_MS + DAY_MS - 1)
    assert log.markers() == [2]
    log.clean(now_ms=TIME_MS + DAY_MS)
    assert log.markers() == []


def test_a_marker_behind_the_segments_aborts_what_is_in_them(log: CompactedLog) -> None:
    log.data((b"a", b"1"))
    log.data((b"a", b"2"), producer=(1, 0), transactional=True)
    log.roll()
    log.marker((1, 0), commit=False)
    log.last_records.clear()
    log.clean()
    assert log.kept() == [(0, b"a", b"1")]


def test_a_tombstone_stays_until_its_horizon(log: CompactedLog) -> None:
    log.segment([(b"a", b"1"), (b"a", None), (b"b", b"1")])
    log.clean()
    assert log.kept() == [(1, b"a", None), (2, b"b", b"1")]
    ((header, _),) = log.batches()
    assert (header.has_delete_horizon, header.base_timestamp) == (True, TIME_MS + DAY_MS)
    log.clean(now_ms=TIME_MS + DAY_MS - 1)
    assert log.kept() == [(1, b"a", None), (2, b"b", b"1")]
    assert [record.timestamp for record in log.records()] == [TIME_MS + 1, TIME_MS + 2]
    log.clean(now_ms=TIME_MS + DAY_MS)
    assert log.kept() == [(2, b"b", b"1")]


def test_the_last_batch_of_an_active_producer_stays_without_its_records(log: CompactedLog) -> None:
    log.data((b"a", b"1"), producer=(1, 3), sequence=7)
    log.segment([(b"a", b"2")])
    log.clean()
    (header, batch), _ = log.batches()
    assert len(batch) == 61
    assert (header.producer_id, header.producer_epoch, header.last_sequence, header.records_count) == (1, 3, 7, 0)
    log.last_records = {1: LastRecord(5, 3)}
    log.clean()
    assert [header.base_offset for header, _ in log.batches()] == [1]


def test_the_batch_at_the_high_watermark_stays(log: CompactedLog) -> None:
    log.segment([(b"a", b"1")], [(None, b"1")])
    log.clean(high_watermark=2)
    assert [(header.base_offset, header.records_count) for header, _ in log.batches()] == [(0, 1), (1, 0)]


def test_a_full_map_ends_the_round_earlier(log: CompactedLog) -> None:
    for number in range(40):
        log.data((b"%d" % (number % 20), b"%d" % number))
    log.roll()
    result = log.clean(dedupe_buffer_bytes=24 * 10)  # nine keys
    assert result.end_offset == 9
    assert result.stats.map_fullness == 0.9
    rounds = 1
    while log.clean(dedupe_buffer_bytes=24 * 10).end_offset < 40:
        rounds += 1
    assert rounds == 4
    assert [offset for offset, _, _ in log.kept()] == list(range(20, 40))


def test_new_segments_are_as_old_as_the_last_they_stand_for(files: MemoryFiles, log: CompactedLog) -> None:
    log.segment([(b"a", b"1")])
    files.now_ms = TIME_MS + 5
    log.segment([(b"b", b"1")])
    files.now_ms = TIME_MS + 9
    log.clean()
    for kind in (FileKind.LOG, FileKind.OFFSET_INDEX, FileKind.TIME_INDEX):
        assert log.directory.modified_ms(segment_file(0, kind)) == TIME_MS + 5


def test_a_wrong_bit_is_refused_by_file_and_place(log: CompactedLog) -> None:
    log.segment([(b"a", b"1")], [(b"b", b"1")])
    content = bytearray(log.log(0))
    content[-1] ^= 1
    name = segment_file(0, FileKind.LOG)
    log.directory.write(name, bytes(content), 0)
    position = [at for at, _ in iter_batches(content)][1]
    with pytest.raises(CorruptFile, match=f"/log/{name}: at {position}: the CRC of the batch at offset 1 is wrong"):
        finish_work(log.job().steps(log.files))
    assert not [name for name in log.directory.names() if name.endswith(FileState.CLEANED.value)]


@given(st.data())
def test_any_bit_that_is_wrong_is_found(data: st.DataObject) -> None:
    log = CompactedLog(MemoryFiles(now_ms=TIME_MS).with_directory("/log"), "/log")
    log.data((b"a", b"1"), (b"b", b"1"))
    log.data((b"a", b"2"), producer=(1, 0), transactional=True, compression=4)
    log.marker((1, 0), commit=True)
    log.data((b"b", None), compression=3)
    log.roll()
    content = bytearray(log.log(0))
    starts = [position for position, _ in iter_batches(content)]
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] ^= 1 << data.draw(st.integers(0, 7))
    log.directory.write(segment_file(0, FileKind.LOG), bytes(content), 0)
    if any(12 <= position - start < 16 for start in starts):  # a leader epoch is in no checksum, and is copied
        log.clean()
        return
    with pytest.raises(CorruptFile, match=r"00000000000000000000\.log: at \d+: "):
        finish_work(log.job().steps(log.files))


def test_whatever_was_written_is_on_the_disk(files: MemoryFiles, log: CompactedLog) -> None:
    for number in range(30):
        log.data((b"%d" % (number % 7), b"x" * 50), producer=(1, 0), transactional=True)
        log.marker((1, 0), commit=number % 3 > 0)
    log.roll()
    log.directory.sync()
    finish_work(log.job().steps(files))
    cleaned = {name for name in log.directory.names() if name.endswith(FileState.CLEANED.value)}
    before = {name: log.directory.read(name) for name in cleaned}
    assert len(cleaned) == 4
    files.crash("nothing")
    assert {name: files.peek(f"/log/{name}") for name in cleaned} == before


def test_a_round_that_is_given_up_leaves_nothing(files: MemoryFiles, log: CompactedLog) -> None:
    for number in range(2_000):
        log.data((b"%d" % number, b"x" * 50))
    log.roll()
    names = log.directory.names()
    steps = log.job().steps(files)
    while log.directory.names() == names:
        next(steps)
    steps.close()
    assert log.directory.names() == names
    assert not +files.open_paths


def test_a_job_and_its_result_can_be_sent(log: CompactedLog) -> None:
    log.segment([(b"a", b"1")])
    job = pickle.loads(pickle.dumps(log.job()))
    assert job == log.job()
    result = finish_work(job.steps(log.files))
    assert pickle.loads(pickle.dumps(result)) == result


@pytest.mark.parametrize("compression", [0, 4])
def test_a_batch_that_keeps_more_than_is_held_is_rewritten_too(log: CompactedLog, compression: int) -> None:
    pairs = [(b"%d" % (number % 30_000), b"\0" * 50) for number in range(31_000)]
    log.data(*pairs, compression=compression)
    log.roll()
    assert sum(len(key) + len(value) + 128 for key, value in pairs[1_000:]) > HELD_BYTES
    result = log.clean(dedupe_buffer_bytes=1 << 20)
    assert [offset for offset, _, _ in log.kept()] == list(range(1_000, 31_000))
    assert (result.stats.messages_read, result.stats.messages_written) == (31_000, 30_000)
    ((header, _),) = log.batches()
    assert (header.compression, header.base_timestamp) == (compression, TIME_MS + 1_000)


def test_pauses_tell_what_was_read_and_written(log: CompactedLog) -> None:
    for number in range(3_000):
        log.data((b"%d" % (number % 2_000), b"x" * 50))
    log.roll()
    told, syncs = 0, 0
    steps = log.job(io_buffer_bytes=1 << 14).steps(log.files)
    try:
        while True:
            paused = next(steps)
            if isinstance(paused, int):
                assert paused < 1 << 17
                told += paused
            else:
                syncs += 1
                paused()
    except StopIteration as stop:
        stats = stop.value.stats
    assert syncs == 4  # the log, two indexes, and the directory
    assert told >= stats.map_bytes_read + stats.bytes_read + stats.bytes_written
    assert told < 1.4 * (stats.map_bytes_read + stats.bytes_read + stats.bytes_written)


def test_a_disk_that_is_full_leaves_nothing_of_the_round(files: MemoryFiles, log: CompactedLog) -> None:
    for number in range(100):
        log.data((b"%d" % number, b"x" * 50))
    log.roll()
    names = log.directory.names()
    files.capacity = files.used() + 2_000
    with pytest.raises(StorageError, match=r"00000000000000000000\.log\.cleaned: cannot write"):
        finish_work(log.job().steps(files))
    assert log.directory.names() == names


def test_a_round_may_begin_inside_a_segment_whose_index_is_wrong(log: CompactedLog) -> None:
    for number in range(40):
        log.data((b"%d" % (number % 20), b"%d" % number))
    log.roll()
    log.clean(dedupe_buffer_bytes=24 * 20)
    assert 0 < log.first_dirty < 40
    log.directory.write(segment_file(0, FileKind.OFFSET_INDEX), offset_index.encode([(3, 7), (9, 11)]), 0)
    result = log.clean(dedupe_buffer_bytes=24 * 40)
    assert result.end_offset == 40
    assert result.stats.map_messages_read < 40
    assert [offset for offset, _, _ in log.kept()] == list(range(20, 40))


def test_a_sync_that_fails_fails_the_round(files: MemoryFiles, log: CompactedLog) -> None:
    log.segment([(b"a", b"1")])
    files.fail("sync", path=".index.cleaned")
    with pytest.raises(SyncFailed, match=r"00000000000000000000\.index\.cleaned"):
        finish_work(log.job().steps(files))
    assert not +files.open_paths
    files.heal()
    log.clean()
    assert log.kept() == [(0, b"a", b"1")]


def test_the_new_time_index_covers_batches_whose_headers_lack_their_largest_timestamp(log: CompactedLog) -> None:
    records = [(b"a", b"1", (), TIME_MS + 7), (b"b", b"1", (), TIME_MS + 3)]
    log.take(without_max_timestamp(build_batch(records)))
    log.roll()
    log.clean()
    assert [header.max_timestamp for header, _ in log.batches()] == [-1]
    entries = time_index.decode(log.directory.read(segment_file(0, FileKind.TIME_INDEX)) or b"")
    assert entries == [(TIME_MS + 7, 1)]


def test_older_message_formats_are_refused(log: CompactedLog) -> None:
    log.segment([(b"a", b"1")])
    content = bytearray(log.log(0))
    content[16] = 1
    log.directory.write(segment_file(0, FileKind.LOG), bytes(content), 0)
    with pytest.raises(CorruptFile, match="message format v1"):
        finish_work(log.job().steps(log.files))


def test_a_round_without_librt_is_one_with_it(log: CompactedLog, monkeypatch: pytest.MonkeyPatch) -> None:
    log.segment([(b"a", b"1"), (b"b", b"1")], [(b"a", b"2")])
    log.segment([(b"c" * 20, b"1"), (b"c" * 20, b"2"), (b"b", None)])
    monkeypatch.setitem(sys.modules, "barnabas.storage.cleaner.vector_offset_map", None)
    monkeypatch.delattr(cleaner, "vector_offset_map", raising=False)
    log.clean()
    assert log.kept() == [(2, b"a", b"2"), (4, b"c" * 20, b"2"), (5, b"b", None)]
