"""Finished batches with several requests under way: order, repetition, and what is given up."""

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from barnabas.client.client import Client
from barnabas.client.errors import ConnectionFailed
from barnabas.client.produce.batch_sender import BatchSender
from barnabas.client.produce.new_batch import NewBatch, encode
from barnabas.client.produce.partition_queue import Outcome, Report
from barnabas.client.transaction_requests import ProducerIdentity
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from barnabas.protocol.records.batch import parse_header
from barnabas.protocol.records.builder import NewRecord
from barnabas.protocol.records.record import iter_records
from barnabas.protocol.registry import ApiKey
from tests.support.scripted.answers import accepted
from tests.support.scripted.broker import HANG_UP, Answer, ScriptedBroker
from tests.support.scripted.cluster import ScriptedCluster

ME = ProducerIdentity(7, 0)
SenderFor = Callable[..., BatchSender]


class Leader(ScriptedBroker):
    """Takes batches in the order of their numbers, as a broker does, but for what a test lets fail first."""

    def __init__(self, partitions: int = 2) -> None:
        super().__init__({ApiKey.PRODUCE: self._produce}, {"t": partitions})
        self.taken: dict[int, list[bytes]] = {}
        self.failures: list[ErrorCode | Answer] = []
        """What the next requests, or the first batch in them, fail with; NONE lets one pass."""
        self.largest = 1 << 30
        self._next: dict[int, int] = {}

    def _produce(self, request: ProduceRequest) -> Answer:
        failure = self.failures.pop(0) if self.failures else ErrorCode.NONE
        if not isinstance(failure, ErrorCode):
            return failure
        answers = []
        for data in request.topic_data[0].partition_data:
            assert data.records is not None
            code = failure or self._take(data.index, bytes(data.records))
            answers.append(PartitionProduceResponse(index=data.index, error_code=code, base_offset=0))
            failure = ErrorCode.NONE
        return ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=answers)])

    def _take(self, partition: int, batch: bytes) -> ErrorCode:
        header = parse_header(batch)
        expected = self._next.get(partition, 0)
        if len(batch) > self.largest:
            return ErrorCode.MESSAGE_TOO_LARGE
        if header.base_sequence < expected:
            return ErrorCode.DUPLICATE_SEQUENCE_NUMBER
        if header.base_sequence > expected:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        self._next[partition] = header.last_sequence + 1
        self.taken.setdefault(partition, []).extend(bytes(each.value or b"") for each in iter_records(batch))
        return ErrorCode.NONE


@pytest.fixture
def leader() -> Iterator[Leader]:
    with Leader() as leader:
        yield leader


@pytest.fixture
def sender_for(leader: Leader) -> Iterator[SenderFor]:
    with Client(leader.address, timeout_ms=5_000) as client:
        client.refresh(["t"], client.deadline())
        yield lambda **options: BatchSender(client, ME, **options)


def batch(partition: int, *values: bytes) -> NewBatch:
    return encode(("t", partition), [NewRecord(None, value, (), 5) for value in values])


def numbered(partition: int, count: int) -> list[NewBatch]:
    return [batch(partition, b"%d" % number, b"%d'" % number) for number in range(count)]


def values(count: int) -> list[bytes]:
    return [each for number in range(count) for each in (b"%d" % number, b"%d'" % number)]


def send(sender: BatchSender, batches: Iterable[NewBatch]) -> None:
    for each in batches:
        sender.put(each)
    sender.flush()


@pytest.mark.parametrize("at", range(6))
@pytest.mark.parametrize(
    "failure",
    [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.CONCURRENT_TRANSACTIONS, HANG_UP],
)
def test_failed_batches_are_resent_in_order(
    leader: Leader, sender_for: SenderFor, at: int, failure: ErrorCode | Answer
) -> None:
    leader.failures = [*[ErrorCode.NONE] * at, failure]
    sender = sender_for()
    send(sender, [each for pair in zip(numbered(0, 8), numbered(1, 8), strict=True) for each in pair])
    assert leader.taken == {0: values(8), 1: values(8)}
    assert sender.next_sequences == {("t", 0): 16, ("t", 1): 16}


def test_a_batch_the_broker_has_already_counts_as_sent(leader: Leader, sender_for: SenderFor) -> None:
    """The answer was lost with the connection, so it is asked again."""
    lost = iter([True])
    produce = leader.script[ApiKey.PRODUCE]

    def forget(request: Any) -> Answer:
        answer = produce(request)
        return HANG_UP if next(lost, False) else answer

    leader.script[ApiKey.PRODUCE] = forget
    send(sender_for(), numbered(0, 3))
    assert leader.taken == {0: values(3)}
    assert leader.connections == 3  # one to look around, one that was lost, one more


def test_a_batch_that_is_too_large_goes_in_halves(leader: Leader, sender_for: SenderFor) -> None:
    leader.largest = 120
    send(sender_for(), [batch(0, *[b"%03d" % number for number in range(40)]), batch(0, b"last")])
    assert leader.taken == {0: [*[b"%03d" % number for number in range(40)], b"last"]}


def test_a_record_that_is_too_large_is_reported(leader: Leader, sender_for: SenderFor) -> None:
    leader.largest = 120
    with pytest.raises(KafkaError) as caught:
        send(sender_for(), [batch(0, b"x" * 200, b"y")])
    assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("code", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TOPIC_AUTHORIZATION_FAILED])
