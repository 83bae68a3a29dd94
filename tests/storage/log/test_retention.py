"""Which segments go: Kafka's three rules, one by one and together; and that they go in full."""

import errno
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.files.names import FileState, parse_segment_file
from barnabas.storage.config import LogConfig
from barnabas.storage.errors import StorageError
from barnabas.storage.log.retention import deletable_segments
from tests.support.files.log_directories import delete_due
from tests.support.worlds.log import open_world

FOREVER = LogConfig(retention_ms=-1, retention_bytes=-1)
DELETE_AND_COMPACT = frozenset({"delete", "compact"})


class Part(NamedTuple):
    base_offset: int
    size: int
    largest_timestamp: int
    is_age_known: bool = True


FIVE = [Part(number * 10, 100, number * 1_000) for number in range(5)]
"""Offsets 0 to 49, 500 bytes, timestamps 0 to 4000."""


def choose(segments: list[Part], config: LogConfig, **where: int) -> int:
    """How many of them go, in a log of this many offsets that begins at 0; all of it decided, if nothing is said."""
    end = where.get("high_watermark", where.get("log_end_offset", 50))
    places = {"log_start_offset": 0, "log_end_offset": 50, "high_watermark": end, "last_stable_offset": end} | where
    return len(deletable_segments(segments, **places, config=config, now_ms=5_000))


@pytest.mark.parametrize(("log_start_offset", "gone"), [(0, 0), (9, 0), (10, 1), (39, 3), (40, 4), (50, 4)])
def test_segments_before_the_start_offset_go_but_the_last(log_start_offset: int, gone: int) -> None:
    assert choose(FIVE, FOREVER, log_start_offset=log_start_offset) == gone


@pytest.mark.parametrize(
    ("retention_bytes", "gone"), [(-1, 0), (500, 0), (401, 0), (400, 1), (150, 3), (100, 4), (1, 4), (0, 5)]
)
def test_the_log_never_shrinks_below_retention_bytes(retention_bytes: int, gone: int) -> None:
    assert choose(FIVE, FOREVER._replace(retention_bytes=retention_bytes)) == gone


@pytest.mark.parametrize(
    ("retention_ms", "gone"), [(-1, 0), (5_000, 0), (4_999, 1), (4_000, 1), (3_999, 2), (1_000, 4), (999, 5), (0, 5)]
)
def test_segments_older_than_retention_ms_go_even_the_active_one(retention_ms: int, gone: int) -> None:
    assert choose(FIVE, FOREVER._replace(retention_ms=retention_ms)) == gone


@pytest.mark.parametrize(
    "second", [Part(10, 100, 0, is_age_known=False), Part(10, 100, 10**9)], ids=["of an age not known", "young"]
)
def test_a_segment_that_stays_keeps_all_behind_it(second: Part) -> None:
    segments = [Part(0, 100, 0), second, Part(20, 100, 0)]
    assert choose(segments, FOREVER._replace(retention_ms=100), log_end_offset=30) == 1


def test_an_empty_last_segment_is_never_deleted() -> None:
    segments = [Part(0, 100, 0), Part(10, 0, 0)]
    assert choose(segments, LogConfig(retention_ms=0, retention_bytes=0), log_end_offset=10, log_start_offset=10) == 1


@pytest.mark.parametrize(("high_watermark", "gone"), [(0, 0), (9, 0), (10, 1), (25, 2), (50, 5)])
def test_nothing_above_the_high_watermark_goes(high_watermark: int, gone: int) -> None:
    assert choose(FIVE, FOREVER._replace(retention_ms=0), high_watermark=high_watermark) == gone


@pytest.mark.parametrize(
    ("log_start", "stable", "gone"), [(0, 0, 0), (0, 9, 0), (0, 10, 1), (0, 25, 2), (0, 50, 5), (20, 20, 2)]
)
@pytest.mark.parametrize("limit", [{"retention_ms": 0}, {"retention_bytes": 0}])
def test_size_and_time_wait_for_what_is_not_decided(
    limit: dict[str, Any], log_start: int, stable: int, gone: int
) -> None:
    """What lies before the log's start goes though its transaction is open."""
    assert choose(FIVE, FOREVER._replace(**limit), log_start_offset=log_start, last_stable_offset=stable) == gone


