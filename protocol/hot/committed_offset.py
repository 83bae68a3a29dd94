# compiled: mypyc
"""A committed offset in its usual form in `__consumer_offsets`: bytes to fields and back, without objects.

The usual form is written by Kafka 4.1 and later for a commit without metadata: a key of type 1, and a value of version
4 with the topic's id (tagged field 0). All other forms (older versions, metadata, an expiry, a tombstone) are read by
`log_records.group`; here they are only recognised as not usual. The reason is fast loading of 100,000 offsets.

    key     i16 1, string group, string topic, i32 partition
    value   i16 4, i64 offset, i32 leader epoch, compact string "" (01), i64 commit timestamp, one tag (01), tag 0 (00),
            16 bytes (10), topic id
"""

from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple

_KEY_TYPE: Final = b"\x00\x01"
_VALUE: Final = Struct(">hqiBqBBB16s")
_VERSION: Final = 4
_EMPTY: Final = 1
_ONE_TAG: Final = 1
_TOPIC_ID_TAG: Final = 0
_TOPIC_ID_SIZE: Final = 16
_FIXED: Final = (_ONE_TAG, _TOPIC_ID_TAG, _TOPIC_ID_SIZE)
_USUAL: Final = (_VERSION, _EMPTY, *_FIXED)
_INT32: Final = Struct(">i")
_NAME_BYTES_MAX: Final = 0x7FFF
_new_tuple: Final = tuple.__new__  # half the cost of a NamedTuple's constructor


class UsualCommit(NamedTuple):
    """The fields of key and value."""

    group: str
    topic: str
    partition: int
    offset: int
    leader_epoch: int
    commit_timestamp: int
    topic_id: bytes


def read_usual_commit(key: bytes, value: bytes | None) -> UsualCommit | None:
    """Return the record's fields, None if its form is not the usual one, including damaged ones."""
    if value is None or len(value) != _VALUE.size:
        return None
    version, offset, leader_epoch, metadata, timestamp, tags, tag, size, topic_id = _VALUE.unpack(value)
    if (version, metadata, tags, tag, size) != _USUAL:
        return None
    names = _names(key[:-4])
    if names is None:
        return None
    (partition,) = _INT32.unpack_from(key, len(key) - 4)
    return _new_tuple(UsualCommit, (*names, partition, offset, leader_epoch, timestamp, topic_id))


def write_usual_commit(commit: UsualCommit) -> tuple[bytes, bytes] | None:
    """Return key and value, None for names that do not fit."""
    head = _head(commit.group, commit.topic)
    if head is None:
        return None
    value = _VALUE.pack(
        _VERSION, commit.offset, commit.leader_epoch, _EMPTY, commit.commit_timestamp, *_FIXED, commit.topic_id
    )
    return head + _INT32.pack(commit.partition), value


@lru_cache(maxsize=1024)
def _names(head: bytes) -> tuple[str, str] | None:
    """Return group and topic from a key without its partition."""
    if head[:2] != _KEY_TYPE or len(head) < 4:
        return None
    group_end = 4 + int.from_bytes(head[2:4], "big")
    topic_start = group_end + 2
    if topic_start > len(head) or topic_start + int.from_bytes(head[group_end:topic_start], "big") != len(head):
        return None
    try:
        return head[4:group_end].decode(), head[topic_start:].decode()
    except UnicodeDecodeError:
        return None


@lru_cache(maxsize=1024)
def _head(group: str, topic: str) -> bytes | None:
    """Return a key without its partition."""
    names = group.encode(), topic.encode()
    if any(len(name) > _NAME_BYTES_MAX for name in names):
        return None
    return _KEY_TYPE + b"".join(len(name).to_bytes(2, "big") + name for name in names)
