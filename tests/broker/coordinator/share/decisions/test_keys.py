"""The text of a share partition's key, in both directions."""

import pytest

from barnabas.broker.coordinator.share.decisions.keys import key_text, parse_key
from barnabas.broker.partitions.share.persister import SharePartitionKey
from barnabas.protocol.errors import ErrorCode, KafkaError

TOPIC_ID = bytes(15) + b"\x01"
SHOWN = "AAAAAAAAAAAAAAAAAAAAAQ"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (f"g:{SHOWN}:0", SharePartitionKey("g", TOPIC_ID, 0)),
        (f"a:b:{SHOWN}:17", SharePartitionKey("a:b", TOPIC_ID, 17)),
    ],
)
def test_a_key_is_read_and_written(text: str, key: SharePartitionKey) -> None:
    assert parse_key(text) == key
    assert key_text(key) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Invalid key format: expected - groupId:topicId:partition, found - "),
        ("g", "Invalid key format: expected - groupId:topicId:partition, found - g"),
        (f"{SHOWN}:0", f"Invalid key format: expected - groupId:topicId:partition, found - {SHOWN}:0"),
        (f":{SHOWN}:0", "GroupId must not be empty"),
        (f" :{SHOWN}:0", "GroupId must not be empty"),
        ("g:t:0", "Invalid topic ID: t"),
        (f"g:{SHOWN}:x", "Invalid partition: x"),
        (f"g:{SHOWN}:2147483648", "Invalid partition: 2147483648"),
    ],
)
def test_another_text_is_refused(text: str, why: str) -> None:
    with pytest.raises(KafkaError) as refusal:
        parse_key(text)
    assert (refusal.value.code, refusal.value.message) == (ErrorCode.INVALID_REQUEST, why)
