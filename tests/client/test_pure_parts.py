"""The parts of the client that touch no socket."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.client.addresses import Address, parse_addresses
from barnabas.client.clock import Deadline
from barnabas.client.connections.retries import backoffs_ms, retry
from barnabas.client.connections.versions import ApiVersionRange, choose_version
from barnabas.client.consume.assignors import (
    assigned_partitions,
    encode_assignment,
    encode_subscription,
    range_assignment,
    subscribed_topics,
)
from barnabas.client.errors import ConnectionFailed, UnsupportedByBroker, raise_for
from barnabas.client.metadata import NOTHING_KNOWN, ClusterInfo, PartitionInfo, TopicInfo
from barnabas.client.produce.batching import Batches, Delivery, record_size
from barnabas.client.produce.partitioner import KeylessPartitioner, murmur2, partition_for_key
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.registry import ApiKey
from tests.support.client_clock import StandingClock

# --- addresses ---


def test_addresses_are_read_as_people_write_them() -> None:
    assert parse_addresses("a:1, b:2 ,[::1]:3,c") == [("a", 1), ("b", 2), ("::1", 3), ("c", 9092)]
    assert parse_addresses("[fe80::1]") == [("fe80::1", 9092)]
    assert [str(address) for address in (Address("h", 1), Address("::1", 2))] == ["h:1", "[::1]:2"]


@pytest.mark.parametrize("text", ["", " , ", ":9092", "h:x", "h:70000", "::1", "[::1", "[::1]x", "h:-1", "h:²"])
def test_an_invalid_address_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match="broker address"):
        parse_addresses(text)


# --- versions ---


def test_the_highest_common_version_is_chosen() -> None:
    assert choose_version(ApiKey.METADATA, {ApiKey.METADATA: ApiVersionRange(0, 5)}) == 5
    assert choose_version(ApiKey.METADATA, {ApiKey.METADATA: ApiVersionRange(0, 99)}) == 13


def test_topics_by_id_alone_are_not_spoken() -> None:
    assert choose_version(ApiKey.FETCH, {ApiKey.FETCH: ApiVersionRange(4, 18)}) == 12
    assert choose_version(ApiKey.TXN_OFFSET_COMMIT, {ApiKey.TXN_OFFSET_COMMIT: ApiVersionRange(0, 6)}) == 5


@pytest.mark.parametrize(
    "offered", [{}, {ApiKey.FETCH: ApiVersionRange(0, 3)}, {ApiKey.FETCH: ApiVersionRange(13, 18)}]
)
def test_a_broker_without_a_common_version_is_refused_by_name(offered: dict[int, ApiVersionRange]) -> None:
    with pytest.raises(UnsupportedByBroker, match="Fetch"):
        choose_version(ApiKey.FETCH, offered)


# --- errors and retries ---


def test_codes_become_errors_that_say_where() -> None:
    raise_for(0, None, "nowhere")
    with pytest.raises(KafkaError, match="topic 'x': it is gone") as caught:
        raise_for(3, "it is gone", "topic 'x'")
    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    with pytest.raises(KafkaError, match="unknown error code 999"):
        raise_for(999, None, "x")


def test_pauses_between_attempts_double_up_to_a_second() -> None:
    pauses = backoffs_ms()
    assert [next(pauses) for _ in range(8)] == [20, 40, 80, 160, 320, 640, 1000, 1000]


def test_a_retriable_error_is_retried_until_success() -> None:
    clock, seen = StandingClock(), list[KafkaError]()
    outcomes = iter([KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER), ConnectionFailed("lost")])

    def attempt() -> str:
        error = next(outcomes, None)
        if error is not None:
            raise error
        return "done"

    assert retry(attempt, clock=clock, deadline=Deadline(clock, 1000), before_next=seen.append) == "done"
    assert [error.code for error in seen] == [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NETWORK_EXCEPTION]
    assert clock.slept_s == pytest.approx(0.06)


def test_a_lasting_error_is_raised_at_the_deadline_and_a_fatal_one_at_once() -> None:
    clock = StandingClock()

    def attempt() -> None:
        raise KafkaError(error)

    error = ErrorCode.REQUEST_TIMED_OUT
    with pytest.raises(KafkaError, match="REQUEST_TIMED_OUT"):
        retry(attempt, clock=clock, deadline=Deadline(clock, 1000), before_next=lambda error: None)
    assert 0.5 < clock.slept_s < 1
    error = ErrorCode.INVALID_CONFIG
    before_s = clock.slept_s
    with pytest.raises(KafkaError, match="INVALID_CONFIG"):
        retry(attempt, clock=clock, deadline=Deadline(clock, 1000), before_next=lambda error: None)
    assert clock.slept_s == before_s


# --- partitions ---


def test_keys_are_hashed_as_kafkas_own_tests_say() -> None:
    assert [murmur2(key) for key in (b"21", b"foobar", b"a-little-bit-long-string")] == [
        -973932308 & 0xFFFFFFFF,
        -790332482 & 0xFFFFFFFF,
        -985981536 & 0xFFFFFFFF,
    ]
    assert all(0 <= partition_for_key(bytes([n]), 7) < 7 for n in range(256))


def test_keyless_records_stay_until_the_batch_is_full_and_go_around() -> None:
    keyless = KeylessPartitioner()
    assert [keyless.partition("t", 3) for _ in range(2)] == [0, 0]
    found = []
    for _ in range(4):
        keyless.switch("t")
        found.append(keyless.partition("t", 3))
    assert found == [1, 2, 0, 1]
    assert keyless.partition("other", 3) == 0


# --- batches ---

some_records = st.lists(
    st.tuples(
        st.none() | st.binary(max_size=300),
        st.none() | st.binary(max_size=300),
        st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=50)), max_size=3),
        st.integers(0, 2**60),
    ),
    min_size=1,
    max_size=30,
)


@given(some_records, st.integers(100, 2000))
def test_batches_keep_order_and_stay_below_their_size(
    records: list[tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]], int]], batch_bytes: int
) -> None:
    batches = Batches(batch_bytes)
    for record in records:
        batches.add(("t", 0), NewRecord._make(record), Delivery("t", 0))
    assert batches.size == sum(record_size(key, value, headers) for key, value, headers, _ in records)
    sent: list[NewRecord] = []
    while batches:
        (batch,) = batches.take().values()
        assert len(build_batch(batch.records)) <= batch.size
        assert batch.size <= batch_bytes or len(batch.records) == 1
        sent += batch.records
    assert sent == records
    assert batches.size == 0


def test_one_batch_of_every_partition_is_taken_at_a_time() -> None:
    batches = Batches(200)
    opened = [batches.add(("t", n % 2), NewRecord(None, bytes(100)), Delivery("t", n % 2)) for n in range(4)]
    assert opened == [False, False, True, True]
    assert [sorted(batches.take()) for _ in range(3)] == [[("t", 0), ("t", 1)], [("t", 0), ("t", 1)], []]


def test_a_delivery_has_no_result_before_it_is_known() -> None:
    delivery = Delivery("t", 0)
    with pytest.raises(AssertionError, match="flush"):
        delivery.result()
    delivery.error = KafkaError(ErrorCode.MESSAGE_TOO_LARGE)
    with pytest.raises(KafkaError):
        delivery.result()


# --- metadata ---


def a_partition(leader: int) -> PartitionInfo:
    return PartitionInfo(leader_id=leader, leader_epoch=0, replicas=(1,), isr=(1,), error_code=0)


def test_a_leader_is_known_or_the_reason_is_reported() -> None:
    topic = TopicInfo("t", bytes(16), False, 0, {0: a_partition(1), 1: a_partition(-1)})
    hidden = TopicInfo("h", bytes(16), False, ErrorCode.TOPIC_AUTHORIZATION_FAILED, {})
    cluster = NOTHING_KNOWN.merged(ClusterInfo("c", 1, {1: Address("h", 1)}, {"t": topic, "h": hidden}))
    assert cluster.leader("t", 0) == 1
    expected = {
        ("t", 1): ErrorCode.LEADER_NOT_AVAILABLE,
        ("t", 2): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("x", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("h", 0): ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }
    for where, code in expected.items():
        with pytest.raises(KafkaError) as caught:
            cluster.leader(*where)
        assert caught.value.code is code


# --- assignments ---


def test_the_range_assignor_gives_the_first_members_one_more() -> None:
    assigned = range_assignment({"b": ["t", "u"], "a": ["t"], "c": ["t", "gone"]}, {"t": 5, "u": 1})
    assert assigned == {"a": [("t", 0), ("t", 1)], "b": [("t", 2), ("t", 3), ("u", 0)], "c": [("t", 4)]}


topic_names = st.text("abc", min_size=1, max_size=2)


@given(
    st.dictionaries(st.text("xyz", min_size=1, max_size=3), st.lists(topic_names, max_size=3), max_size=5),
    st.dictionaries(topic_names, st.integers(1, 6)),
)
def test_every_partition_somebody_wants_has_exactly_one_reader(
    subscriptions: dict[str, list[str]], counts: dict[str, int]
) -> None:
    assigned = range_assignment(subscriptions, counts)
    assert set(assigned) == set(subscriptions)
    for member, partitions in assigned.items():
        assert {topic for topic, _ in partitions} <= set(subscriptions[member])
    wanted = {topic for topics in subscriptions.values() for topic in topics}
    assert sorted(each for partitions in assigned.values() for each in partitions) == sorted(
        (topic, partition) for topic in wanted for partition in range(counts.get(topic, 0))
    )


def test_subscriptions_and_assignments_round_trip() -> None:
    assert subscribed_topics(encode_subscription(["b", "a"])) == ["a", "b"]
    assert assigned_partitions(encode_assignment([("t", 0), ("u", 1), ("t", 2)])) == [("t", 0), ("t", 2), ("u", 1)]
    assert assigned_partitions(b"") == []
