"""A segment against a model that keeps its batches in a list."""

from __future__ import annotations

import errno
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.files import offset_index as offset_format
from protocol.files import time_index as time_format
from protocol.files.txn_index import AbortedTxn
from protocol.records.batch import parse_header
from storage.config import LogConfig
from storage.directory import Directory
from storage.disk import Disk
from storage.errors import CorruptFile, DirectoryOffline, FileRemoved, StorageError
from storage.segment import Segment
from tests.support.batches import batch_of, batch_sized
from tests.support.memory_files import MemoryFiles

BASE = 500
CONFIG = LogConfig(index_interval_bytes=300)


class Stored(NamedTuple):
    position: int
    base_offset: int
    timestamps: list[int]
    data: bytes

    @property
    def last_offset(self) -> int:
        return self.base_offset + len(self.timestamps) - 1


class Model:
    """A segment and beside it what it should hold."""

    def __init__(self, config: LogConfig = CONFIG, *, seed: int = 0) -> None:
        self.files = MemoryFiles(seed)
        self.files.mkdir("/d")
        self.files.sync_directory("/")
        self.directory = Directory(Disk(self.files, "/d"), "/d")
        self.config = config
        self.segment = Segment.create(self.directory, BASE, config, 0)
        self.stored: list[Stored] = []

    @property
    def next_offset(self) -> int:
        return self.stored[-1].last_offset + 1 if self.stored else BASE

    @property
    def size(self) -> int:
        return sum(len(stored.data) for stored in self.stored)

    def append(self, timestamps: list[int], value_bytes: int = 10) -> None:
        batch = batch_of(timestamps, base_offset=self.next_offset, value_bytes=value_bytes)
        stored = Stored(self.size, self.next_offset, timestamps, bytes(batch))
        assert self.segment.append(batch, stored.last_offset, max(timestamps)) == stored.position
        self.stored.append(stored)

    def reopen(self) -> None:
        """As after a clean stop."""
        self.segment.close()
        self.directory = Directory(Disk(self.files, "/d"), "/d")
        self.segment = Segment.open(self.directory, BASE, self.config, 0, is_durable=True)

    def indexed(self) -> list[Stored]:
        """The batches that have an entry, by Kafka's counting of bytes since the last one."""
        entries, since = [], 0
        for stored in self.stored:
            if since > self.config.index_interval_bytes:
                entries.append(stored)
                since = 0
            since += len(stored.data)
        return entries

    def time_entries(self) -> list[tuple[int, int]]:
        """What the time index holds once the segment is sealed."""
        entries: list[tuple[int, int]] = []
        largest, at = -1, BASE
        indexed = {stored.position for stored in self.indexed()}
        for stored in self.stored:
            if max(stored.timestamps) > largest:
                largest, at = max(stored.timestamps), stored.last_offset
            if stored.position in indexed and largest > (entries[-1][0] if entries else -1):
                entries.append((largest, at - BASE))
        if largest > (entries[-1][0] if entries else -1):
            entries.append((largest, at - BASE))
        return entries


appends = st.lists(st.tuples(st.lists(st.integers(0, 200), min_size=1, max_size=4), st.integers(0, 400)), max_size=25)


@given(appends)
def test_indexes_follow_kafkas_rule_byte_for_byte(steps: list[tuple[list[int], int]]) -> None:
    model = Model()
    for timestamps, value_bytes in steps:
        model.append(timestamps, value_bytes)
    model.segment.seal()
    offsets = [(stored.last_offset - BASE, stored.position) for stored in model.indexed()]
    assert model.directory.read("00000000000000000500.index") == offset_format.encode(offsets)
    assert model.directory.read("00000000000000000500.timeindex") == time_format.encode(model.time_entries())
    assert model.directory.read("00000000000000000500.log") == b"".join(stored.data for stored in model.stored)


@given(appends, st.booleans(), st.integers(0, 2_000), st.booleans())
def test_a_read_returns_whole_batches_from_the_one_with_the_offset(
    steps: list[tuple[list[int], int]], reopened: bool, max_bytes: int, force: bool
) -> None:
    model = Model()
    for timestamps, value_bytes in steps:
        model.append(timestamps, value_bytes)
    if reopened:
        model.reopen()
    segment = model.segment
    for offset in range(BASE, model.next_offset + 2):
        wanted = [stored for stored in model.stored if stored.last_offset >= offset]
        found = segment.read(offset, max_bytes, segment.size, force)
        if not wanted or (len(wanted[0].data) > max_bytes and not force):
            assert found is None
            continue
        assert found is not None
        data = found.read_all()
        starts = [sum(len(s.data) for s in wanted[:count]) for count in range(1, len(wanted) + 1)]
        assert data == b"".join(stored.data for stored in wanted)[: len(data)]
        assert len(data) in starts, "it ends where a batch ends"
        if len(data) > max_bytes:
            assert len(data) == starts[0]


