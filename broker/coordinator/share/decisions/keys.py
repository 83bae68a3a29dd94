"""The text of a share partition's key, `group:topic id:partition`, which clients of FindCoordinator send.

Read from its end: a group id may contain colons. The partition of `__share_group_state` depends on the text.
"""

from __future__ import annotations

import re

from barnabas.broker.partitions.share.persister import SharePartitionKey
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.primitives import uuid_bytes, uuid_text

_INT32 = re.compile(r"[+-]?[0-9]{1,10}")


def key_text(key: SharePartitionKey) -> str:
    """Return the text of the key."""
    return key.coordinator_key(uuid_text(key.topic_id))


def parse_key(text: str) -> SharePartitionKey:
    """Return the key in a text. Raises KafkaError INVALID_REQUEST."""
    group_id, _, rest = text.rstrip(":").rpartition(":")
    group_id, colon, topic_id = group_id.rpartition(":")
    if not colon:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"Invalid key format: expected - groupId:topicId:partition, found - {text}"
        )
    if not group_id.strip():
        raise KafkaError(ErrorCode.INVALID_REQUEST, "GroupId must not be empty")
    try:
        found = uuid_bytes(topic_id)
    except ValueError as wrong:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Invalid topic ID: {topic_id}") from wrong
    if _INT32.fullmatch(rest) is None or not -(2**31) <= int(rest) < 2**31:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Invalid partition: {rest}")
    return SharePartitionKey(group_id, found, int(rest))
