"""WriteTxnMarkers by an administrator: what is no producer is marked nowhere."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from protocol.errors import ErrorCode
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.support.broker_world import settle
from tests.support.transactional_broker import TransactionalBroker


@pytest.fixture
async def world() -> AsyncIterator[TransactionalBroker]:
    world = TransactionalBroker()
    yield world
    await world.close()


async def marked(
    world: TransactionalBroker, producer_id: int, producer_epoch: int, *topics: str
) -> WriteTxnMarkersResponse:
    marker = WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transaction_result=True,
        topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[0]) for topic in topics],
        coordinator_epoch=0,
    )
    peer = world.broker.connect()
    peer.ask(WriteTxnMarkersRequest(markers=[marker]), 1)
    await settle()
    answer: WriteTxnMarkersResponse = peer.answer()
    return answer


@pytest.mark.parametrize(("producer_id", "producer_epoch"), [(-1, 0), (-5, 0), (7, -1)])
async def test_a_marker_of_no_producer_is_refused_and_not_written(
    world: TransactionalBroker, producer_id: int, producer_epoch: int
) -> None:
    answer = await marked(world, producer_id, producer_epoch, "t")
    assert answer.markers[0].topics[0].partitions[0].error_code == ErrorCode.INVALID_REQUEST
    assert world.log().log_end_offset == 0


async def test_a_marker_for_nothing_is_not_answered_as_in_kafka(world: TransactionalBroker) -> None:
    assert (await marked(world, 7, 0)).markers == []
