"""A transaction that failed in the middle: what is lost, what ends it, and how its producer goes on."""

import pytest

from barnabas.client.clock import Deadline
from barnabas.client.metadata import ClusterInfo
from barnabas.client.produce.batching import Delivery
from barnabas.client.transactions.errors import OutcomeUnknown, TransactionAbortable
from barnabas.client.transactions.states import NotNow, TransactionalProducerState
from barnabas.protocol.errors import EncodeError, ErrorCode
from barnabas.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.registry import ApiKey
from tests.support.scripted.broker import HANG_UP, Answer
from tests.support.scripted.transactions import assert_ready_for_the_next, begin, ready

E = ErrorCode


@pytest.mark.parametrize("code", [E.TOPIC_AUTHORIZATION_FAILED, E.TRANSACTION_ABORTABLE, E.INVALID_PRODUCER_ID_MAPPING])
def test_a_transaction_without_added_partitions_needs_only_the_next_epoch(code: ErrorCode) -> None:
    with ready(1) as (broker, producer):
        broker.fail(ApiKey.ADD_PARTITIONS_TO_TXN, code)
        begin(producer)
        with pytest.raises(TransactionAbortable) as failed:
            producer.commit()
        assert failed.value.code == code
        producer.abort()
        assert broker.story() == ["init-v5", "add-v3", "init-v5"]
        assert_ready_for_the_next(broker, producer)


def test_partitions_added_before_a_refused_one_are_aborted() -> None:
    with ready(1) as (broker, producer):
        broker.fail(ApiKey.ADD_PARTITIONS_TO_TXN, E.NONE, E.TOPIC_AUTHORIZATION_FAILED)
        begin(producer)
        producer.flush()
        producer.send("t", b"a", partition=1)
        with pytest.raises(TransactionAbortable):
            producer.commit()
        producer.abort()
        assert broker.story() == ["init-v5", "add-v3", "produce-v11", "add-v3", "end-v4", "init-v5"]


def test_an_addition_without_an_answer_is_aborted_by_the_next_epoch() -> None:
    with ready(1) as (broker, producer):
        broker.fail(ApiKey.ADD_PARTITIONS_TO_TXN, *[HANG_UP] * 500)
        begin(producer)
        with pytest.raises(TransactionAbortable):
            producer.flush()
        producer.abort()
        assert "end-v4" not in broker.story()
        assert broker.story()[-1] == "init-v5"
        broker.recover()
        assert_ready_for_the_next(broker, producer)


def test_a_topic_that_is_created_when_requested_is_there_before_it_is_added() -> None:
    with ready(1) as (broker, producer):
        client = producer._client
        refresh = client._refresh

        def create(topics: list[str] | None, deadline: Deadline, *, auto_create: bool = False) -> ClusterInfo:
            if auto_create and topics is not None:
                broker.topics |= dict.fromkeys(topics, 1)
            return refresh(topics, deadline, auto_create=auto_create)

        def add_what_there_is(request: AddPartitionsToTxnRequest) -> Answer:
            (topic,) = request.v3_and_below_topics
            return broker._add(request, E.NONE if topic.name in broker.topics else E.UNKNOWN_TOPIC_OR_PARTITION)

        client._refresh = create  # type: ignore[method-assign]  # because the scripted broker creates nothing
        broker.script[ApiKey.ADD_PARTITIONS_TO_TXN] = add_what_there_is
        producer.begin()
        delivery = producer.send("new", b"a", partition=0)
        producer.commit()
        assert delivery.result() == 100


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("calls_abort", [True, False])
def test_after_an_interrupt_a_transaction_is_only_aborted(level: int, calls_abort: bool) -> None:
    with ready(level) as (broker, producer):
        client = producer._client
        sleep = client.clock.sleep
        delivery = begin(producer)

        def interrupted(seconds: float) -> None:
            raise KeyboardInterrupt

        broker.fail(ApiKey.PRODUCE, E.NOT_ENOUGH_REPLICAS)
        client.clock.sleep = interrupted  # type: ignore[method-assign]  # because ^C comes while it waits
        with pytest.raises(KeyboardInterrupt):
            producer.commit()
        client.clock.sleep = sleep  # type: ignore[method-assign]  # because it came once
        assert delivery.error is not None
        if not calls_abort:
            for call in (producer.commit, producer.flush, lambda: producer.send("t", b"b")):
                with pytest.raises(TransactionAbortable, match="interrupted"):
                    call()
        producer.abort()
        assert [request.committed for request in broker.of(EndTxnRequest)] == [False]
        assert_ready_for_the_next(broker, producer)


