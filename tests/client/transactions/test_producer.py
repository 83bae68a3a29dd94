"""The transactional producer against a scripted broker: what is retried, final, cured by an abort."""

import pytest

from barnabas.client import transaction_requests
from barnabas.client.client import Client
from barnabas.client.transaction_requests import EXPLICIT, IMPLICIT, ConsumerGroupMetadata, ProducerIdentity
from barnabas.client.transactions.errors import OutcomeUnknown, ProducerFatal, TransactionAbortable
from barnabas.client.transactions.producer import TransactionAborted, TransactionalProducer
from barnabas.client.transactions.states import NotNow, TransactionalProducerState
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from barnabas.protocol.registry import ApiKey
from tests.support.client_clock import StandingClock
from tests.support.scripted.broker import HANG_UP, Answer
from tests.support.scripted.coordinator import ScriptedCoordinator
from tests.support.scripted.transactions import begin, ready

E = ErrorCode


@pytest.mark.parametrize("level", [0, 1])
def test_the_older_protocol_adds_what_it_writes_to_and_keeps_its_epoch(level: int) -> None:
    with ready(level) as (broker, producer):
        for _ in range(2):
            begin(producer)
            producer.flush()
            producer.send("t", b"b", partition=0)
            producer.send_offsets({("s", 0): 5}, "g")
            producer.send_offsets({("s", 1): 6}, "g")
            producer.commit()
        once = ["add-v3", "produce-v11", "add-offsets-v4", "offsets-v4", "offsets-v4", "produce-v11", "end-v4"]
        assert broker.story() == ["init-v5", *once, *once]
        assert [(each.producer_epoch, each.base_sequence) for each in broker.batches()] == [
            (0, 0),
            (0, 1),
            (0, 2),
            (0, 3),
        ]
        assert all(each.is_transactional for each in broker.batches())


def test_the_newer_protocol_only_writes_and_goes_on_with_the_epoch_it_is_given() -> None:
    with ready(2) as (broker, producer):
        for _ in range(2):
            begin(producer)
            producer.send_offsets({("s", 0): 5}, ConsumerGroupMetadata("g", 3, "me", "fixed"))
            producer.commit()
        once = ["offsets-v5", "produce-v12", "end-v5"]
        assert broker.story() == ["init-v5", *once, *once]
        assert [(each.producer_epoch, each.base_sequence) for each in broker.batches()] == [(0, 0), (1, 0)]
        assert producer.identity == ProducerIdentity(7, 2)
        asked = broker.of(TxnOffsetCommitRequest)[0]
        assert (asked.generation_id_or_member_epoch, asked.member_id, asked.group_instance_id) == (3, "me", "fixed")


def test_a_level_that_changes_counts_from_the_next_transaction_on_a_new_connection() -> None:
    with ready(1) as (broker, producer):
        for level in (1, 2, 0):
            broker.transaction_version = level
            producer._client.close()
            begin(producer)
            producer.commit()
        assert [step for step in broker.story() if step.startswith("end")] == ["end-v4", "end-v5", "end-v4"]


def test_nothing_is_queried_for_a_transaction_without_content() -> None:
    with ready(2) as (broker, producer):
        for end in (producer.commit, producer.abort):
            producer.begin()
            end()
        never = begin(producer)
        producer.abort()
        assert broker.story() == ["init-v5"]
        with pytest.raises(TransactionAborted):
            never.result()


@pytest.mark.parametrize(
    ("api", "code"),
    [
        (ApiKey.INIT_PRODUCER_ID, E.CONCURRENT_TRANSACTIONS),
        (ApiKey.INIT_PRODUCER_ID, E.COORDINATOR_LOAD_IN_PROGRESS),
        (ApiKey.ADD_PARTITIONS_TO_TXN, E.CONCURRENT_TRANSACTIONS),
        (ApiKey.ADD_OFFSETS_TO_TXN, E.NOT_COORDINATOR),
        (ApiKey.TXN_OFFSET_COMMIT, E.COORDINATOR_NOT_AVAILABLE),
        (ApiKey.PRODUCE, E.NOT_ENOUGH_REPLICAS),
        (ApiKey.END_TXN, E.NOT_COORDINATOR),
        (ApiKey.END_TXN, HANG_UP),
    ],
)
def test_a_retriable_error_is_retried(api: ApiKey, code: ErrorCode | Answer) -> None:
    with ScriptedCoordinator(1) as broker, Client(broker.address, clock=StandingClock(), timeout_ms=5000) as client:
        broker.fail(api, code, code)
        producer = TransactionalProducer(client, "id")
        producer.init()
        delivery = begin(producer)
        producer.send_offsets({("s", 0): 5}, "g")
        producer.commit()
        assert delivery.result() == 100
        assert producer.state is TransactionalProducerState.READY
        names = {ApiKey.TXN_OFFSET_COMMIT: "offsets", ApiKey.ADD_OFFSETS_TO_TXN: "add-offsets"}
        name = names.get(api, api.name.split("_")[0].lower())
        assert len([step for step in broker.story() if step.rpartition("-")[0] == name]) == 3


