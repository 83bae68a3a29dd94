"""What a log checks of itself in production: each check fails with a sentence that says what is wrong."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import pytest

from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.builder import build_batch
from barnabas.storage.config import LogConfig
from barnabas.storage.errors import CorruptFile, DirectoryOffline
from barnabas.storage.log.append import AppendResult
from barnabas.storage.log.segments import Segments
from barnabas.storage.log.watermarks import Watermarks
from barnabas.storage.producers.open_transactions import OpenTransactions
from barnabas.storage.producers.producer_state_entry import ProducerStateEntry, SeenBatch
from barnabas.storage.producers.producer_state_manager import ProducerStateManager
from barnabas.storage.segment.segment import Segment
from tests.support.worlds.log import START_MS, LogWorld, open_world


def watermarks_of(**settings: int) -> Watermarks:
    config = LogConfig(**settings)  # type: ignore[arg-type]  # only settings that are numbers
    return Watermarks(
        "t-0",
        ProducerStateManager(),
        config,
        log_start_offset=5,
        log_end_offset=9,
        high_watermark=7,
        recovery_point=9,
    )


def segment_at(base_offset: int, size: int = 100) -> Segment:
    return cast(Segment, SimpleNamespace(base_offset=base_offset, size=size))


# --- watermarks ---


@pytest.mark.parametrize("end_offset", [9, 8, 0])
def test_an_append_moves_the_end_forwards(end_offset: int) -> None:
    marks = watermarks_of()
    with pytest.raises(AssertionError, match=f"t-0: an append moves the log's end from 9 back to {end_offset}"):
        marks.extend(end_offset)


def test_the_start_never_goes_back_and_never_passes_the_high_watermark() -> None:
    marks = watermarks_of(min_insync_replicas=2)
    marks.start_at(6)
    with pytest.raises(AssertionError, match="t-0: the log's start would go back from 6 to 5"):
        marks.start_at(5)
    with pytest.raises(AssertionError, match="out of order: log start 8, last stable 7, high watermark 7, log end 9"):
        marks.start_at(8)


def test_watermarks_out_of_order_are_found_with_the_next_append() -> None:
    marks = watermarks_of(min_insync_replicas=2)
    marks.last_stable_offset = 8
    with pytest.raises(AssertionError, match="out of order: log start 5, last stable 8, high watermark 7, log end 10"):
        marks.extend(10)


@pytest.mark.parametrize(("checkpointed", "high_watermark"), [(None, 5), (3, 5), (7, 7), (12, 9)])
def test_a_checkpoint_of_another_time_is_brought_within_the_log(checkpointed: int | None, high_watermark: int) -> None:
    marks = Watermarks(
        "t-0",
        ProducerStateManager(),
        LogConfig(min_insync_replicas=2),
        log_start_offset=5,
        log_end_offset=9,
        high_watermark=checkpointed,
        recovery_point=9,
    )
    assert (marks.last_stable_offset, marks.high_watermark) == (high_watermark, high_watermark)


# --- segments ---


@pytest.mark.pure
def test_segments_ascend() -> None:
    with pytest.raises(AssertionError, match=r"base offsets of segments do not ascend: \[0, 7, 7\]"):
        Segments([segment_at(0), segment_at(7), segment_at(7)])
    segments = Segments([segment_at(0), segment_at(7)])
    with pytest.raises(AssertionError, match=r"do not ascend: \[7, 3\]"):
        segments.add(segment_at(3))
    assert [segment.base_offset for segment in segments.all] == [0, 7]


@pytest.mark.pure
def test_replaced_segments_stay_for_who_holds_them() -> None:
    segments = Segments([segment_at(base) for base in (0, 10, 20, 30)])
    before = segments.all
    segments.replace(before[1:3], [segment_at(10, size=50)])
    assert [segment.base_offset for segment in segments.all] == [0, 10, 30]
    assert [segment.base_offset for segment in before] == [0, 10, 20, 30]
    segments.replace(segments.all[:1])
    assert (segments.size, segments.bytes_replaced) == (150, 250)
    assert [segments.index_of(offset) for offset in (0, 10, 29, 30, 99)] == [0, 0, 0, 1, 1]


@pytest.mark.pure
def test_only_sealed_neighbours_are_replaced_and_nothing_comes_between() -> None:
    segments = Segments([segment_at(base) for base in (0, 10, 20, 30)])
    with pytest.raises(AssertionError, match="do not follow one another"):
        segments.replace([segments.all[0], segments.all[2]])
    with pytest.raises(AssertionError, match="segment 30 is active"):
        segments.replace(segments.all[2:])
    with pytest.raises(AssertionError, match=r"do not ascend: \[0, 20, 20\]"):
        segments.replace(segments.all[1:2], [segment_at(20)])


# --- producers ---


def test_a_window_is_in_the_order_of_the_log() -> None:
    producer = ProducerStateEntry(producer_epoch=3)
    producer.add(SeenBatch(0, 4, first_offset=10, last_offset=14, timestamp=1), seen_ms=0)
    with pytest.raises(AssertionError, match="a batch at offset 14 would follow one that ends at 14 in the window"):
        producer.add(SeenBatch(5, 5, first_offset=14, last_offset=14, timestamp=1), seen_ms=0)


def test_transactions_begin_in_the_order_of_the_log() -> None:
    transactions = OpenTransactions()
    transactions.begin(7, 10)
    with pytest.raises(AssertionError, match="producer 8 begins a transaction at 10, before one at 10"):
        transactions.begin(8, 10)


# --- an append that was written ---


def append_own(world: LogWorld) -> AppendResult:
    batch = build_batch([(b"k", b"v", (), START_MS)])
    return world.log.append_own(batch, 1, START_MS, leader_epoch=0, now_ms=START_MS)


@pytest.mark.parametrize(
    "append",
    [
        lambda world: world.append(b"b", producer_id=7, epoch=0, sequence=1),
        lambda world: world.append(b"b", producer_id=8, epoch=0, sequence=0),
        append_own,
        lambda world: world.mark(7, 0, commit=True),
    ],
    ids=["the common batch", "one judged with care", "a coordinator's", "a marker"],
)
def test_an_unaccounted_write_takes_the_directory_offline(
    world: LogWorld, append: Callable[[LogWorld], AppendResult]
) -> None:
    """Else the next batch would have the same offset. The next start finds both in the log."""
    world.append(b"a", producer_id=7, epoch=0, sequence=0)
    world.log._watermarks.log_start_offset = 5

    with pytest.raises(AssertionError, match="out of order"):
        append(world)

    for again in (append, append_own):
        with pytest.raises(DirectoryOffline, match=r"offset 1 was written, but the log's state lacks it: .*order"):
            again(world)
    world.kill()
    world.open()
    assert world.findings() == []
    assert (world.log.log_end_offset, append(world).log_start_offset) == (2, 0)


def test_a_window_out_of_order_ends_the_use_of_the_directory(world: LogWorld) -> None:
    world.append(b"a", producer_id=7, epoch=0, sequence=0)
    producer = world.log.producers.get(7)
    assert producer is not None
    producer.window[0] = producer.window[0]._replace(last_offset=50)
    with pytest.raises(AssertionError, match="a batch at offset 1 would follow one that ends at 50"):
        world.append(b"b", producer_id=7, epoch=0, sequence=1)
    with pytest.raises(DirectoryOffline):
        world.append(b"b")


# --- what the disk may have changed is no assertion ---


def test_a_log_whose_offsets_go_back_is_refused_where_its_producers_are_read_from_it() -> None:
    """A clean stop vouches for the segment, and the base offset is under no CRC."""
    world = open_world(segment_bytes=400)
    world.append(b"v", producer_id=7, epoch=0, sequence=0)
    batch_bytes = world.log.size
    for sequence in range(1, 12):
        world.append(b"v", producer_id=7, epoch=0, sequence=sequence)
    assert world.log.segments_count > 2
    world.stop()
    world.remove(".snapshot")
    world.files.open(f"{world.path}/{0:020d}.log").pwrite((0).to_bytes(8, "big"), 2 * batch_bytes)
    with pytest.raises(CorruptFile, match=r"offsets 0 to 0, expected 2 or more"):
        world.open()


def world_of_segments() -> LogWorld:
    """Several synced segments, of one producer's batches."""
    world = open_world(segment_bytes=400)
    for sequence in range(12):
        world.append(b"v", producer_id=7, epoch=0, sequence=sequence)
    assert world.log.segments_count > 2
    world.flush()
    world.checkpoint()
    return world


def let_first_segment_overlap(world: LogWorld, base_offset: int) -> None:
    """Give the last batch of the first segment another base offset, which is under no CRC."""
    path = f"{world.path}/{0:020d}.log"
    *_, (position, _) = iter_batches(world.files.peek(path) or b"")
    world.files.open(path).pwrite(base_offset.to_bytes(8, "big"), position)


@pytest.mark.parametrize("base_offset", [10, 50])
def test_a_segment_that_reaches_into_the_next_is_refused_where_producers_are_read_from_it(base_offset: int) -> None:
    world = world_of_segments()
    world.stop()
    world.remove(".snapshot")
    let_first_segment_overlap(world, base_offset)
    with pytest.raises(CorruptFile, match=rf"offsets {base_offset} to {base_offset}, the next segment begins at"):
        world.open()


def test_a_segment_that_reaches_into_the_next_is_refused_where_its_index_is_made_again() -> None:
    world = world_of_segments()
    world.kill()
    world.files.remove(f"{world.path}/{0:020d}.index")
    let_first_segment_overlap(world, 50)
    with pytest.raises(CorruptFile, match=rf"{0:020d}.log: .* the synced part ended with a batch at"):
        world.open()