@pytest.mark.parametrize(("policy", "gone"), [(frozenset({"compact"}), 2), (DELETE_AND_COMPACT, 5)])
def test_compaction_alone_deletes_only_before_the_start(policy: frozenset[str], gone: int) -> None:
    config = LogConfig(retention_ms=0, retention_bytes=0, cleanup_policy=policy)
    assert choose(FIVE, config, log_start_offset=20) == gone


def test_every_deletion_has_a_reason_a_person_understands() -> None:
    reasons = deletable_segments(
        FIVE,
        log_start_offset=10,
        log_end_offset=50,
        high_watermark=50,
        last_stable_offset=50,
        config=LogConfig(retention_bytes=300, retention_ms=2_500),
        now_ms=5_000,
    )
    assert reasons == [
        "0: ends at 10, the log starts at 10",
        "10: retention.bytes=300 exceeded without it",
        "20: 3000 ms old, retention.ms=2500",
    ]


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(0, 5_000)), min_size=1, max_size=8),
    st.integers(-1, 300),
    st.integers(-1, 6_000),
    st.integers(0, 80),
)
def test_retention_removes_the_longest_allowed_prefix(
    parts: list[tuple[int, int]], retention_bytes: int, retention_ms: int, high_watermark: int
) -> None:
    segments = [Part(index * 10, size, timestamp) for index, (size, timestamp) in enumerate(parts)]
    end = 10 * len(segments)
    config = LogConfig(retention_bytes=retention_bytes, retention_ms=retention_ms)
    gone = choose(segments, config, log_end_offset=end, high_watermark=min(high_watermark, end))
    left = segments[gone:]
    assert gone * 10 <= high_watermark
    if left and high_watermark >= left[0].base_offset + 10:
        over = sum(part.size for part in left) - left[0].size - retention_bytes
        assert retention_bytes < 0 or over < 0
        assert retention_ms < 0 or 5_000 - left[0].largest_timestamp <= retention_ms


@pytest.mark.parametrize("kind", [".log", ".index", ".timeindex", ".txnindex", ".snapshot"])
def test_a_deletion_that_fails_halfway_is_finished_by_the_next(kind: str) -> None:
    world = open_world(segment_bytes=300)
    for sequence in range(12):
        world.append(b"t", producer_id=7, epoch=0, sequence=sequence, transactional=True)
        world.mark(7, 0, commit=False)
    world.log.delete_records_before(20)
    first_offsets = [int(file.name.removesuffix(".log")) for file in world.log.files]
    world.files.fail("rename", errno.EIO, path=kind, times=1, skip=1)

    with pytest.raises(StorageError):
        world.log.apply_retention(world.now_ms)
    found = world.log.read(20, 1 << 20, committed=False, force_first_batch=True)
    assert len(found.read_all()) > 0

    assert world.log.apply_retention(world.now_ms)
    given_up = [name for name in world.names() if name.endswith(".deleted")]
    assert all(map(parse_segment_file, given_up)), "the start after a kill would not know them"
    delete_due(world.home, world.now_ms + 60_000)  # syncs first what waits for it
    kept = [offset for offset in first_offsets if offset >= world.log.first_segment_base_offset]
    assert 1 <= len(kept) < len(first_offsets) - 1
    segment_files = [file for file in map(parse_segment_file, world.names()) if file is not None]
    assert {file.base_offset for file in segment_files} == set(kept)
    assert {file.state for file in segment_files} == {FileState.LIVE}
    world.restart("stop")
    assert world.findings() == []


def test_no_power_cut_brings_back_what_the_checkpoints_know_to_be_deleted() -> None:
    for seed in range(20):
        world = open_world(seed, segment_bytes=200, values=[b"v"] * 8)
        world.flush()
        world.log.delete_records_before(4)
        world.checkpoint()
        assert world.log.apply_retention(world.now_ms)
        world.checkpoint()
        world.cut_power("some")
        world.open()
        assert world.log.log_start_offset == 4
