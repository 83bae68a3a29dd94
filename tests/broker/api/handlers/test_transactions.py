"""Transactional requests of unusual sizes, and those that wait for the disk; tests/golden/probes asks the rest."""

import asyncio
from typing import Any

import pytest

from barnabas.broker.coordinator.transaction.transaction_marker_writer import BROKEN_RETRY_MS
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from tests.support import requests
from tests.support.worlds.broker import BrokerWorld, settle

E = ErrorCode
_LONG_MS = 24 * 24 * 60 * 60 * 1000


class _Api:
    """A broker with the topics `t` (3 partitions) and `u` (1), and one client."""

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        self.world = BrokerWorld(settings, topics={"t": 3, "u": 1})
        self.producer = (-1, -1)

    async def init(self, transactional_id: str = "x", timeout_ms: int = 60_000) -> Any:
        answer = await self.world.ask(requests.init_producer(transactional_id, timeout_ms), 5)
        self.producer = answer.producer_id, answer.producer_epoch
        return answer

    async def add(self, topic: str, *partitions: int) -> list[ErrorCode]:
        """The codes."""
        asked = requests.add_partitions("x", self.producer, (topic, list(partitions)))
        (found,) = (await self.world.ask(asked, 3)).results_by_topic_v3_and_below
        return [E(each.partition_error_code) for each in found.results_by_partition]

    async def end(self, version: int = 5) -> Any:
        return await self.world.ask(requests.end_txn("x", self.producer), version)


@pytest.fixture
async def api() -> _Api:
    return _Api()


async def test_weeks_are_a_timeout_where_it_is_allowed() -> None:
    api = _Api({"transaction.max.timeout.ms": str(2**31 - 1)})
    assert (await api.init(timeout_ms=_LONG_MS)).error_code == E.NONE


async def test_ten_thousand_partitions_in_one_request(api: _Api) -> None:
    await api.init()
    api.world.services.catalogue.create_topic("wide", 10_000)
    assert await api.add("wide", *range(10_000)) == [E.NONE] * 10_000
    assert (await api.add("wide", *range(10_001))).count(E.OPERATION_NOT_ATTEMPTED) == 10_000
    txn = api.world.services.transactions.describe("x")
    assert txn is not None
    assert len(txn.partitions) == 10_000


async def test_where_flushing_is_on_the_answer_waits_for_the_disk() -> None:
    api = _Api({"log.flush.interval.messages": "1"})
    await api.init()
    assert await api.add("t", 0) == [E.NONE]
    answer = await api.end()
    assert (answer.error_code, answer.producer_epoch) == (E.NONE, 1)


@pytest.mark.parametrize("api_key", ["partitions", "offsets"])
@pytest.mark.parametrize(("messages", "waits"), [("1", True), ("9223372036854775807", False)])
async def test_where_flushing_is_on_the_next_transaction_waits_for_the_one_before(
    api_key: str, messages: str, waits: bool
) -> None:
    api = _Api({"log.flush.interval.messages": messages})
    await api.init()
    assert await api.add("t", 0) == [E.NONE]
    api.world.files.fail("pwrite", path="t-0/")
    assert (await api.end(4)).error_code == E.NONE
    api.world.files.heal()
    api.world.clock.advance(BROKEN_RETRY_MS - 1)
    (producer_id, epoch), is_of_partitions = api.producer, api_key == "partitions"
    offsets = AddOffsetsToTxnRequest(transactional_id="x", producer_id=producer_id, producer_epoch=epoch, group_id="g")
    asked = api.add("u", 0) if is_of_partitions else api.world.ask(offsets, 3)
    answer = asyncio.ensure_future(asked)
    await settle()
    if waits:
        assert not answer.done()
        api.world.clock.advance(1)
    code = (await answer)[0] if is_of_partitions else (await answer).error_code
    assert code == (E.NONE if waits else E.CONCURRENT_TRANSACTIONS)


async def test_the_longest_id_that_the_wire_carries_is_one(api: _Api) -> None:
    assert (await api.init("x" * 32_767)).error_code == E.NONE
    assert (await api.init("x" * 32_767)).producer_epoch == 1
