"""InitProducerId with an id, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn: asked as clients ask, in all versions."""

import asyncio
from typing import Any

import pytest

from barnabas.broker.coordinator.markers import BROKEN_RETRY_MS
from barnabas.broker.coordinator.runtime.placement import partition_for
from barnabas.broker.coordinator.transaction.model import Transaction
from barnabas.broker.coordinator.transaction.states import TransactionState
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.schema import Request
from tests.support.worlds.broker import BrokerWorld, settle

E = ErrorCode
_LONG_MS = 24 * 24 * 60 * 60 * 1000


class _Api:
    """A broker with the topics `t` (3 partitions) and `u` (1), and one client."""

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        self.world = BrokerWorld(settings)
        self.peer = self.world.connect()
        for name, partitions in (("t", 3), ("u", 1)):
            self.world.services.catalogue.create_topic(name, partitions)

    async def ask(self, request: Request, version: int) -> Any:
        self.peer.ask(request, version)
        await settle()
        if not self.peer.transport.written.is_set():
            await self.peer.until_answered()
        return self.peer.answer()

    async def init(self, transactional_id: str | None = "x", version: int = 5, **fields: Any) -> Any:
        request = InitProducerIdRequest(
            **{"transactional_id": transactional_id, "transaction_timeout_ms": 60_000, **fields}
        )
        return await self.ask(request, version)

    async def add(self, *topics: tuple[str, list[int]], version: int = 3, **fields: Any) -> dict[str, list[ErrorCode]]:
        """The codes of a client's request: topic -> one per partition."""
        request = AddPartitionsToTxnRequest(
            **{
                "v3_and_below_transactional_id": "x",
                "v3_and_below_producer_epoch": 0,
                "v3_and_below_topics": [AddPartitionsToTxnTopic(name=name, partitions=each) for name, each in topics],
                **{f"v3_and_below_{name}": value for name, value in fields.items()},
            }
        )
        return _codes((await self.ask(request, version)).results_by_topic_v3_and_below)

    async def end(self, committed: bool, version: int = 5, **fields: Any) -> Any:
        request = EndTxnRequest(
            **{"transactional_id": "x", "producer_id": 0, "producer_epoch": 0, "committed": committed, **fields}
        )
        return await self.ask(request, version)

    def transaction(self, transactional_id: str = "x") -> Transaction | None:
        return self.world.services.transactions.describe(transactional_id)


def _codes(topics: Any) -> dict[str, list[ErrorCode]]:
    return {
        topic.name: [ErrorCode(partition.partition_error_code) for partition in topic.results_by_partition]
        for topic in topics
    }


@pytest.fixture
async def api() -> _Api:
    return _Api()


# InitProducerId


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"transactional_id": ""}, E.INVALID_REQUEST),
        ({"producer_id": 1}, E.INVALID_REQUEST),
        ({"producer_epoch": 1}, E.INVALID_REQUEST),
        ({"transactional_id": None, "producer_id": 1}, E.INVALID_REQUEST),
        ({"transactional_id": None, "producer_epoch": 1}, E.INVALID_REQUEST),
        ({"transaction_timeout_ms": 0}, E.INVALID_TRANSACTION_TIMEOUT),
        ({"transaction_timeout_ms": 2**31 - 1}, E.INVALID_TRANSACTION_TIMEOUT),
        ({"transaction_timeout_ms": -1}, E.INVALID_TRANSACTION_TIMEOUT),
    ],
)
async def test_a_request_that_makes_no_sense_is_refused(api: _Api, fields: dict[str, Any], code: ErrorCode) -> None:
    answer = await api.init(**fields)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (code, -1, -1)
    assert api.transaction() is None


async def test_weeks_are_a_timeout_where_it_is_allowed() -> None:
    api = _Api({"transaction.max.timeout.ms": str(2**31 - 1)})
    assert (await api.init(transaction_timeout_ms=_LONG_MS)).error_code == E.NONE


async def test_version_6_keeps_a_prepared_transaction() -> None:
    api = _Api({"transaction.two.phase.commit.enable": "true"})
    first = await api.init(version=6, enable2_pc=True, transaction_timeout_ms=0)
    assert (first.ongoing_txn_producer_id, first.ongoing_txn_producer_epoch) == (-1, -1)
    await api.add(("t", [0]), producer_id=first.producer_id)
    second = await api.init(version=6, enable2_pc=True, keep_prepared_txn=True)
    assert (second.error_code, second.producer_id, second.producer_epoch) == (E.NONE, first.producer_id, 1)
    assert (second.ongoing_txn_producer_id, second.ongoing_txn_producer_epoch) == (first.producer_id, 0)
    assert (await api.end(True, producer_id=first.producer_id)).error_code == E.PRODUCER_FENCED
    ended = await api.end(True, producer_id=second.producer_id, producer_epoch=1)
    assert (ended.error_code, ended.producer_epoch) == (E.NONE, 2)


# AddPartitionsToTxn


