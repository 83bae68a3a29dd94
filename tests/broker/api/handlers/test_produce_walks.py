"""Batches that are looked into before they are appended: few at a time, in slices, between which others are served."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace
from inspect import GEN_CLOSED, getgeneratorstate
from math import inf

import pytest

from barnabas.broker.metadata.catalogue.config_alterations import Alteration
from barnabas.broker.partitions.produce import batch_validations
from barnabas.broker.runtime.scheduler import SLICE_MS
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest
from barnabas.protocol.records.batch import BatchHeader
from barnabas.protocol.records.builder import Rebuilding, build_batch
from barnabas.protocol.records.compression import GZIP, ZSTD
from barnabas.storage.log import log_validator
from barnabas.storage.log.log import PartitionLog
from barnabas.storage.log.log_validator import Walking, walk_in_steps
from tests.support import requests
from tests.support.worlds.broker import ANSWER_TIMEOUT_S, BrokerWorld, Peer, settle, turn, until
from tests.support.worlds.killed_partitions import produced

E = ErrorCode
LOOKS_A_SLICE = 20
RECORDS = 20_000
ALL = -1


@pytest.fixture
async def world() -> BrokerWorld:
    """A broker with a topic `looked-into` and a topic `t`, whose stopwatch goes on whenever somebody looks at it."""
    looks = itertools.count()
    world = BrokerWorld(stopwatch=lambda: next(looks) * SLICE_MS / 1000 / LOOKS_A_SLICE)
    world.services.catalogue.create_topic("looked-into", 4, {"cleanup.policy": "compact"})
    world.services.catalogue.create_topic("t", 1)
    return world


def bomb(now_ms: int, records: int = RECORDS) -> bytes:
    """Some kilobytes of zstd that become many tiny records."""
    return bytes(build_batch([(b"k", None, (), now_ms)] * records, compression=ZSTD))


def asking(topic: str, *batches: tuple[int, bytes], acks: int = ALL) -> ProduceRequest:
    asked = requests.produce({}, topic, acks=acks)
    asked.topic_data[0].partition_data = [PartitionProduceData(index=at, records=batch) for at, batch in batches]
    return asked


def ask(peer: Peer, topic: str, *batches: tuple[int, bytes], acks: int = ALL) -> None:
    peer.ask(asking(topic, *batches, acks=acks), 11)


async def until_answered(peer: Peer) -> list[tuple[int, int]]:
    """(error code, base offset) of each partition."""
    await until(peer.transport.written.is_set)
    return [(each.error_code, each.base_offset) for each in produced(peer)]


def end_offset(world: BrokerWorld, partition: int = 0) -> int:
    return world.services.partitions.get("looked-into", partition).log_end_offset


@pytest.mark.pure
async def test_walks_take_turns_few_at_a_time_and_others_are_served_in_between(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Walking] = []

    def observed(*args: object) -> Walking:
        walking = walk_in_steps(*args)  # type: ignore[arg-type]  # whatever they are
        begun.append(walking)
        return walking

    def under_way() -> int:
        return sum(getgeneratorstate(walking) != GEN_CLOSED for walking in begun)

    monkeypatch.setattr(batch_validations, "walk_in_steps", observed)
    slow = [world.connect() for _ in range(6)]
    for peer in slow:
        ask(peer, "looked-into", (0, bomb(world.clock.now_ms())))
    quick, turns = world.connect(), 0
    async with asyncio.timeout(ANSWER_TIMEOUT_S):
        while not all(peer.transport.written.is_set() for peer in slow):
            assert under_way() <= batch_validations.WALK.under_way_max < len(slow)
            ends = end_offset(world)
            assert ends % RECORDS == 0, "nothing is appended by halves"
            ask(quick, "t", (0, world.batch(b"v")))
            assert [each.error_code for each in produced(quick)] == [E.NONE], "who comes in between is answered at once"
            turns += 1
            await turn()

    assert turns > 6 * RECORDS // 64 // LOOKS_A_SLICE // 2
    answers = [await until_answered(peer) for peer in slow]
    assert sorted(answers) == [[(E.NONE, number * RECORDS)] for number in range(6)]
    assert world.services.batch_validations.parked_bytes == world.services.request_scheduler.under_way == 0


async def test_a_short_walk_is_over_in_the_request_itself(world: BrokerWorld) -> None:
    peer = world.connect()
    ask(peer, "looked-into", (0, bomb(world.clock.now_ms(), 10)), (1, bomb(world.clock.now_ms(), 20)))
    assert [each.error_code for each in produced(peer)] == [E.NONE] * 2


async def test_the_partitions_of_a_request_are_answered_in_its_order_however_long_each_takes(
    world: BrokerWorld,
) -> None:
    peer, now_ms = world.connect(), world.clock.now_ms()
    keyless = bytes(build_batch([(None, b"v", (), now_ms)] * RECORDS, compression=GZIP))
    ask(peer, "looked-into", (2, bomb(now_ms)), (0, bomb(now_ms, 5)), (1, keyless), (3, bomb(now_ms)))
    assert await until_answered(peer) == [(E.NONE, 0), (E.NONE, 0), (E.INVALID_RECORD, -1), (E.NONE, 0)]
    assert [end_offset(world, partition) for partition in range(4)] == [5, 0, RECORDS, RECORDS]


async def test_batches_that_wait_are_bounded(world: BrokerWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = bomb(world.clock.now_ms())
    monkeypatch.setattr(batch_validations, "WALKED_BYTES_MAX", 2 * max(len(batch), batch_validations.BATCH_BYTES_MIN))
    peers = [world.connect() for _ in range(3)]
    for peer in peers:
        ask(peer, "looked-into", (0, batch))
    assert await until_answered(peers[2]) == [(E.NOT_LEADER_OR_FOLLOWER, -1)]
    assert [await until_answered(peer) for peer in peers[:2]] == [[(E.NONE, 0)], [(E.NONE, RECORDS)]]
    assert world.services.batch_validations.parked_bytes == 0


async def test_a_batch_that_waits_is_counted_as_what_it_waits_with_at_least(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_validations, "BATCH_BYTES_MIN", 1 << 20)
    monkeypatch.setattr(batch_validations, "WALKED_BYTES_MAX", 3 << 19)
    peers = [world.connect() for _ in range(2)]
    for peer in peers:
        ask(peer, "looked-into", (0, bomb(world.clock.now_ms())))
    answers = [await until_answered(peer) for peer in peers]
    assert answers == [[(E.NONE, 0)], [(E.NOT_LEADER_OR_FOLLOWER, -1)]]
    assert world.services.batch_validations.parked_bytes == 0


@pytest.mark.parametrize(("records", "is_over_at_once"), [(10, True), (RECORDS // 10, False)])
async def test_a_long_walk_holds_up_no_shorter_one(world: BrokerWorld, records: int, is_over_at_once: bool) -> None:
    slow, quick, now_ms = world.connect(), world.connect(), world.clock.now_ms()
    ask(slow, "looked-into", (0, bomb(now_ms)))
    await until(lambda: not world.services.request_scheduler.spent_ms)  # a turn in which the long one has no slice
    ask(quick, "looked-into", (1, bomb(now_ms, records)))
    assert quick.transport.written.is_set() is is_over_at_once
    assert await until_answered(quick) == [(E.NONE, 0)]
    assert not slow.transport.written.is_set()
    assert await until_answered(slow) == [(E.NONE, 0)]


@pytest.mark.pure
async def test_one_large_batch_is_rebuilt_at_a_time(world: BrokerWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    large = 2_000
    made: list[Observed] = []

    class Observed(Rebuilding):
        is_sealed = False

        def __init__(self, header: BatchHeader) -> None:
            super().__init__(header)
            made.append(self)

        def seal(self, compression: int, level: int | None) -> bytearray:
            self.is_sealed = True
            return super().seal(compression, level)

    monkeypatch.setattr(log_validator, "_LARGE_BYTES_MIN", large)
    monkeypatch.setattr(log_validator, "Rebuilding", Observed)
    world.services.catalogue.create_topic("zipped", 3, {"compression.type": "gzip"})
    peers = [world.connect() for _ in range(3)]
    for index, peer in enumerate(peers):
        ask(peer, "zipped", (index, bomb(world.clock.now_ms(), RECORDS // 4)))
    async with asyncio.timeout(ANSWER_TIMEOUT_S):
        while not all(peer.transport.written.is_set() for peer in peers):
            assert sum(each.size > 2 * large and not each.is_sealed for each in made) <= 1
            await turn()
    assert [await until_answered(peer) for peer in peers] == [[(E.NONE, 0)]] * 3
    assert len(made) == 3


async def test_a_short_walk_needs_no_room(world: BrokerWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, quick, batch = world.connect(), world.connect(), bomb(world.clock.now_ms())
    monkeypatch.setattr(batch_validations, "WALKED_BYTES_MAX", len(batch))
    monkeypatch.setattr(
        batch_validations, "WALK", replace(batch_validations.WALK, first_ms=inf)
    )  # whatever the slow one spent in this turn
    ask(slow, "looked-into", (0, batch))
    await turn()
    ask(quick, "looked-into", (1, bomb(world.clock.now_ms(), 10)))
    assert await until_answered(quick) == [(E.NONE, 0)]
    assert await until_answered(slow) == [(E.NONE, 0)]


async def test_one_batch_waits_however_large_it_is(world: BrokerWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_validations, "WALKED_BYTES_MAX", 1)
    peer = world.connect()
    ask(peer, "looked-into", (0, bomb(world.clock.now_ms())))
    assert await until_answered(peer) == [(E.NONE, 0)]


async def test_a_batch_that_is_too_large_is_refused_for_that_though_it_finds_no_room(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_validations, "WALKED_BYTES_MAX", 1)
    world.services.catalogue.create_topic("narrow", 1, {"cleanup.policy": "compact", "max.message.bytes": "100"})
    slow, quick = world.connect(), world.connect()
    ask(slow, "looked-into", (0, bomb(world.clock.now_ms())))
    ask(quick, "narrow", (0, bomb(world.clock.now_ms())))
    assert [each.error_code for each in produced(quick)] == [E.MESSAGE_TOO_LARGE]
    assert await until_answered(slow) == [(E.NONE, 0)]


async def test_acks_0_batches_are_appended_after_the_client_disconnects(
    world: BrokerWorld,
) -> None:
    peer = world.connect()
    ask(peer, "looked-into", (0, bomb(world.clock.now_ms())), acks=0)
    assert end_offset(world) == 0
    peer.transport.hang_up()
    await until(lambda: end_offset(world))
    assert end_offset(world) == RECORDS


async def test_a_topic_may_be_deleted_while_its_batch_is_walked(world: BrokerWorld) -> None:
    peer = world.connect()
    ask(peer, "looked-into", (0, bomb(world.clock.now_ms())))
    await turn()
    world.services.catalogue.delete_topics(["looked-into"])
    assert await until_answered(peer) == [(E.UNKNOWN_TOPIC_OR_PARTITION, -1)]


async def test_a_batch_is_appended_as_soon_as_its_own_walk_is_over(world: BrokerWorld) -> None:
    peer, now_ms = world.connect(), world.clock.now_ms()
    ask(peer, "looked-into", (0, bomb(now_ms)), (1, bomb(now_ms, RECORDS // 10)))
    parked_bytes = world.services.batch_validations.parked_bytes
    async with asyncio.timeout(ANSWER_TIMEOUT_S):
        while end_offset(world, 1) == 0:
            assert world.services.batch_validations.parked_bytes == parked_bytes, "it is held until it is appended"
            await turn()
    assert end_offset(world, 0) == 0
    await turn()
    assert 0 < world.services.batch_validations.parked_bytes < parked_bytes
    assert await until_answered(peer) == [(E.NONE, 0)] * 2


async def test_batches_for_one_partition_are_appended_in_the_order_of_the_request(world: BrokerWorld) -> None:
    peer, now_ms = world.connect(), world.clock.now_ms()
    ask(peer, "looked-into", (0, bomb(now_ms)), (0, bomb(now_ms, RECORDS // 10)))
    assert await until_answered(peer) == [(E.NONE, 0), (E.NONE, RECORDS)]


async def test_the_batches_of_a_request_are_synced_together(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.services.catalogue.create_topic("synced", 2, {"cleanup.policy": "compact", "flush.messages": "1"})
    syncs: list[asyncio.Future[None]] = []

    def synced(*_: object) -> asyncio.Future[None]:
        syncs.append(asyncio.get_running_loop().create_future())
        return syncs[-1]

    monkeypatch.setattr(world.broker.flush, "synced", synced)
    peer, now_ms = world.connect(), world.clock.now_ms()
    ask(peer, "synced", (0, bomb(now_ms, RECORDS // 10)), (1, bomb(now_ms, RECORDS // 10)))
    await until(lambda: not world.services.batch_validations.parked_bytes)
    assert len(syncs) == 2
    assert not peer.transport.written.is_set()
    for sync in syncs:
        sync.set_result(None)
    assert await until_answered(peer) == [(E.NONE, 0)] * 2


async def test_a_request_by_topic_id_does_not_match_a_recreated_topic(world: BrokerWorld) -> None:
    peer, catalogue = world.connect(), world.services.catalogue
    asked = asking("", (0, bomb(world.clock.now_ms())))
    asked.topic_data[0].topic_id = catalogue.topics["looked-into"].topic_id
    peer.ask(asked, 13)
    await turn()
    catalogue.delete_topics(["looked-into"])
    catalogue.create_topic("looked-into", 1)
    assert await until_answered(peer) == [(E.UNKNOWN_TOPIC_ID, -1)]
    assert end_offset(world) == 0


@pytest.mark.parametrize(("policy", "is_made_again"), [("compact", True), ("delete", True), ("compact", False)])
async def test_a_batch_is_walked_again_for_the_settings_it_is_appended_by(
    world: BrokerWorld, policy: str, is_made_again: bool
) -> None:
    """Of the topic that was named, or of a new one of its name."""
    peer, catalogue, now_ms = world.connect(), world.services.catalogue, world.clock.now_ms()
    catalogue.create_topic("changing", 1, {"compression.type": "gzip"})
    ask(peer, "changing", (0, bytes(build_batch([(None, b"v", (), now_ms)] * RECORDS, compression=ZSTD))))
    await turn()
    if is_made_again:
        catalogue.delete_topics(["changing"])
        catalogue.create_topic("changing", 1, {"cleanup.policy": policy})
    else:
        catalogue.alter_configs(2, "changing", [Alteration("cleanup.policy", 0, policy)])
    assert await until_answered(peer) == [(E.INVALID_RECORD, -1) if policy == "compact" else (E.NONE, 0)]
    assert world.services.batch_validations.parked_bytes == 0


async def test_log_append_time_is_that_of_the_append(world: BrokerWorld) -> None:
    world.services.catalogue.create_topic(
        "stamped", 1, {"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime"}
    )
    peer = world.connect()
    ask(peer, "stamped", (0, bomb(world.clock.now_ms())))
    await turn()
    world.clock.advance(60_000)
    await until(peer.transport.written.is_set)
    assert [each.log_append_time_ms for each in produced(peer)] == [world.clock.now_ms()]


async def test_when_walks_are_given_up_what_was_appended_is_said_all_the_same(world: BrokerWorld) -> None:
    peer, now_ms = world.connect(), world.clock.now_ms()
    ask(peer, "looked-into", (0, bomb(now_ms, 5)), (1, bomb(now_ms)), (2, bomb(now_ms)))
    await turn()
    world.services.request_scheduler.close()
    assert await until_answered(peer) == [(E.NONE, 0), *[(E.NOT_LEADER_OR_FOLLOWER, -1)] * 2]
    assert world.services.batch_validations.parked_bytes == 0


@pytest.mark.pure
async def test_an_error_nobody_expected_is_that_of_its_partition_alone(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: object) -> Walking:
        yield from itertools.islice(walk_in_steps(*args), 50)  # type: ignore[arg-type]  # whatever they are
        raise ValueError("no")

    monkeypatch.setattr(batch_validations, "walk_in_steps", broken)
    peer, now_ms = world.connect(), world.clock.now_ms()
    ask(peer, "looked-into", (0, bomb(now_ms)))
    monkeypatch.undo()
    ask(peer, "looked-into", (1, bomb(now_ms)))
    assert await until_answered(peer) == [(E.UNKNOWN_SERVER_ERROR, -1)]
    assert "request failed" in caplog.text
    assert await until_answered(peer) == [(E.NONE, 0)]


@pytest.mark.pure
async def test_nothing_is_appended_for_a_request_that_was_answered_as_failed(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer, now_ms, partitions = world.connect(), world.clock.now_ms(), world.services.partitions
    get_led = partitions.get_led

    def broken(topic: str, partition: int) -> PartitionLog:
        if partition == 1:
            raise ValueError("no")
        return get_led(topic, partition)

    monkeypatch.setattr(partitions, "get_led", broken)
    ask(peer, "looked-into", (0, bomb(now_ms)), (1, bomb(now_ms)))
    assert [each.error_code for each in produced(peer)] == [E.UNKNOWN_SERVER_ERROR] * 2
    await until(lambda: not world.services.batch_validations.parked_bytes)
    assert end_offset(world) == 0


async def test_a_large_batch_is_compressed_anew_beside_the_loop(world: BrokerWorld) -> None:
    world.services.catalogue.create_topic("zipped", 1, {"compression.type": "gzip"})
    peer = world.connect()
    ask(peer, "zipped", (0, bomb(world.clock.now_ms())))
    assert await until_answered(peer) == [(E.NONE, 0)]
    await settle()
    stored = world.services.partitions.get("zipped", 0).read(0, 1 << 20, committed=False, force_first_batch=True)
    assert stored.read_all()[22] & 7 == GZIP
