"""A range of offsets, fetched through every trouble, from a broker that says what the test tells it to."""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import chain, repeat
from typing import Any

import pytest

from barnabas.client.client import Client
from barnabas.client.consume.decoding import Aborted
from barnabas.client.offsets import READ_COMMITTED, READ_UNCOMMITTED
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages import fetch
from barnabas.protocol.records.builder import build_batch
from barnabas.protocol.registry import ApiKey
from pyspark_barnabas.source.errors import SourceError
from pyspark_barnabas.source.fetching import FetchedBatches, Fetcher, Unfinished
from pyspark_barnabas.source.ranges import OffsetRange
from tests.support.client_clock import StandingClock
from tests.support.scripted.broker import HANG_UP, ScriptedBroker
from tests.support.waiting import until

END = 100


def batch(base_offset: int, records: int = 10) -> bytes:
    return bytes(build_batch([(None, b"v", (), 7)] * records, base_offset=base_offset))


def data(records: bytes = b"", *, error: int = 0, **fields: Any) -> fetch.FetchResponse:
    """An answer about t-0, which ends at END."""
    told: dict[str, Any] = {"high_watermark": END, "last_stable_offset": END, "aborted_transactions": None} | fields
    found = fetch.PartitionData(partition_index=0, error_code=error, **told, records=records)
    return fetch.FetchResponse(responses=[fetch.FetchableTopicResponse(topic="t", partitions=[found])])


