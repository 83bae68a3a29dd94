"""The producer against a scripted broker: what is retried, with which sequence numbers, and what is given up."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.errors import ConnectionFailed
from barnabas.client.produce.producer import Producer
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker, MetadataResponseTopic
from barnabas.protocol.messages.produce import BatchIndexAndErrorMessage, ProduceRequest, ProduceResponse
from barnabas.protocol.records.batch import BatchHeader, parse_header
from barnabas.protocol.records.record import BatchRecord, iter_records
from barnabas.protocol.registry import ApiKey
from tests.support.client_clock import StandingClock
from tests.support.scripted.answers import accepted
from tests.support.scripted.broker import HANG_UP, NODE_ID, Answer, Script, ScriptedBroker


def answering(*answers: Callable[[ProduceRequest], Answer]) -> Callable[[ProduceRequest], Answer]:
    """One after the other; the last one from then on."""
    remaining = list(answers)
    return lambda request: (remaining.pop(0) if len(remaining) > 1 else remaining[0])(request)


class Broker(ScriptedBroker):
    """Hands out producer ids 50, 51 and so on."""

    def __init__(self, *produce: Callable[[ProduceRequest], Answer]) -> None:
        self.next_id = 49
        script: Script = {ApiKey.PRODUCE: answering(*produce), ApiKey.INIT_PRODUCER_ID: self._new_id}
        super().__init__(script, {"t": 1, "wide": 4})

    def _new_id(self, request: InitProducerIdRequest) -> InitProducerIdResponse:
        self.next_id += 1
        return InitProducerIdResponse(error_code=0, producer_id=self.next_id, producer_epoch=0)

    def numbers(self) -> list[tuple[int, int]]:
        """(producer id, first sequence number) of every batch."""
        return [(header.producer_id, header.base_sequence) for *_, header, _ in self.batches()]

    def batches(self) -> Iterator[tuple[str, int, BatchHeader, list[BatchRecord]]]:
        """(topic, partition, header, records) of every batch that came."""
        for request in self.of(ProduceRequest):
            for topic in request.topic_data:
                for data in topic.partition_data:
                    yield topic.name, data.index, parse_header(data.records), list(iter_records(data.records))


@contextmanager
def producing(*produce: Callable[[ProduceRequest], Answer], **options: Any) -> Iterator[tuple[Broker, Producer]]:
    """A producer with these options, and a broker that answers so."""
    with Broker(*produce) as broker, client_of(broker) as client:
        yield broker, Producer(client, **options)


def client_of(broker: ScriptedBroker, timeout_ms: int = 5000) -> Client:
    return Client(broker.address, clock=StandingClock(), timeout_ms=timeout_ms)


def test_records_arrive_with_everything_they_were_given() -> None:
    with Broker(accepted) as broker, client_of(broker) as client, Producer(client) as producer:
        first = producer.send("t", b"v", key=b"k", headers=[("h", None)], timestamp=5)
        second = producer.send("t", None)
        producer.flush()
        assert (first.result(), second.result()) == (100, 101)
        ((topic, partition, header, records),) = broker.batches()
        assert (topic, partition, header.producer_id, header.base_sequence) == ("t", 0, 50, 0)
        assert [record[1:] for record in records] == [
            (5, b"k", b"v", [("h", None)]),
            (1_700_000_000_000, None, None, []),
        ]


def test_sequences_go_on_per_partition() -> None:
    with Broker(accepted) as broker, client_of(broker) as client, Producer(client) as producer:
        for partition in (0, 1, 0, 0):
            producer.send("wide", b"v", partition=partition)
            producer.flush()
        assert [(partition, header.base_sequence) for _, partition, header, _ in broker.batches()] == [
            (0, 0),
            (1, 0),
            (0, 1),
            (0, 2),
        ]
        assert len(broker.of(InitProducerIdRequest)) == 1


def test_one_request_carries_a_batch_for_every_partition() -> None:
    with Broker(accepted) as broker, client_of(broker) as client, Producer(client) as producer:
        for partition in range(4):
            producer.send("wide", b"v", partition=partition)
        producer.flush()
        assert len(broker.of(ProduceRequest)) == 1


@pytest.mark.parametrize("error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.REQUEST_TIMED_OUT])
def test_a_retriable_error_resends_the_same_bytes(error: ErrorCode) -> None:
    with (
        Broker(lambda request: accepted(request, error), lambda request: HANG_UP, accepted) as broker,
        client_of(broker) as client,
        Producer(client) as producer,
    ):
        delivery = producer.send("t", b"v")
        producer.flush()
        assert delivery.result() == 100
        sent = [bytes(request.topic_data[0].partition_data[0].records) for request in broker.of(ProduceRequest)]
        assert len(sent) == 3
        assert sent[0] == sent[1] == sent[2]
        assert broker.connections == 3  # one to look around, one that was lost, one more


def test_after_a_batch_was_refused_a_new_producer_id_starts_from_zero() -> None:
    refused = answering(lambda request: accepted(request, ErrorCode.MESSAGE_TOO_LARGE, "1 is too many"))
    with Broker(refused, accepted) as broker, client_of(broker) as client, Producer(client) as producer:
        lost = producer.send("t", b"v")
        with pytest.raises(KafkaError, match="MESSAGE_TOO_LARGE: t-0: 1 is too many"):
            producer.flush()
        with pytest.raises(KafkaError, match="MESSAGE_TOO_LARGE"):
            lost.result()
        assert producer.send("t", b"v").error is None
        producer.flush()
        assert broker.numbers() == [(50, 0), (51, 0)]


def test_the_reasons_of_single_records_are_reported() -> None:
    def refuse(request: ProduceRequest) -> ProduceResponse:
        response = accepted(request, ErrorCode.INVALID_RECORD)
        response.responses[0].partition_responses[0].record_errors = [
            BatchIndexAndErrorMessage(batch_index=0, batch_index_error_message="no key")
        ]
        return response

    with producing(refuse) as (_, producer):
        producer.send("t", b"v")
        with pytest.raises(KafkaError, match="INVALID_RECORD: t-0: no key"):
            producer.flush()


def test_a_lasting_error_is_given_up_at_the_deadline() -> None:
    with (
        Broker(lambda request: accepted(request, ErrorCode.NOT_ENOUGH_REPLICAS)) as broker,
        client_of(broker) as client,
    ):
        producer = Producer(client, delivery_timeout_ms=5_000)
        delivery = producer.send("t", b"v")
        with pytest.raises(KafkaError, match="NOT_ENOUGH_REPLICAS"):
            producer.flush()
        assert isinstance(delivery.error, KafkaError)
        assert len(broker.of(ProduceRequest)) > 3


def test_at_the_deadline_the_reason_is_reported_and_not_that_there_was_no_time_for_another_answer() -> None:
    def refuse_in_time(request: ProduceRequest) -> Answer:
        return accepted(request, ErrorCode.NOT_ENOUGH_REPLICAS) if client.clock.monotonic() < 0.4 else None

    with Broker(refuse_in_time) as broker, client_of(broker) as client:
        producer = Producer(client, delivery_timeout_ms=500)
        producer.send("t", b"v")
        with pytest.raises(KafkaError, match="NOT_ENOUGH_REPLICAS"):
            producer.flush()


def test_a_partition_that_fails_does_not_hold_up_the_others() -> None:
    def refuse_partition_1(request: ProduceRequest) -> ProduceResponse:
        response = accepted(request)
        for answer in response.responses[0].partition_responses:
            answer.error_code = ErrorCode.INVALID_RECORD if answer.index == 1 else 0
        return response

    with producing(refuse_partition_1) as (_, producer):
        deliveries = [producer.send("wide", b"v", partition=partition) for partition in range(3)]
        with pytest.raises(KafkaError, match="wide-1"):
            producer.flush()
        assert [delivery.offset for delivery in deliveries] == [100, None, 100]


def test_batches_behind_a_refused_one_are_sent_under_a_new_producer_id() -> None:
    refused = answering(lambda request: accepted(request, ErrorCode.INVALID_RECORD), accepted)
    with producing(refused, batch_bytes=200) as (broker, producer):
        deliveries = [producer.send("t", bytes(100)) for _ in range(3)]
        with pytest.raises(KafkaError, match="INVALID_RECORD"):
            producer.flush()
        assert [delivery.offset for delivery in deliveries] == [None, 100, 100]
        assert broker.numbers() == [(50, 0), (51, 0), (51, 1)]


def refuse_above(size: int) -> Callable[[ProduceRequest], ProduceResponse]:
    """As a topic with that max.message.bytes does."""

    def produce(request: ProduceRequest) -> ProduceResponse:
        is_too_large = any(len(data.records or b"") > size for data in request.topic_data[0].partition_data)
        return accepted(request, ErrorCode.MESSAGE_TOO_LARGE if is_too_large else ErrorCode.NONE)

    return produce


@pytest.mark.parametrize("idempotent", [True, False])
def test_a_batch_that_is_larger_than_the_topic_takes_goes_in_parts(idempotent: bool) -> None:
    with producing(refuse_above(400), idempotent=idempotent) as (broker, producer):
        deliveries = [producer.send("t", bytes(100)) for _ in range(8)]
        producer.flush()
        assert [delivery.offset for delivery in deliveries] == [100, 101] * 4
        taken = [header for *_, header, _ in broker.batches() if header.size_in_bytes <= 400]
        assert [header.base_sequence for header in taken] == ([0, 2, 4, 6] if idempotent else [-1] * 4)


def test_of_a_batch_that_goes_in_parts_only_what_is_behind_the_lost_record_is_lost_with_it() -> None:
    with producing(refuse_above(400)) as (_, producer):
        deliveries = [producer.send("t", bytes(size)) for size in (100, 100, 1000, 100)]
        with pytest.raises(KafkaError, match="MESSAGE_TOO_LARGE"):
            producer.flush()
        assert [delivery.offset for delivery in deliveries] == [100, 101, None, None]
        assert all(isinstance(delivery.error, KafkaError) for delivery in deliveries[2:])


def test_a_partition_without_access_is_reported_at_once_and_blocks_no_other_client() -> None:
    """Whatever a look-up of the leader answers that does not pass is no reason to ask until the deadline."""
    with Broker(accepted) as broker, client_of(broker) as client:
        client.refresh(["t"], client.deadline())
        broker.script[ApiKey.METADATA] = lambda request: MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=NODE_ID, host="127.0.0.1", port=broker.port)],
            topics=[
                MetadataResponseTopic(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, name=topic.name, partitions=[])
                for topic in request.topics or ()
            ],
        )
        producer = Producer(client)
        allowed, refused = producer.send("t", b"v", partition=0), producer.send("wide", b"v", partition=0)
        with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED"):
            producer.flush()
        assert allowed.result() == 100
        assert isinstance(refused.error, KafkaError)


def test_two_producers_of_one_client_go_on_after_a_lost_connection() -> None:
    with Broker(accepted, accepted, lambda request: HANG_UP, accepted) as broker, client_of(broker) as client:
        first, second = Producer(client), Producer(client)
        for producer in (first, second, first, second):
            producer.send("t", b"v")
            producer.flush()
        assert broker.numbers() == [(50, 0), (51, 0), (50, 1), (50, 1), (51, 1)]


def test_after_an_interrupt_the_next_records_come_under_a_new_producer_id() -> None:
    with Broker(accepted) as broker, client_of(broker) as client:
        producer = Producer(client)
        before = producer.send("t", b"v")
        sleep = client.clock.sleep

        def interrupted(seconds: float) -> None:
            raise KeyboardInterrupt

        broker.script[ApiKey.PRODUCE] = lambda request: accepted(request, ErrorCode.NOT_ENOUGH_REPLICAS)
        client.clock.sleep = interrupted  # type: ignore[method-assign]  # because ^C comes while it waits
        with pytest.raises(KeyboardInterrupt):
            producer.flush()
        with pytest.raises(ConnectionFailed, match="interrupted"):
            before.result()
        client.clock.sleep = sleep  # type: ignore[method-assign]  # because it came once
        broker.script[ApiKey.PRODUCE] = accepted
        after = producer.send("t", b"after")
        producer.flush()
        assert after.result() == 100
        assert broker.numbers() == [(50, 0), (51, 0)]


def test_an_interrupt_before_there_is_a_producer_id_is_told_to_the_records() -> None:
    with Broker(accepted) as broker, client_of(broker) as client:
        producer = Producer(client)
        lost = producer.send("t", b"v")
        ask_any = client.ask_any

        def interrupted(request: Request, deadline: Deadline | None = None) -> None:
            raise KeyboardInterrupt

        client.ask_any = interrupted  # type: ignore[method-assign]  # because ^C comes while an id is asked for
        with pytest.raises(KeyboardInterrupt):
            producer.flush()
        client.ask_any = ask_any  # type: ignore[method-assign]  # because it came once
        assert isinstance(lost.error, ConnectionFailed)
        producer.flush()
        assert list(broker.batches()) == []


@pytest.mark.parametrize("timestamp", ["now", 1 << 70, -(1 << 63) - 1])
def test_a_record_that_cannot_be_encoded_is_lost_alone(timestamp: Any) -> None:
    with producing(accepted) as (broker, producer):
        good = [producer.send("wide", b"v", partition=partition) for partition in (0, 1)]
        bad = [producer.send("wide", b"bad", partition=partition, timestamp=timestamp) for partition in (1, 2)]
        good.append(producer.send("wide", b"w", partition=1))
        with pytest.raises(KafkaError, match="INVALID_RECORD: wide-1: a record cannot be encoded") as caught:
            producer.flush()
        assert [delivery.result() for delivery in good] == [100, 100, 101]
        assert bad[0].error is caught.value
        assert isinstance(bad[1].error, KafkaError)
        after = producer.send("wide", b"after", partition=1)
        producer.flush()
        assert (after.result(), broker.next_id) == (100, 50)
        assert [each.base_sequence for *_, each, _ in broker.batches()] == [0, 0, 2]


@pytest.mark.parametrize(
    "record",
    [
        {"value": "text"},
        {"value": b"v", "key": 5},
        {"value": b"v", "headers": [("h", "text")]},
        {"value": b"v", "headers": [(b"h", b"bytes")]},
    ],
)
def test_a_value_of_another_type_is_refused_and_the_others_are_unaffected(record: dict[str, Any]) -> None:
    with producing(accepted) as (_, producer):
        good = producer.send("t", b"v")
        with pytest.raises(TypeError, match="bytes or None"):
            producer.send("t", **record)
        producer.flush()
        assert good.result() == 100


def test_a_partition_missing_from_the_answer_is_an_error() -> None:
    with producing(lambda request: ProduceResponse(responses=[])) as (_, producer):
        producer.send("t", b"v")
        with pytest.raises(KafkaError, match="t-0 is missing from the answer"):
            producer.flush()


def test_acks_0_requests_nothing_back() -> None:
    with producing(lambda request: None, acks=0) as (broker, producer):
        delivery = producer.send("t", b"v")
        producer.flush()
        assert delivery.result() == -1
        broker.await_arrival(ProduceRequest)
        ((*_, header, _),) = broker.batches()
        assert not header.has_producer_id


def test_an_unknown_topic_is_requested_until_it_is_there() -> None:
    with Broker(accepted) as broker, client_of(broker) as client, Producer(client) as producer:
        del broker.topics["t"]
        clock = client.clock
        sleep = clock.sleep

        def create_then_sleep(seconds: float) -> None:
            broker.topics["t"] = 1
            sleep(seconds)

        clock.sleep = create_then_sleep  # type: ignore[method-assign]  # because the broker acts while we wait
        producer.send("t", b"v")
        producer.flush()
        assert len(list(broker.batches())) == 1


def test_an_unknown_topic_is_an_error_in_the_end() -> None:
    with Broker(accepted) as broker, client_of(broker, timeout_ms=5_000) as client:
        producer = Producer(client)
        with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION: topic 'gone'"):
            producer.send("gone", b"v")


def test_much_data_is_sent_without_a_flush() -> None:
    with Broker(accepted) as broker, client_of(broker) as client, Producer(client) as producer:
        for _ in range(5):
            producer.send("wide", bytes(1 << 20))
        assert len(list(broker.batches())) > 0


def test_send_raises_no_errors_of_other_records_and_flush_does() -> None:
    refused = answering(lambda request: accepted(request, ErrorCode.INVALID_RECORD), accepted)
    with producing(refused) as (broker, producer):
        lost = producer.send("wide", b"v", partition=0)
        while not list(broker.batches()):
            producer.send("t", bytes(1 << 20))
        assert isinstance(lost.error, KafkaError)
        assert producer.failure is lost.error
        with pytest.raises(KafkaError, match="INVALID_RECORD"):
            producer.flush()
        assert producer.failure is None
        after = producer.send("t", b"after")
        producer.flush()
        assert after.result() == 100


def test_only_known_acks_are_taken() -> None:
    with pytest.raises(ValueError, match="acks"):
        Producer(Client("127.0.0.1:1"), acks=2)