@pytest.mark.parametrize(
    ("level", "api", "code"),
    [
        (2, ApiKey.PRODUCE, E.TRANSACTION_ABORTABLE),
        (2, ApiKey.PRODUCE, E.INVALID_PRODUCER_EPOCH),
        (2, ApiKey.PRODUCE, E.MESSAGE_TOO_LARGE),
        (1, ApiKey.TXN_OFFSET_COMMIT, E.ILLEGAL_GENERATION),
        (2, ApiKey.TXN_OFFSET_COMMIT, E.UNKNOWN_MEMBER_ID),
        (2, ApiKey.TXN_OFFSET_COMMIT, E.TRANSACTION_ABORTABLE),
        (2, ApiKey.END_TXN, E.TRANSACTION_ABORTABLE),
    ],
)
def test_an_abort_cures_what_failed_inside(level: int, api: ApiKey, code: ErrorCode) -> None:
    with ready(level) as (broker, producer):
        broker.fail(api, code)
        producer.begin()
        with pytest.raises(TransactionAbortable) as failed:
            _everything(producer)
        assert failed.value.code == code
        with pytest.raises(TransactionAbortable):
            producer.commit()
        producer.abort()
        assert [request.committed for request in broker.of(EndTxnRequest)][-1] is False
        producer.begin()
        _everything(producer)
        assert producer.state is TransactionalProducerState.READY


def test_after_a_batch_was_given_up_the_older_protocol_requests_the_next_epoch() -> None:
    with ready(1) as (broker, producer):
        broker.fail(ApiKey.PRODUCE, E.MESSAGE_TOO_LARGE)
        begin(producer)
        with pytest.raises(TransactionAbortable):
            producer.commit()
        producer.abort()
        assert broker.story() == ["init-v5", "add-v3", "produce-v11", "end-v4", "init-v5"]
        again = broker.of(InitProducerIdRequest)[-1]
        assert (again.producer_id, again.producer_epoch) == (7, 0)
        begin(producer)
        producer.commit()
        assert list(broker.batches())[-1].base_sequence == 0


@pytest.mark.parametrize("level", [1, 2])
def test_batches_behind_an_expired_one_are_not_sent(level: int) -> None:
    with ready(level) as (broker, producer):
        broker.fail(ApiKey.PRODUCE, E.INVALID_RECORD)
        producer.begin()
        deliveries = [producer.send("t", bytes(200_000), partition=0) for _ in range(3)]
        with pytest.raises(TransactionAbortable):
            producer.flush()
        assert len(list(broker.batches())) == 1
        for delivery in deliveries:
            with pytest.raises(KafkaError, match="INVALID_RECORD"):
                delivery.result()


def test_a_producer_its_coordinator_forgot_gets_an_id_instead_of_an_abort() -> None:
    with ready(1) as (broker, producer):
        broker.fail(ApiKey.TXN_OFFSET_COMMIT, E.INVALID_PRODUCER_ID_MAPPING)
        producer.begin()
        with pytest.raises(TransactionAbortable):
            producer.send_offsets({("s", 0): 5}, "g")
        producer.abort()
        assert broker.story() == ["init-v5", "add-offsets-v4", "offsets-v4", "init-v5"]


