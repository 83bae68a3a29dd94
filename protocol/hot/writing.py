# compiled: mypyc
"""Writing the common parts of Produce and Fetch responses, in the flexible encoding and the classic one."""

from collections.abc import Sequence
from struct import Struct
from typing import Final

from barnabas.protocol.hot.reading import INT16, INT32
from barnabas.protocol.primitives import uvarint

Topic = str | bytes
"""A topic by its name or, in the versions with ids, by the 16 bytes of its id."""
LeaderIdAndEpoch = tuple[int, int]
NodeEndpoint = tuple[int, str, int, str | None]
"""(node id, host, port, rack)"""

_LEADER: Final = Struct(">iiB")
_SMALL: Final = [bytes((size,)) for size in range(0x80)]  # uvarints of one byte


def compact_string(text: str | None) -> bytes:
    """Return a nullable string after a uvarint of its length + 1."""
    if text is None:
        return b"\x00"
    data = text.encode()
    size = len(data) + 1
    return _SMALL[size] + data if size < 0x80 else uvarint(size) + data


def classic_string(text: str | None) -> bytes:
    """Return a nullable string after an i16 length."""
    if text is None:
        return b"\xff\xff"
    data = text.encode()
    return INT16.pack(len(data)) + data


def topic_name(topic: Topic, flexible: bool) -> bytes:
    """Return the field that identifies the topic: an id unchanged, a name with its length."""
    if isinstance(topic, bytes):
        return topic
    return compact_string(topic) if flexible else classic_string(topic)


def leader_tag(tag: int, leader: LeaderIdAndEpoch) -> bytes:
    """Return the tagged field {leader id i32, leader epoch i32}; not for an epoch with an end offset."""
    return bytes((tag, _LEADER.size)) + _LEADER.pack(*leader, 0)


def endpoints_section(nodes: Sequence[NodeEndpoint]) -> bytes:
    """Return the tag section of a response: NodeEndpoints as tag 0, or an empty section."""
    if not nodes:
        return b"\x00"
    body = uvarint(len(nodes) + 1)
    for node_id, host, port, rack in nodes:
        body += INT32.pack(node_id) + compact_string(host) + INT32.pack(port) + compact_string(rack) + b"\x00"
    return b"\x01\x00" + uvarint(len(body)) + body
