"""Batches whose header lacks its largest timestamp, as Sarama sent them before 1.45.1: found by the times inside."""

from typing import Any, Literal

import pytest

from barnabas.protocol.files import meta_properties
from barnabas.protocol.records.batch import iter_batches, verify_crc
from barnabas.protocol.records.builder import build_batch
from barnabas.storage.log.append import AppendOrigin
from barnabas.storage.log.log_validator import COUNTED_AT_ONCE_MAX
from barnabas.storage.log.offsets import MAX_TIMESTAMP
from barnabas.storage.steps import finish
from tests.support.records.batches import without_max_timestamp
from tests.support.worlds.log import ROOT, START_MS, LogWorld, open_world

SECOND, DAY = 1000, 86_400_000


def sarama_batch(*timestamps: int, compression: int = 0, **producer: Any) -> bytearray:
    records = [(None, b"v" * 20, (), timestamp) for timestamp in timestamps]
    return without_max_timestamp(build_batch(records, compression=compression, **producer))


HEADERS_TIMES = {"that of the last record": 3, "above all": 999}


@pytest.mark.parametrize("codec", range(5))
@pytest.mark.parametrize("claimed", HEADERS_TIMES.values(), ids=HEADERS_TIMES)
@pytest.mark.parametrize("count", [3, COUNTED_AT_ONCE_MAX + 1])
def test_a_largest_timestamp_that_no_client_with_an_id_would_send_is_corrected(
    world: LogWorld, codec: int, claimed: int, count: int
) -> None:
    """As kafka-go's Conn.WriteMessages sends them: the last message's."""
    times = [START_MS, START_MS + 7, *[START_MS + 3] * (count - 2)]
    world.append_batch(
        without_max_timestamp(
            build_batch([(None, b"v", (), at) for at in times], compression=codec), START_MS + claimed
        )
    )
    assert look_up(world, START_MS + 4) == (START_MS + 7, 1)
    assert look_up(world, START_MS + 8) == (-1, -1)
    assert finish(world.log.find_offset(MAX_TIMESTAMP, committed=False))[:2] == (START_MS + 7, 1)


def append_as_before(world: LogWorld, batch: bytearray) -> None:
    """As a version did that trusted every header."""
    world.log.append(batch, leader_epoch=0, now_ms=world.now_ms, origin=AppendOrigin.COORDINATOR)


def reopen_as_made_before(world: LogWorld, how: Literal["stop", "kill"]) -> None:
    """The next run, in a directory that does not say who made its time indexes."""
    world.stop() if how == "stop" else world.kill()
    path = f"{ROOT}/meta.properties"
    meta = meta_properties.decode(world.files.peek(path) or b"")
    world.files.put(path, meta_properties.encode(meta._replace(tells_all_times=False)))
    world.open()


def look_up(world: LogWorld, timestamp: int) -> tuple[int, int]:
    offset, found_timestamp, _ = finish(world.log.find_offset(timestamp, committed=False))
    return offset, found_timestamp


def time_index(world: LogWorld) -> bytes | None:
    return world.files.peek(f"{world.path}/{0:020d}.timeindex")


@pytest.mark.parametrize("codec", range(5))
def test_the_largest_timestamp_is_filled_in_when_a_batch_is_appended(world: LogWorld, codec: int) -> None:
    world.append_batch(sarama_batch(START_MS, START_MS + 7, START_MS + 5, compression=codec))
    world.append_batch(sarama_batch(START_MS + SECOND, producer_id=7, producer_epoch=0, base_sequence=0))
    data = world.log.read(0, 1 << 20, committed=False, force_first_batch=True).read_all()
    assert [header.max_timestamp for _, header in iter_batches(data)] == [START_MS + 7, START_MS + SECOND]
    assert all(verify_crc(data[at : at + header.size_in_bytes]) for at, header in iter_batches(data))
    assert look_up(world, START_MS + 6) == (START_MS + 7, 1)
    assert look_up(world, MAX_TIMESTAMP) == (START_MS + SECOND, 3)
    assert world.log.producers_state()[0].last_timestamp == START_MS + SECOND


@pytest.mark.parametrize("how", ["stop", "kill"])
@pytest.mark.parametrize("sealed", [True, False])
def test_batches_on_the_disk_are_found_whatever_their_indexes_say(how: Literal["stop", "kill"], sealed: bool) -> None:
    world = open_world(index_interval_bytes=1, segment_bytes=900 if sealed else 1 << 30, retention_ms=-1)
    for second in range(0, 30, 3):
        world.append(b"v", timestamp=START_MS + second * SECOND)
        times = [START_MS + (second + more) * SECOND for more in (1, 5, 2)]
        append_as_before(world, sarama_batch(*times, compression=second % 5))
    assert sealed == (world.log.segments_count > 2)
    records = [(record.timestamp, record.offset) for record in world.records()]

    reopen_as_made_before(world, how)

    for again in range(2):
        for second in range(35):
            timestamp = START_MS + second * SECOND
            expected = next((found for found in records if found[0] >= timestamp), (-1, -1))
            assert look_up(world, timestamp) == expected
        assert look_up(world, MAX_TIMESTAMP) == max(records)
        if not again:
            assert world.append(b"later", timestamp=START_MS + 40 * SECOND).base_offset == len(records)
            records.append((START_MS + 40 * SECOND, len(records)))


