"""Produce by hand agrees with the compiled codec: every version, random messages, and bytes that are broken."""

from contextlib import suppress
from struct import Struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.headers import encode_response_header
from barnabas.protocol.hot.produce import PartitionResult, decode_request, encode_response
from barnabas.protocol.messages import produce
from barnabas.protocol.primitives import MAX_ARRAY_ELEMENTS, uvarint
from barnabas.protocol.registry import ApiKey, request_codec, response_codec

PRODUCE = ApiKey.PRODUCE
VERSIONS = range(PRODUCE.min_version, PRODUCE.max_version + 1)

versions = st.sampled_from(VERSIONS)
int16, int32, int64 = (st.integers(-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (16, 32, 64))
names = st.text(max_size=12)
topic_ids = st.binary(min_size=16, max_size=16)
topics = st.builds(
    produce.TopicProduceData,
    name=names,
    topic_id=topic_ids,
    partition_data=st.lists(
        st.builds(produce.PartitionProduceData, index=int32, records=st.none() | st.binary(max_size=300)), max_size=3
    ),
)
requests = st.builds(
    produce.ProduceRequest,
    transactional_id=st.none() | names,
    acks=int16,
    timeout_ms=int32,
    topic_data=st.lists(topics, max_size=3),
)


def plain(request: produce.ProduceRequest, version: int) -> object:
    """A request object in the shape the decoder by hand gives."""
    return (
        request.transactional_id,
        request.acks,
        request.timeout_ms,
        [
            (
                topic.topic_id if version >= 13 else topic.name,
                [(part.index, part.records) for part in topic.partition_data],
            )
            for topic in request.topic_data
        ],
    )


@given(requests, versions, st.binary(max_size=20), st.binary(max_size=5))
def test_a_request_decodes_to_what_was_encoded(
    request: produce.ProduceRequest, version: int, before: bytes, after: bytes
) -> None:
    frame = before + request_codec(PRODUCE, version).encode(request) + after
    assert decode_request(memoryview(frame), len(before), version) == plain(request, version)


@given(requests, versions, st.data())
def test_a_damaged_request_is_refused_exactly_when_the_compiled_codec_refuses_it(
    request: produce.ProduceRequest, version: int, data: st.DataObject
) -> None:
    frame = bytearray(request_codec(PRODUCE, version).encode(request))
    for _ in range(data.draw(st.integers(0, 3))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    view = memoryview(frame)[: data.draw(st.integers(0, len(frame)))]
    try:
        expected, _ = request_codec(PRODUCE, version).decode(view)
    except DecodeError:
        with pytest.raises(DecodeError):
            decode_request(view, 0, version)
    else:
        assert decode_request(view, 0, version) == plain(expected, version)


def test_records_are_views_into_the_frame() -> None:
    request = produce.ProduceRequest(
        acks=1,
        timeout_ms=1,
        topic_data=[produce.TopicProduceData(partition_data=[produce.PartitionProduceData(index=0, records=b"abc")])],
    )
    frame = bytearray(request_codec(PRODUCE, 9).encode(request))
    records = decode_request(memoryview(frame), 0, 9)[3][0][1][0][1]
    assert records is not None
    frame[frame.index(b"abc")] = ord("x")
    assert bytes(records) == b"xbc"


@pytest.mark.parametrize("version", [3, 9, 13])
def test_more_topics_than_kafka_reads_are_refused_by_their_number(version: int) -> None:
    empty = request_codec(PRODUCE, version).encode(produce.ProduceRequest(acks=1, timeout_ms=1, topic_data=[]))
    before = empty[:-4] if version == 3 else empty[:-2]  # the count, and the tags behind it

    def refusal(count: int) -> str:
        said = count.to_bytes(4, "big") if version == 3 else uvarint(count + 1)
        with pytest.raises(DecodeError) as caught:
            decode_request(memoryview(before + said), 0, version)
        return str(caught.value)

    assert "an array of" not in refusal(MAX_ARRAY_ELEMENTS)
    assert refusal(MAX_ARRAY_ELEMENTS + 1) == "an array of 1000001 elements"


@given(st.binary(max_size=200), versions)
def test_garbage_gives_a_request_or_a_decode_error(garbage: bytes, version: int) -> None:
    with suppress(DecodeError):  # the only error that is allowed
        decode_request(memoryview(garbage), 0, version)


failed = st.tuples(
    int32,
    st.integers(1, 136),
    int64,
    int64,
    int64,
    st.lists(st.tuples(int32, st.none() | names), max_size=3),
    st.none() | names,
    st.none() | st.tuples(int32, int32).filter(lambda leader: leader != (-1, -1)),
).map(lambda fields: PartitionResult(*fields))
succeeded = st.tuples(int32, st.just(0), int64, int64, int64).map(lambda fields: PartitionResult(*fields))
nodes = st.tuples(int32, names, int32, st.none() | names)


@given(
    st.lists(st.tuples(names, topic_ids, st.lists(succeeded | failed, max_size=4)), max_size=3),
    st.lists(nodes, max_size=2),
    versions,
    int32,
)
def test_a_response_is_byte_identical(
    answers: list[tuple[str, bytes, list[PartitionResult]]],
    endpoints: list[tuple[int, str, int, str | None]],
    version: int,
    correlation_id: int,
) -> None:
    response = produce.ProduceResponse(
        responses=[
            produce.TopicProduceResponse(
                name=name, topic_id=topic_id, partition_responses=[as_message(each, version) for each in results]
            )
            for name, topic_id, results in answers
        ],
        node_endpoints=[
            produce.NodeEndpoint(node_id=node_id, host=host, port=port, rack=rack)
            for node_id, host, port, rack in endpoints
        ]
        if version >= 10
        else [],
    )
    body = encode_response_header(PRODUCE, version, correlation_id) + response_codec(PRODUCE, version).encode(response)
    by_hand = encode_response(
        version,
        correlation_id,
        [(topic_id if version >= 13 else name, results) for name, topic_id, results in answers],
        endpoints,
    )
    assert by_hand == Struct(">i").pack(len(body)) + body


def as_message(result: PartitionResult, version: int) -> produce.PartitionProduceResponse:
    leader = result.current_leader if version >= 10 else None
    return produce.PartitionProduceResponse(
        index=result.partition,
        error_code=result.error_code,
        base_offset=result.base_offset,
        log_append_time_ms=result.log_append_time_ms,
        log_start_offset=result.log_start_offset,
        record_errors=[
            produce.BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=message)
            for index, message in result.record_errors
        ],
        error_message=result.error_message,
        current_leader=None
        if leader is None
        else produce.LeaderIdAndEpoch(leader_id=leader[0], leader_epoch=leader[1]),
    )
