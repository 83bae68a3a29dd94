"""Walking a segment with its CRCs: what is good, and what the rest looks like."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.logfiles.walk import Bounds, walk_batches
from barnabas.protocol.records.builder import build_batch
from barnabas.protocol.records.control import end_txn_marker
from barnabas.storage.config import LogConfig
from barnabas.storage.recovery.opening import SEGMENTS_A_PIECE
from barnabas.storage.recovery.recovery_decisions import Tail
from barnabas.storage.recovery.segment_recovery import damage_of
from barnabas.storage.recovery.segment_walk import SegmentWalk
from barnabas.storage.segment.segment import Segment
from tests.support.files.held_bytes import HeldBytes
from tests.support.files.log_directories import TOPIC_ID, checkpoint, flush, kill, start, started
from tests.support.files.memory_files import MemoryFiles
from tests.support.records.batches import batch_of

BATCH_BYTES_MAX = 10_000


def segment_of(data: bytes) -> Segment:
    directory = MemoryFiles().with_directory().directory()
    directory.write(f"{0:020d}.log", data, 0)
    return Segment.open(directory, 0, LogConfig(), 0)


def batch(offset: int, size: int = 10, count: int = 1) -> bytes:
    return bytes(build_batch([(None, b"v" * size, (), 0)] * count, base_offset=offset))


def walk(data: bytes) -> tuple[list[int], SegmentWalk]:
    walked = SegmentWalk(segment_of(data), 0, BATCH_BYTES_MAX)
    return [header.base_offset for _, header, _ in walked], walked


def test_a_whole_segment_has_no_damage() -> None:
    offsets, walked = walk(batch(0) + batch(1, count=3) + batch(4))
    assert offsets == [0, 1, 4]
    assert (damage_of(walked), walked.next_offset) == (None, 5)
    assert damage_of(walk(b"")[1]) is None


def test_batches_larger_than_a_piece_are_read_whole() -> None:
    data = batch(0) + batch(1, size=3 << 20) + batch(2, size=1 << 20) + batch(3)
    offsets, walked = walk(data)
    assert offsets == [0, 1, 2, 3]
    assert damage_of(walked) is None


def test_markers_are_told_apart_from_data() -> None:
    walked = SegmentWalk(segment_of(batch(0) + bytes(end_txn_marker(False, 7, 3, 12, 0, base_offset=1))), 0, 1 << 20)
    markers = [marker for _, _, marker in walked]
    assert markers[0] is None
    assert markers[1] is not None
    assert (markers[1].producer_id, markers[1].commit, markers[1].coordinator_epoch) == (7, False, 12)


GOOD = batch(0) + batch(1)
NEXT = batch(2)


@pytest.mark.parametrize(
    ("behind", "tail"),
    [
        *((NEXT[:count], Tail.TORN) for count in range(1, len(NEXT))),
        *((bytes(count), Tail.TORN) for count in (1, 11, 12, 61, 5000)),
        (batch(1), Tail.BAD),
        (batch(2, size=2 * BATCH_BYTES_MAX)[:-1], Tail.BAD),
    ],
    ids=[
        *(f"a batch cut at {count}" for count in range(1, len(NEXT))),
        *(f"{count} zeros" for count in (1, 11, 12, 61, 5000)),
        "offsets that go back",
        "a cut batch that claims too much",
    ],
)
def test_bytes_behind_the_last_whole_batch_are_torn_or_bad(behind: bytes, tail: Tail) -> None:
    offsets, walked = walk(GOOD + behind)
    assert offsets == [0, 1]
    damage = damage_of(walked)
    assert damage is not None
    assert (damage.tail, damage.position) == (tail, len(GOOD))
    assert (damage.next_offset, damage.size) == (2, len(behind))


@pytest.mark.parametrize(
    ("last", "behind", "lowest"),
    [(1, 0, 2), (1, 1, 2), (5, 0, 6), (5, 1, 6), (5, 2, 2), (5, 5, 5)],
)
def test_offsets_that_go_back_blame_the_batch_before_only_where_it_may_be_wrong(
    last: int, behind: int, lowest: int
) -> None:
    """Behind a batch at offset 0: one at `last` is wrong if there is a place for it below the batch that follows."""
    _, walked = walk(batch(0) + batch(last) + batch(behind))
    damage = damage_of(walked)
    assert damage is not None
    assert (damage.next_offset, damage.lowest_offset) == (last + 1, lowest)


@pytest.mark.parametrize("position", range(8, len(NEXT)))
def test_a_changed_byte_with_a_batch_behind_it_is_bad_or_harmless(position: int) -> None:
    """The leader epoch is not covered by the CRC; neither is the offset, but it must not go back."""
    changed = bytearray(NEXT)
    changed[position] ^= 0xFF
    offsets, walked = walk(GOOD + bytes(changed) + batch(3))
    if 12 <= position < 16:
        assert (offsets, damage_of(walked)) == ([0, 1, 2, 3], None)
    else:
        assert offsets == [0, 1]
        damage = damage_of(walked)
        assert damage is not None
        assert damage.tail is Tail.BAD or position in (10, 11)  # a length below the largest batch


@given(st.integers(0, 2**32))
def test_a_repair_ends_at_the_first_reported_damage(seed: int) -> None:
    """Recovery's walk and that of `barnabas log verify` (barnabas.logfiles) share no line."""
    chance = random.Random(seed)
    whole = [batch(number, size=chance.randint(0, 80)) for number in range(chance.randint(1, 8))]
    data = bytearray(b"".join(whole))
    if chance.random() < 0.3:
        del data[chance.randrange(len(data)) :]
    for _ in range(chance.randint(0, 2) if data else 0):
        hit = chance.randrange(len(data))
        start = max(at for at in (sum(map(len, whole[:number])) for number in range(len(whole))) if at <= hit)
        if hit - start >= 16:  # what is before it, but for the length, no CRC covers
            data[hit] ^= 1 << chance.randrange(8)
    if chance.random() < 0.3:
        data += bytes(chance.randint(1, 300))

    walked = walk(bytes(data))[1]

    found = list(walk_batches(HeldBytes(data), 0, len(data), Bounds(0, None)))
    assert walked.position == next((each.position for each in found if each.damage is not None), len(data))
    assert (damage_of(walked) is None) == all(each.damage is None for each in found)


@pytest.mark.parametrize("stop", ["clean", "kill"])
def test_many_segments_are_opened_a_bit_at_a_time(stop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is looked at once or twice, and a thread lists them."""
    monkeypatch.setattr("barnabas.storage.recovery.first_listing.MANY_BYTES", 1_000)
    files, directory = started()
    log = directory.open_log("t", 0, TOPIC_ID, config := LogConfig(segment_bytes=100), 0)
    while log.segments_count <= 3 * SEGMENTS_A_PIECE:
        log.append(batch_of([0]), leader_epoch=0, now_ms=0)
    if stop == "clean":
        directory.close(clean=True)
    else:
        flush(log)
        checkpoint(directory)
        kill(files)
    opening, counts, jobs = start(files).opening("t", 0, TOPIC_ID, config, 0), [len(files.calls)], 0
    for job in opening:
        counts.append(len(files.calls))
        if job is not None:
            jobs += 1
            job.run()
            job.finish()
            counts[-1] = len(files.calls)
    calls = [after - before for before, after in pairwise([*counts, len(files.calls)])]
    assert (jobs, len(calls) > 6) == (1, True)
    assert max(calls) < 2 * SEGMENTS_A_PIECE, "a look or two at each"
