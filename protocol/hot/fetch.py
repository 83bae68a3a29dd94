# compiled: mypyc
"""Fetch (key 1), v4 to v18, hand-written.

Request: the fields that the broker uses. Ignored: ClusterId, the replica's directory id and high watermark (there is no
replication by fetching). From v13 on a topic is its 16-byte id; from v12 on the encoding is
flexible.

Response: a list of buffers, alternately encoded bytes and the records as they were passed: any object with a length.
Records are never copied here; the code that sends the response reads slices of a file.
"""

from collections.abc import Sequence, Sized
from struct import Struct
from typing import Any, Final, NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.hot.reading import BROKEN, INT16, INT32, pass_tags, read_count, read_string, read_topic
from barnabas.protocol.hot.writing import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    Topic,
    endpoints_section,
    leader_tag,
    topic_name,
)
from barnabas.protocol.primitives import read_tag_count, read_uvarint, skip_tags, uvarint


class FetchPartition(NamedTuple):
    """The requested data of one partition."""

    partition: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    partition_max_bytes: int


class FetchRequest(NamedTuple):
    """A decoded request."""

    replica_id: int
    """-1 for a consumer"""
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    """0 read_uncommitted, 1 read_committed"""
    session_id: int
    session_epoch: int
    topics: list[tuple[Topic, list[FetchPartition]]]
    forgotten_topics: list[tuple[Topic, list[int]]]
    rack_id: str = ""
    """The consumer's rack, v11+; empty if it has none."""


_TOP_V4: Final = Struct(">iiiib")  # replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level
_TOP_V7: Final = Struct(">iiiibii")  # and session_id, session_epoch
_TOP_V15: Final = Struct(">iiibii")  # replica_id has moved to a tag

_PARTITION_V4: Final = Struct(">iqi")  # index, fetch_offset, partition_max_bytes
_PARTITION_V5: Final = Struct(">iqqi")  # index, fetch_offset, log_start_offset, partition_max_bytes
_PARTITION_V9: Final = Struct(">iiqqi")  # index, leader_epoch, fetch_offset, log_start_offset, partition_max_bytes
_PARTITION_V12: Final = Struct(">iiqiqi")  # as FetchPartition
_new_tuple: Final = tuple.__new__  # half the cost of a NamedTuple's constructor

_REPLICA_STATE_TAG: Final = 1


def decode_request(frame: memoryview, position: int, version: int) -> FetchRequest:
    """Decode the body that starts at `position`; bytes after it are ignored. DecodeError when it is broken."""
    flexible = version >= 12
    try:
        replica_id, session_id, session_epoch = -1, 0, -1
        if version >= 15:
            top = _TOP_V15.unpack_from(frame, position)
            max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch = top
            position += _TOP_V15.size
        elif version >= 7:
            top = _TOP_V7.unpack_from(frame, position)
            replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch = top
            position += _TOP_V7.size
        else:
            replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level = _TOP_V4.unpack_from(frame, position)
            position += _TOP_V4.size
        forgotten: list[tuple[Topic, list[int]]] = []
        rack_id = ""
        if flexible:
            topics, position = _read_flexible_topics(frame, position, version >= 13)
            if frame[position] == 1:  # an empty array, as nearly always; and so is rack_id an empty string
                position += 1
            else:
                forgotten, position = _read_forgotten(frame, position, version)
            if frame[position] == 1:
                position += 1
            else:
                rack_id, position = _read_rack(frame, position, True)
            if frame[position]:
                replica_id = _read_top_tags(frame, position, version, replica_id)
        else:
            topics, position = _read_classic_topics(frame, position, version)
            if version >= 7:
                forgotten, position = _read_forgotten(frame, position, version)
            if version >= 11:
                rack_id, position = _read_rack(frame, position, False)
    except BROKEN as error:
        raise DecodeError(f"Fetch v{version} request: {error}") from error
    waits = max_wait_ms, min_bytes, max_bytes, isolation_level
    return _new_tuple(FetchRequest, (replica_id, *waits, session_id, session_epoch, topics, forgotten, rack_id))


