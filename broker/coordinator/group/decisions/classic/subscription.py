"""Which topics a consumer group reads, as far as its members say so.

The metadata of protocol type "consumer" is opaque to the broker but for this: `i16 version, i32 count, count x (i16
length, UTF-8)`; what follows (user data, owned partitions, generation, rack) is the assignors' business. Metadata
that cannot be read means only that nobody knows the subscription.
"""

from __future__ import annotations

import struct
from collections.abc import Set

from barnabas.broker.coordinator.group.decisions.classic.model import Group

CONSUMER_PROTOCOL_TYPE = "consumer"
_HEAD = struct.Struct(">hi")
_LENGTH = struct.Struct(">h")


def topics_in_use(group: Group, topics: Set[str]) -> Set[str]:
    """Those of `topics` that members read, or may read: all of them when nobody knows what a consumer group reads."""
    subscribed = subscribed_topics(group)
    if subscribed is not None:
        return topics & subscribed
    return topics if group.protocol_type == CONSUMER_PROTOCOL_TYPE else frozenset()


def subscribed_topics(group: Group) -> frozenset[str] | None:
    """The topics that all members of this generation together subscribe to; None when that is not known.

    Who joined since then counts from the next generation on. Before the first, nothing is known.
    """
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE or group.generation_id == 0:
        return None
    topics: set[str] = set()
    for member in group.members.values():
        if member.member_id in group.newcomers:
            continue
        subscribed = parse_topics(member.metadata(group.protocol_name))
        if subscribed is None:
            return None
        topics.update(subscribed)
    return frozenset(topics)


def parse_topics(metadata: bytes) -> list[str] | None:
    """The topics of one member's subscription, or None when the bytes are not one."""
    try:
        version, count = _HEAD.unpack_from(metadata)
        if version < 0 or count < 0:
            return None
        topics, position = [], _HEAD.size
        for _ in range(min(count, len(metadata))):
            (length,) = _LENGTH.unpack_from(metadata, position)
            position += _LENGTH.size
            if length < 0 or position + length > len(metadata):
                return None
            topics.append(metadata[position : position + length].decode())
            position += length
    except (struct.error, UnicodeDecodeError):
        return None
    return topics
