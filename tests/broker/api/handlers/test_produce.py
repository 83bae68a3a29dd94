"""Produce over real logs in memory: versions, acks, the code of each partition, flushing, walking, a failing disk."""

import errno
from collections.abc import Sequence
from typing import Any

import pytest

from barnabas.broker.api.handlers import produce
from barnabas.broker.metadata.image.image import BROKER_RESOURCE, TOPIC_RESOURCE
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.compression import GZIP, ZSTD
from barnabas.protocol.registry import ApiKey
from barnabas.storage.config import LogConfig
from barnabas.storage.errors import StorageError
from tests.support import requests
from tests.support.worlds.broker import BrokerWorld
from tests.support.worlds.configs import replace_configs

E = ErrorCode
VERSIONS = range(ApiKey.PRODUCE.min_version, ApiKey.PRODUCE.max_version + 1)


def request(
    world: BrokerWorld, *partitions: tuple[str, int, bytes | None], acks: int = -1, transactional_id: str | None = None
) -> ProduceRequest:
    """One topic entry for each partition, as clients may send it."""
    topics = world.services.catalogue.topics
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=1000,
        topic_data=[
            TopicProduceData(
                name=topic,
                topic_id=topics[topic].topic_id if topic in topics else b"unknown id here!",
                partition_data=[PartitionProduceData(index=index, records=records)],
            )
            for topic, index, records in partitions
        ],
    )


async def answers_to(world: BrokerWorld, asked: ProduceRequest, version: int | None = None) -> list[Any]:
    """The partition results, in order."""
    response: ProduceResponse = await world.ask(asked, version)
    return [each for topic in response.responses for each in topic.partition_responses]


async def codes(world: BrokerWorld, asked: ProduceRequest) -> Sequence[int]:
    return [each.error_code for each in await answers_to(world, asked)]


@pytest.mark.parametrize("value", [b"v", b"v" * 9000])
@pytest.mark.parametrize(("position", "bytes_there"), [(16, b"\0"), (16, b"\3"), (8, b"\0\0\0\x0a"), (8, b"\xff" * 4)])
async def test_an_invalid_batch_is_refused_even_where_records_are_walked(
    world: BrokerWorld, value: bytes, position: int, bytes_there: bytes
) -> None:
    world.services.catalogue.create_topic("compacted", 1, {"cleanup.policy": "compact"})
    batch = bytearray(world.batch(value))
    batch[22] = GZIP  # a codec, or a byte of something else in the formats before batches
    batch[position : position + len(bytes_there)] = bytes_there
    for topic in ("t", "compacted"):
        (code,) = await codes(world, request(world, (topic, 0, bytes(batch))))
        assert code in (E.INVALID_RECORD, E.CORRUPT_MESSAGE)


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda batch: None, E.INVALID_RECORD),
        (lambda batch: b"", E.INVALID_RECORD),
        (lambda batch: batch[:30], E.INVALID_RECORD),
        (lambda batch: batch[:-1], E.INVALID_RECORD),
        (lambda batch: batch + batch, E.INVALID_RECORD),
        (lambda batch: batch[:-1] + b"X", E.CORRUPT_MESSAGE),
        (lambda batch: batch[:16] + b"\x01" + batch[17:], E.INVALID_RECORD),
        (lambda batch: b"\x00" * 7 + b"\x05" + batch[8:], E.INVALID_RECORD),
        (lambda batch: batch[:8] + b"\x00\x00\x00\x10" + batch[12:], E.CORRUPT_MESSAGE),
    ],
)
async def test_a_payload_that_is_not_one_good_batch_is_refused(world: BrokerWorld, damage: Any, code: E) -> None:
    (result,) = await answers_to(world, request(world, ("t", 0, damage(world.batch(b"a")))))
    assert result.error_code == code
    assert result.error_message
    assert world.services.partitions.get("t", 0).log_end_offset == 0


@pytest.mark.parametrize("version", VERSIONS)
async def test_records_of_the_far_future_are_refused_in_kafkas_words(world: BrokerWorld, version: int) -> None:
    tomorrow_ms = world.clock.now_ms() + 86_400_000
    batch = build_batch([NewRecord(None, value, (), tomorrow_ms) for value in (b"a", b"b")])
    (result,) = await answers_to(world, request(world, ("t", 0, bytes(batch))), version)
    assert result.error_code == E.INVALID_TIMESTAMP
    told = "One or more records have been rejected due to invalid timestamp" if version >= 8 else None
    assert result.error_message == told
    assert [each.batch_index for each in result.record_errors] == ([0, 1] if version >= 8 else [])


