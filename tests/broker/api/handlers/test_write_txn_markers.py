"""WriteTxnMarkers: an administrator ends a transaction that hangs, and nobody ends one they may not."""

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC
from barnabas.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.support.worlds.transactional_broker import Producer, TransactionalBroker

E = ErrorCode


@pytest.fixture
async def world() -> TransactionalBroker:
    return TransactionalBroker()


def marker(
    producer_id: int,
    epoch: int,
    *partitions: int,
    topic: str = "t",
    commit: bool = False,
    coordinator_epoch: int = 0,
    transaction_version: int = 0,
) -> WritableTxnMarker:
    return WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=epoch,
        transaction_result=commit,
        topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=list(partitions))],
        coordinator_epoch=coordinator_epoch,
        transaction_version=transaction_version,
    )


async def answer(
    world: TransactionalBroker, *asked: WritableTxnMarker, version: int = 2
) -> list[tuple[int, list[int]]]:
    """(producer id, codes) of each marker."""
    found = await world.broker.ask(WriteTxnMarkersRequest(markers=list(asked)), version)
    return [
        (each.producer_id, [partition.error_code for topic in each.topics for partition in topic.partitions])
        for each in found.markers
    ]


async def hanging(world: TransactionalBroker) -> Producer:
    """A transaction on partition 0 that its coordinator knows nothing of."""
    producer = Producer(world, "nobody", 4000, 3)
    world.broker.append("t", b"v", producer=(producer.id, producer.epoch, 0), transactional=True)
    assert world.log().last_stable_offset == 0
    return producer


@pytest.mark.parametrize("version", [1, 2])
async def test_a_hanging_transaction_is_ended(world: TransactionalBroker, version: int) -> None:
    producer = await hanging(world)
    assert await answer(world, marker(producer.id, producer.epoch, 0), version=version) == [(producer.id, [E.NONE])]
    assert world.log().last_stable_offset == 2
    assert world.read() == []


async def test_a_producer_that_cannot_be_leaves_nothing_behind(world: TransactionalBroker) -> None:
    for producer_id, epoch in ((-5, 0), (5, -1)):
        assert await answer(world, marker(producer_id, epoch, 0)) == [(producer_id, [E.INVALID_REQUEST])]
    assert world.log().log_end_offset == 0
    assert world.log().producers_state() == []


async def test_where_offsets_lie_the_groups_have_their_say(world: TransactionalBroker) -> None:
    world.broker.services.catalogue.create_internal_topic(CONSUMER_OFFSETS_TOPIC)
    assert await answer(world, marker(5, 0, 3, topic=CONSUMER_OFFSETS_TOPIC)) == [(5, [E.NONE])]
    assert world.log(3, CONSUMER_OFFSETS_TOPIC).log_end_offset == 1


async def test_the_answer_waits_for_the_disk_where_the_topic_requests_it() -> None:
    world = TransactionalBroker({"log.flush.interval.messages": "1"})
    producer = await hanging(world)
    assert await answer(world, marker(producer.id, producer.epoch, 0)) == [(producer.id, [E.NONE])]
    assert world.log().recovery_point == 2
    world.files.fail("sync", path="t-1/")
    assert await answer(world, marker(producer.id, producer.epoch, 1)) == [(producer.id, [E.KAFKA_STORAGE_ERROR])]
    world.broker.is_closed = True
