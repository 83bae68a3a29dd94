"""Reading: bounds, limits, segments, and the list of aborted transactions."""

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.records.batch import iter_batches
from barnabas.storage.config import LogConfig
from barnabas.storage.errors import FileRemoved
from barnabas.storage.refusals import OffsetOutOfRange
from tests.support.files.log_directories import delete_due
from tests.support.worlds.log import START_MS, LogWorld, open_world


def offsets_read(
    world: LogWorld, offset: int, max_bytes: int, *, force: bool = True, committed: bool = False
) -> list[int]:
    """Base offsets of the whole batches a read returns."""
    result = world.log.read(offset, max_bytes, committed=committed, force_first_batch=force)
    return [header.base_offset for _, header in iter_batches(result.read_all())]


@pytest.fixture
def world() -> LogWorld:
    """Ten batches of two records, 100 bytes or so each, four to a segment."""
    world = open_world(segment_bytes=400, index_interval_bytes=100)
    for number in range(10):
        world.append(b"%d" % number * 14, b"v")
    return world


def test_a_read_never_spans_two_segments_and_goes_on_in_the_next(world: LogWorld) -> None:
    first = offsets_read(world, 0, 1 << 20)
    assert first == [0, 2, 4, 6]
    assert offsets_read(world, 8, 1 << 20) == [8, 10, 12, 14]
    assert offsets_read(world, 16, 1 << 20) == [16, 18]


def test_every_offset_can_be_read_with_every_limit(world: LogWorld) -> None:
    for offset in range(20):
        for max_bytes in (1, 99, 100, 150, 250, 1000):
            found = offsets_read(world, offset, max_bytes)
            assert found[0] == offset // 2 * 2
            assert found == list(range(found[0], found[-1] + 1, 2))


def test_the_first_batch_comes_whole_only_if_asked(world: LogWorld) -> None:
    assert offsets_read(world, 0, 10, force=True) == [0]
    result = world.log.read(0, 10, committed=False, force_first_batch=False)
    assert (result.data, result.size, result.read_all()) == (None, 0, b"")


def test_a_read_at_the_end_is_empty_and_beyond_it_out_of_range(world: LogWorld) -> None:
    assert offsets_read(world, 20, 1 << 20) == []
    for offset in (-1, 21):
        with pytest.raises(OffsetOutOfRange) as refused:
            offsets_read(world, offset, 1 << 20)
        assert refused.value.code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_read_below_the_log_start_is_out_of_range(world: LogWorld) -> None:
    world.log.delete_records_before(3)
    with pytest.raises(OffsetOutOfRange):
        offsets_read(world, 2, 1 << 20)
    assert offsets_read(world, 3, 1 << 20)[0] == 2  # the whole batch, as Kafka does


def test_a_committed_read_stops_at_the_last_stable_offset() -> None:
    world = open_world(values=[b"a"])
    world.append(b"b", producer_id=1, epoch=0, sequence=0, transactional=True)
    world.append(b"c")
    assert offsets_read(world, 0, 1 << 20, committed=True) == [0]
    assert offsets_read(world, 1, 1 << 20, committed=True) == []
    assert offsets_read(world, 0, 1 << 20) == [0, 1, 2]


def test_a_read_stops_at_a_high_watermark_inside_a_segment() -> None:
    world = open_world(values=[b"a", b"b"])
    world.log.config = LogConfig(min_insync_replicas=2)
    world.append(b"c")
    assert offsets_read(world, 0, 1 << 20) == [0, 1]
    assert offsets_read(world, 2, 1 << 20) == []
    assert (
        world.log.readable_bytes(0, committed=False)
        == 2 * world.log.read(0, 1, committed=False, force_first_batch=True).size
    )


def test_the_writer_of_a_log_reads_beyond_the_high_watermark() -> None:
    world = open_world(min_insync_replicas=2, values=[b"a", b"b"])
    assert world.log.high_watermark == 0
    assert [header.base_offset for _, header in iter_batches(world.log.read_own(0, 1 << 20))] == [0, 1]
    assert [header.base_offset for _, header in iter_batches(world.log.read_own(1, 1))] == [1]
    assert world.log.read_own(2, 1 << 20) == b""
    with pytest.raises(OffsetOutOfRange):
        world.log.read_own(3, 1 << 20)


def test_a_slice_is_still_readable_after_its_segment_was_deleted(world: LogWorld) -> None:
    result = world.log.read(0, 1 << 20, committed=False, force_first_batch=True)
    before = result.read_all()
    world.log.delete_records_before(20)
    assert len(world.log.apply_retention(START_MS)) == 2
    assert result.read_all() == before


def test_a_slice_of_a_removed_file_reports_it(world: LogWorld) -> None:
    result = world.log.read(0, 1 << 20, committed=False, force_first_batch=True)
    world.log.delete_records_before(20)
    world.log.apply_retention(START_MS)
    delete_due(world.home, START_MS + 60_000)
    with pytest.raises(FileRemoved):
        result.read_all()


def test_readable_bytes_are_what_reads_return(world: LogWorld) -> None:
    size = dict.fromkeys(range(0, 22, 2), 0)
    for offset in range(18, -1, -2):
        one = world.log.read(offset, 1, committed=False, force_first_batch=True).size
        size[offset] = size[offset + 2] + one
        assert world.log.readable_bytes(offset, committed=False) == size[offset]
    assert world.log.readable_bytes(20, committed=False) == 0


def test_aborted_transactions_are_found_in_later_segments() -> None:
    """The entry lies where the marker is; a slice of an earlier segment needs it."""
    world = open_world(segment_bytes=300)
    world.append(b"mine", producer_id=1, epoch=0, sequence=0, transactional=True)
    for number in range(12):
        world.append(b"%d" % number * 30)
    world.mark(1, 0, commit=False)
    result = world.log.read(0, 1, committed=True, force_first_batch=True)
    assert result.aborted == [(1, 0)]
    assert world.values(committed=True) == [b"%d" % number * 30 for number in range(12)]


def test_aborted_transactions_are_not_reported_where_nothing_fits_but_where_nothing_was_wanted() -> None:
    """As Kafka has it; nobody reads them beside no records."""
    world = open_world()
    world.append(b"a", producer_id=1, epoch=0, sequence=0, transactional=True)
    world.mark(1, 0, commit=False)
    found = [world.log.read(0, size, committed=True, force_first_batch=False) for size in (0, 1)]
    assert [(each.size, each.aborted) for each in found] == [(0, [(1, 0)]), (0, None)]


def test_transactions_that_ended_before_or_began_behind_a_slice_are_left_out() -> None:
    world = open_world(index_interval_bytes=0)
    world.append(b"a", producer_id=1, epoch=0, sequence=0, transactional=True)
    world.mark(1, 0, commit=False)
    middle = world.append(b"plain").base_offset
    world.append(b"plain")
    world.append(b"plain")
    world.append(b"b", producer_id=2, epoch=0, sequence=0, transactional=True)
    world.mark(2, 0, commit=False)
    assert world.log.read(middle, 1, committed=True, force_first_batch=True).aborted == []
    assert world.log.read(0, 1, committed=True, force_first_batch=True).aborted == [(1, 0)]
