"""Partitions that cannot be opened: read once, and tried again only where that may help."""

import errno
import logging

import pytest

from barnabas.broker.partitions.opening.failed_openings import RETRY_S
from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.errors import KafkaError
from tests.support.worlds.broker import BrokerWorld, code_of
from tests.support.worlds.killed_partitions import fetch, fetched, killed


async def damaged() -> BrokerWorld:
    """A broker over a partition whose log, synced as it was, has changed."""
    world = BrokerWorld(topics={"t": 2})
    for _ in range(3):
        world.append("t", b"v")
    await world.close()
    name = f"/data/t-0/{0:020d}"
    file = world.files.open(name + ".log")
    file.pwrite(b"\xff", file.size() - 1)
    world.files.remove(name + ".index")
    return BrokerWorld(files=world.files)


async def test_a_damaged_partition_is_read_once_however_many_ask(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    world = await damaged()
    for _ in range(5):
        peer = world.connect()
        await peer.put(fetch(world, 0))
        assert [each.error_code for each in fetched(peer)] == [E.KAFKA_STORAGE_ERROR]
        world.clock.advance(3_600_000)
    reads = [call for call in world.files.calls if call.name == "pread" and "/t-0/" in call.path]
    before = len(world.files.calls)
    with pytest.raises(KafkaError, match="crc"):
        world.services.partitions.get("t", 0)
    assert len(world.files.calls) == before
    assert len(reads) < 10
    assert len([record for record in caplog.records if "could not open" in record.message]) == 1


async def test_a_damaged_partition_is_dropped_with_its_topic() -> None:
    world = await damaged()
    with pytest.raises(KafkaError):
        world.services.partitions.get("t", 0)
    world.services.catalogue.delete_topics(["t"])
    world.services.catalogue.create_topic("t")
    assert world.services.partitions.get("t", 0).log_end_offset == 0


async def test_a_failure_that_may_pass_is_tried_again_later_and_later() -> None:
    world = await killed(1)
    world.files.fail("any", errno.EMFILE, path="t-0")
    partitions = world.services.partitions

    def is_tried() -> bool:
        before = len(world.files.calls)
        assert code_of(lambda: partitions.get("t", 0)) is E.KAFKA_STORAGE_ERROR
        return len(world.files.calls) > before

    assert is_tried()
    assert not is_tried()
    for pause_ms in (1000 * RETRY_S, 2000 * RETRY_S, 4000 * RETRY_S):
        world.clock.advance(pause_ms - 1)
        assert not is_tried()
        world.clock.advance(1)
        assert is_tried()
    world.files.heal()
    world.clock.advance(60_000)
    assert partitions.get("t", 0).log_end_offset == 1
