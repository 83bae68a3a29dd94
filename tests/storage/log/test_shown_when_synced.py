"""What readers see where flush.messages asks for a sync first: nothing before it is over."""

import errno

import pytest

from barnabas.protocol.errors import KafkaError
from barnabas.storage.config import LogConfig
from barnabas.storage.errors import StorageError
from barnabas.storage.log.offsets import LATEST
from barnabas.storage.steps import finish
from tests.support.worlds.log import LogWorld, open_world


def ends(world: LogWorld) -> tuple[int, int, int]:
    """(last stable offset, high watermark, log end)."""
    return world.log.last_stable_offset, world.log.high_watermark, world.log.log_end_offset


def test_readers_see_what_is_to_be_synced_first_only_then() -> None:
    world = open_world(flush_messages=1, values=[b"a"])
    assert ends(world) == (0, 0, 1)
    assert world.values() == []
    assert world.log.readable_bytes(0, False) == 0
    assert finish(world.log.find_offset(LATEST, committed=False)).offset == 0
    world.flush()
    assert ends(world) == (1, 1, 1)
    assert world.values() == [b"a"]
    assert finish(world.log.find_offset(LATEST, committed=False)).offset == 1


def test_records_appended_during_a_sync_are_visible_after_the_next() -> None:
    world = open_world(flush_messages=1, values=[b"a"])
    plan = world.begin_flush()
    world.append(b"b")
    world.end_flush(plan)
    assert ends(world) == (1, 1, 2)
    world.flush()
    assert ends(world) == (2, 2, 2)


def test_below_flush_messages_readers_wait_for_nothing() -> None:
    world = open_world(flush_messages=3, values=[b"a", b"b"])
    assert ends(world) == (2, 2, 2)
    world.append(b"c")
    world.append(b"d")
    assert ends(world) == (2, 2, 4)
    world.flush()
    assert ends(world) == (4, 4, 4)
    world.append(b"e")
    assert ends(world) == (5, 5, 5)


def test_a_failed_sync_shows_nothing() -> None:
    world = open_world(flush_messages=1, values=[b"a"])
    plan = world.begin_flush()
    world.files.fail("sync", errno.EIO)
    with pytest.raises(StorageError) as failed:
        plan.run()
    world.log.flush_failed(plan, failed.value)
    assert ends(world) == (0, 0, 1)


def test_a_changed_flush_messages_takes_nothing_back_from_readers(world: LogWorld) -> None:
    world.append(b"a")
    world.log.config = LogConfig(flush_messages=1)
    assert ends(world) == (1, 1, 1)
    world.append(b"b")
    assert ends(world) == (1, 1, 2)
    world.log.config = LogConfig()
    assert ends(world) == (2, 2, 2)


def test_after_a_kill_all_that_was_found_is_seen() -> None:
    world = open_world(flush_messages=1, values=[b"a"])
    world.restart("kill")
    assert ends(world) == (1, 1, 1)
    world.append(b"b")
    assert ends(world) == (1, 1, 2)


def test_records_are_deleted_up_to_where_readers_get() -> None:
    world = open_world(flush_messages=1, values=[b"a"])
    world.flush()
    world.append(b"b")
    assert world.log.delete_records_before(-1) == 1
    with pytest.raises(KafkaError, match="OFFSET_OUT_OF_RANGE"):
        world.log.delete_records_before(2)


def test_a_transaction_is_seen_when_its_marker_is_synced() -> None:
    world = open_world(flush_messages=1)
    world.append(b"a", producer_id=7, epoch=0, sequence=0, transactional=True)
    world.flush()
    assert ends(world) == (0, 1, 1)
    world.mark(7, 0, commit=True)
    assert ends(world) == (0, 1, 2)
    world.flush()
    assert ends(world) == (2, 2, 2)


def test_a_held_transaction_released_before_its_marker_is_synced_is_seen_after_that() -> None:
    world = open_world(flush_messages=1)
    world.append(b"a", producer_id=7, epoch=0, sequence=0, transactional=True)
    world.mark(7, 0, commit=True, hold=True)
    world.log.release_marker(7)
    assert ends(world) == (0, 0, 2)
    world.flush()
    assert ends(world) == (2, 2, 2)
