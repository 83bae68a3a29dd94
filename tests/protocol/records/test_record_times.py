"""The walk that reads no more than offsets and timestamps agrees with the one that reads whole records."""

import random

import pytest

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.records.batch import HEADER_SIZE, LOG_APPEND_TIME, parse_header, set_max_timestamp
from barnabas.protocol.records.builder import build_batch
from barnabas.protocol.records.compression import NONE, ZSTD, compress
from barnabas.protocol.records.record import iter_records
from barnabas.protocol.records.record_times import iter_times, largest_timestamp
from tests.support.records.batches import batch_of

START_MS = 1_700_000_000_000


def times_of(batch: bytes | bytearray) -> list[tuple[int, int]]:
    return [found for found in iter_times(batch) if found is not None]


@pytest.mark.parametrize("codec", range(5))
def test_every_record_is_reported_as_the_whole_walk_tells_it(codec: int) -> None:
    dice = random.Random(codec)
    records = [
        (
            dice.choice([None, b"", dice.randbytes(dice.choice([1, 63, 64, 5000]))]),
            dice.choice([None, b"", dice.randbytes(dice.choice([1, 64, 70_000, 200_000]))]),
            [("h" * dice.randrange(3), dice.choice([None, b"x"]))] * dice.randrange(3),
            START_MS + dice.choice([0, -1, 1, 63, 64, -64, 10_000, -(10**9), 10**9]),
        )
        for _ in range(60)
    ]
    batch = build_batch(records, base_offset=1 << 40, compression=codec)

    times = [(record.offset, record.timestamp) for record in iter_records(batch)]
    assert times_of(batch) == times
    if codec == NONE:
        for count in range(1, len(times)):
            some = build_batch(records[-count:])
            largest = max(timestamp for _, timestamp in times[-count:])
            assert largest_timestamp(bytes(some[HEADER_SIZE:]), parse_header(some).base_timestamp, count) == largest


def test_log_append_time_is_that_of_every_record() -> None:
    batch = batch_of([5, 6, 7])
    set_max_timestamp(batch, 0, LOG_APPEND_TIME, 99)
    assert times_of(batch) == [(0, 99), (1, 99), (2, 99)]


@pytest.mark.parametrize("codec", [NONE, ZSTD])
def test_a_damaged_record_area_is_an_error_of_both_walks(codec: int) -> None:
    whole = batch_of([START_MS + number for number in range(20)], value_bytes=8)
    area = bytes(whole[HEADER_SIZE:])
    damaged = [area[:size] for size in range(0, len(area), 7)] + [area + b"\0", b"\x01" + area[1:], b"\xff" * len(area)]
    for changed in damaged:
        batch = bytearray(whole[:HEADER_SIZE]) + (compress(codec, changed) if codec else changed)
        batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
        batch[22] |= codec
        assert parse_header(batch).records_count == 20
        with pytest.raises(DecodeError):
            list(iter_records(batch))
        with pytest.raises(DecodeError):
            times_of(batch)
        assert codec or largest_timestamp(bytes(batch[HEADER_SIZE:]), START_MS, 20) is None


def test_a_record_of_many_chunks_is_skipped_in_pauses() -> None:
    batch = build_batch([(None, bytes(10_000_000), (), 1), (None, b"v", (), 2)], compression=ZSTD)
    found = list(iter_times(batch))
    assert [each for each in found if each is not None] == [(0, 1), (1, 2)]
    assert found.count(None) > 100


def test_records_that_grow_beyond_the_limit_are_an_error() -> None:
    batch = build_batch([(None, bytes(1_000_000), (), 1)], compression=ZSTD)
    with pytest.raises(DecodeError, match="grows beyond"):
        list(iter_times(batch, max_bytes=999_999))
