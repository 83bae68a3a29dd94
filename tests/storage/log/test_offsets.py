"""ListOffsets look-ups, DeleteRecords and retention."""

from operator import itemgetter
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.records.builder import build_batch
from barnabas.storage.config import LogConfig
from barnabas.storage.log import offsets
from barnabas.storage.log.offsets import NOT_FOUND
from barnabas.storage.steps import finish
from tests.support.files.log_directories import delete_due
from tests.support.records.batches import without_max_timestamp
from tests.support.worlds.log import START_MS, LogWorld, open_world


def look_up(world: LogWorld, timestamp: int, *, committed: bool = False) -> tuple[int, int, int]:
    offset, found_timestamp, leader_epoch = finish(world.log.find_offset(timestamp, committed=committed))
    return offset, found_timestamp, leader_epoch


@pytest.fixture
def world() -> LogWorld:
    """Timestamps 100, 300, 200, 300, 500 … in several segments, epoch 2 from offset 4 on."""
    world = open_world(segment_bytes=150, retention_ms=-1)
    for number, timestamp in enumerate([100, 300, 200, 300, 500, 400, 500]):
        world.leader_epoch = 2 if number >= 4 else 1
        world.append(b"v", timestamp=timestamp)
    return world


def test_where_nothing_is_left_the_earliest_offset_is_in_the_leaders_epoch(world: LogWorld) -> None:
    world.log.set_leader_epoch(4)
    assert look_up(world, offsets.EARLIEST) == (-1, 0, 1)
    world.log.delete_records_before(7)
    assert look_up(world, offsets.EARLIEST) == (-1, 7, 4)
    assert look_up(world, offsets.LATEST) == (-1, 7, 4)


def test_the_largest_timestamp_is_found_though_the_log_grows_between_two_steps(world: LogWorld) -> None:
    search = world.log.find_offset(offsets.MAX_TIMESTAMP, committed=False)
    next(search)
    world.append(b"v", timestamp=600)
    assert finish(search).offset in (4, 7)


@pytest.mark.parametrize(
    ("deleted_before", "asked", "found"),
    [
        (0, offsets.LATEST, (-1, 7, 2)),
        (0, offsets.EARLIEST, (-1, 0, 1)),
        (0, offsets.EARLIEST_LOCAL, (-1, 0, 1)),
        (5, offsets.EARLIEST, (-1, 5, 2)),
        (0, offsets.MAX_TIMESTAMP, (500, 4, 2)),  # the first record that has it
        (0, offsets.LATEST_TIERED, NOT_FOUND),
        (0, offsets.EARLIEST_PENDING_UPLOAD, NOT_FOUND),
        (0, 0, (100, 0, 1)),
        (0, 100, (100, 0, 1)),
        (0, 101, (300, 1, 1)),
        (0, 300, (300, 1, 1)),
        (0, 301, (500, 4, 2)),
        (0, 500, (500, 4, 2)),
        (0, 501, NOT_FOUND),
        (2, 0, (200, 2, 1)),
        (2, 300, (300, 3, 1)),
    ],
)
def test_look_ups(world: LogWorld, deleted_before: int, asked: int, found: tuple[int, int, int]) -> None:
    world.log.delete_records_before(deleted_before)
    assert look_up(world, asked) == found


def test_records_inside_a_batch_are_found_by_their_own_timestamps() -> None:
    world = open_world()
    world.append_batch(build_batch([(b"k", b"v", (), timestamp) for timestamp in (10, 30, 20, 40)]))
    assert look_up(world, 25) == (30, 1, 0)
    assert look_up(world, 31) == (40, 3, 0)
    assert look_up(world, offsets.MAX_TIMESTAMP) == (40, 3, 0)


def test_an_empty_log_has_no_largest_timestamp() -> None:
    world = open_world()
    assert look_up(world, offsets.MAX_TIMESTAMP) == NOT_FOUND
    assert look_up(world, 0) == NOT_FOUND
    assert look_up(world, offsets.LATEST) == (-1, 0, -1)
    assert look_up(world, offsets.EARLIEST) == (-1, 0, -1)


def test_the_largest_timestamp_of_what_was_not_deleted_is_found() -> None:
    world = open_world()
    world.append_batch(build_batch([(b"k", b"v", (), timestamp) for timestamp in (10, 90, 20, 30)]))
    world.append(b"v", timestamp=25)
    world.append(b"v", timestamp=30)
    assert look_up(world, offsets.MAX_TIMESTAMP) == (90, 1, 0)
    for start, found in ((1, (90, 1, 0)), (2, (30, 3, 0)), (4, (30, 5, 0)), (6, NOT_FOUND)):
        world.log.delete_records_before(start)
        assert look_up(world, offsets.MAX_TIMESTAMP) == found


def test_read_committed_finds_nothing_behind_the_last_stable_offset() -> None:
    world = open_world()
    world.append(b"a", timestamp=100)
    world.append(b"b", timestamp=200, producer_id=1, epoch=0, sequence=0, transactional=True)
    assert look_up(world, 150) == (200, 1, 0)
    assert look_up(world, 150, committed=True) == NOT_FOUND
    assert look_up(world, offsets.MAX_TIMESTAMP, committed=True) == NOT_FOUND
    assert look_up(world, offsets.LATEST, committed=True) == (-1, 1, 0)


def test_a_time_that_means_nothing_is_no_look_up(world: LogWorld) -> None:
    with pytest.raises(ValueError, match="-7"):
        look_up(world, -7)