def test_indexes_that_are_made_again_tell_of_every_batch_in_every_directory() -> None:
    world = open_world(index_interval_bytes=1, segment_bytes=300)
    for second in range(10):
        append_as_before(world, sarama_batch(START_MS + second * SECOND))
    world.restart("kill")
    assert [look_up(world, START_MS + second * SECOND)[1] for second in range(10)] == list(range(10))


def test_a_segment_is_as_old_as_the_records_in_it_whatever_its_indexes_say() -> None:
    """Another client's old record is the only one that the indexes tell of; the file is as new as its last append."""
    world = open_world(segment_bytes=300, retention_ms=7 * DAY)
    world.append(b"old", timestamp=START_MS - 30 * DAY)
    append_as_before(world, sarama_batch(START_MS - DAY))
    for _ in range(3):
        append_as_before(world, sarama_batch(START_MS - 8 * DAY))
    reopen_as_made_before(world, "stop")
    finish(world.log.settle_ages(world.now_ms))
    assert world.log.apply_retention(world.now_ms) == []
    world.now_ms += 7 * DAY
    finish(world.log.settle_ages(world.now_ms))
    assert len(world.log.apply_retention(world.now_ms)) > 1


def test_ages_are_settled_behind_segments_that_go_for_another_reason() -> None:
    world = open_world(segment_bytes=300, retention_ms=7 * DAY)
    for _ in range(4):
        world.append(b"young", timestamp=START_MS)
    assert world.log.segments_count == 1
    for _ in range(8):
        append_as_before(world, sarama_batch(START_MS - 30 * DAY))
    reopen_as_made_before(world, "stop")
    world.log.delete_records_before(4)
    finish(world.log.settle_ages(world.now_ms))
    assert "retention.ms" in world.log.apply_retention(world.now_ms)[-1]


def test_a_damaged_segment_is_as_old_as_its_index_specifies() -> None:
    world = open_world(segment_bytes=300, retention_ms=7 * DAY)
    for _ in range(8):
        world.append(b"old", timestamp=START_MS - 30 * DAY)
    reopen_as_made_before(world, "stop")
    path = f"{world.path}/{0:020d}.log"
    world.files.open(path).pwrite(b"\0" * 8, 8)
    finish(world.log.settle_ages(world.now_ms))
    assert len(world.log.apply_retention(world.now_ms)) > 1


def test_a_look_up_that_outlives_its_log_leaves_the_files_to_the_log_that_was_opened_next() -> None:
    world = open_world(index_interval_bytes=1)
    for second in range(5):
        append_as_before(world, sarama_batch(START_MS + second * SECOND))
    reopen_as_made_before(world, "stop")
    look_up_begun = world.log.find_offset(START_MS + 3 * SECOND, committed=False)
    next(look_up_begun)
    reopen_as_made_before(world, "stop")
    world.append(b"later", timestamp=START_MS + 40 * SECOND)
    written = time_index(world)
    assert finish(look_up_begun).offset == 3
    assert time_index(world) == written
    assert look_up(world, START_MS + 30 * SECOND)[1] == 5


def test_a_look_up_that_outlives_its_segment_makes_no_file_for_it() -> None:
    world = open_world(segment_bytes=300)
    for second in range(10):
        append_as_before(world, sarama_batch(START_MS + second * SECOND))
    reopen_as_made_before(world, "stop")
    world.files.remove(f"{world.path}/{0:020d}.timeindex")
    look_up_begun = world.log.find_offset(START_MS, committed=False)
    next(look_up_begun)
    next(look_up_begun)
    world.log.delete_records_before(8)
    world.log.apply_retention(world.now_ms)
    assert finish(look_up_begun).offset == 0
    assert f"{0:020d}.timeindex" not in world.names()


def test_a_record_area_that_cannot_be_read_does_not_keep_a_log_from_opening(world: LogWorld) -> None:
    damaged = sarama_batch(START_MS, compression=4)
    damaged[70:] = bytes(len(damaged) - 70)
    without_max_timestamp(damaged, START_MS)  # a change, so that the CRC is right for the damage
    append_as_before(world, without_max_timestamp(damaged))
    world.restart("kill")
    assert world.log.log_end_offset == 1