def _read_flexible_topics(
    frame: memoryview, position: int, by_id: bool
) -> tuple[list[tuple[Topic, list[FetchPartition]]], int]:
    topics: list[tuple[Topic, list[FetchPartition]]] = []
    unpack_from, size = _PARTITION_V12.unpack_from, _PARTITION_V12.size
    topic_count, position = read_count(frame, position, True)
    for _ in range(topic_count):
        topic, position = read_topic(frame, position, True, by_id)
        partition_count, position = read_count(frame, position, True)
        partitions = []
        for _ in range(partition_count):
            partitions.append(_new_tuple(FetchPartition, unpack_from(frame, position)))
            position += size
            position = position + 1 if frame[position] == 0 else skip_tags(frame, position)
        topics.append((topic, partitions))
        position = position + 1 if frame[position] == 0 else skip_tags(frame, position)
    return topics, position


def _read_classic_topics(
    frame: memoryview, position: int, version: int
) -> tuple[list[tuple[Topic, list[FetchPartition]]], int]:
    topics: list[tuple[Topic, list[FetchPartition]]] = []
    topic_count, position = read_count(frame, position, False)
    for _ in range(topic_count):
        topic, position = read_topic(frame, position, False, by_id=False)
        partition_count, position = read_count(frame, position, False)
        partitions = []
        for _ in range(partition_count):
            partition, position = _read_classic_partition(frame, position, version)
            partitions.append(partition)
        topics.append((topic, partitions))
    return topics, position


def _read_classic_partition(frame: memoryview, position: int, version: int) -> tuple[FetchPartition, int]:
    if version >= 9:
        index, leader_epoch, offset, log_start, max_bytes = _PARTITION_V9.unpack_from(frame, position)
        return FetchPartition(index, leader_epoch, offset, -1, log_start, max_bytes), position + _PARTITION_V9.size
    if version >= 5:
        index, offset, log_start, max_bytes = _PARTITION_V5.unpack_from(frame, position)
        return FetchPartition(index, -1, offset, -1, log_start, max_bytes), position + _PARTITION_V5.size
    index, offset, max_bytes = _PARTITION_V4.unpack_from(frame, position)
    return FetchPartition(index, -1, offset, -1, -1, max_bytes), position + _PARTITION_V4.size


def _read_forgotten(frame: memoryview, position: int, version: int) -> tuple[list[tuple[Topic, list[int]]], int]:
    flexible = version >= 12
    forgotten: list[tuple[Topic, list[int]]] = []
    topic_count, position = read_count(frame, position, flexible)
    for _ in range(topic_count):
        topic, position = read_topic(frame, position, flexible, version >= 13)
        partition_count, position = read_count(frame, position, flexible)
        partitions = []
        for _ in range(partition_count):
            partitions.append(INT32.unpack_from(frame, position)[0])
            position += 4
        forgotten.append((topic, partitions))
        if flexible:
            position = pass_tags(frame, position)
    return forgotten, position


def _read_rack(frame: memoryview, position: int, flexible: bool) -> tuple[str, int]:
    rack_id, position = read_string(frame, position, flexible)
    if rack_id is None:
        raise DecodeError("the consumer's rack is null")
    return rack_id, position


def _read_top_tags(frame: memoryview, position: int, version: int, replica_id: int) -> int:
    """Return the replica's id, which v15 moved into the tagged field ReplicaState; ignore every other tag."""
    count, position = read_tag_count(frame, position)
    for _ in range(count):
        tag, position = read_uvarint(frame, position)
        size, position = read_uvarint(frame, position)
        end = position + size
        if end > len(frame):
            raise DecodeError(f"a tagged field of {size} bytes runs past the end")
        if tag == _REPLICA_STATE_TAG and version >= 15:
            replica_id = INT32.unpack_from(frame, position)[0]
        position = end
    return replica_id


# --- the response ------------------------------------------------------------------------------------


class FetchedPartition(NamedTuple):
    """The response for one partition. Offsets are -1 with an error."""

    partition: int
    error_code: int = 0
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted_transactions: Sequence[tuple[int, int]] | None = None
    """(producer id, first offset); None for read_uncommitted"""
    records: Sized = b""
    diverging_epoch: tuple[int, int] | None = None
    """(epoch, end offset), v12+"""
    current_leader: LeaderIdAndEpoch | None = None
    """v12+"""
    preferred_read_replica: int = -1
    """v11+"""


class FetchAnswer(NamedTuple):
    """A response before its encoding."""

    error_code: int
    session_id: int
    topics: Sequence[tuple[Topic, Sequence[FetchedPartition]]]


