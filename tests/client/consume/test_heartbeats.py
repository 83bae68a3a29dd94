"""What a heartbeat says: everything at first and when in doubt, else what has changed."""

from typing import Any

import pytest

from barnabas.client.consume.heartbeats import Heartbeats, MemberSettings, TopicIdPartition
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions

T = b"t" * 16
NOTHING: frozenset[TopicIdPartition] = frozenset()
TWO = frozenset({TopicIdPartition(T, 1), TopicIdPartition(T, 0)})
ALWAYS: dict[str, Any] = {"group_id": "g", "member_id": "m", "instance_id": "i"}
ALL: dict[str, Any] = {"rebalance_timeout_ms": 7, "subscribed_topic_names": ["t"], "subscribed_topic_regex": "x.*"}
ALL |= {"server_assignor": "range"}


@pytest.fixture
def heartbeats() -> Heartbeats:
    return Heartbeats(MemberSettings("g", "m", ("t",), "x.*", "i", "range", 7))


def says(epoch: int, **fields: Any) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(member_epoch=epoch, **ALWAYS, **fields)


def test_joining_says_everything_and_that_nothing_is_read(heartbeats: Heartbeats) -> None:
    assert heartbeats.request(0, NOTHING) == says(0, **ALL, topic_partitions=[])


def test_after_an_answer_only_what_changed_is_reported(heartbeats: Heartbeats) -> None:
    heartbeats.was_answered(NOTHING)
    assert heartbeats.request(3, NOTHING) == says(3)
    owned = [TopicPartitions(topic_id=T, partitions=[0, 1])]
    assert heartbeats.request(3, TWO) == says(3, topic_partitions=owned)
    heartbeats.was_answered(TWO)
    assert heartbeats.request(3, TWO) == says(3)
    assert heartbeats.request(4, NOTHING) == says(4, topic_partitions=[])


def test_without_an_answer_everything_is_reported_again(heartbeats: Heartbeats) -> None:
    heartbeats.was_answered(TWO)
    heartbeats.was_not_answered()
    owned = [TopicPartitions(topic_id=T, partitions=[0, 1])]
    assert heartbeats.request(3, TWO) == says(3, **ALL, topic_partitions=owned)


@pytest.mark.parametrize("epoch", [-1, -2])
def test_leaving_says_only_who_leaves(heartbeats: Heartbeats, epoch: int) -> None:
    assert heartbeats.request(epoch, NOTHING) == says(epoch)
