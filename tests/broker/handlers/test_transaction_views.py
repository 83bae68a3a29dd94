"""ListTransactions, DescribeTransactions, DescribeProducers: what they tell, whom they leave out, and their errors.

What is expected was recorded from Apache Kafka 4.4.0.
"""

from typing import Any

import pytest

from barnabas.broker.coordinator.transaction.model import AddRequest, EndRequest, InitReply, InitRequest
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from barnabas.protocol.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.protocol.messages.list_transactions import ListTransactionsRequest
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.protocol.schema import Request
from tests.support.worlds.broker import BrokerWorld, settle

E = ErrorCode
LONG_MS = 600_000


class Views:
    """A broker with the ids `a` (Empty), `b` (Ongoing), `c` (CompleteCommit), `d.x` (CompleteAbort)."""

    def __init__(self) -> None:
        self.world = BrokerWorld()
        self.ids: dict[str, InitReply] = {}

    async def fill(self) -> None:
        services = self.world.services
        for topic in ("zz", "aa"):
            services.catalogue.create_topic(topic, 3)
        for name in ("a", "b", "c", "d.x"):
            self.ids[name] = await _now(services.transactions.init_producer_id(InitRequest(name, LONG_MS)))
        places = {"b": [("zz", 1), ("zz", 0), ("aa", 2)], "c": [("zz", 0)], "d.x": [("zz", 0)]}
        for name, partitions in places.items():
            mine = self.ids[name]
            request = AddRequest(name, mine.producer_id, mine.producer_epoch, frozenset(partitions), 2)
            assert await _now(services.transactions.add_partitions(request)) is E.NONE
        for name, is_commit in (("c", True), ("d.x", False)):
            mine = self.ids[name]
            end = EndRequest(name, mine.producer_id, mine.producer_epoch, is_commit, 2)
            assert (await _now(services.transactions.end_transaction(end))).error is E.NONE
        await settle()

    async def ask(self, request: Request, version: int | None = None) -> Any:
        peer = self.world.connect()
        peer.ask(request, version)
        for _ in range(20):  # whoever looks at much lets others have their turn
            await settle()
            if peer.transport.written.is_set():
                break
            self.world.clock.advance(0)
        return peer.answer()

    async def listed(self, version: int = 2, **filters: Any) -> list[str]:
        """The ids told."""
        request = ListTransactionsRequest(**({"state_filters": [], "producer_id_filters": []} | filters))
        answer = await self.ask(request, version)
        assert answer.error_code == E.NONE
        return sorted(each.transactional_id for each in answer.transaction_states)


async def _now(reply: Any) -> Any:
    return await reply if hasattr(reply, "__await__") else reply


@pytest.fixture
async def views() -> Views:
    views = Views()
    await views.fill()
    return views


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({"state_filters": ["Ongoing"]}, ["b"]),
        ({"state_filters": ["Empty", "CompleteCommit"]}, ["a", "c"]),
        ({"state_filters": ["Dead"]}, []),
        ({"state_filters": ["PrepareEpochFence"]}, []),
        ({"producer_id_filters": [999_999]}, []),
        ({"producer_id_filters": [-1]}, []),
        ({"duration_filter": -5}, ["a", "b", "c", "d.x"]),
        ({"duration_filter": 0}, ["a", "b", "c", "d.x"]),
        ({"duration_filter": 5_000}, ["a"]),
        ({"duration_filter": 1 << 62}, []),
        ({"transactional_id_pattern": ""}, ["a", "b", "c", "d.x"]),
        ({"transactional_id_pattern": "[a-c]"}, ["a", "b", "c"]),
        ({"transactional_id_pattern": "d"}, []),
        ({"transactional_id_pattern": "d.*", "state_filters": ["CompleteAbort"]}, ["d.x"]),
    ],
)
async def test_only_what_passes_every_filter_is_listed(views: Views, filters: dict[str, Any], ids: list[str]) -> None:
    views.world.clock.advance(1_000)
    assert await views.listed(**filters) == ids