def test_look_ups_are_the_same_after_a_restart(world: LogWorld) -> None:
    asked = [-1, -2, -3, 0, 150, 300, 450, 501]
    before = [look_up(world, timestamp) for timestamp in asked]
    for how in ("kill", "stop"):
        world.restart(how)
        assert [look_up(world, timestamp) for timestamp in asked] == before


# --- against a model that remembers every record ---


@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 30), min_size=1, max_size=6),  # timestamps of one batch
            st.integers(0, 4),  # its codec
            st.booleans(),  # whether its header lacks the largest of them
        ),
        max_size=15,
    ),
    st.integers(0, 40),
    st.sampled_from([None, "stop", "kill"]),
    st.integers(-1, 32),
)
def test_every_look_up_agrees_with_a_model(
    batches: list[tuple[list[int], int, bool]], start: int, restart: Literal["stop", "kill"] | None, timestamp: int
) -> None:
    world = open_world(segment_bytes=400, index_interval_bytes=1, retention_ms=-1)
    records: list[tuple[int, int, int]] = []
    for times, codec, is_bare in batches:
        batch = build_batch([(b"k", b"v", (), START_MS + time) for time in times], compression=codec)
        first = world.append_batch(without_max_timestamp(batch) if is_bare else batch).base_offset
        records += [(START_MS + time, first + number, 0) for number, time in enumerate(times)]
    world.log.delete_records_before(min(start, len(records)))
    if restart is not None:
        world.restart(restart)
    left = records[world.log.log_start_offset :]

    expected = next((record for record in left if record[0] >= START_MS + timestamp), NOT_FOUND)
    assert look_up(world, START_MS + timestamp) == expected
    assert look_up(world, offsets.MAX_TIMESTAMP) == max(left, key=itemgetter(0), default=NOT_FOUND)


@given(
    st.lists(
        st.one_of(st.integers(0, 30), st.tuples(st.sampled_from(["ask", "delete"]), st.integers(0, 32))), max_size=40
    )
)
def test_cached_positions_of_a_look_up_stay_valid(steps: list[int | tuple[str, int]]) -> None:
    """Between appends, look-ups by time, and segments that go."""
    world = open_world(segment_bytes=150, index_interval_bytes=1, retention_ms=-1)
    records: list[tuple[int, int, int]] = []
    for step in steps:
        if isinstance(step, int):
            records.append((START_MS + step, world.append(b"v", timestamp=START_MS + step).base_offset, 0))
        elif step[0] == "ask":
            left = records[world.log.log_start_offset :]
            expected = next((record for record in left if record[0] >= START_MS + step[1]), NOT_FOUND)
            assert look_up(world, START_MS + step[1]) == expected
        else:
            world.log.delete_records_before(min(step[1], len(records)))
            world.log.apply_retention(START_MS)


# --- deleting ---


def test_delete_records_moves_the_start_and_never_back(world: LogWorld) -> None:
    assert world.log.delete_records_before(3) == 3
    assert world.log.delete_records_before(1) == 3
    assert world.log.delete_records_before(-1) == 7
    assert world.log.last_stable_offset == world.log.log_start_offset == 7


def test_delete_records_refuses_what_kafka_refuses(world: LogWorld) -> None:
    for offset in (-2, 8):
        with pytest.raises(KafkaError) as refused:
            world.log.delete_records_before(offset)
        assert refused.value.code == ErrorCode.OFFSET_OUT_OF_RANGE
    world.log.config = LogConfig(cleanup_policy=frozenset({"compact"}))
    with pytest.raises(KafkaError) as refused:
        world.log.delete_records_before(1)
    assert refused.value.code == ErrorCode.POLICY_VIOLATION


def test_segments_below_the_start_go_with_their_snapshots(world: LogWorld) -> None:
    world.log.delete_records_before(4)
    first = world.log.first_segment_base_offset

    reasons = world.log.apply_retention(START_MS)

    assert reasons
    assert first == world.log.first_segment_base_offset
    job = world.log.retention_job()
    assert job is not None
    job.run_here()
    assert first < world.log.first_segment_base_offset <= 4
    gone = [name for name in world.names() if name.endswith(".deleted")]
    assert f"{0:020d}.log.deleted" in gone
    live = [int(name[:20]) for name in world.names() if name.endswith((".log", ".snapshot"))]
    assert min(live) == world.log.first_segment_base_offset
    assert len(world.records()) == 3
    delete_due(world.home, START_MS + world.config.file_delete_delay_ms)
    assert not [name for name in world.names() if name.endswith(".deleted")]


def test_when_every_segment_is_too_old_an_empty_one_takes_over() -> None:
    world = open_world(segment_bytes=150, retention_ms=1000, values=[b"v"] * 4)
    reasons = world.log.apply_retention(START_MS + 1001)
    assert len(reasons) == 4 // 2
    assert (world.log.log_start_offset, world.log.log_end_offset) == (4, 4)
    assert world.records() == []
    assert world.append(b"next").base_offset == 4
    assert world.restart("stop").log_start_offset == 4


def test_retention_by_size_keeps_at_least_that_much() -> None:
    world = open_world(segment_bytes=150, retention_bytes=250, values=[b"%d" % number for number in range(10)])
    world.log.apply_retention(START_MS)
    kept = sum(world.files.stat(f"{world.path}/{name}").size for name in world.names() if name.endswith(".log"))
    assert 250 <= kept < 400
    assert world.values()[-1] == b"9"


def test_the_start_survives_a_stop(world: LogWorld) -> None:
    world.log.delete_records_before(3)
    assert world.restart("stop").log_start_offset == 3
    assert [record.offset for record in world.records()] == [3, 4, 5, 6]
