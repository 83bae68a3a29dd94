"""A segment against a model that keeps its batches in a list: reading, finding, truncating, rolling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.files import offset_index as offset_format
from barnabas.protocol.files import time_index as time_format
from barnabas.protocol.records.batch import iter_batches
from barnabas.storage.config import LogConfig
from barnabas.storage.segment import scan
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.times import record_at_timestamp, record_of_max_timestamp
from barnabas.storage.steps import finish
from tests.support.files.segment_model import BASE, CONFIG, INDEX, LOG, ONE, TIME_INDEX, Model, Steps, appends, counted


@given(appends)
def test_indexes_follow_kafkas_rule_byte_for_byte(steps: Steps) -> None:
    model = Model(steps)
    model.segment.seal()
    assert model.directory.read(INDEX) == model.offset_index()
    assert model.directory.read(TIME_INDEX) == time_format.encode(model.time_entries())
    assert model.directory.read(LOG) == b"".join(stored.data for stored in model.stored)


@given(appends, st.booleans(), st.integers(0, 2_000), st.booleans())
def test_a_read_gives_what_fits_from_the_batch_with_the_offset_on_and_that_one_whole(
    steps: Steps, reopened: bool, max_bytes: int, force: bool
) -> None:
    model = Model(steps)
    if reopened:
        model.reopen()
    segment = model.segment
    for offset in range(BASE, model.next_offset + 2):
        wanted = [stored for stored in model.stored if stored.last_offset >= offset]
        found = segment.read(offset, max_bytes, segment.size, force)
        if not wanted or (len(wanted[0].data) > max_bytes > 0 and not force):
            assert found is None
            continue
        assert found is not None
        if not (max_bytes or force):
            assert (found.position, found.size) == (wanted[0].position, 0)
            continue
        limit = max(max_bytes, len(wanted[0].data))
        assert found.read_all() == b"".join(stored.data for stored in wanted)[:limit]


@given(appends, st.integers(0, 2_000))
def test_reading_on_from_where_a_read_ended_meets_every_batch_once(steps: Steps, max_bytes: int) -> None:
    model = Model(steps)
    offset, met = BASE, []
    while (found := model.segment.read(offset, max_bytes, model.size, True)) is not None:
        met += [header.last_offset for _, header in iter_batches(found.read_all())]
        offset = met[-1] + 1
    assert met == [stored.last_offset for stored in model.stored]


@given(appends.filter(bool), st.data())
def test_the_batch_that_a_limit_cuts_is_found_from_any_batch_before_it(steps: Steps, data: st.DataObject) -> None:
    model = Model(steps)
    cut = data.draw(st.integers(0, model.size - 1))
    before = [stored for stored in model.stored if cut - 4096 < stored.position <= cut]
    start = data.draw(st.sampled_from(before)).position
    found = scan.batch_around(model.segment.log, start, cut)
    assert found == (before[-1].base_offset, before[-1].position)


@given(appends, st.booleans())
def test_a_read_finds_the_batch_that_reaches_the_offset(steps: Steps, sealed: bool) -> None:
    model = Model(steps)
    if sealed:
        model.reopen()
    for offset in range(BASE - 1, model.next_offset + 2):
        expected = next((stored for stored in model.stored if stored.last_offset >= offset), None)
        assert model.find(offset) == expected
    assert model.segment.next_offset == model.next_offset


@given(appends, st.booleans(), st.integers(-1, 210), st.integers(BASE, BASE + 60))
def test_a_timestamp_finds_the_first_record_that_is_not_older(
    steps: Steps, sealed: bool, timestamp: int, start_offset: int
) -> None:
    model = Model(steps)
    if sealed:
        model.reopen()
    records = [(ts, s.base_offset + delta) for s in model.stored for delta, ts in enumerate(s.timestamps)]
    expected = next((r for r in records if r[0] >= timestamp and r[1] >= start_offset), None)
    found = finish(record_at_timestamp(model.segment, timestamp, start_offset))
    assert (found and found[:2]) == expected
    newest = max(records, key=lambda record: record[0], default=None)
    found = finish(record_of_max_timestamp(model.segment))
    assert (found and found[:2]) == newest
    assert model.segment.max_timestamp == (newest[0] if newest else -1)


@given(appends, st.integers(0, 25), st.booleans())
def test_truncation_leaves_what_came_before_and_goes_on(steps: Steps, keep: int, sealed: bool) -> None:
    model = Model(steps)
    if sealed:
        model.segment.seal()
    del model.stored[keep:]
    model.segment.truncate(model.size, model.next_offset)
    model.append([77])
    assert model.segment.next_offset == model.next_offset
    model.segment.seal()
    assert model.directory.read(INDEX) == model.offset_index()
    assert model.segment.max_timestamp == max(max(stored.timestamps) for stored in model.stored)


def test_a_truncation_forgets_where_readers_were() -> None:
    model = Model()
    for step in counted(10):
        model.append(*step)
        assert model.find(model.next_offset - 1) is not None
    del model.stored[4:]
    model.segment.truncate(model.size, model.next_offset)
    model.append([99, 99, 99, 99], 7)
    assert model.find(BASE + 6) == model.stored[-1]


def test_a_truncation_survives_a_power_cut() -> None:
    """Else entries of what was cut come back, and point into batches written since."""
    model = Model(counted(30))
    model.segment.close()
    model.directory.sync()
    del model.stored[10:]
    model.segment.truncate(model.size, model.next_offset)
    model.files.crash("nothing")
    root = model.files.directory()
    assert root.size(LOG) == model.size
    assert root.read(INDEX) == model.offset_index()


@given(appends, st.sampled_from(["index", "timeindex", "both"]), st.sampled_from(["gone", "zeros", "cut", "lies"]))
def test_indexes_that_are_missing_or_wrong_are_made_again_from_the_log(steps: Steps, which: str, damage: str) -> None:
    model = Model(steps)
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
            assert model.find(stored.last_offset, segment) == stored
        assert segment.next_offset == model.next_offset


def test_a_closed_segment_goes_on_where_it_was() -> None:
    model = Model(counted(30))
    model.reopen()
    model.segment.activate()
    model.fill(counted(60, 30))
    model.segment.seal()
    assert model.directory.read(INDEX) == model.offset_index()


def test_opening_and_closing_without_a_change_writes_nothing() -> None:
    model = Model(counted(30))
    model.reopen()
    model.segment.activate()
    before = model.files.changes_made
    assert model.find(BASE + 7) is not None
    model.segment.close()
    assert model.files.changes_made == before


def test_a_follower_of_the_log_costs_one_read_for_each_fetch() -> None:
    model = Model(ONE)
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
    model = Model(counted(10, value_bytes=10))
    end = model.stored[6].position
    found = model.segment.read(BASE, 1 << 20, end, True)
    assert found is not None
    assert found.size == end
    assert model.segment.read(BASE + 6, 1 << 20, end, True) is None


def test_the_upper_bound_is_the_next_indexed_batch() -> None:
    model = Model(counted(40))
    entries = [(stored.position, stored.last_offset) for stored in model.indexed()]
    for position in range(0, model.size + 10, 50):
        expected = next((last_offset for at, last_offset in entries if at >= position), None)
        assert model.segment.upper_bound_offset(position) == expected


# --- rolling ---


def test_a_segment_is_rolled_by_size_and_new_settings_count_with_the_next_append() -> None:
    model = Model(ONE)
    assert not model.segment.should_roll(101, BASE + 1, 1, 0)
    model.segment.set_limits(CONFIG._replace(segment_bytes=model.segment.size + 100))
    assert not model.segment.should_roll(100, BASE + 1, 1, 0)
    assert model.segment.should_roll(101, BASE + 1, 1, 0)


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
    model = Model(config=config)
    model.segment.set_limits(config, jitter)
    assert not model.segment.should_roll(100, BASE, batch, now + 10**9), "an empty one never is"
    model.append([first])
    assert model.segment.should_roll(100, BASE + 1, batch, now) == rolls
    model.reopen()
    model.segment.set_limits(config, jitter)
    assert model.segment.should_roll(100, BASE + 1, batch, now) == rolls


def test_a_compacted_log_is_rolled_in_time_for_its_cleaner() -> None:
    config = LogConfig(segment_ms=1_000, max_compaction_lag_ms=10, cleanup_policy=frozenset({"compact"}))
    model = Model(config=config)
    model.append([1_000])
    assert model.segment.should_roll(100, BASE + 1, 1_011, 0)
    assert not model.segment.should_roll(100, BASE + 1, 1_010, 0)


def test_a_segment_is_rolled_when_an_index_is_full() -> None:
    config = LogConfig(index_interval_bytes=1, segment_index_bytes=4 * 12)
    model = Model(config=config)
    rolls = []
    for number in range(6):
        rolls.append(model.segment.should_roll(100, model.next_offset, number, 0))
        model.append([number])
    assert rolls == [False, False, False, False, True, True], "three entries, and a place for the closing one"


def test_a_segment_is_rolled_before_its_offsets_outgrow_the_index() -> None:
    model = Model(ONE)
    assert not model.segment.should_roll(100, BASE + 0x7FFF_FFFF, 1, 0)
    assert model.segment.should_roll(100, BASE + 0x8000_0000, 1, 0)
