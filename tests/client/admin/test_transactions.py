"""Who holds readers back, and what hangs: the judgements, and what is asked of whom."""

import pytest

from barnabas.client.admin.transactions import (
    EndOffsets,
    PartitionProducer,
    TransactionHold,
    TransactionInfo,
    abort_on_partition,
    find_hanging,
    hanging,
    holds_of,
    list_transactions,
)
from barnabas.client.client import Client
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages import describe_producers, write_txn_markers
from barnabas.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from barnabas.protocol.registry import ApiKey
from tests.support.client_clock import StandingClock
from tests.support.scripted.broker import Script, ScriptedBroker

NOW_MS = StandingClock().now_ms()


def producer(partition: int, producer_id: int, start: int) -> PartitionProducer:
    return PartitionProducer("t", partition, producer_id, 4, 9, 0, 2, start)


def transaction(producer_id: int, *partitions: int) -> TransactionInfo:
    return TransactionInfo("id", "Ongoing", producer_id, 4, 60_000, 1, [("t", number) for number in partitions])


def test_a_transaction_holds_readers_back_from_its_first_record_on() -> None:
    seen = [producer(0, 7, 10), producer(0, 8, -1), producer(1, 7, -1)]
    ends = {("t", 0): EndOffsets(10, 25), ("t", 1): EndOffsets(5, 5)}
    assert holds_of(7, seen, ends) == [TransactionHold("t", 0, 10, 10, 25, 15, in_front=7)]
    assert holds_of(8, seen, ends) == []


def test_one_behind_another_is_told_who_stands_in_front() -> None:
    seen = [producer(0, 7, 20), producer(0, 8, 10), producer(0, 9, 30)]
    (hold,) = holds_of(7, seen, {("t", 0): EndOffsets(10, 40)})
    assert (hold.in_front, hold.last_stable_offset, hold.held_back) == (8, 10, 30)


def test_a_partition_missing_in_its_producers_transaction_hangs() -> None:
    suspects = [producer(0, 7, 10), producer(1, 7, 10), producer(0, 8, 11)]
    assert hanging(suspects, [transaction(7, 0)]) == [suspects[1], suspects[2]]
    assert hanging(suspects, [transaction(7, 0, 1), transaction(8, 0)]) == []


class Broker(ScriptedBroker):
    """Remembers producers 7 (finished), 8 (just begun) and 9 (open for long) in t-0; its coordinator knows nobody."""

    def __init__(self) -> None:
        script: Script = {
            ApiKey.DESCRIBE_PRODUCERS: self._producers,
            ApiKey.LIST_TRANSACTIONS: self._list,
            ApiKey.WRITE_TXN_MARKERS: self._mark,
        }
        super().__init__(script, {"t": 1})

    def _producers(
        self, request: describe_producers.DescribeProducersRequest
    ) -> describe_producers.DescribeProducersResponse:
        states = [
            describe_producers.ProducerState(
                producer_id=producer_id,
                producer_epoch=4,
                last_timestamp=last_ms,
                coordinator_epoch=-1,
                current_txn_start_offset=start,
            )
            for producer_id, last_ms, start in ((7, 1, -1), (8, NOW_MS - 1000, 5), (9, NOW_MS - 1001, 3))
        ]
        found = describe_producers.PartitionResponse(partition_index=0, error_code=0, active_producers=states)
        return describe_producers.DescribeProducersResponse(
            topics=[describe_producers.TopicResponse(name="t", partitions=[found])]
        )

    def _list(self, request: ListTransactionsRequest) -> ListTransactionsResponse:
        unknown = [name for name in request.state_filters if name != "Ongoing"]
        return ListTransactionsResponse(error_code=0, unknown_state_filters=unknown, transaction_states=[])

    def _mark(self, request: write_txn_markers.WriteTxnMarkersRequest) -> write_txn_markers.WriteTxnMarkersResponse:
        done = write_txn_markers.WritableTxnMarkerPartitionResult(partition_index=0, error_code=ErrorCode.NONE)
        topic = write_txn_markers.WritableTxnMarkerTopicResult(name="t", partitions=[done])
        return write_txn_markers.WriteTxnMarkersResponse(
            markers=[write_txn_markers.WritableTxnMarkerResult(producer_id=9, topics=[topic])]
        )


def test_only_what_is_open_for_long_is_suspected_and_a_forced_abort_names_what_the_partition_saw() -> None:
    with Broker() as broker, Client(broker.address, clock=StandingClock()) as client:
        (found,) = find_hanging(client, [("t", 0)], longer_than_ms=1000)
        assert (found.producer_id, found.txn_start_offset) == (9, 3)
        assert [request.producer_id_filters for request in broker.of(ListTransactionsRequest)] == [[9]]
        abort_on_partition(client, found)
        (marker,) = broker.of(write_txn_markers.WriteTxnMarkersRequest)[0].markers
        assert (marker.producer_id, marker.producer_epoch, marker.coordinator_epoch) == (9, 4, 0)
        assert not marker.transaction_result


def test_a_state_that_does_not_exist_is_reported() -> None:
    with (
        Broker() as broker,
        Client(broker.address, clock=StandingClock()) as client,
        pytest.raises(ValueError, match="there is no state Open"),
    ):
        list_transactions(client, states=["Ongoing", "Open"])
