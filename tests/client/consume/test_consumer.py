"""The consumer against two scripted leaders: what is handed out, and what is told, where one of them fails."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import pytest

from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.connections.connection import BrokerConnection
from barnabas.client.consume.consumer import FAILED_LEADER_MS, Consumer
from barnabas.client.errors import ConnectionFailed
from barnabas.client.metadata import TopicPartition
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages import list_offsets
from barnabas.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.registry import ApiKey
from tests.support.client_clock import StandingClock
from tests.support.scripted.broker import HANG_UP, Answer
from tests.support.scripted.cluster import NO_LEADER, ScriptedCluster

E = ErrorCode
A, B, GONE = ("a", 0), ("b", 0), ("gone", 0)
TIMEOUT_MS = 5000
ANSWERS_IN_S = 0.05
SHORT_MS = 1_000


class Leaders(ScriptedCluster):
    """Node 1 leads topic a, node 2 topic b. An answer brings one record of each partition, without end."""

    def __init__(self) -> None:
        super().__init__({A: 1, B: 2})
        self.errors: dict[TopicPartition, ErrorCode] = {}
        self.quiet: set[TopicPartition] = set()
        self.hang_ups = 0
        """How many Fetch requests node 2 does not answer."""
        self.silent: set[ApiKey] = set()
        """What node 1 does not answer; node 2 takes its time then."""
        self.asked: list[int] = []
        """The nodes that Fetch requests came to."""
        for number, node in self.nodes.items():
            node.script[ApiKey.FETCH] = partial(self._fetch, number)
            node.script[ApiKey.LIST_OFFSETS] = partial(self._offsets, number)

    def _is_silent(self, node: int, api: ApiKey) -> bool:
        if node == 2 and self.silent:
            threading.Event().wait(ANSWERS_IN_S)
        return node == 1 and api in self.silent

    def _fetch(self, node: int, request: FetchRequest) -> Answer:
        self.asked.append(node)
        if self._is_silent(node, ApiKey.FETCH):
            return None
        if node == 2 and self.hang_ups:
            self.hang_ups -= 1
            return HANG_UP
        return FetchResponse(
            responses=[
                FetchableTopicResponse(
                    topic=topic.topic,
                    partitions=[
                        self._partition((topic.topic, each.partition), each.fetch_offset, node)
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    def _partition(self, where: TopicPartition, offset: int, node: int) -> PartitionData:
        code = self.errors.get(where, E.NONE) if self.leaders[where] == node else E.NOT_LEADER_OR_FOLLOWER
        value = b"%s%d" % (where[0].encode(), offset)
        has_records = not code and where not in self.quiet
        return PartitionData(
            partition_index=where[1],
            error_code=code,
            high_watermark=1 << 40,
            aborted_transactions=None,
            records=build_batch([NewRecord(None, value, (), 0)], base_offset=offset) if has_records else None,
        )

    def _offsets(self, node: int, request: list_offsets.ListOffsetsRequest) -> Answer:
        if self._is_silent(node, ApiKey.LIST_OFFSETS):
            return None
        return list_offsets.ListOffsetsResponse(
            topics=[
                list_offsets.ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[
                        list_offsets.ListOffsetsPartitionResponse(
                            partition_index=each.partition_index, error_code=0, offset=7
                        )
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )


@pytest.fixture
def leaders() -> Iterator[Leaders]:
    with Leaders() as leaders:
        yield leaders


@contextmanager
def reading(
    leaders: Leaders, positions: dict[TopicPartition, int | None] | None = None, **options: Any
) -> Iterator[tuple[Client, Consumer]]:
    """A consumer of both partitions, from their beginning."""
    with Client(leaders.address, clock=StandingClock(), timeout_ms=TIMEOUT_MS) as client:
        consumer = Consumer(client, **options)
        consumer.assign(positions or {A: 0, B: 0})
        yield client, consumer


def values(consumer: Consumer, polls: int = 1) -> list[bytes | None]:
    return [each.record.value for _ in range(polls) for each in consumer.poll(0)]


def of(topic: str, found: Iterable[bytes | None]) -> list[bytes]:
    return [value for value in found if value is not None and value.startswith(topic.encode())]


def test_records_of_one_leader_are_returned_despite_a_failing_second_one(leaders: Leaders) -> None:
    leaders.hang_ups = 1
    with reading(leaders) as (_, consumer):
        found = values(consumer, 3)
        assert of("a", found) == [b"a0", b"a1", b"a2"]
        assert of("b", found) == [b"b0", b"b1"]


def test_a_leader_that_is_silent_takes_no_time_from_the_others_and_is_queried_after_them(leaders: Leaders) -> None:
    leaders.silent = {ApiKey.FETCH}
    with Client(leaders.address, timeout_ms=SHORT_MS) as client:
        consumer = Consumer(client)
        consumer.assign({A: 0, B: 0})
        assert values(consumer, 2) == [b"b0", b"b1"]
        assert leaders.asked == [1, 2, 2, 1]
        leaders.silent.clear()
        consumer.assign(consumer.positions)
        assert sorted(filter(None, values(consumer))) == [b"a0", b"b2"]


def test_where_the_offsets_of_one_leader_are_not_found_those_of_the_others_are(leaders: Leaders) -> None:
    leaders.silent = {ApiKey.LIST_OFFSETS}
    with Client(leaders.address, timeout_ms=SHORT_MS) as client:
        consumer = Consumer(client)
        consumer.assign([A, B])
        assert values(consumer, 2) == [b"b7", b"b8"]
        assert consumer.positions == {A: None, B: 9}


@pytest.mark.parametrize("is_read", [False, True])
def test_a_leader_that_failed_is_waited_for_shortly_where_others_are_read(leaders: Leaders, is_read: bool) -> None:
    leaders.errors[B] = E.CORRUPT_MESSAGE
    with reading(leaders, {A: 0, B: 0} if is_read else {B: 0}) as (client, consumer):
        noted = notes_of_patience(client)
        for _ in range(2 if is_read else 1):
            with suppress(KafkaError):  # only the timeouts matter here
                consumer.poll(0)
        given = [timeout_ms for node, timeout_ms in noted if node == 2]
        assert given[0] == TIMEOUT_MS
        assert set(given[1:]) == {FAILED_LEADER_MS if is_read else TIMEOUT_MS}


def test_a_leader_that_still_fails_after_that_was_told_is_waited_for_shortly(leaders: Leaders) -> None:
    leaders.errors[B] = E.CORRUPT_MESSAGE
    with reading(leaders, {B: 0, A: 0}) as (client, consumer):
        values(consumer)
        client.clock.sleep(TIMEOUT_MS / 1000)
        values(consumer)
        with pytest.raises(KafkaError, match="CORRUPT_MESSAGE: b-0"):
            consumer.poll(0)
        given = notes_of_patience(client)
        assert values(consumer) == [b"a2"]
        assert given == [(1, TIMEOUT_MS), (2, FAILED_LEADER_MS)]


@pytest.mark.parametrize("offset", [0, None])
def test_silent_leaders_do_not_add_up_and_have_their_turns(leaders: Leaders, offset: int | None) -> None:
    with reading(leaders, {A: offset, B: offset}) as (client, consumer):
        given = notes_of_patience(client, is_silent=True)
        for turn in ([1, 2], [2, 1], [1, 2]):
            given.clear()
            with pytest.raises(KafkaError, match="is silent"):
                consumer.poll(0)
            assert given[:2] == [(turn[0], TIMEOUT_MS), (turn[1], FAILED_LEADER_MS)]


def notes_of_patience(client: Client, *, is_silent: bool = False) -> list[tuple[int, int]]:
    """Each node that is asked from now on, and for how many ms it is waited for: in vain, if all are silent."""
    given: list[tuple[int, int]] = []
    node = client.node

    def noted(node_id: int, deadline: Deadline, purpose: str = "") -> BrokerConnection:
        given.append((node_id, round(deadline.left_s * 1000)))
        if is_silent:
            client.clock.sleep(deadline.left_s + 0.001)
            raise ConnectionFailed(f"node {node_id} is silent")
        return node(node_id, deadline, purpose)

    client.node = noted  # type: ignore[method-assign]  # because nothing else shows it
    return given


def test_an_interrupt_between_two_leaders_loses_nothing(leaders: Leaders) -> None:
    with reading(leaders) as (client, consumer):
        values(consumer)
        node = client.node

        def interrupted(node_id: int, deadline: Deadline, purpose: str = "") -> BrokerConnection:
            if node_id == 2:
                raise KeyboardInterrupt
            return node(node_id, deadline, purpose)

        client.node = interrupted  # type: ignore[method-assign]  # because ^C comes between the two leaders
        with pytest.raises(KeyboardInterrupt):
            consumer.poll(0)
        assert consumer.positions == {A: 1, B: 1}
        client.node = node  # type: ignore[method-assign]  # because it came once
        assert sorted(filter(None, values(consumer))) == [b"a1", b"b1"]


def test_a_partition_that_moved_is_found_again_though_another_always_brings_records(leaders: Leaders) -> None:
    with reading(leaders) as (_, consumer):
        values(consumer)
        leaders.leaders[B] = 1
        assert of("b", values(consumer, 2)) == [b"b1"]


@pytest.mark.parametrize("code", [E.TOPIC_AUTHORIZATION_FAILED, E.INVALID_TOPIC_EXCEPTION])
def test_a_lasting_error_beside_records_is_raised_by_the_next_poll(leaders: Leaders, code: ErrorCode) -> None:
    leaders.errors[B] = code
    with reading(leaders) as (_, consumer):
        assert values(consumer) == [b"a0"]
        with pytest.raises(KafkaError, match=f"{code.name}: b-0"):
            consumer.poll(0)
        assert values(consumer) == [b"a1"]


def test_a_persisting_retriable_error_is_reported_beside_records(leaders: Leaders) -> None:
    leaders.errors[B] = E.CORRUPT_MESSAGE
    with reading(leaders) as (client, consumer):
        assert values(consumer, 3) == [b"a0", b"a1", b"a2"]
        client.clock.sleep(TIMEOUT_MS / 1000)
        assert values(consumer) == [b"a3"]
        with pytest.raises(KafkaError, match="CORRUPT_MESSAGE: b-0"):
            consumer.poll(0)
        assert values(consumer, 2) == [b"a4", b"a5"]


def test_without_a_reset_a_partition_without_an_offset_is_reported_and_blocks_no_other_client(leaders: Leaders) -> None:
    with reading(leaders, {A: 0, B: None}, auto_offset_reset="none") as (_, consumer):
        assert values(consumer) == [b"a0"]
        with pytest.raises(KafkaError, match="b-0 has no such offset, and there is no reset policy"):
            consumer.poll(0)
        assert values(consumer) == [b"a1"]


@pytest.mark.parametrize("offset", [0, None])
@pytest.mark.parametrize("missing", [B, GONE])
def test_a_partition_without_a_leader_does_not_hold_up_the_others(
    leaders: Leaders, missing: TopicPartition, offset: int | None
) -> None:
    leaders.leaders[B] = NO_LEADER
    with reading(leaders, {missing: offset, A: 0}) as (client, consumer):
        assert values(consumer, 3) == [b"a0", b"a1", b"a2"]
        assert client.clock.monotonic() == 0, "and nothing was waited for"


def test_a_partition_without_a_leader_is_reported_where_nothing_else_comes(leaders: Leaders) -> None:
    leaders.leaders[B] = NO_LEADER
    leaders.quiet = {A}
    with reading(leaders) as (_, consumer):
        with pytest.raises(KafkaError, match="b-0 has no leader"):
            consumer.poll(0)
        leaders.leaders[B] = 2
        assert values(consumer) == [b"b0"]


def test_an_offset_that_is_out_of_range_is_reset(leaders: Leaders) -> None:
    leaders.errors[B] = E.OFFSET_OUT_OF_RANGE
    with reading(leaders) as (_, consumer):
        assert values(consumer) == [b"a0"]
        assert consumer.positions == {A: 1, B: None}
        leaders.errors.clear()
        assert of("b", values(consumer)) == [b"b7"]
        assert consumer.position(B) == 8


def test_a_new_assignment_owes_no_failure_of_the_one_before(leaders: Leaders) -> None:
    leaders.errors[B] = E.TOPIC_AUTHORIZATION_FAILED
    with reading(leaders) as (_, consumer):
        values(consumer)
        consumer.assign({A: 0})
        assert values(consumer) == [b"a0"]


def test_truncated_batches_come_with_the_next_poll(leaders: Leaders) -> None:
    with reading(leaders) as (_, consumer):
        found = [each.record.value for _ in range(4) for each in consumer.poll(0, max_records=1)]
        assert found == [b"a0", b"a1", b"a2", b"a3"]
        assert consumer.positions == {A: 4, B: 0}
