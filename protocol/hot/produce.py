# compiled: mypyc
"""Produce (key 0), v3 to v13, hand-written.

Request: (transactional_id, acks, timeout_ms, topics), topics = [(topic, [(index, records)])], records a view into the
frame, or None. From v13 on a topic is its 16-byte id, before that its name; from v9 on the encoding is flexible.

Response: topics = [(topic, [PartitionResult])]. `encode_response` returns the whole frame, size and header included.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Final, NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.hot.reading import (
    BROKEN,
    INT32,
    NO_LIMIT,
    ManyPartitions,
    pass_tags,
    read_count,
    read_size,
    read_string,
    read_topic,
)
from barnabas.protocol.hot.writing import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    Topic,
    classic_string,
    compact_string,
    endpoints_section,
    leader_tag,
    topic_name,
)
from barnabas.protocol.primitives import skip_tags, uvarint

ProducePartition = tuple[int, memoryview | None]
ProduceRequest = tuple[str | None, int, int, list[tuple[Topic, list[ProducePartition]]]]


class PartitionResult(NamedTuple):
    """The response for one partition. Offsets and times are -1 if there is none."""

    partition: int
    error_code: int
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: Sequence[tuple[int, str | None]] = ()
    """(index of the record in its batch, its error)"""
    error_message: str | None = None
    current_leader: LeaderIdAndEpoch | None = None
    """with NOT_LEADER_OR_FOLLOWER"""


_ACKS_TIMEOUT: Final = Struct(">hi")
_ACKS_TIMEOUT_COUNT: Final = Struct(">hiB")
_INDEX_CLASSIC_SIZE: Final = Struct(">ii")
_INDEX_SIZE: Final = Struct(">iBB")  # the index, and the first two bytes of the compact length: enough below 16 KiB


def decode_request(frame: memoryview, position: int, version: int, most: int = NO_LIMIT) -> ProduceRequest:
    """Decode the body that starts at `position`; bytes after it are ignored. DecodeError when it is broken.
    ManyPartitions when it has more than `most` topics or partitions.
    """
    try:
        if version >= 9:
            return _decode_flexible(frame, position, version >= 13, most)
        return _decode_classic(frame, position, most)
    except BROKEN as error:
        raise DecodeError(f"Produce v{version} request: {error}") from error


def _decode_flexible(frame: memoryview, position: int, by_id: bool, most: int) -> ProduceRequest:
    """Decode the form that nearly all producers send. Inlined: a call for each field would double its time."""
    transactional_id = None
    if frame[position] == 0:
        position += 1
    else:
        transactional_id, position = read_string(frame, position, True)
    acks, timeout_ms, count = _ACKS_TIMEOUT_COUNT.unpack_from(frame, position)
    if 0 < count < 0x80:
        position += 7
        count -= 1
    else:
        count, position = read_count(frame, position + 6, True)
        if count > most:
            raise ManyPartitions
    topics: list[tuple[Topic, list[ProducePartition]]] = []
    for _ in range(count):
        size = frame[position]
        end = position + size
        if by_id or not 0 < size < 0x80 or end > len(frame):
            topic, position = read_topic(frame, position, True, by_id)
        else:
            topic = str(frame[position + 1 : end], "utf-8")
            position = end
        partitions, position = _decode_flexible_partitions(frame, position, most)
        topics.append((topic, partitions))
        most -= len(partitions)
    pass_tags(frame, position)
    return transactional_id, acks, timeout_ms, topics


def _decode_flexible_partitions(frame: memoryview, position: int, most: int) -> tuple[list[ProducePartition], int]:
    """Return the partitions of a topic, and the position after its tags."""
    frame_size = len(frame)
    count, position = read_count(frame, position, True)
    if count > most:
        raise ManyPartitions
    partitions: list[ProducePartition] = []
    for _ in range(count):
        index, size, more = _INDEX_SIZE.unpack_from(frame, position)
        if size >= 0x80 and more < 0x80:
            size = (size & 0x7F | more << 7) - 1
            position += 6
        else:
            size, position = read_size(frame, position + 4)
        if size < 0:
            records = None
        else:
            end = position + size
            if end > frame_size:
                raise DecodeError(f"records of {size} bytes run past the end")
            records = frame[position:end]
            position = end
        partitions.append((index, records))
        position = position + 1 if frame[position] == 0 else skip_tags(frame, position)
    return partitions, position + 1 if frame[position] == 0 else skip_tags(frame, position)


def _decode_classic(frame: memoryview, position: int, most: int) -> ProduceRequest:
    transactional_id, position = read_string(frame, position, False)
    acks, timeout_ms = _ACKS_TIMEOUT.unpack_from(frame, position)
    topic_count, position = read_count(frame, position + 6, False)
    if topic_count > most:
        raise ManyPartitions
    topics: list[tuple[Topic, list[ProducePartition]]] = []
    for _ in range(topic_count):
        topic, position = read_topic(frame, position, False, by_id=False)
        partition_count, position = read_count(frame, position, False)
        most -= partition_count
        if most < 0:
            raise ManyPartitions
        partitions: list[ProducePartition] = []
        for _ in range(partition_count):
            index, size = _INDEX_CLASSIC_SIZE.unpack_from(frame, position)
            position += _INDEX_CLASSIC_SIZE.size
            end = position + max(size, 0)
            if size < -1 or end > len(frame):
                raise DecodeError(f"records of {size} bytes, but {len(frame) - position} are left")
            partitions.append((index, None if size < 0 else frame[position:end]))
            position = end
        topics.append((topic, partitions))
    return transactional_id, acks, timeout_ms, topics


# One partition's response by the version that introduced its layout.
_V2: Final = Struct(">ihqq")
_V5: Final = Struct(">ihqqq")
_V8_SUCCESS: Final = Struct(">ihqqqih")  # and no record errors, no message
_V9_SUCCESS: Final = Struct(">ihqqqBBB")  # the same, compact, and an empty tag section

_HEAD: Final = Struct(">ii")
_ONE_TOPIC: Final = Struct(">iiBB")  # size, correlation id, no tags, one topic
_ONE_SUCCESS: Final = Struct(">BihqqqBBBBiB")  # one partition as _V9_SUCCESS, no tags, no throttling, no tags
_ONE_SIZE: Final = _ONE_TOPIC.size - 4 + _ONE_SUCCESS.size
_THROTTLE_TIME_ZERO: Final = bytes(4)
_THROTTLE_TIME_ZERO_NO_TAGS: Final = bytes(5)


def encode_response(
    version: int,
    correlation_id: int,
    topics: list[tuple[Topic, list[PartitionResult]]],
    node_endpoints: Sequence[NodeEndpoint] = (),
) -> bytearray:
    """Return a whole response frame."""
    if version >= 9:
        return _encode_flexible(version, correlation_id, topics, node_endpoints)
    out = bytearray(_HEAD.size)
    out += INT32.pack(len(topics))
    for topic, results in topics:
        out += topic_name(topic, False)
        _add_classic(out, results, version)
    out += _THROTTLE_TIME_ZERO
    _HEAD.pack_into(out, 0, len(out) - 4, correlation_id)
    return out


def _encode_flexible(
    version: int,
    correlation_id: int,
    topics: list[tuple[Topic, list[PartitionResult]]],
    node_endpoints: Sequence[NodeEndpoint],
) -> bytearray:
    if len(topics) == 1 and len(topics[0][1]) == 1 and topics[0][1][0][1] == 0 and not node_endpoints:
        return _encode_one_success(correlation_id, topics[0][0], topics[0][1][0])
    out = bytearray(_HEAD.size)
    out += b"\x00"
    out += uvarint(len(topics) + 1)
    for topic, results in topics:
        out += topic if isinstance(topic, bytes) else compact_string(topic)
        out += uvarint(len(results) + 1)
        for result in results:
            if result[1] == 0:
                partition, _, base_offset, log_append_time_ms, log_start_offset, _, _, _ = result
                out += _V9_SUCCESS.pack(partition, 0, base_offset, log_append_time_ms, log_start_offset, 1, 0, 0)
            else:
                _add_flexible_error(out, result, version)
        out += b"\x00"
    if version >= 10 and node_endpoints:
        out += _THROTTLE_TIME_ZERO
        out += endpoints_section(node_endpoints)
    else:
        out += _THROTTLE_TIME_ZERO_NO_TAGS
    _HEAD.pack_into(out, 0, len(out) - 4, correlation_id)
    return out


def _encode_one_success(correlation_id: int, topic: Topic, result: PartitionResult) -> bytearray:
    """Return the most common response, in as few steps as possible."""
    name = topic if isinstance(topic, bytes) else compact_string(topic)
    out = bytearray(_ONE_TOPIC.pack(len(name) + _ONE_SIZE, correlation_id, 0, 2))
    out += name
    out += _ONE_SUCCESS.pack(2, result[0], 0, result[2], result[3], result[4], 1, 0, 0, 0, 0, 0)
    return out


def _add_classic(out: bytearray, results: list[PartitionResult], version: int) -> None:
    out += INT32.pack(len(results))
    for result in results:
        if version < 5:
            out += _V2.pack(*result[:4])
        elif version < 8:
            out += _V5.pack(*result[:5])
        elif result.error_code == 0:
            out += _V8_SUCCESS.pack(*result[:5], 0, -1)
        else:
            out += _V5.pack(*result[:5])
            out += INT32.pack(len(result.record_errors))
            for batch_index, message in result.record_errors:
                out += INT32.pack(batch_index) + classic_string(message)
            out += classic_string(result.error_message)


def _add_flexible_error(out: bytearray, result: PartitionResult, version: int) -> None:
    out += _V5.pack(*result[:5])
    out += uvarint(len(result.record_errors) + 1)
    for batch_index, message in result.record_errors:
        out += INT32.pack(batch_index) + compact_string(message) + b"\x00"
    out += compact_string(result.error_message)
    if version >= 10 and result.current_leader is not None:
        out += b"\x01" + leader_tag(0, result.current_leader)
    else:
        out += b"\x00"
