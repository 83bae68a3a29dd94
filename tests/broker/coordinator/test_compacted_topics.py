"""Coordinators load what they wrote from logs that were compacted meanwhile: with gaps, empty batches, lone markers."""

import pytest

from barnabas.broker.coordinator.runtime.outcome import TransactionProducer
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.storage.log.log import PartitionLog
from tests.support.worlds.broker import BrokerWorld, settle, until
from tests.support.worlds.transactional_broker import TransactionalBroker

SETTINGS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
PRODUCER_ID = 4_000


def cut_into_segments(world: BrokerWorld, topic: str) -> None:
    """Smaller ones than any setting allows, in this run."""
    world.services.catalogue.create_internal_topic(topic)
    log = world.services.partitions.get(topic, 0)
    log.config = log.config._replace(segment_bytes=1_500)


def end(world: BrokerWorld, producer_id: int, *, is_commit: bool) -> None:
    marker = EndTxnMarker(is_commit, producer_id, 0, 0, -1, world.clock.now_ms())
    world.services.groups.append_marker(0, marker, transaction_version=0, hold=False)


async def loaded(world: BrokerWorld) -> dict[int, int]:
    world.services.groups.prepare("g")
    await settle()
    return world.committed()


async def compacted(world: BrokerWorld, topic: str) -> PartitionLog:
    log = world.services.partitions.get(topic, 0)
    size = log.size
    await world.services.partitions.synced_anyway(topic, 0)
    world.services.cleaner.start()
    await until(lambda: world.services.cleaner.figures.cleanings)
    assert log.size < size / 2
    return log


async def test_committed_offsets_are_loaded_from_what_is_left() -> None:
    world = BrokerWorld(SETTINGS, topics={"t": 3})
    cut_into_segments(world, CONSUMER_OFFSETS_TOPIC)
    for number in range(120):
        world.commit_offset(number, partition=number % 3)
        world.clock.advance(10)
    await compacted(world, CONSUMER_OFFSETS_TOPIC)
    before = world.committed()
    await world.close()
    again = BrokerWorld(SETTINGS, world.files)
    assert await loaded(again) == before == {0: 117, 1: 118, 2: 119}


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_transactions_are_loaded_from_what_is_left(how: str) -> None:
    world = TransactionalBroker(SETTINGS)
    cut_into_segments(world.broker, TRANSACTION_STATE_TOPIC)
    producer = await world.producer()
    for number in range(40):
        await producer.send(b"v", number % 3)
        assert (await producer.end(commit=number % 2 == 0)).error is E.NONE
    await compacted(world.broker, TRANSACTION_STATE_TOPIC)
    before = world.txn()
    after = await world.restart(how)
    after.coordinator.load_in_background()
    await after.advance(2_000)
    assert after.txn() == before._replace(last_producer_epoch=-1)  # which no record has
    assert before.state is TransactionState.COMPLETE_ABORT
    later = await after.producer()
    await later.send(b"later")
    assert (await later.end(commit=True)).error is E.NONE


async def test_offsets_of_transactions_are_loaded_from_what_is_left() -> None:
    """Plain commits between those of transactions, some of them aborted, one is open, some are markers alone."""
    world = BrokerWorld(SETTINGS, topics={"t": 3})
    cut_into_segments(world, CONSUMER_OFFSETS_TOPIC)
    for number in range(60):
        producer_id = PRODUCER_ID + number % 4
        world.commit_offset(1_000 + number, producer=TransactionProducer(producer_id, 0))
        world.commit_offset(2_000 + number, partition=1)
        if number % 4 == 2:
            world.commit_offset(3_000 + number)  # later than the one in the transaction: it stays when that ends
        end(world, producer_id, is_commit=number % 4 != 3)
        world.clock.advance(10)
    log = await compacted(world, CONSUMER_OFFSETS_TOPIC)
    world.commit_offset(9_000, partition=2, producer=TransactionProducer(PRODUCER_ID + 9, 0))
    before = world.committed()
    assert before == {0: 3_058, 1: 2_059}
    end_offset = log.log_end_offset
    await world.close()
    again = BrokerWorld(SETTINGS, world.files)
    assert await loaded(again) == before
    assert again.services.partitions.get(CONSUMER_OFFSETS_TOPIC, 0).log_end_offset == end_offset
    end(again, PRODUCER_ID + 9, is_commit=True)
    assert await loaded(again) == before | {2: 9_000}
