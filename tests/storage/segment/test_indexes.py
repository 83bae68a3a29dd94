"""The sparse indexes against a model that keeps every entry in a plain list and looks at all of them."""

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.protocol.files import offset_index as offset_format
from barnabas.protocol.files import time_index as time_format
from barnabas.protocol.files.txn_index import AbortedTxn
from barnabas.storage.disk.directory import Directory
from barnabas.storage.errors import CorruptFile
from barnabas.storage.segment.offset_index import OffsetIndex
from barnabas.storage.segment.time_index import TimeIndex
from barnabas.storage.segment.txn_index import TransactionIndex
from tests.support.files.memory_files import MemoryFiles

BASE = 1_000
LOG_SIZE = 1 << 20


class Batch(NamedTuple):
    offset_step: int
    position_step: int
    timestamp: int


batches = st.lists(st.builds(Batch, st.integers(1, 50), st.integers(1, 5_000), st.integers(-1, 300)), max_size=40)


def open_root() -> Directory:
    return MemoryFiles().with_directory().directory()


def new_offset_index(root: Directory, size_max: int = 1 << 20) -> OffsetIndex:
    index = OffsetIndex(root, "x.index", BASE, size_max)
    index.activate()
    index.create()
    return index


def new_time_index(root: Directory, size_max: int = 1 << 20) -> TimeIndex:
    index = TimeIndex(root, "x.timeindex", BASE, size_max)
    index.activate()
    index.create()
    return index


def positions_of(steps: list[Batch]) -> list[tuple[int, int]]:
    entries, offset, position = [], BASE, 0
    for step in steps:
        offset, position = offset + step.offset_step, position + step.position_step
        entries.append((offset, position))
    return entries


def filled_offset_index(root: Directory, steps: list[Batch]) -> tuple[OffsetIndex, list[tuple[int, int]]]:
    index, entries = new_offset_index(root), positions_of(steps)
    for entry in entries:
        index.append(*entry)
    return index, entries


@given(batches, st.lists(st.integers(BASE - 5, BASE + 2_100), min_size=1, max_size=20))
def test_offset_lookup_is_the_last_entry_not_above(steps: list[Batch], asked: list[int]) -> None:
    index, entries = filled_offset_index(open_root(), steps)
    for offset in [*asked, *(entry[0] for entry in entries)]:
        expected = max((entry for entry in entries if entry[0] <= offset), default=(BASE, 0))
        assert index.lookup(offset) == expected
    assert index.last == (entries[-1] if entries else (BASE, 0))


@given(batches, st.lists(st.integers(0, 220_000), min_size=1, max_size=20))
def test_position_lookups_agree_with_looking_at_all(steps: list[Batch], asked: list[int]) -> None:
    index, entries = filled_offset_index(open_root(), steps)
    for position in [*asked, *(entry[1] for entry in entries)]:
        behind = [entry[0] for entry in entries if entry[1] >= position]
        assert index.upper_bound(position) == min(behind, default=None)
        assert index.last_position_until(position) == max((e[1] for e in entries if e[1] <= position), default=0)


@given(batches, st.integers(BASE, BASE + 2_100))
def test_truncation_and_a_reload_keep_what_lies_below(steps: list[Batch], offset: int) -> None:
    root = open_root()
    index, entries = filled_offset_index(root, steps)
    index.write()
    index.truncate(offset)
    index.write()
    kept = [(entry[0] - BASE, entry[1]) for entry in entries if entry[0] < offset]
    data = root.read("x.index")
    assert data is not None
    assert offset_format.decode(data) == kept
    loaded = OffsetIndex(root, "x.index", BASE, 1 << 20)
    assert loaded.load(LOG_SIZE)
    assert [loaded.lookup(BASE + relative) for relative, _ in kept] == [(BASE + r, p) for r, p in kept]


@given(batches, st.integers(0, 400_000))
def test_a_preallocated_file_is_read_as_its_entries(steps: list[Batch], zeros: int) -> None:
    """Apache Kafka, killed, leaves 10 MiB of which the tail is zeros."""
    root, entries = open_root(), positions_of(steps)
    data = offset_format.encode([(offset - BASE, position) for offset, position in entries])
    root.write("x.index", data + bytes(zeros), 0)
    index = OffsetIndex(root, "x.index", BASE, 1 << 20)
    assert index.load(LOG_SIZE)
    assert len(index) == len(entries)