@pytest.mark.parametrize("version", range(4))
async def test_partitions_are_added(api: _Api, version: int) -> None:
    await api.init()
    assert await api.add(("t", [0, 2]), ("u", [0]), version=version) == {"t": [E.NONE, E.NONE], "u": [E.NONE]}
    txn = api.transaction()
    assert txn is not None
    assert txn.partitions == {("t", 0), ("t", 2), ("u", 0)}
    assert (txn.state, txn.client_transaction_version) == (TransactionState.ONGOING, 0)


async def test_ten_thousand_partitions_in_one_request(api: _Api) -> None:
    await api.init()
    api.world.services.catalogue.create_topic("wide", 10_000)
    codes = await api.add(("wide", list(range(10_000))))
    assert codes == {"wide": [E.NONE] * 10_000}
    refused = await api.add(("wide", list(range(10_001))))
    assert refused["wide"].count(E.OPERATION_NOT_ATTEMPTED) == 10_000
    txn = api.transaction()
    assert txn is not None
    assert len(txn.partitions) == 10_000


@pytest.mark.parametrize("version", [4, 5])
async def test_brokers_ask_for_many_transactions_at_once(api: _Api, version: int) -> None:
    producer_ids = [(await api.init(name)).producer_id for name in ("x", "y")]

    def of(name: str, producer_id: int, *partitions: int, verify_only: bool = False) -> AddPartitionsToTxnTransaction:
        topics = [AddPartitionsToTxnTopic(name="t", partitions=list(partitions))]
        return AddPartitionsToTxnTransaction(
            transactional_id=name, producer_id=producer_id, producer_epoch=0, verify_only=verify_only, topics=topics
        )

    request = AddPartitionsToTxnRequest(
        transactions=[
            of("x", producer_ids[0], 0),
            of("y", producer_ids[1], 0, 9),
            of("x", producer_ids[0], 0, 1, verify_only=True),
            of("z", 1, 0),
            of("", 1, 0),
        ]
    )
    answer = await api.ask(request, version)
    assert answer.error_code == E.NONE
    assert [(each.transactional_id, *_codes(each.topic_results)["t"]) for each in answer.results_by_transaction] == [
        ("x", E.NONE),
        ("y", E.OPERATION_NOT_ATTEMPTED, E.UNKNOWN_TOPIC_OR_PARTITION),
        ("x", E.NONE, E.TRANSACTION_ABORTABLE),
        ("z", E.INVALID_PRODUCER_ID_MAPPING),
        ("", E.INVALID_REQUEST),
    ]
    txn = api.transaction()
    assert txn is not None
    assert txn.client_transaction_version == 2


# AddOffsetsToTxn


@pytest.mark.parametrize("version", range(5))
async def test_the_partition_of_a_group_is_added(api: _Api, version: int) -> None:
    producer_id = (await api.init()).producer_id
    request = AddOffsetsToTxnRequest(
        transactional_id="x", producer_id=producer_id, producer_epoch=0, group_id="readers"
    )
    assert (await api.ask(request, version)).error_code == E.NONE
    txn = api.transaction()
    assert txn is not None
    assert txn.partitions == {("__consumer_offsets", partition_for("readers", 50))}


# EndTxn


async def test_where_flushing_is_on_the_answer_waits_for_the_disk() -> None:
    api = _Api({"log.flush.interval.messages": "1"})
    producer_id = (await api.init()).producer_id
    assert await api.add(("t", [0]), producer_id=producer_id) == {"t": [E.NONE]}
    answer = await api.end(True, producer_id=producer_id)
    assert (answer.error_code, answer.producer_epoch) == (E.NONE, 1)


@pytest.mark.parametrize("api_key", ["partitions", "offsets"])
@pytest.mark.parametrize(("messages", "waits"), [("1", True), ("9223372036854775807", False)])
async def test_where_flushing_is_on_the_next_transaction_waits_for_the_one_before(
    api_key: str, messages: str, waits: bool
) -> None:
    api = _Api({"log.flush.interval.messages": messages})
    producer_id = (await api.init()).producer_id
    assert await api.add(("t", [0]), producer_id=producer_id) == {"t": [E.NONE]}
    api.world.files.fail("pwrite", path="t-0/")
    assert (await api.end(True, 4, producer_id=producer_id)).error_code == E.NONE
    api.world.files.heal()
    api.world.clock.advance(BROKEN_RETRY_MS - 1)
    fields = {"producer_id": producer_id, "producer_epoch": 0, "group_id": "g"}
    offsets = AddOffsetsToTxnRequest(transactional_id="x", **fields)
    asked = api.add(("u", [0]), producer_id=producer_id) if api_key == "partitions" else api.ask(offsets, 3)
    answer = asyncio.ensure_future(asked)
    await settle()
    if waits:
        assert not answer.done()
        api.world.clock.advance(1)
    code = (await answer)["u"][0] if api_key == "partitions" else (await answer).error_code
    assert code == (E.NONE if waits else E.CONCURRENT_TRANSACTIONS)


async def test_the_longest_id_that_the_wire_carries_is_one(api: _Api) -> None:
    assert (await api.init("x" * 32_767)).error_code == E.NONE
    assert (await api.init("x" * 32_767)).producer_epoch == 1
