"""What a client repeats is answered as if it were new; what is remembered of it stays as it was, within its bound."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.api import decoded_request_cache
from barnabas.broker.api.decoded_request_cache import REPEATED_UP_TO, REQUEST_BYTES_MAX, DecodedRequestCache
from barnabas.broker.api.dispatch import Dispatcher
from barnabas.broker.api.frame_handler import RequestConnection
from barnabas.broker.coordinator.transaction.decisions.model import InitReply, InitRequest
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.registry import ApiKey, request_codec
from tests.support.worlds.answering import answered
from tests.support.worlds.broker import BrokerWorld, request_frame

SIZE = 4
VERSIONS = [(key, version) for key, last in REPEATED_UP_TO.items() for version in range(key.min_version, last + 1)]


def heartbeat(_: int) -> Request:
    return HeartbeatRequest(group_id="g", generation_id=1, member_id="nobody")


def metadata(_: int) -> Request:
    return MetadataRequest(topics=[MetadataRequestTopic(name="t"), MetadataRequestTopic(name="missing")])


def add_partitions(producer_id: int) -> Request:
    topics = [AddPartitionsToTxnTopic(name="t", partitions=[1, 0])]
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="tx",
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=0,
        v3_and_below_topics=topics,
    )


def add_offsets(producer_id: int) -> Request:
    return AddOffsetsToTxnRequest(transactional_id="tx", producer_id=producer_id, producer_epoch=0, group_id="g")


def end_txn(producer_id: int) -> Request:
    return EndTxnRequest(transactional_id="tx", producer_id=producer_id, producer_epoch=0, committed=True)


REQUESTS: dict[ApiKey, Callable[[int], Request]] = {
    ApiKey.METADATA: metadata,
    ApiKey.HEARTBEAT: heartbeat,
    ApiKey.ADD_PARTITIONS_TO_TXN: add_partitions,
    ApiKey.ADD_OFFSETS_TO_TXN: add_offsets,
    ApiKey.END_TXN: end_txn,
}


class Peer:
    """What an entry sees of a connection."""

    client_host = "127.0.0.1"
    client_id: str | None = None
    client_id_raw = b""
    session = None
    node = None


class Side:
    """A broker that remembers, or forgets at once."""

    def __init__(self, *, remembers: bool) -> None:
        self.world = BrokerWorld({"auto.create.topics.enable": "false"})
        self.world.services.catalogue.create_topic("t", 2)
        self._remembers = remembers
        self._dispatcher = Dispatcher(self.world.services)
        self.producer_id = -1

    async def begin(self) -> None:
        begun = self.world.services.transactions.init_producer_id(InitRequest("tx", 60_000))
        assert isinstance(begun, InitReply)
        self.producer_id = begun.producer_id

    async def answer(self, frame: bytes) -> object:
        if not self._remembers:
            self._dispatcher = Dispatcher(self.world.services)
        peer = cast("RequestConnection", Peer())
        return await answered(lambda: self._dispatcher.dispatch(memoryview(bytearray(frame)), peer))

    def remembered(self) -> list[tuple[bytes, Request]]:
        tables = cast("Any", self._dispatcher)._pipeline._repeated._tables.values()
        return [item for table in tables for item in table.items()]


async def compare(frames: Callable[[int], list[bytes]]) -> Side:
    """The side that remembers, after both have answered the same requests alike."""
    sides = [Side(remembers=remembers) for remembers in (True, False)]
    for side in sides:
        await side.begin()
    for first, second in zip(*(frames(side.producer_id) for side in sides), strict=True):
        assert await sides[0].answer(first) == await sides[1].answer(second)
    for side in sides:
        await side.world.close()
    return sides[0]


@pytest.mark.parametrize(("key", "version"), VERSIONS)
async def test_a_request_that_comes_again_is_answered_alike_and_stays_as_it_was(key: ApiKey, version: int) -> None:
    def frames(producer_id: int) -> list[bytes]:
        return [request_frame(REQUESTS[key](producer_id), version)[SIZE:]] * 3

    side = await compare(frames)
    ((data, request),) = side.remembered()
    encoded = request_codec(key, version).encode(request)
    assert data == (b"\0" if key.is_flexible(version) else b"") + encoded, "its handler changes nothing in it"


@given(st.sampled_from(VERSIONS), st.integers(8, 90), st.integers(0, 255))
def test_one_byte_that_is_another_makes_another_request(which: tuple[ApiKey, int], position: int, value: int) -> None:
    key, version = which

    def frames(producer_id: int) -> list[bytes]:
        frame = request_frame(REQUESTS[key](producer_id), version)[SIZE:]
        changed = frame[:position] + bytes((value,)) + frame[position + 1 :]
        return [frame, changed, frame, changed]

    asyncio.run(cast("Any", compare(frames)))


def test_cached_entries_are_bounded_over_all_apis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoded_request_cache, "REQUESTS_MAX", 10)
    requests = DecodedRequestCache()
    tables = [requests.table(key, 3) for key in (ApiKey.HEARTBEAT, ApiKey.METADATA)]
    for number in range(100):
        known = tables[number % 2]
        assert known is not None
        requests.remember(known, bytes((number,)), heartbeat(0))
        assert known[bytes((number,))] is not None
        assert sum(len(table or ()) for table in tables) <= 10
    assert tables[0] is not None
    requests.remember(tables[0], b"x" * (REQUEST_BYTES_MAX + 1), heartbeat(0))
    assert b"x" * (REQUEST_BYTES_MAX + 1) not in tables[0]


def test_requests_that_differ_each_time_are_not_remembered() -> None:
    assert DecodedRequestCache().table(ApiKey.END_TXN, 5) is None
    assert DecodedRequestCache().table(ApiKey.OFFSET_COMMIT, 9) is None