WRONG_OFFSETS = [
    [(5, 100), (5, 200)],
    [(5, 100), (6, 100)],
    [(5, 100), (4, 200)],
    [(5, 0)],
    [(-1, 100)],
    [(5, 100), (6, LOG_SIZE)],
    [(5, 100), (0, 0), (6, 200)],
]
WRONG_TIMES = [[(5, 1), (5, 2)], [(5, 3), (6, 2)], [(-1, 0)], [(5, -1)]]


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        *((OffsetIndex, offset_format.encode(entries)) for entries in WRONG_OFFSETS),
        *((TimeIndex, time_format.encode(entries)) for entries in WRONG_TIMES),
    ],
)
def test_an_index_that_cannot_be_is_not_loaded(kind: type[OffsetIndex | TimeIndex], content: bytes) -> None:
    root = open_root()
    root.write("x", content, 0)
    assert not kind(root, "x", BASE, 1 << 20).load(LOG_SIZE)


def test_a_missing_index_is_not_loaded(root: Directory) -> None:
    assert not OffsetIndex(root, "x.index", BASE, 1 << 20).load(LOG_SIZE)
    assert TimeIndex(root, "x.timeindex", BASE, 1 << 20).read_last() is None


@given(batches, st.lists(st.integers(-2, 310), min_size=1, max_size=20))
def test_time_lookup_is_the_last_entry_not_above(steps: list[Batch], asked: list[int]) -> None:
    index, largest, entries = new_time_index(open_root()), -1, []
    for step, (offset, _) in zip(steps, positions_of(steps), strict=True):
        index.maybe_append(step.timestamp, offset)
        if step.timestamp > largest:
            largest = step.timestamp
            entries.append((largest, offset))
    for timestamp in asked:
        assert index.lookup(timestamp) == max((e for e in entries if e[0] <= timestamp), default=(-1, BASE))
    assert index.last == (entries[-1] if entries else (-1, BASE))


@given(batches, st.integers(BASE, BASE + 2_100))
def test_a_time_index_survives_truncation_and_a_reload(steps: list[Batch], offset: int) -> None:
    root = open_root()
    index = new_time_index(root)
    for step, (last_offset, _) in zip(steps, positions_of(steps), strict=True):
        index.maybe_append(step.timestamp, last_offset)
    index.write()
    index.truncate(offset)
    index.write()
    loaded = TimeIndex(root, "x.timeindex", BASE, 1 << 20)
    assert loaded.read_last() == index.last
    assert loaded.load(LOG_SIZE)
    assert loaded.last == index.last
    assert loaded.last[1] < offset or len(loaded) == 0


def test_one_entry_of_zeros_in_a_time_index_means_something(root: Directory) -> None:
    """A segment with one record, of 1970: closing entry (0, base), which is twelve zero bytes."""
    index = new_time_index(root)
    index.maybe_append(0, BASE)
    index.write()
    loaded = TimeIndex(root, "x.timeindex", BASE, 1 << 20)
    assert loaded.load(LOG_SIZE)
    assert loaded.last == (0, BASE)
    assert len(loaded) == 1


def test_an_index_is_full_at_its_size_and_a_time_index_keeps_a_place_for_the_closing_entry(root: Directory) -> None:
    offsets, times = new_offset_index(root, 3 * 8 + 7), new_time_index(root, 3 * 12 + 11)
    states = []
    for number in range(1, 4):
        offsets.append(BASE + number, number)
        times.maybe_append(number, BASE + number)
        states.append((offsets.is_full, times.is_full))
    assert states == [(False, False), (False, True), (True, True)]


def test_sealed_indexes_leave_memory_under_pressure_and_active_ones_do_not(root: Directory) -> None:
    root.disk.indexes.limit = 30
    active, sealed = new_offset_index(root), new_time_index(root)
    for number in range(1, 4):
        active.append(BASE + number, number)
        sealed.maybe_append(number, BASE + number)
    sealed.write()
    sealed.seal()
    root.disk.indexes.evict_all()
    assert active.is_loaded
    assert not sealed.is_loaded
    assert sealed.read_last() == (3, BASE + 3)
    assert sealed.load(LOG_SIZE)
    assert sealed.lookup(2) == (2, BASE + 2)


def test_sealed_indexes_in_memory_stay_under_their_limit(root: Directory) -> None:
    root.disk.indexes.limit = 100
    root.write("x.index", offset_format.encode([(number, number) for number in range(1, 10)]), 0)
    indexes = [OffsetIndex(root, "x.index", BASE, 1 << 20) for _ in range(5)]
    for index in indexes:
        assert index.load(LOG_SIZE)
    assert [index.is_loaded for index in indexes] == [False, False, False, False, True]
    assert root.disk.indexes.weight == 9 * 8


