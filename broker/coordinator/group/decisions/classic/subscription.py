"""The topics that a consumer group reads, as far as its members' subscriptions show them.

The metadata of protocol type "consumer" is opaque to the broker except this part: `i16 version, i32 count, count x (i16
length, UTF-8)`; the rest (user data, owned partitions, generation, rack) is for the assignors. If metadata cannot be
parsed, the subscription is unknown.
"""

from __future__ import annotations

import struct
from collections.abc import Set

from barnabas.broker.coordinator.group.decisions.classic.model import Group

CONSUMER_PROTOCOL_TYPE = "consumer"
_HEAD = struct.Struct(">hi")
_LENGTH = struct.Struct(">h")


def topics_in_use(group: Group, topics: Set[str]) -> Set[str]:
    """Return those of `topics` that members read, or may read: all of them if the subscription is unknown."""
    subscribed = subscribed_topics(group)
    if subscribed is not None:
        return topics & subscribed
    return topics if group.protocol_type == CONSUMER_PROTOCOL_TYPE else frozenset()


def subscribed_topics(group: Group) -> frozenset[str] | None:
    """Return the topics that all members of this generation together subscribe to; None if unknown.

    Members that joined since then count from the next generation on. Before the first one, nothing is known.
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
    """Return the topics of one member's subscription, or None if the bytes are not a subscription."""
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
