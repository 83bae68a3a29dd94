"""Produce (key 0), v3 to v13, by hand.

Request: (transactional_id, acks, timeout_ms, topics), topics = [(topic, [(index, records)])], records a view into the
frame, or None. From v13 on a topic is its 16-byte id, before that its name; from v9 on the encoding is flexible.

Response: topics = [(topic, [PartitionResult])]. `encode_response` gives the whole frame, size and header included.
"""

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

from protocol.errors import DecodeError
from protocol.hot.reading import BROKEN, INT32, pass_tags, read_count, read_string, read_topic
from protocol.hot.writing import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    Topic,
    classic_string,
    compact_string,
    endpoints_section,
    leader_tag,
    topic_name,
)
from protocol.primitives import uvarint, uvarint_tail

ProducePartition = tuple[int, memoryview | None]
ProduceRequest = tuple[str | None, int, int, list[tuple[Topic, list[ProducePartition]]]]


class PartitionResult(NamedTuple):
    """The answer for one partition. Offsets and times are -1 where there is none."""

    partition: int
    error_code: int
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: Sequence[tuple[int, str | None]] = ()
    """(index of the record in its batch, what is wrong with it)"""
    error_message: str | None = None
    current_leader: LeaderIdAndEpoch | None = None
    """with NOT_LEADER_OR_FOLLOWER"""


_ACKS_TIMEOUT = Struct(">hi")


def decode_request(frame: memoryview, position: int, version: int) -> ProduceRequest:
    """The body that starts at `position`; bytes after it are ignored. DecodeError when it is broken."""
    flexible = version >= 9
    by_id = version >= 13
    try:
        transactional_id, position = read_string(frame, position, flexible)
        acks, timeout_ms = _ACKS_TIMEOUT.unpack_from(frame, position)
        topic_count, position = read_count(frame, position + 6, flexible)
        topics: list[tuple[Topic, list[ProducePartition]]] = []
        for _ in range(topic_count):
            topic, position = read_topic(frame, position, flexible, by_id)
            partition_count, position = read_count(frame, position, flexible)
            partitions: list[ProducePartition] = []
            for _ in range(partition_count):
                index = INT32.unpack_from(frame, position)[0]
                records, position = _read_records(frame, position + 4, flexible)
                partitions.append((index, records))
                if flexible:
                    position = pass_tags(frame, position)
            topics.append((topic, partitions))
            if flexible:
                position = pass_tags(frame, position)
        if flexible:
            pass_tags(frame, position)
    except BROKEN as error:
        raise DecodeError(f"Produce v{version} request: {error}") from error
    return transactional_id, acks, timeout_ms, topics


def _read_records(frame: memoryview, position: int, flexible: bool) -> tuple[memoryview | None, int]:
    if flexible:
        size: int = frame[position]
        position += 1
        if size >= 0x80:
            size, position = uvarint_tail(frame, position, size)
        size -= 1
    else:
        size = INT32.unpack_from(frame, position)[0]
        position += 4
    if size < 0:
        if size < -1:
            raise DecodeError(f"records of {size} bytes")
        return None, position
    end = position + size
    if end > len(frame):
        raise DecodeError(f"records of {size} bytes run past the end")
    return frame[position:end], end


# One partition's answer by the version that introduced its layout.
_V2 = Struct(">ihqq")
_V5 = Struct(">ihqqq")
_V8_SUCCESS = Struct(">ihqqqih")  # and no record errors, no message
_V9_SUCCESS = Struct(">ihqqqBBB")  # the same, compact, and an empty tag section

_HEAD = Struct(">ii")
_HEAD_FLEXIBLE = Struct(">iiB")
_THROTTLE_TIME_ZERO = bytes(4)


def encode_response(
    version: int,
    correlation_id: int,
    topics: list[tuple[Topic, list[PartitionResult]]],
    node_endpoints: Sequence[NodeEndpoint] = (),
) -> bytearray:
    """A whole response frame."""
    flexible = version >= 9
    if flexible:
        out = bytearray(_HEAD_FLEXIBLE.size)
        out += uvarint(len(topics) + 1)
    else:
        out = bytearray(_HEAD.size)
        out += INT32.pack(len(topics))
    for topic, results in topics:
        out += topic_name(topic, flexible)
        if flexible:
            out += uvarint(len(results) + 1)
            for result in results:
                if result[1] == 0:
                    out += _V9_SUCCESS.pack(*result[:5], 1, 0, 0)
                else:
                    _add_flexible_error(out, result, version)
            out += b"\x00"
        else:
            _add_classic(out, results, version)
    out += _THROTTLE_TIME_ZERO
    if version >= 10:
        out += endpoints_section(node_endpoints)
    elif flexible:
        out += b"\x00"
    _HEAD.pack_into(out, 0, len(out) - 4, correlation_id)
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