def test_an_index_appends_to_its_file_only_what_is_new(root: Directory) -> None:
    index = new_offset_index(root)
    for number in range(1, 6):
        index.append(BASE + number, number * 10)
        index.write()
    data = root.read("x.index")
    assert data == offset_format.encode([(number, number * 10) for number in range(1, 6)])


@st.composite
def aborted_transactions(draw: st.DrawFn) -> list[AbortedTxn]:
    """Entries as a log makes them: markers in order, each LSO where the oldest transaction then open begins."""
    spans, marker = [], 0
    for _ in range(draw(st.integers(0, 12))):
        marker += draw(st.integers(1, 20))
        spans.append((draw(st.integers(max(0, marker - 60), marker - 1)), marker))
    return [
        AbortedTxn(number, first, last, min([start for start, end in spans if start < last < end], default=last + 1))
        for number, (first, last) in enumerate(spans)
    ]


@given(aborted_transactions(), st.integers(0, 250), st.integers(1, 60))
@settings(max_examples=120)
def test_exactly_the_transactions_that_touch_a_range_are_found(
    entries: list[AbortedTxn], start: int, size: int
) -> None:
    index = TransactionIndex(open_root(), "x.txnindex", 0)
    for entry in entries:
        index.append(entry)
    found, is_complete = index.collect(start, start + size)
    assert found == [e for e in entries if e.last_offset >= start and e.first_offset < start + size]
    assert is_complete == any(e.last_stable_offset >= start + size for e in entries)


@given(aborted_transactions(), st.sets(st.integers(0, 20)), st.integers(0, 250), st.integers(0, 250))
@settings(max_examples=60)
def test_entries_that_were_let_go_of_are_read_again(
    entries: list[AbortedTxn], let_go_behind: set[int], start: int, cut: int
) -> None:
    root = open_root()
    index, whole = TransactionIndex(root, "x.txnindex", 0), TransactionIndex(open_root(), "x.txnindex", 0)
    for number, entry in enumerate(entries):
        index.append(entry)
        whole.append(entry)
        if number in let_go_behind:
            index.release()
            assert index.in_memory == 0
    assert len(index) == len(entries)
    index.write()
    assert TransactionIndex(root, "x.txnindex", 0).entries == entries
    index.release()
    assert index.collect(start, start + 20) == whole.collect(start, start + 20)
    index.release()
    index.truncate(cut)
    index.write()
    kept = [entry for entry in entries if entry.last_offset < cut]
    assert index.entries == TransactionIndex(root, "x.txnindex", 0).entries == kept


def test_aborted_transactions_are_durable_once_written_and_synced(root: Directory) -> None:
    index = TransactionIndex(root, "x.txnindex", 0)
    assert not index.needs_sync
    index.write()
    assert not root.exists("x.txnindex")
    entries = [AbortedTxn(7, 0, 3, 4), AbortedTxn(8, 2, 5, 6)]
    for number, entry in enumerate(entries, 1):
        index.append(entry)
        assert index.needs_sync
        index.write()
        index.mark_synced(number)
    assert not index.needs_sync
    assert TransactionIndex(root, "x.txnindex", 0).entries == entries
    index.truncate(5)
    index.write()
    assert TransactionIndex(root, "x.txnindex", 0).entries == entries[:1]
    index.truncate(0)
    index.write()
    assert not root.exists("x.txnindex")


@pytest.mark.parametrize("content", [b"\0" * 33, b"\0\1" + b"\0" * 32, bytes(34) + bytes(34)])
def test_a_transaction_index_that_cannot_be_is_refused(root: Directory, content: bytes) -> None:
    root.write("x.txnindex", content, 0)
    with pytest.raises(CorruptFile):
        _ = TransactionIndex(root, "x.txnindex", 0).entries


def test_a_transaction_of_another_segment_is_refused(root: Directory) -> None:
    index = TransactionIndex(root, "x.txnindex", 0)
    index.append(AbortedTxn(7, 0, 3, 4))
    index.write()
    with pytest.raises(CorruptFile, match="another segment"):
        _ = TransactionIndex(root, "x.txnindex", 100).entries
    broken = TransactionIndex(root, "x.txnindex", 100)
    broken.clear()
    broken.write()
    assert not root.exists("x.txnindex")
