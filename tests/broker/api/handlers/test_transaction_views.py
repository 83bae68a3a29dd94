"""ListTransactions, DescribeTransactions, DescribeProducers: what tests/golden/probes/txn_views*.txt cannot time."""

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from barnabas.protocol.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.protocol.messages.list_transactions import ListTransactionsRequest
from barnabas.protocol.records.control import EndTxnMarker
from tests.support.worlds.broker import BrokerWorld
from tests.support.worlds.transactional_broker import TIMEOUT_MS, TransactionalBroker

E = ErrorCode


@pytest.mark.parametrize(
    ("duration_ms", "ids"), [(0, ["idle", "open"]), (4_999, ["idle", "open"]), (5_000, ["idle"]), (1 << 62, [])]
)
async def test_old_transactions_and_those_without_a_start_are_listed(duration_ms: int, ids: list[str]) -> None:
    world = TransactionalBroker()
    await world.producer("idle")
    await world.written(0, name="open")
    began_ms = world.broker.clock.now_ms()
    world.broker.clock.advance(5_000)
    request = ListTransactionsRequest(state_filters=[], producer_id_filters=[], duration_filter=duration_ms)
    states = (await world.broker.ask(request)).transaction_states
    assert sorted(each.transactional_id for each in states) == ids
    (told,) = (await world.broker.ask(DescribeTransactionsRequest(transactional_ids=["open"]))).transaction_states
    assert (told.transaction_start_time_ms, told.transaction_timeout_ms) == (began_ms, TIMEOUT_MS)


async def test_producers_are_told_with_what_they_have_open(world: BrokerWorld) -> None:
    now_ms = world.clock.now_ms()
    world.append("t", b"i", b"j", partition=2, producer=(50, 0, 0))
    world.append("t", b"t", partition=2, producer=(51, 3, 0), transactional=True)
    world.services.partitions.append_marker("t", 2, EndTxnMarker(True, 52, 1, 4, -1, now_ms))
    request = DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=[2, 1])])
    (topic,) = (await world.ask(request)).topics
    two, one = topic.partitions
    names = ("producer_id", "producer_epoch", "last_sequence", "coordinator_epoch", "current_txn_start_offset")
    told = [tuple(getattr(each, name) for name in names) for each in two.active_producers]
    assert told == [(50, 0, 1, -1, -1), (51, 3, 0, -1, 2), (52, 1, -1, 4, -1)]
    assert {each.last_timestamp for each in two.active_producers} == {now_ms}
    assert (one.error_code, one.active_producers) == (E.NONE, [])


async def test_a_partition_without_writes_is_not_opened_for_a_report(world: BrokerWorld) -> None:
    world.services.catalogue.create_topic("wide", 30)
    request = DescribeProducersRequest(topics=[TopicRequest(name="wide", partition_indexes=list(range(30)))])
    (topic,) = (await world.ask(request)).topics
    assert [(each.error_code, each.active_producers) for each in topic.partitions] == [(E.NONE, [])] * 30
    assert not world.services.partitions.is_open("wide", 0)
