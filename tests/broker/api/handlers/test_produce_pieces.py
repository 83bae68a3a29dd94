"""Produce of so many partitions that it goes on over several turns: it is answered as if it were done in one."""

from typing import Any

import pytest

from barnabas.broker.partitions.produce import produce_pieces
from barnabas.broker.partitions.produce.delayed_produce import PARKED_BYTES_MAX
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.protocol.registry import ApiKey
from tests.support.worlds.broker import BrokerWorld, request_frame, until

E = ErrorCode
WIDE, FEW = 501, 3
VERSIONS = (ApiKey.PRODUCE.min_version, 9, ApiKey.PRODUCE.max_version)


def _request(world: BrokerWorld, transactional_id: str | None = None, *batches: bytes, acks: int = 1) -> ProduceRequest:
    """A wide topic around one that is missing. `batches`: of the first partitions."""
    world.services.catalogue.create_topic("wide", WIDE)
    plain, found = world.batch(b"v"), world.services.catalogue.topics["wide"].topic_id
    asked = [("wide", found, range(FEW)), ("missing", bytes(15) + b"m", range(FEW)), ("wide", found, range(FEW, WIDE))]
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=1000,
        topic_data=[
            TopicProduceData(
                name=name,
                topic_id=topic_id,
                partition_data=[
                    PartitionProduceData(index=each, records=batches[each] if each < len(batches) else plain)
                    for each in indexes
                ],
            )
            for name, topic_id, indexes in asked
        ],
    )


async def _answer(world: BrokerWorld, request: ProduceRequest, version: int) -> list[list[tuple[int, int, int]]]:
    peer = world.asking(request, version)
    await peer.until_answered()
    answer: Any = peer.answer()
    assert world.services.partitions.recoveries.parked_bytes in (0, PARKED_BYTES_MAX)
    return [
        [(each.index, each.error_code, each.base_offset) for each in topic.partition_responses]
        for topic in answer.responses
    ]


@pytest.mark.parametrize("parked", [0, PARKED_BYTES_MAX])
@pytest.mark.parametrize("version", VERSIONS)
async def test_every_partition_is_answered_where_it_was_requested(
    world: BrokerWorld, version: int, parked: int
) -> None:
    world.services.partitions.recoveries.parked_bytes = parked  # without room for a copy it is done in one turn
    request = _request(world)
    unknown = E.UNKNOWN_TOPIC_ID if version >= 13 else E.UNKNOWN_TOPIC_OR_PARTITION
    for offset in range(2):
        assert await _answer(world, request, version) == [
            [(each, E.NONE, offset) for each in range(FEW)],
            [(each, unknown, -1) for each in range(FEW)],
            [(each, E.NONE, offset) for each in range(FEW, WIDE)],
        ]


@pytest.mark.parametrize(
    ("transactional_id", "producer_ids", "code"),
    [(None, (7,), E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED), ("tx", (7, 8), E.INVALID_PRODUCER_ID_MAPPING)],
)
async def test_a_refused_request_fails_every_piece(
    world: BrokerWorld, transactional_id: str | None, producer_ids: tuple[int, ...], code: E
) -> None:
    batches = [world.batch(b"v", producer=(each, 0, 0), transactional=True) for each in producer_ids]
    answered = await _answer(world, _request(world, transactional_id, *batches), 12)
    assert {answer[1] for topic in answered for answer in topic} == {code}
    assert world.services.partitions.get("wide", WIDE - 1).log_end_offset == 0


async def test_it_goes_on_though_nobody_waits(world: BrokerWorld) -> None:
    request = _request(world)
    peer = world.asking(request, 13)
    peer.transport.hang_up()
    await until(lambda: not world.services.partitions.recoveries.parked_bytes)
    assert {world.services.partitions.get("wide", each).log_end_offset for each in range(WIDE)} == {1}


@pytest.mark.parametrize("acks", [0, 1])
async def test_one_that_is_broken_behind_many_partitions_closes_the_connection(world: BrokerWorld, acks: int) -> None:
    peer = world.connect()
    frame = request_frame(_request(world, acks=acks), 13)
    peer.transport.send((len(frame) - 9).to_bytes(4, "big") + frame[4:-5])
    await until(lambda: peer.is_closed)
    assert world.services.partitions.recoveries.parked_bytes == 0


async def test_pieces_name_no_more_errors_than_a_request_may(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(produce_pieces, "RECORD_ERRORS_MAX", 5)
    world.services.catalogue.create_topic("compacted", WIDE, {"cleanup.policy": "compact"})
    data = [PartitionProduceData(index=each, records=world.batch(b"")) for each in range(WIDE)]
    topic = TopicProduceData(name="compacted", partition_data=data)
    peer = world.asking(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic]), 12)
    await peer.until_answered()
    (answer,) = peer.answer().responses
    assert [len(each.record_errors) for each in answer.partition_responses] == [1] * 5 + [0] * (WIDE - 5)