async def test_transactions_are_described_each_with_an_error_of_its_own(views: Views) -> None:
    asked = ["b", "c", "nope", "", "b"]
    states = (await views.ask(DescribeTransactionsRequest(transactional_ids=asked))).transaction_states
    assert [(each.transactional_id, each.error_code) for each in states] == [
        ("b", E.NONE),
        ("c", E.NONE),
        ("nope", E.TRANSACTIONAL_ID_NOT_FOUND),
        ("", E.INVALID_REQUEST),
        ("b", E.NONE),
    ]
    b, c, nope = states[:3]
    mine = views.ids["b"]
    assert (b.transaction_state, b.producer_id, b.producer_epoch) == ("Ongoing", mine.producer_id, mine.producer_epoch)
    assert (b.transaction_timeout_ms, b.transaction_start_time_ms) == (LONG_MS, views.world.clock.now_ms())
    assert [(each.topic, each.partitions) for each in b.topics] == [("aa", [2]), ("zz", [0, 1])]
    assert (c.transaction_state, c.producer_epoch, c.topics) == ("CompleteCommit", 1, [])
    assert (nope.transaction_state, nope.producer_id, nope.producer_epoch, nope.topics) == ("", 0, 0, [])


async def test_producers_are_told_with_what_they_have_open(views: Views) -> None:
    partitions = views.world.services.partitions
    partitions.append("zz", 2, bytearray(views.world.batch(b"i", b"j", producer=(50, 0, 0))))
    partitions.append("zz", 2, bytearray(views.world.batch(b"t", producer=(51, 3, 0), transactional=True)))
    now_ms = views.world.clock.now_ms()
    partitions.append_marker("zz", 2, EndTxnMarker(True, 52, 1, 4, -1, now_ms))
    request = DescribeProducersRequest(topics=[TopicRequest(name="zz", partition_indexes=[2, 1])])
    (topic,) = (await views.ask(request)).topics
    two, one = topic.partitions
    told = [
        (
            each.producer_id,
            each.producer_epoch,
            each.last_sequence,
            each.coordinator_epoch,
            each.current_txn_start_offset,
        )
        for each in two.active_producers
    ]
    assert told == [(50, 0, 1, -1, -1), (51, 3, 0, -1, 2), (52, 1, -1, 4, -1)]
    assert {each.last_timestamp for each in two.active_producers} == {now_ms}
    assert (one.error_code, one.active_producers) == (E.NONE, [])


async def test_what_was_never_written_to_is_not_opened_to_be_told(views: Views) -> None:
    views.world.services.catalogue.create_topic("wide", 30)
    request = DescribeProducersRequest(topics=[TopicRequest(name="wide", partition_indexes=list(range(30)))])
    (topic,) = (await views.ask(request)).topics
    assert [(each.error_code, each.active_producers) for each in topic.partitions] == [(E.NONE, [])] * 30
    assert not views.world.services.partitions.is_open("wide", 0)


@pytest.mark.parametrize(
    ("topic", "partition", "code"),
    [
        ("zz", 99, E.UNKNOWN_TOPIC_OR_PARTITION),
        ("zz", -1, E.UNKNOWN_TOPIC_OR_PARTITION),
        ("nope", 0, E.UNKNOWN_TOPIC_OR_PARTITION),
        ("__cluster_metadata", 0, E.UNKNOWN_TOPIC_OR_PARTITION),
        ("bad name", 0, E.INVALID_TOPIC_EXCEPTION),
        ("", 0, E.INVALID_TOPIC_EXCEPTION),
    ],
)
async def test_producers_of_no_partition_are_refused_and_the_others_told(
    views: Views, topic: str, partition: int, code: ErrorCode
) -> None:
    asked = [
        TopicRequest(name=topic, partition_indexes=[partition]),
        TopicRequest(name="zz", partition_indexes=[0]),
        TopicRequest(name="zz", partition_indexes=[]),
    ]
    bad, good, none = (await views.ask(DescribeProducersRequest(topics=asked))).topics
    assert [(each.partition_index, each.error_code) for each in bad.partitions] == [(partition, code)]
    assert [each.error_code for each in good.partitions] == [E.NONE]
    assert none.partitions == []