@pytest.mark.parametrize("codec", [0, ZSTD])
async def test_record_errors_of_one_request_are_bounded(
    world: BrokerWorld, codec: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those behind the limit are still refused, with a sentence."""
    monkeypatch.setattr(produce, "RECORD_ERRORS_MAX", 5)
    world.services.catalogue.create_topic("compacted", 4, {"cleanup.policy": "compact"})
    batch = bytes(build_batch([NewRecord(None, b"", (), world.clock.now_ms())] * 3, compression=codec))
    results = await answers_to(world, request(world, *(("compacted", index, batch) for index in range(4))))
    assert [len(each.record_errors) for each in results] == [3, 2, 0, 0]
    assert {each.error_code for each in results} == {E.INVALID_RECORD}
    assert all("record 0" in each.error_message for each in results)


@pytest.mark.parametrize("value", [b"small", bytes(100_000)])
async def test_a_batch_is_compressed_anew_where_the_topic_requires_it(world: BrokerWorld, value: bytes) -> None:
    world.services.catalogue.create_topic("zipped", 1, {"compression.type": "gzip"})
    peer = world.connect()
    for _ in range(3):
        peer.ask(request(world, ("zipped", 0, world.batch(value))))
    answers: list[Any] = []
    while len(answers) < 3:
        await peer.until_answered()
        answers += peer.answers()
    offsets = [answer.responses[0].partition_responses[0].base_offset for answer in answers]
    assert offsets == [0, 1, 2]
    log = world.services.partitions.get("zipped", 0)
    stored = log.read(0, 1 << 20, committed=False, force_first_batch=True).read_all()
    assert stored[22] & 7 == GZIP


async def test_with_log_append_time_the_broker_states_when(world: BrokerWorld) -> None:
    world.services.catalogue.create_topic("stamped", 1, {"message.timestamp.type": "LogAppendTime"})
    (result,) = await answers_to(world, request(world, ("stamped", 0, world.batch(b"a"))))
    assert result.log_append_time_ms == world.clock.now_ms()


async def test_with_too_few_replicas_acks_all_is_refused_and_acks_1_is_not(world: BrokerWorld) -> None:
    log = world.services.partitions.get_led("t", 0)
    log.config = LogConfig(min_insync_replicas=2)
    batch = world.batch(b"a")
    assert await codes(world, request(world, ("t", 0, batch))) == [E.NOT_ENOUGH_REPLICAS]
    assert log.log_end_offset == 0
    assert await codes(world, request(world, ("t", 0, batch), acks=1)) == [E.NONE]


@pytest.mark.parametrize("place", ["broker", "topic", "topic, later"])
async def test_more_replicas_in_sync_than_there_are_cannot_be_requested(world: BrokerWorld, place: str) -> None:
    catalogue = world.services.catalogue
    if place == "broker":
        replace_configs(catalogue, BROKER_RESOURCE, "", {"min.insync.replicas": "2"})
    catalogue.create_topic("wide", 1, {"min.insync.replicas": "2"} if place == "topic" else {})
    if place == "topic, later":
        world.services.partitions.get_led("wide", 0)
        replace_configs(catalogue, TOPIC_RESOURCE, "wide", {"min.insync.replicas": "2"})
    assert await codes(world, request(world, ("wide", 0, world.batch(b"a")))) == [E.NONE]
    assert world.services.partitions.get("wide", 0).high_watermark == 1


async def test_with_flush_messages_1_the_answer_comes_after_the_sync(world: BrokerWorld) -> None:
    world.services.catalogue.create_topic("safe", 1, {"flush.messages": "1"})
    peer = world.asking(request(world, ("safe", 0, world.batch(b"a"))))
    assert peer.frames() == []
    await peer.until_answered()
    assert peer.answer().responses[0].partition_responses[0].error_code == E.NONE
    log = world.services.partitions.get("safe", 0)
    assert log.recovery_point == log.log_end_offset == 1


@pytest.mark.parametrize("acks", [0, 1, -1])
async def test_a_reader_that_waits_is_answered_after_the_sync(world: BrokerWorld, acks: int) -> None:
    world.services.catalogue.create_topic("safe", 1, {"flush.messages": "1"})
    reader, peer = world.connect(), world.connect()
    reader.ask(requests.fetch(topic="safe", wait_ms=10_000), requests.BY_NAME)
    peer.ask(request(world, ("safe", 0, world.batch(b"a")), acks=acks))
    log = world.services.partitions.get("safe", 0)
    assert (log.high_watermark, log.log_end_offset) == (0, 1)
    assert reader.frames() == []
    await reader.until_answered()
    (found,) = reader.answer().responses[0].partitions
    assert (found.high_watermark, found.last_stable_offset, bool(found.records)) == (1, 1, True)


async def test_a_failed_sync_is_answered_and_takes_the_directory_offline(world: BrokerWorld) -> None:
    world.services.catalogue.create_topic("safe", 1, {"flush.messages": "1"})
    peer = world.asking(request(world, ("safe", 0, world.batch(b"a"))))
    world.files.fail("sync", errno.EIO)
    await peer.until_answered()
    assert peer.answer().responses[0].partition_responses[0].error_code == E.KAFKA_STORAGE_ERROR
    world.files.heal()
    assert await codes(world, request(world, ("t", 0, world.batch(b"b")))) == [E.KAFKA_STORAGE_ERROR]
    assert world.services.partitions.directory.offline_reason is not None
    with pytest.raises(StorageError):
        await world.close()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
async def test_a_failed_write_is_answered_and_nothing_of_it_is_served(world: BrokerWorld, number: int) -> None:
    assert await codes(world, request(world, ("t", 0, world.batch(b"a")))) == [E.NONE]
    world.files.fail("pwrite", number, path="t-0")
    assert await codes(world, request(world, ("t", 0, world.batch(b"b")))) == [E.KAFKA_STORAGE_ERROR]
    world.files.heal()
    assert world.services.partitions.get("t", 0).high_watermark == 1
    (result,) = await answers_to(world, request(world, ("t", 0, world.batch(b"c"))))
    assert (result.error_code, result.base_offset) == (E.NONE, 1)