@given(appends, st.integers(0, 2_000))
def test_reading_on_from_where_a_read_ended_meets_every_batch_once(
    steps: list[tuple[list[int], int]], max_bytes: int
) -> None:
    model = Model()
    for timestamps, value_bytes in steps:
        model.append(timestamps, value_bytes)
    offset, data = BASE, b""
    while (found := model.segment.read(offset, max_bytes, model.size, True)) is not None:
        data += found.read_all()
        offset = next(s.last_offset + 1 for s in model.stored if s.position + len(s.data) == len(data))
    assert data == b"".join(stored.data for stored in model.stored)


@given(appends, st.booleans())
def test_find_gives_the_batch_that_reaches_the_offset(steps: list[tuple[list[int], int]], sealed: bool) -> None:
    model = Model()
    for timestamps, value_bytes in steps:
        model.append(timestamps, value_bytes)
    if sealed:
        model.reopen()
    for offset in range(BASE - 1, model.next_offset + 2):
        expected = next((stored for stored in model.stored if stored.last_offset >= offset), None)
        found = model.segment.find(offset)
        assert (found is None) == (expected is None)
        if found is not None and expected is not None:
            assert found == (expected.position, parse_header(expected.data))
    assert model.segment.next_offset == model.next_offset


@given(appends, st.booleans(), st.integers(-1, 210), st.integers(BASE, BASE + 60))
def test_a_timestamp_finds_the_first_record_that_is_not_older(
    steps: list[tuple[list[int], int]], sealed: bool, timestamp: int, start_offset: int
) -> None:
    model = Model()
    for timestamps, value_bytes in steps:
        model.append(timestamps, value_bytes)
    if sealed:
        model.reopen()
    records = [(ts, s.base_offset + delta) for s in model.stored for delta, ts in enumerate(s.timestamps)]
    expected = next((r for r in records if r[0] >= timestamp and r[1] >= start_offset), None)
    found = model.segment.record_at_timestamp(timestamp, start_offset)
    assert (found and found[:2]) == expected
    newest = max(records, key=lambda record: record[0], default=None)
    found = model.segment.record_of_max_timestamp()
    assert (found and found[:2]) == newest
    assert model.segment.max_timestamp == (newest[0] if newest else -1)


@given(appends, st.integers(0, 25), st.booleans())
def test_truncation_leaves_what_came_before_and_goes_on(
    steps: list[tuple[list[int], int]], keep: int, sealed: bool
) -> None:
    model = Model()
    for timestamps, value_bytes in steps:
        model.append(timestamps, value_bytes)
    if sealed:
        model.segment.seal()
    del model.stored[keep:]
    model.segment.truncate(model.size, model.next_offset)
    model.append([77])
    assert model.segment.next_offset == model.next_offset
    model.segment.seal()
    offsets = [(stored.last_offset - BASE, stored.position) for stored in model.indexed()]
    assert model.directory.read("00000000000000000500.index") == offset_format.encode(offsets)
    assert model.segment.max_timestamp == max(max(stored.timestamps) for stored in model.stored)


def test_a_truncation_forgets_where_readers_were() -> None:
    model = Model()
    for number in range(10):
        model.append([number], 100)
        assert model.segment.find(model.next_offset - 1) is not None
    del model.stored[4:]
    model.segment.truncate(model.size, model.next_offset)
    model.append([99, 99, 99, 99], 7)
    assert model.segment.find(BASE + 6) == (model.stored[-1].position, parse_header(model.stored[-1].data))


def test_a_truncation_survives_a_power_cut() -> None:
    """Else entries of what was cut come back, and point into batches written since."""
    model = Model()
    for number in range(30):
        model.append([number], 100)
    model.segment.close()
    model.directory.sync()
    del model.stored[10:]
    model.segment.truncate(model.size, model.next_offset)
    model.files.crash("nothing")
    root = Directory(Disk(model.files, "/d"), "/d")
    assert root.size("00000000000000000500.log") == model.size
    offsets = [(stored.last_offset - BASE, stored.position) for stored in model.indexed()]
    assert root.read("00000000000000000500.index") == offset_format.encode(offsets)