@pytest.mark.parametrize("level", [1, 2])
def test_after_a_record_that_could_not_be_encoded_a_transaction_is_only_aborted(level: int) -> None:
    with ready(level) as (broker, producer):
        producer.begin()
        good, bad = producer.send("t", b"a", partition=0), producer.send("t", b"a", partition=1, timestamp="now")
        with pytest.raises(TransactionAbortable, match="INVALID_RECORD: t-1: a record cannot be encoded"):
            producer.flush()
        assert good.error is None
        assert bad.error is not None
        with pytest.raises(TransactionAbortable, match="a record cannot be encoded"):
            producer.commit()
        producer.abort()
        assert [request.committed for request in broker.of(EndTxnRequest)] == [False]
        assert_ready_for_the_next(broker, producer)


@pytest.mark.parametrize("level", [1, 2])
def test_after_offsets_that_could_not_be_sent_a_transaction_is_only_aborted(level: int) -> None:
    with ready(level) as (broker, producer):
        producer.begin()
        with pytest.raises(EncodeError):
            producer.send_offsets({("s", 0): "five"}, "g")  # type: ignore[dict-item]  # because it is wrong
        with pytest.raises(TransactionAbortable, match="interrupted"):
            producer.commit()
        producer.abort()
        assert_ready_for_the_next(broker, producer)


def test_send_keeps_the_errors_of_other_records_for_the_next_call() -> None:
    with ready(2) as (broker, producer):
        broker.fail(ApiKey.PRODUCE, E.INVALID_RECORD)
        producer.begin()
        deliveries: list[Delivery] = []
        while producer.state is TransactionalProducerState.OPEN:
            deliveries.append(producer.send("t", bytes(1 << 20), partition=len(deliveries) % 3))
        assert all(delivery.error for delivery in deliveries)
        for call in (producer.commit, lambda: producer.send("t", b"b")):
            with pytest.raises(TransactionAbortable, match="INVALID_RECORD"):
                call()
        producer.abort()
        assert_ready_for_the_next(broker, producer)


def test_a_record_that_is_not_bytes_is_refused_and_leaves_the_transaction_alone() -> None:
    with ready(2) as (_, producer):
        good = begin(producer)
        with pytest.raises(TypeError, match="bytes or None"):
            producer.send("t", "text", partition=0)  # type: ignore[arg-type]  # because it is wrong
        producer.commit()
        assert good.result() == 100


@pytest.mark.parametrize("failure", [E.COORDINATOR_LOAD_IN_PROGRESS, HANG_UP])
def test_an_abort_that_is_called_again_for_the_next_epoch_ends_nothing_twice(failure: ErrorCode | Answer) -> None:
    with ready(1) as (broker, producer):
        broker.fail(ApiKey.PRODUCE, E.INVALID_RECORD)
        broker.fail(ApiKey.INIT_PRODUCER_ID, *[failure] * 500)
        begin(producer)
        with pytest.raises(TransactionAbortable):
            producer.commit()
        with pytest.raises(OutcomeUnknown):
            producer.abort()
        broker.recover()
        broker.fail(ApiKey.END_TXN, E.PRODUCER_FENCED)  # as the epoch was raised, though its answer was lost
        producer.abort()
        assert len(broker.of(EndTxnRequest)) == 1
        broker.recover()
        assert_ready_for_the_next(broker, producer)


def test_where_nothing_was_added_an_abort_without_an_epoch_may_only_be_called_again() -> None:
    with ready(1) as (broker, producer):
        broker.fail(ApiKey.ADD_PARTITIONS_TO_TXN, E.TOPIC_AUTHORIZATION_FAILED)
        broker.fail(ApiKey.INIT_PRODUCER_ID, *[E.COORDINATOR_LOAD_IN_PROGRESS] * 500)
        begin(producer)
        with pytest.raises(TransactionAbortable):
            producer.flush()
        with pytest.raises(OutcomeUnknown):
            producer.abort()
        with pytest.raises(NotNow, match="an abort with an unknown outcome"):
            producer.commit()
        broker.recover()
        producer.abort()
        assert_ready_for_the_next(broker, producer)