def test_a_lasting_error_is_reported_at_once(leader: Leader, sender_for: SenderFor, code: ErrorCode) -> None:
    leader.failures = [ErrorCode.NONE, code]
    sender = sender_for()
    with pytest.raises(KafkaError) as caught:
        send(sender, numbered(0, 3))
    assert caught.value.code is code


def test_a_gap_that_nobody_made_is_told(leader: Leader, sender_for: SenderFor) -> None:
    sender = sender_for(first_sequences={("t", 0): 5})
    with pytest.raises(KafkaError) as caught:
        send(sender, numbered(0, 1))
    assert caught.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_no_more_requests_are_under_way_than_brokers_remember(leader: Leader, sender_for: SenderFor) -> None:
    leader.failures = [None] * 100
    sender = sender_for(delivery_timeout_ms=2_000, request_bytes=1)
    with pytest.raises(ConnectionFailed, match="did not answer in time"):
        send(sender, numbered(0, 9))
    sent = [each.topic_data[0].partition_data[0].records for each in leader.of(ProduceRequest)]
    assert len({parse_header(batch).base_sequence for batch in sent}) == 5


def test_waiting_entries_are_bounded(leader: Leader, sender_for: SenderFor) -> None:
    leader.failures = [None] * 100
    sender = sender_for(delivery_timeout_ms=300, buffer_bytes=500)
    batches = iter(numbered(0, 100))
    with pytest.raises(ConnectionFailed):
        send(sender, batches)
    assert len(list(batches)) > 90


def test_partitions_are_reported_before_they_are_first_written(leader: Leader, sender_for: SenderFor) -> None:
    told: list[Any] = []
    send(sender_for(before_first=lambda places: told.append((sorted(places), len(leader.requests)))), numbered(1, 3))
    assert told == [([("t", 1)], 0)]


def test_batches_that_come_together_are_reported_at_once_and_share_a_request(
    leader: Leader, sender_for: SenderFor
) -> None:
    told: list[Any] = []
    sender = sender_for(before_first=lambda places: told.append(sorted(places)))
    sender.put_all([batch(0, b"a"), batch(1, b"b"), batch(0, b"c")])
    sender.flush()
    assert told == [[("t", 0), ("t", 1)]]
    shared = [[data.index for data in each.topic_data[0].partition_data] for each in leader.of(ProduceRequest)]
    assert shared == [[0, 1], [0]]
    assert leader.taken == {0: [b"a", b"c"], 1: [b"b"]}


def test_of_batches_that_come_together_no_more_wait_than_a_request_takes(leader: Leader, sender_for: SenderFor) -> None:
    seen: list[int] = []

    def come() -> Iterator[NewBatch]:
        for each in numbered(0, 6):
            seen.append(len(leader.of(ProduceRequest)))
            yield each

    sender = sender_for(request_bytes=1, buffer_bytes=1)
    sender.put_all(come())
    sender.flush()
    assert seen == [0, 1, 2, 3, 4, 5]
    assert leader.taken == {0: values(6)}


def test_a_request_gets_a_result_for_each_part(leader: Leader, sender_for: SenderFor) -> None:
    leader.largest = 120
    told: list[tuple[int, int, int, object]] = []

    def report_of(partition: int) -> Report:
        return lambda first, count, outcome: told.append((partition, first, count, outcome))

    sender = sender_for(max_in_flight=1)
    sender.enqueue(batch(0, b"a", b"b", b"x" * 200, b"c"), report_of(0))
    sender.enqueue(batch(1, b"d"), report_of(1))
    with pytest.raises(KafkaError) as caught:
        sender.flush()
    assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE
    assert sorted(told, key=lambda each: each[:2]) == [
        (0, 0, 2, 0),
        (0, 2, 1, caught.value),
        (0, 3, 1, caught.value),
        (1, 0, 1, 0),
    ]
    assert leader.taken == {0: [b"a", b"b"], 1: [b"d"]}


def test_a_batch_under_way_to_the_leader_before_is_judged_by_its_own_answer() -> None:
    """The leader moves while it is under way, and what follows is acknowledged first."""
    follower_has_answered = threading.Event()

    def answer_late(request: ProduceRequest) -> Answer:
        assert follower_has_answered.wait(10)
        return accepted(request)

    told: list[tuple[str, object]] = []

    def second_is_there(first: int, count: int, outcome: Outcome) -> None:
        told.append(("second", outcome))
        follower_has_answered.set()

    with ScriptedCluster({("t", 0): 1, ("t", 1): 1}) as cluster, Client(cluster.address, timeout_ms=5_000) as client:
        cluster.nodes[1].script[ApiKey.PRODUCE] = answer_late
        cluster.nodes[2].script[ApiKey.PRODUCE] = accepted
        sender = BatchSender(client, ME)
        sender.enqueue(batch(0, b"first"), lambda first, count, outcome: told.append(("first", outcome)))
        sender.put(batch(1, b"sends what waits"))
        cluster.leaders[("t", 0)] = 2
        client.forget(["t"])
        sender.enqueue(batch(0, b"second"), second_is_there)
        sender.flush()
    assert told == [("second", 100), ("first", 100)]
