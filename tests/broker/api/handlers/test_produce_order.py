"""A batch of an idempotent producer that is refused for now: the next one, on its way already, does not overtake it."""

import errno
from dataclasses import replace

import pytest

from barnabas.broker.partitions.produce import batch_validations
from barnabas.protocol.errors import ErrorCode
from barnabas.storage.config import LogConfig
from tests.support import requests
from tests.support.worlds.broker import BrokerWorld, Peer, turn
from tests.support.worlds.killed_partitions import killed, produced

E = ErrorCode
PID = 7
FIRST, SECOND = b"first" * 1_000, b"second"


@pytest.fixture
async def world() -> BrokerWorld:
    """A broker with a topic `t`, and a topic `w` whose large batches wait until they are looked into."""
    world = BrokerWorld(topics={"t": 1})
    world.services.catalogue.create_topic("w", 2, {"compression.type": "gzip"})
    return world


def ask(peer: Peer, topic: str, *batches: tuple[int, bytes], acks: int = -1, timeout_ms: int = 1_000) -> None:
    peer.ask(requests.produce(dict(batches), topic, acks=acks, timeout_ms=timeout_ms), 11)


async def send(world: BrokerWorld, topic: str, value: bytes) -> int:
    """Produce a batch of one record to partition 0; the error code."""
    peer = world.connect()
    ask(peer, topic, (0, world.batch(value, producer=(PID, 0, [FIRST, SECOND].index(value)))))
    await peer.until_answered()
    (result,) = produced(peer)
    code: int = result.error_code
    return code


async def both_in_order(world: BrokerWorld, topic: str) -> None:
    """The second is refused as long as the first has not come."""
    assert await send(world, topic, SECOND) == E.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert await send(world, topic, FIRST) == E.NONE
    assert await send(world, topic, SECOND) == E.NONE


async def test_a_batch_there_was_no_room_to_walk(world: BrokerWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_validations, "WALK", replace(batch_validations.WALK, steps_max=1))
    monkeypatch.setattr(batch_validations, "WALKED_BYTES_MAX", 1)
    other = world.connect()
    ask(other, "w", (1, world.batch(FIRST)))
    assert await send(world, "w", FIRST) == E.NOT_LEADER_OR_FOLLOWER
    await other.until_answered()
    await both_in_order(world, "w")


async def test_a_batch_that_could_not_be_written(world: BrokerWorld) -> None:
    world.services.partitions.get_led("t", 0)
    world.files.fail("pwrite", errno.ENOSPC, path="/t-0/")
    assert await send(world, "t", FIRST) == E.KAFKA_STORAGE_ERROR
    world.files.heal()
    await both_in_order(world, "t")


async def test_a_batch_that_could_not_be_written_after_its_walk(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_validations, "WALK", replace(batch_validations.WALK, steps_max=1))
    world.services.partitions.get_led("w", 0)
    world.files.fail("pwrite", errno.ENOSPC, path="/w-0/")
    assert await send(world, "w", FIRST) == E.KAFKA_STORAGE_ERROR
    world.files.heal()
    await both_in_order(world, "w")


async def test_a_batch_that_had_too_few_replicas(world: BrokerWorld) -> None:
    log = world.services.partitions.get_led("t", 0)
    log.config = LogConfig(min_insync_replicas=2)
    assert await send(world, "t", FIRST) == E.NOT_ENOUGH_REPLICAS
    log.config = LogConfig()
    await both_in_order(world, "t")


async def test_a_batch_for_a_partition_that_is_being_recovered_while_others_are_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("barnabas.storage.recovery.opening.PAUSE_AFTER", 64)
    world = await killed(700, 1)
    peer = world.connect()
    ask(peer, "t", (0, world.batch(FIRST, producer=(PID, 0, 0))), (1, world.batch(b"v")))
    assert [each.error_code for each in produced(peer)] == [E.NOT_LEADER_OR_FOLLOWER, E.NONE]
    await both_in_order(world, "t")


async def test_a_batch_that_waited_too_long_for_its_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.storage.recovery.opening.PAUSE_AFTER", 64)
    world = await killed(700)
    peer = world.connect()
    ask(peer, "t", (0, world.batch(FIRST, producer=(PID, 0, 0))), timeout_ms=10)
    await turn()
    world.clock.advance(10)
    await peer.until_answered()
    assert [each.error_code for each in produced(peer)] == [E.NOT_LEADER_OR_FOLLOWER]
    await both_in_order(world, "t")


async def test_a_topic_of_the_same_name_knows_of_no_refusal(world: BrokerWorld) -> None:
    catalogue, log = world.services.catalogue, world.services.partitions.get_led("t", 0)
    log.config = LogConfig(min_insync_replicas=2)
    assert await send(world, "t", FIRST) == E.NOT_ENOUGH_REPLICAS
    catalogue.delete_topics(["t"])
    catalogue.create_topic("t", 1)
    assert await send(world, "t", SECOND) == E.NONE


async def test_a_batch_whose_client_hears_no_answer_does_not_come_again(world: BrokerWorld) -> None:
    world.services.partitions.get_led("t", 0)
    world.files.fail("pwrite", errno.ENOSPC, path="/t-0/")
    ask(world.connect(), "t", (0, world.batch(FIRST, producer=(PID, 0, 0))), acks=0)
    world.files.heal()
    assert await send(world, "t", SECOND) == E.NONE