def in_tens(request: fetch.FetchRequest) -> fetch.FetchResponse:
    """The batch of ten at the offset that is asked for."""
    offset = request.topics[0].partitions[0].fetch_offset
    return data(batch(offset // 10 * 10) if offset < END else b"")


@contextmanager
def fetching(
    answer: Callable[[fetch.FetchRequest], object],
    start: int = 0,
    end: int = END,
    isolation: int = READ_COMMITTED,
    patience_ms: int = 60_000,
) -> Iterator[tuple[ScriptedBroker, Fetcher]]:
    with (
        ScriptedBroker({ApiKey.FETCH: answer}, {"t": 1}) as broker,  # type: ignore[dict-item]  # because tests answer with anything
        Client(broker.address, timeout_ms=5000, clock=StandingClock()) as client,
    ):
        wanted = OffsetRange("t", 0, start, end)
        yield broker, Fetcher(client, wanted, isolation=isolation, fetch_bytes=1 << 20, patience_ms=patience_ms)


def offsets(answers: Iterator[FetchedBatches]) -> list[int]:
    """Where the batches that came begin."""
    return [header.base_offset for answer in answers for header, _ in answer.batches]


def in_turn(*answers: object) -> Callable[[fetch.FetchRequest], object]:
    """These, and from then on batches of ten."""
    script = chain(answers, repeat(in_tens))

    def answer(request: fetch.FetchRequest) -> object:
        chosen = next(script)
        return chosen(request) if callable(chosen) else chosen

    return answer


def test_a_range_is_read_from_the_batch_that_holds_its_first_offset_to_the_one_with_its_last() -> None:
    with fetching(in_tens, start=25, end=61) as (broker, fetcher):
        assert offsets(fetcher.answers()) == [20, 30, 40, 50, 60]
        assert [request.topics[0].partitions[0].fetch_offset for request in broker.of(fetch.FetchRequest)] == [
            25,
            30,
            40,
            50,
            60,
        ]


def test_the_next_request_is_under_way_while_an_answer_is_looked_at() -> None:
    with fetching(in_tens) as (broker, fetcher):
        answers = fetcher.answers()
        next(answers)
        until(lambda: len(broker.of(fetch.FetchRequest)) == 2)
        assert isinstance(answers, Generator)
        answers.close()


def test_an_aborted_call_leaves_no_response_to_the_next() -> None:
    with fetching(in_tens) as (_, fetcher):
        answers = fetcher.answers()
        next(answers)
        assert isinstance(answers, Generator)
        answers.close()
        fetcher.position = 90
        assert offsets(fetcher.answers()) == [90]


def test_offsets_without_records_are_passed_over() -> None:
    """Behind a batch that compaction has emptied at its end, and over a hole between two batches."""
    with fetching(in_turn(data(batch(0, 3) + batch(40)), data(batch(95, 9))), end=97) as (_, fetcher):
        assert offsets(fetcher.answers()) == [0, 40, 95]


def test_aborted_transactions_are_passed_on_in_read_committed_only() -> None:
    told = data(batch(0), aborted_transactions=[fetch.AbortedTransaction(producer_id=5, first_offset=3)])
    with fetching(in_turn(told), end=10) as (_, fetcher):
        assert [answer.aborted for answer in fetcher.answers()] == [[Aborted(5, 3)]]
    with fetching(in_turn(told), end=10, isolation=READ_UNCOMMITTED) as (broker, fetcher):
        assert [answer.aborted for answer in fetcher.answers()] == [None]
        assert broker.of(fetch.FetchRequest)[0].isolation_level == READ_UNCOMMITTED


@pytest.mark.parametrize(
    "trouble",
    [
        data(error=ErrorCode.NOT_LEADER_OR_FOLLOWER),
        data(error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        data(error=ErrorCode.KAFKA_STORAGE_ERROR),
        data(),
        HANG_UP,
    ],
)
def test_temporary_errors_are_waited_out(trouble: object) -> None:
    with fetching(in_turn(in_tens, trouble, trouble, in_tens, trouble)) as (_, fetcher):
        assert offsets(fetcher.answers()) == list(range(0, END, 10))


def test_an_answer_that_only_goes_back_is_no_progress() -> None:
    with fetching(in_turn(data(batch(0)), data(batch(0)), data(batch(0)))) as (_, fetcher):
        assert offsets(fetcher.answers()) == list(range(0, END, 10))


def test_a_batch_that_does_not_fit_is_requested_with_more_room() -> None:
    whole = batch(0, 100)
    with fetching(in_turn(data(whole[:500]), data(whole[:-1]), data(whole))) as (broker, fetcher):
        assert offsets(fetcher.answers()) == [0]
        sizes = [request.topics[0].partitions[0].partition_max_bytes for request in broker.of(fetch.FetchRequest)]
        assert sizes == [1 << 20, 1 << 21, 1 << 22]


def test_no_more_is_requested_than_is_left_of_the_range() -> None:
    with fetching(in_tens, end=30) as (broker, fetcher):
        list(fetcher.answers())
        sizes = [request.topics[0].partitions[0].partition_max_bytes for request in broker.of(fetch.FetchRequest)]
        assert sizes[0] == 1 << 20
        assert all(size < 1 << 17 for size in sizes[1:])


def test_an_end_that_does_not_come_is_reported_with_what_there_is() -> None:
    with (
        fetching(in_turn(data(last_stable_offset=40)), start=40, patience_ms=0) as (_, fetcher),
        pytest.raises(Unfinished, match=r"t-0 was to be read up to 100, but ends at 40 \(an open transaction"),
    ):
        list(fetcher.answers())


def test_offsets_that_are_gone_are_reported_at_once() -> None:
    with fetching(in_turn(in_tens, data(error=ErrorCode.OFFSET_OUT_OF_RANGE))) as (_, fetcher):
        with pytest.raises(KafkaError) as caught:
            list(fetcher.answers())
        assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
        assert fetcher.position == 10


def test_a_partition_that_stays_unknown_is_given_up_long_before_the_patience_ends() -> None:
    unknown = data(error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    with fetching(in_turn(*repeat(unknown, 10_000))) as (broker, fetcher):
        with pytest.raises(KafkaError) as caught:
            list(fetcher.answers())
        assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert len(broker.of(fetch.FetchRequest)) < 20


def test_damaged_framing_is_a_sentence() -> None:
    damaged = bytearray(batch(0))
    damaged[16] = 77
    with (
        fetching(in_turn(data(bytes(damaged)))) as (_, fetcher),
        pytest.raises(SourceError, match="t-0 is damaged after offset 0: batch at 0: magic byte 77"),
    ):
        list(fetcher.answers())


def test_an_error_that_stays_is_the_brokers_own() -> None:
    with fetching(in_turn(data(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED))) as (_, fetcher):
        with pytest.raises(KafkaError) as caught:
            list(fetcher.answers())
        assert caught.value.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED
