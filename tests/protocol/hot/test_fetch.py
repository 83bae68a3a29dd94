"""Fetch by hand agrees with the compiled codec: every version, random messages, and bytes that are broken."""

from contextlib import suppress
from struct import Struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.headers import encode_response_header
from barnabas.protocol.hot import fetch
from barnabas.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ReplicaState,
)
from barnabas.protocol.primitives import MAX_TAGGED_FIELDS, uvarint
from barnabas.protocol.registry import ApiKey, request_codec, response_codec

FETCH = ApiKey.FETCH
VERSIONS = range(FETCH.min_version, FETCH.max_version + 1)

versions = st.sampled_from(VERSIONS)
int8, int16, int32, int64 = (st.integers(-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64))
names = st.text(max_size=12)
topic_ids = st.binary(min_size=16, max_size=16)
partitions = st.builds(
    FetchPartition,
    partition=int32,
    current_leader_epoch=int32,
    fetch_offset=int64,
    log_start_offset=int64,
    partition_max_bytes=int32,
)
topics = st.builds(FetchTopic, topic=names, topic_id=topic_ids, partitions=st.lists(partitions, max_size=3))
forgotten_topics = st.builds(ForgottenTopic, topic=names, topic_id=topic_ids, partitions=st.lists(int32, max_size=3))
requests = st.builds(
    FetchRequest,
    replica_id=int32,
    max_wait_ms=int32,
    min_bytes=int32,
    max_bytes=int32,
    isolation_level=int8,
    session_id=int32,
    session_epoch=int32,
    topics=st.lists(topics, max_size=3),
    forgotten_topics_data=st.lists(forgotten_topics, max_size=2),
    rack_id=names,
)


def fitted(request: FetchRequest, version: int, data: st.DataObject) -> FetchRequest:
    """The request with what only some versions can carry: set where they can, default where they cannot."""
    if version >= 15:
        request.replica_id = -1
        if data.draw(st.booleans()):
            request.replica_state = ReplicaState(replica_id=data.draw(int32), replica_epoch=data.draw(int64))
    if version >= 12:
        request.cluster_id = data.draw(st.none() | names)
    if version < 7:
        request.forgotten_topics_data = []
    for topic in request.topics:
        for partition in topic.partitions:
            if version >= 12:
                partition.last_fetched_epoch = data.draw(int32)
            if version >= 17:
                partition.replica_directory_id = data.draw(topic_ids)
            if version >= 18:
                partition.high_watermark = data.draw(int64)
    return request


def plain(request: FetchRequest, version: int) -> fetch.FetchRequest:
    """A request object, as decoded, in the shape the decoder by hand gives."""
    by_id = version >= 13
    return fetch.FetchRequest(
        request.replica_state.replica_id if request.replica_state is not None else request.replica_id,
        request.max_wait_ms,
        request.min_bytes,
        request.max_bytes,
        request.isolation_level,
        request.session_id,
        request.session_epoch,
        [
            (
                topic.topic_id if by_id else topic.topic,
                [
                    fetch.FetchPartition(
                        each.partition,
                        each.current_leader_epoch,
                        each.fetch_offset,
                        each.last_fetched_epoch,
                        each.log_start_offset,
                        each.partition_max_bytes,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ],
        [(topic.topic_id if by_id else topic.topic, topic.partitions) for topic in request.forgotten_topics_data],
        request.rack_id,
    )


@given(requests, versions, st.binary(max_size=20), st.binary(max_size=5), st.data())
def test_a_request_decodes_to_what_was_encoded(
    request: FetchRequest, version: int, before: bytes, after: bytes, data: st.DataObject
) -> None:
    body = request_codec(FETCH, version).encode(fitted(request, version, data))
    decoded, _ = request_codec(FETCH, version).decode(body)
    assert fetch.decode_request(memoryview(before + body + after), len(before), version) == plain(decoded, version)


@given(requests, versions, st.data())
def test_a_damaged_request_is_refused_exactly_when_the_compiled_codec_refuses_it(
    request: FetchRequest, version: int, data: st.DataObject
) -> None:
    frame = bytearray(request_codec(FETCH, version).encode(fitted(request, version, data)))
    for _ in range(data.draw(st.integers(0, 3))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    view = memoryview(frame)[: data.draw(st.integers(0, len(frame)))]
    try:
        expected, _ = request_codec(FETCH, version).decode(view)
    except DecodeError:
        expected = None
    try:
        decoded = fetch.decode_request(view, 0, version)
    except DecodeError:
        assert expected is None
    else:
        # Tagged fields nobody here asks for are passed over unread, so damage inside them goes unseen.
        assert expected is None or decoded == plain(expected, version)


def test_more_tags_than_kafka_reads_are_refused() -> None:
    body = request_codec(FETCH, 17).encode(
        FetchRequest(max_wait_ms=1, min_bytes=1, topics=[], forgotten_topics_data=[])
    )
    unknown = b"\x09\0"
    longest = body[:-1] + uvarint(MAX_TAGGED_FIELDS) + unknown * MAX_TAGGED_FIELDS
    assert fetch.decode_request(memoryview(longest), 0, 17) == fetch.decode_request(memoryview(body), 0, 17)
    longer = body[:-1] + uvarint(MAX_TAGGED_FIELDS + 1) + unknown * (MAX_TAGGED_FIELDS + 1)
    with pytest.raises(DecodeError, match="10001 tagged fields"):
        fetch.decode_request(memoryview(longer), 0, 17)


@given(st.binary(max_size=200), versions)
def test_garbage_gives_a_request_or_a_decode_error(garbage: bytes, version: int) -> None:
    with suppress(DecodeError):  # the only error that is allowed
        fetch.decode_request(memoryview(garbage), 0, version)


@pytest.mark.parametrize("version", range(12, 19))
def test_a_request_cut_short_is_refused_at_every_byte(version: int) -> None:
    request = FetchRequest(
        max_wait_ms=1,
        min_bytes=1,
        topics=[FetchTopic(topic="t", partitions=[FetchPartition(partition=0, fetch_offset=1, partition_max_bytes=1)])],
        forgotten_topics_data=[ForgottenTopic(topic="u", partitions=[1])],
        rack_id="r",
    )
    body = request_codec(FETCH, version).encode(request)
    for size in range(len(body)):
        with pytest.raises(DecodeError):
            fetch.decode_request(memoryview(body)[:size], 0, version)


pairs = st.tuples(int32, int32).filter(lambda pair: pair != (-1, -1))
answers = st.builds(
    fetch.FetchedPartition,
    int32,
    st.integers(0, 136),
    int64,
    int64,
    int64,
    st.none() | st.lists(st.tuples(int64, int64), max_size=3),
    st.binary(max_size=300),
    st.none() | st.tuples(int32, int64).filter(lambda pair: pair != (-1, -1)),
    st.none() | pairs,
    int32,
)
nodes = st.tuples(int32, names, int32, st.none() | names)


@given(
    st.lists(st.tuples(names, topic_ids, st.lists(answers, max_size=4)), max_size=3),
    st.lists(nodes, max_size=2),
    versions,
    int32,
    st.integers(0, 136),
    int32,
)
def test_a_response_is_byte_identical(
    topics: list[tuple[str, bytes, list[fetch.FetchedPartition]]],
    endpoints: list[tuple[int, str, int, str | None]],
    version: int,
    correlation_id: int,
    error_code: int,
    session_id: int,
) -> None:
    response = FetchResponse(
        error_code=error_code,
        session_id=session_id if version >= 7 else 0,
        responses=[
            FetchableTopicResponse(
                topic=name, topic_id=topic_id, partitions=[as_message(answer, version) for answer in partitions]
            )
            for name, topic_id, partitions in topics
        ],
        node_endpoints=[
            NodeEndpoint(node_id=node_id, host=host, port=port, rack=rack) for node_id, host, port, rack in endpoints
        ]
        if version >= 16
        else [],
    )
    body = encode_response_header(FETCH, version, correlation_id) + response_codec(FETCH, version).encode(response)
    parts = fetch.encode_response(
        version,
        correlation_id,
        [(topic_id if version >= 13 else name, partitions) for name, topic_id, partitions in topics],
        error_code=error_code,
        session_id=session_id,
        node_endpoints=endpoints,
    )
    assert b"".join(parts) == Struct(">i").pack(len(body)) + body


def as_message(answer: fetch.FetchedPartition, version: int) -> PartitionData:
    assert isinstance(answer.records, bytes)
    diverging = answer.diverging_epoch if version >= 12 else None
    leader = answer.current_leader if version >= 12 else None
    return PartitionData(
        partition_index=answer.partition,
        error_code=answer.error_code,
        high_watermark=answer.high_watermark,
        last_stable_offset=answer.last_stable_offset,
        log_start_offset=answer.log_start_offset,
        diverging_epoch=None if diverging is None else EpochEndOffset(epoch=diverging[0], end_offset=diverging[1]),
        current_leader=None if leader is None else LeaderIdAndEpoch(leader_id=leader[0], leader_epoch=leader[1]),
        aborted_transactions=None
        if answer.aborted_transactions is None
        else [AbortedTransaction(producer_id=pid, first_offset=first) for pid, first in answer.aborted_transactions],
        preferred_read_replica=answer.preferred_read_replica if version >= 11 else -1,
        records=answer.records,
    )
