"""A roll syncs nothing: when a snapshot is there, and what a start makes of indexes that were not synced."""

import pytest

from barnabas.storage.refusals import AppendRefused
from barnabas.storage.steps import finish
from tests.support.files.memory_files import Survival
from tests.support.worlds.log import START_MS, open_world, synced


@pytest.mark.parametrize("synced_up_to", [0, 1, 2])
def test_a_roll_syncs_nothing(synced_up_to: int) -> None:
    """What flushes went past the segment's start, too: the event loop would stand still meanwhile."""
    world = open_world(segment_bytes=200, index_interval_bytes=0)
    for number in range(2):
        world.append(b"a")
        if number < synced_up_to:
            world.flush()
    before = len(world.files.calls)
    world.append(b"c")
    assert synced(world, before) == []
    assert world.log.recovery_point == synced_up_to
    assert world.log.flush_due(START_MS)
    world.flush()
    assert {f"{0:020d}.index", f"{0:020d}.timeindex"} <= set(synced(world, before))
    assert f"{2:020d}.snapshot" in world.names()


@pytest.mark.parametrize("is_flushing", [False, True])
@pytest.mark.parametrize("left", ["nothing", "some"])
def test_indexes_that_were_not_synced_are_made_again_though_their_segment_ends_at_the_recovery_point(
    left: Survival, is_flushing: bool
) -> None:
    for seed in range(20):
        world = open_world(seed, segment_bytes=300, index_interval_bytes=0)
        for number in range(4):
            world.append(b"%d" % number, timestamp=START_MS + number, producer_id=7, epoch=0, sequence=number)
        plan = world.begin_flush()
        plan.run()
        if is_flushing:
            world.append(b"4", timestamp=START_MS + 4, producer_id=7, epoch=0, sequence=4)
        world.log.end_flush(plan)
        world.checkpoint()
        if not is_flushing:
            world.append(b"4", timestamp=START_MS + 4, producer_id=7, epoch=0, sequence=4)
        assert world.log.segments_count == 2
        world.cut_power(left, torn=seed % 2 > 0)
        world.open()
        assert world.log.log_end_offset >= 4
        for number in range(4):
            assert finish(world.log.find_offset(START_MS + number, committed=False)).offset == number
        assert world.append(b"3", producer_id=7, epoch=0, sequence=3).is_duplicate
        assert not any(name.endswith(".tmp") for name in world.names())
        world.stop()
        assert world.findings() == []


def test_the_last_segment_with_records_is_given_up_once_its_producers_are_written_down() -> None:
    world = open_world(retention_ms=1000)
    world.append(b"a", producer_id=7, epoch=0, sequence=0)
    world.flush()
    assert world.log.apply_retention(START_MS + 10_000) == []
    assert world.log.retention_awaits_flush
    world.log.is_being_cleaned = True  # nothing goes before the cleaning is over: no flush is waited for
    assert not world.log.retention_awaits_flush
    world.log.is_being_cleaned = False
    world.flush()
    assert len(world.log.apply_retention(START_MS + 10_000)) == 1
    assert not world.log.retention_awaits_flush
    world.kill()
    world.open()
    with pytest.raises(AppendRefused):
        world.append(b"b", producer_id=7, epoch=0, sequence=5)
    assert world.append(b"b", producer_id=7, epoch=0, sequence=1).base_offset == 1