@pytest.mark.parametrize("code", [E.PRODUCER_FENCED, E.INVALID_PRODUCER_EPOCH])
@pytest.mark.parametrize("api", [ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.TXN_OFFSET_COMMIT, ApiKey.END_TXN])
def test_a_fenced_producer_is_done_for(api: ApiKey, code: ErrorCode) -> None:
    with ready(1) as (broker, producer):
        broker.fail(api, code)
        producer.begin()
        with pytest.raises(ProducerFatal) as fatal:
            _everything(producer)
        assert fatal.value.is_fenced
        asked = len(broker.requests)
        for call in (producer.commit, producer.abort, producer.begin, producer.init):
            with pytest.raises(ProducerFatal):
                call()
        assert len(broker.requests) == asked


@pytest.mark.parametrize(
    "code", [E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, E.INVALID_TRANSACTION_TIMEOUT, E.PRODUCER_FENCED]
)
def test_an_initialisation_that_is_refused_is_final(code: ErrorCode) -> None:
    with ScriptedCoordinator(2) as broker, Client(broker.address, clock=StandingClock(), timeout_ms=5000) as client:
        broker.fail(ApiKey.INIT_PRODUCER_ID, code)
        with pytest.raises(ProducerFatal):
            TransactionalProducer(client, "id").init()


def test_an_end_without_an_answer_may_be_requested_again_and_nothing_else() -> None:
    with ready(2) as (broker, producer):
        broker.fail(ApiKey.END_TXN, *[E.COORDINATOR_LOAD_IN_PROGRESS] * 500)
        begin(producer)
        with pytest.raises(OutcomeUnknown):
            producer.commit()
        for call in (producer.abort, producer.begin, lambda: producer.send("t", b"b")):
            with pytest.raises(NotNow, match="unknown outcome"):
                call()
        broker.recover()
        producer.commit()
        assert {(each.producer_epoch, each.committed) for each in broker.of(EndTxnRequest)} == {(0, True)}
        assert producer.identity == ProducerIdentity(7, 1)


def test_leaving_the_context_aborts_what_is_open() -> None:
    with ready(2) as (broker, producer):
        with producer:
            begin(producer)
            producer.flush()
        assert [request.committed for request in broker.of(EndTxnRequest)] == [False]


def test_calls_out_of_place_are_the_programs_mistake() -> None:
    with ready(2) as (_, producer):
        with pytest.raises(NotNow, match="cannot send: the producer is outside of a transaction"):
            producer.send("t", b"a")
        producer.begin()
        with pytest.raises(NotNow, match="cannot begin: the producer is in a transaction"):
            producer.begin()
        with pytest.raises(NotNow, match="cannot init"):
            producer.init()


@pytest.mark.parametrize("protocol", [EXPLICIT, IMPLICIT])
def test_one_process_ends_what_another_began(protocol: int) -> None:
    with ScriptedCoordinator(2) as broker, Client(broker.address, clock=StandingClock(), timeout_ms=5000) as client:
        after = transaction_requests.end(client, "id", ProducerIdentity(70, 3), commit=True, protocol=protocol)
        (asked,) = broker.of(EndTxnRequest)
        assert (asked.producer_id, asked.producer_epoch, asked.committed) == (70, 3, True)
        assert after == (ProducerIdentity(70, 3) if protocol == EXPLICIT else ProducerIdentity(7, 4))


def test_a_prepared_transaction_is_kept_where_two_phase_commits_are_offered() -> None:
    with ScriptedCoordinator(2) as broker, Client(broker.address, clock=StandingClock(), timeout_ms=5000) as client:
        with pytest.raises(KafkaError, match="offers no two-phase commits"):
            transaction_requests.init_producer(client, "id", timeout_ms=1, keep_prepared=True)
        broker.offered[ApiKey.INIT_PRODUCER_ID] = (0, 6)
        client.close()
        broker.script[ApiKey.INIT_PRODUCER_ID] = lambda request: InitProducerIdResponse(
            error_code=0, producer_id=8, producer_epoch=1, ongoing_txn_producer_id=7, ongoing_txn_producer_epoch=0
        )
        begun = transaction_requests.init_producer(client, "id", timeout_ms=1, enable_2pc=True, keep_prepared=True)
        assert begun == (ProducerIdentity(8, 1), ProducerIdentity(7, 0))
        assert broker.of(InitProducerIdRequest)[-1].keep_prepared_txn


def _everything(producer: TransactionalProducer) -> None:
    producer.send("t", b"a", partition=0)
    producer.flush()
    producer.send_offsets({("s", 0): 5}, "g")
    producer.commit()