_HEAD: Final = Struct(">ii")
_HEAD_V12: Final = Struct(">iiBihi")  # size, correlation id, no tags, no throttling, error, session id
_ANSWER_V12: Final = Struct(">ihqqqBi")  # as _PARTITION_WITH_START; no aborted transactions, preferred read replica
_PARTITION: Final = Struct(">ihqq")  # index, error, high watermark, last stable offset
_PARTITION_WITH_START: Final = Struct(">ihqqq")  # v5+: and the log start offset
_ABORTED: Final = Struct(">qq")
_ABORTED_V12: Final = Struct(">qqB")
_EPOCH_END_OFFSET: Final = Struct(">iqB")
_THROTTLE_TIME_ZERO: Final = bytes(4)


def encode_response(
    version: int,
    correlation_id: int,
    topics: Sequence[tuple[Topic, Sequence[FetchedPartition]]],
    *,
    error_code: int = 0,
    session_id: int = 0,
    node_endpoints: Sequence[NodeEndpoint] = (),
) -> list[Any]:
    """Return a response frame, as buffers to send one after another: encoded bytearrays at even indexes."""
    if version >= 12:
        head = bytearray(_HEAD_V12.pack(0, correlation_id, 0, 0, error_code, session_id))
        end = endpoints_section(node_endpoints) if version >= 16 and node_endpoints else b"\x00"
        return _flexible_response(head, correlation_id, topics, end)
    head = own = bytearray(_HEAD.size)
    own += _THROTTLE_TIME_ZERO
    if version >= 7:
        own += INT16.pack(error_code) + INT32.pack(session_id)
    own += INT32.pack(len(topics))
    parts: list[Any] = [head]
    for topic, partitions in topics:
        own += topic_name(topic, False)
        own += INT32.pack(len(partitions))
        for partition in partitions:
            records = partition.records
            records_size = len(records)
            _add_classic_partition(own, partition, records_size, version)
            if records_size:
                own = bytearray()
                parts += (records, own)
    if not own:
        parts.pop()
    _HEAD.pack_into(head, 0, sum(map(len, parts)) - 4, correlation_id)
    return parts


def _flexible_response(
    head: bytearray, correlation_id: int, topics: Sequence[tuple[Topic, Sequence[FetchedPartition]]], end: bytes
) -> list[Any]:
    """Return a response frame of a flexible version. `end`: the tag section at the end of the response."""
    own = head
    own += uvarint(len(topics) + 1)
    parts: list[Any] = [head]
    size = -4  # the frame's own size is not counted
    for topic, partitions in topics:
        own += topic_name(topic, True)
        own += uvarint(len(partitions) + 1)
        for partition in partitions:
            aborted, records = partition[5], partition[6]
            if not aborted:
                own += _ANSWER_V12.pack(*partition[:5], aborted is not None, partition[9])
            else:
                _add_aborted(own, partition, aborted)
            records_size = len(records)
            own += uvarint(records_size + 1)
            if records_size:
                size += len(own) + records_size
                own = bytearray()
                parts += (records, own)
            own += b"\x00" if partition[7] is None and partition[8] is None else _partition_tags(partition)
        own += b"\x00"
    own += end
    _HEAD.pack_into(head, 0, size + len(own), correlation_id)
    return parts


def _add_aborted(own: bytearray, partition: FetchedPartition, aborted: Sequence[tuple[int, int]]) -> None:
    """Append everything before the length of the records, in a flexible version."""
    own += _PARTITION_WITH_START.pack(*partition[:5])
    own += uvarint(len(aborted) + 1)
    for transaction in aborted:
        own += _ABORTED_V12.pack(*transaction, 0)
    own += INT32.pack(partition.preferred_read_replica)


def _add_classic_partition(own: bytearray, partition: FetchedPartition, records_size: int, version: int) -> None:
    """Append everything up to and including the length of the records."""
    aborted = partition.aborted_transactions
    if version >= 5:
        own += _PARTITION_WITH_START.pack(*partition[:5])
    else:
        own += _PARTITION.pack(*partition[:4])
    if aborted is None:
        own += b"\xff\xff\xff\xff"
    else:
        own += INT32.pack(len(aborted))
        for transaction in aborted:
            own += _ABORTED.pack(*transaction)
    if version >= 11:
        own += INT32.pack(partition.preferred_read_replica)
    own += INT32.pack(records_size)


def _partition_tags(partition: FetchedPartition) -> bytes:
    diverging, leader = partition.diverging_epoch, partition.current_leader
    tags = b""
    if diverging is not None:
        tags += bytes((0, _EPOCH_END_OFFSET.size)) + _EPOCH_END_OFFSET.pack(*diverging, 0)
    if leader is not None:
        tags += leader_tag(1, leader)
    return bytes(((diverging is not None) + (leader is not None),)) + tags
