"""ShareGroupHeartbeat on the wire's side: the fields of the reply, and the refusal without the feature."""

from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker.api.handlers import share_group_heartbeat
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.support.worlds.group import GroupWorld


def beat(world: GroupWorld, *, offered: bool = True, epoch: int = 0) -> Any:
    services = SimpleNamespace(offers_share_groups=offered, groups=world.coordinator)
    context: Any = SimpleNamespace(services=services, client_id="c", client_host="h")
    request = ShareGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=epoch, subscribed_topic_names=["t"] if epoch == 0 else None
    )
    return share_group_heartbeat.handle(request, context)


def test_the_reply_has_the_epoch_and_the_assignment() -> None:
    with GroupWorld() as world:
        world.topics.make("t", 1)
        joined = beat(world)
        assert (joined.error_code, joined.member_epoch, joined.heartbeat_interval_ms) == (ErrorCode.NONE, 2, 5_000)
        assert joined.assignment.topic_partitions == []
        for _ in range(5):
            world.turns()
        world.advance(5_000)
        (topic,) = beat(world, epoch=2).assignment.topic_partitions
        assert (topic.topic_id, topic.partitions) == (b"\1" * 16, [0])


@pytest.mark.parametrize(
    ("offered", "epoch", "code"),
    [(False, 0, ErrorCode.UNSUPPORTED_VERSION), (True, 1, ErrorCode.GROUP_ID_NOT_FOUND)],
)
def test_refusals_have_a_code(offered: bool, epoch: int, code: ErrorCode) -> None:
    with GroupWorld() as world:
        assert beat(world, offered=offered, epoch=epoch).error_code is code