@given(appends, st.sampled_from(["index", "timeindex", "both"]), st.sampled_from(["gone", "zeros", "cut", "lies"]))
def test_indexes_that_are_missing_or_wrong_are_made_again_from_the_log(
    steps: list[tuple[list[int], int]], which: str, damage: str
) -> None:
    model = Model()
    for timestamps, value_bytes in steps:
        model.append(timestamps, value_bytes)
    model.segment.close()
    for suffix in ("index", "timeindex") if which == "both" else (which,):
        name = f"00000000000000000500.{suffix}"
        data = model.directory.read(name) or b""
        if damage == "gone":
            model.directory.remove(name)
        elif damage == "zeros":
            model.directory.write(name, bytes(len(data)), 0)
        elif damage == "cut":
            model.directory.write(name, data[: len(data) // 2], 0)
        elif suffix == "index":  # entries in order, but of other batches
            entries = [(relative, max(1, position - 1)) for relative, position in offset_format.decode(data)]
            model.directory.write(name, offset_format.encode(entries), 0)
    for is_active in (True, False):  # the second one mends the files
        segment = Segment.open(model.directory, BASE, CONFIG, 0)
        if is_active:
            segment.activate()
        for stored in model.stored:
            assert segment.find(stored.last_offset) == (stored.position, parse_header(stored.data))
        assert segment.next_offset == model.next_offset


def test_a_closed_segment_goes_on_where_it_was() -> None:
    model = Model()
    for number in range(30):
        model.append([number], 100)
    model.reopen()
    model.segment.activate()
    for number in range(30, 60):
        model.append([number], 100)
    model.segment.seal()
    offsets = [(stored.last_offset - BASE, stored.position) for stored in model.indexed()]
    assert model.directory.read("00000000000000000500.index") == offset_format.encode(offsets)


def test_opening_and_closing_without_a_change_writes_nothing() -> None:
    model = Model()
    for number in range(30):
        model.append([number], 100)
    model.reopen()
    model.segment.activate()
    before = model.files.changes_made
    assert model.segment.find(BASE + 7) is not None
    model.segment.close()
    assert model.files.changes_made == before


def test_a_follower_of_the_log_costs_one_read_for_each_fetch() -> None:
    model = Model()
    model.append([1])
    model.segment.read(model.next_offset, 1 << 20, model.segment.size, True)
    for number in range(200):
        offset = model.next_offset
        model.append([number])
        calls = len(model.files.calls)
        found = model.segment.read(offset, 1 << 20, model.segment.size, True)
        assert found is not None
        assert found.read_all() == model.stored[-1].data
        assert len(model.files.calls) == calls + 1


def test_a_read_stops_at_the_end_position() -> None:
    model = Model()
    for number in range(10):
        model.append([number])
    end = model.stored[6].position
    found = model.segment.read(BASE, 1 << 20, end, True)
    assert found is not None
    assert found.size == end
    assert model.segment.read(BASE + 6, 1 << 20, end, True) is None


def test_the_upper_bound_is_the_next_indexed_batch() -> None:
    model = Model()
    for number in range(40):
        model.append([number], 100)
    entries = [(stored.position, stored.last_offset) for stored in model.indexed()]
    for position in range(0, model.size + 10, 50):
        expected = next((last_offset for at, last_offset in entries if at >= position), None)
        assert model.segment.upper_bound_offset(position) == expected


# --- rolling ---


def test_a_segment_is_rolled_by_size() -> None:
    model = Model()
    model.append([1])
    size = model.segment.size
    exact = CONFIG._replace(segment_bytes=size + 100)
    assert not model.segment.should_roll(exact, 100, BASE + 1, 1, 0)
    assert model.segment.should_roll(exact, 101, BASE + 1, 1, 0)


@pytest.mark.parametrize(
    ("first", "now", "batch", "jitter", "rolls"),
    [
        (1_000, 0, 2_000, 0, False),
        (1_000, 0, 2_001, 0, True),
        (1_000, 10**9, 1_500, 0, False),  # the clock of the batches counts, not the wall's
        (1_000, 0, 1_995, 10, True),
        (1_000, 0, 500, 0, False),
        (-1, 1_000, -1, 0, False),  # no timestamps: since the segment was made, at 0
        (-1, 1_001, -1, 0, True),
    ],
)
def test_a_segment_is_rolled_by_time(first: int, now: int, batch: int, jitter: int, rolls: bool) -> None:
    config = LogConfig(segment_ms=1_000)
    model = Model(config)
    assert not model.segment.should_roll(config, 100, BASE, batch, now + 10**9, jitter), "an empty one never is"
    model.append([first])
    assert model.segment.should_roll(config, 100, BASE + 1, batch, now, jitter) == rolls
    model.reopen()
    assert model.segment.should_roll(config, 100, BASE + 1, batch, now, jitter) == rolls


def test_a_compacted_log_is_rolled_in_time_for_its_cleaner() -> None:
    config = LogConfig(segment_ms=1_000, max_compaction_lag_ms=10, cleanup_policy=frozenset({"compact"}))
    model = Model(config)
    model.append([1_000])
    assert model.segment.should_roll(config, 100, BASE + 1, 1_011, 0)
    assert not model.segment.should_roll(config, 100, BASE + 1, 1_010, 0)


def test_a_segment_is_rolled_when_an_index_is_full() -> None:
    config = LogConfig(index_interval_bytes=1, segment_index_bytes=4 * 12)
    model = Model(config)
    rolls = []
    for number in range(6):
        rolls.append(model.segment.should_roll(config, 100, model.next_offset, number, 0))
        model.append([number])
    assert rolls == [False, False, False, False, True, True], "three entries, and a place for the closing one"


def test_a_segment_is_rolled_before_its_offsets_outgrow_the_index() -> None:
    model = Model()
    model.append([1])
    assert not model.segment.should_roll(CONFIG, 100, BASE + 0x7FFF_FFFF, 1, 0)
    assert model.segment.should_roll(CONFIG, 100, BASE + 0x8000_0000, 1, 0)


def test_new_settings_count_with_the_next_append() -> None:
    model = Model()
    model.append([1])
    assert not model.segment.should_roll(CONFIG, 100, BASE + 1, 1, 0)
    assert model.segment.should_roll(CONFIG._replace(segment_bytes=120), 100, BASE + 1, 1, 0)


# --- a disk that fails ---


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("short", [None, 1, 60])
def test_a_failed_append_leaves_nothing_behind(error: int, short: int | None) -> None:
    model = Model()
    model.append([1])
    model.files.fail("pwrite", error, path=".log", short=short)
    with pytest.raises(StorageError):
        model.segment.append(batch_sized(200, base_offset=BASE + 1), BASE + 1, 5)
    assert model.segment.log.size() == model.size
    model.files.heal()
    model.append([2])
    assert model.segment.find(BASE + 1) == (model.stored[1].position, parse_header(model.stored[1].data))
    assert model.segment.max_timestamp == 2


def test_a_full_disk_takes_no_half_batch_and_works_again_once_there_is_room() -> None:
    model = Model()
    model.append([1])
    model.files.capacity = model.files.used() + 100
    with pytest.raises(StorageError, match="No space left"):
        model.segment.append(batch_sized(200, base_offset=BASE + 1), BASE + 1, 5)
    assert model.files.used() == model.size
    model.files.capacity = None
    model.append([2])


def test_where_a_failed_append_cannot_be_undone_the_directory_goes_offline() -> None:
    model = Model()
    model.append([1])
    model.files.fail("pwrite", path=".log", short=10)
    model.files.fail("truncate")
    with pytest.raises(StorageError):
        model.segment.append(batch_sized(200, base_offset=BASE + 1), BASE + 1, 5)
    model.files.heal()
    with pytest.raises(DirectoryOffline, match="cannot undo a failed append"):
        model.segment.append(batch_sized(200, base_offset=BASE + 1), BASE + 1, 5)


def test_a_seal_that_fails_can_be_done_again() -> None:
    model = Model()
    for number in range(30):
        model.append([number], 100)
    for skip in range(3):
        model.files.fail("pwrite", errno.ENOSPC, path="index", skip=skip)
        if skip < 2:
            with pytest.raises(StorageError):
                model.segment.seal()
        else:
            model.segment.seal()
        model.files.heal()
        if skip < 2:
            model.append([100 + skip], 100)
    offsets = [(stored.last_offset - BASE, stored.position) for stored in model.indexed()]
    assert model.directory.read("00000000000000000500.index") == offset_format.encode(offsets)


def test_a_closed_segment_survives_a_power_cut_whole() -> None:
    model = Model()
    for number in range(30):
        model.append([number], 100)
    model.segment.add_aborted(AbortedTxn(7, BASE, BASE + 29, BASE + 30))
    model.segment.close()
    model.directory.sync()
    model.files.crash("nothing")
    model.directory = Directory(Disk(model.files, "/d"), "/d")
    segment = Segment.open(model.directory, BASE, CONFIG, 0)
    segment.activate()
    assert segment.next_offset == BASE + 30
    assert segment.aborted(BASE, BASE + 30) == ([AbortedTxn(7, BASE, BASE + 29, BASE + 30)], True)


def test_what_needs_a_sync_is_named_until_it_was_synced() -> None:
    model = Model()
    model.append([1])
    work = model.segment.files_to_sync()
    assert (len(work.files), work.paths, work.is_sealed) == (1, [], False)
    model.append([2])
    model.segment.mark_synced(work)
    assert len(model.segment.files_to_sync().files) == 1, "a batch came in between"
    model.segment.mark_synced(model.segment.files_to_sync())
    assert not model.segment.files_to_sync().files
    model.segment.add_aborted(AbortedTxn(7, BASE, BASE + 1, BASE + 2))
    work = model.segment.files_to_sync()
    assert work.paths == ["/d/00000000000000000500.txnindex"]
    model.segment.mark_synced(work)
    assert not model.segment.files_to_sync().paths
    model.segment.seal()
    work = model.segment.files_to_sync()
    assert [path.rpartition(".")[2] for path in work.paths] == ["index", "timeindex", "txnindex"]
    model.segment.mark_synced(work)
    assert model.segment.files_to_sync()[:2] == ([], [])


def test_an_abort_that_comes_while_an_earlier_one_is_synced_waits_for_the_next_sync() -> None:
    model = Model()
    model.append([1])
    model.segment.add_aborted(AbortedTxn(7, BASE, BASE, BASE + 1))
    work = model.segment.files_to_sync()
    model.segment.add_aborted(AbortedTxn(8, BASE, BASE + 1, BASE + 2))
    model.segment.mark_synced(work)
    assert model.segment.files_to_sync().paths == ["/d/00000000000000000500.txnindex"]


def test_a_time_index_that_was_left_without_its_closing_entry_gets_it() -> None:
    model = Model()
    for number in range(30):
        model.append([number], 100)
    model.segment.close()
    name = "00000000000000000500.timeindex"
    whole = model.directory.read(name)
    assert whole is not None
    model.directory.write(name, b"", len(whole) - time_format.ENTRY_SIZE)
    segment = Segment.open(model.directory, BASE, CONFIG, 0, is_durable=True)
    segment.activate()
    segment.close()
    assert model.directory.read(name) == whole


def test_bytes_behind_the_last_batch_of_a_trusted_segment_are_refused() -> None:
    model = Model()
    model.append([1])
    model.segment.close()
    model.segment.log.pwrite(b"half a batch", model.size)
    segment = Segment.open(model.directory, BASE, CONFIG, 0, is_durable=True)
    with pytest.raises(CorruptFile, match="12 bytes behind the last whole batch"):
        segment.activate()


def test_damage_met_while_reading_is_named_with_its_place() -> None:
    model = Model()
    for number in range(3):
        model.append([number])
    model.reopen()
    model.segment.log.pwrite(bytes(20), model.stored[1].position)
    with pytest.raises(CorruptFile, match=f"batch at {model.stored[1].position}"):
        model.segment.find(BASE + 2)


def test_a_file_left_in_the_way_of_a_new_segment_is_emptied() -> None:
    model = Model()
    model.append([1])
    segment = Segment.create(model.directory, BASE, CONFIG, 0)
    assert (segment.size, segment.log.size(), segment.next_offset) == (0, 0, BASE)


# --- deletion ---


def test_a_deleted_segment_is_read_on_until_it_is_removed() -> None:
    model = Model()
    for number in range(10):
        model.append([number], 100)
    model.segment.add_aborted(AbortedTxn(7, BASE, BASE + 9, BASE + 10))
    found = model.segment.read(BASE, 1 << 20, model.size, True)
    assert found is not None
    model.segment.close()
    names = model.segment.mark_deleted()
    assert sorted(names) == [
        f"00000000000000000500.{kind}.deleted" for kind in ("index", "log", "timeindex", "txnindex")
    ]
    assert model.directory.names() == sorted(names)
    assert found.read_all() == b"".join(stored.data for stored in model.stored)
    model.segment.remove()
    assert model.directory.names() == []
    with pytest.raises(FileRemoved):
        found.read_all()


def test_the_age_of_a_segment_without_timestamps_is_that_of_its_file() -> None:
    model = Model()
    model.files.now_ms = 1_234
    model.append([-1])
    assert (model.segment.max_timestamp, model.segment.largest_timestamp) == (-1, 1_234)
    model.append([99])
    assert model.segment.largest_timestamp == 99
    model.reopen()
    assert model.segment.largest_timestamp == 99
