"""ConsumerGroupHeartbeat by hand, for tests that need a member of the consumer protocol and no consumer."""

from collections.abc import Mapping, Sequence

from barnabas.client.client import GROUP, Client
from barnabas.client.errors import raise_for
from barnabas.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)


def heartbeat(
    client: Client,
    group: str,
    member_id: str,
    epoch: int = 0,
    *,
    topics: Sequence[str] | None = None,
    owned: Mapping[bytes, Sequence[int]] | None = None,
) -> ConsumerGroupHeartbeatResponse:
    """The answer to one heartbeat, which joins the group in epoch 0; retried while the coordinator loads."""
    deadline = client.deadline()
    partitions = [TopicPartitions(topic_id=each, partitions=list(of)) for each, of in (owned or {}).items()]
    request = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id=member_id,
        member_epoch=epoch,
        rebalance_timeout_ms=60_000 if epoch == 0 else -1,
        subscribed_topic_names=None if topics is None else list(topics),
        topic_partitions=None if owned is None and epoch else partitions,
    )

    def attempt() -> ConsumerGroupHeartbeatResponse:
        response: ConsumerGroupHeartbeatResponse = client.coordinator(GROUP, group, deadline).ask(request, deadline)
        raise_for(response.error_code, response.error_message, f"group {group!r}")
        return response

    return client.with_retries(attempt, deadline, lambda error: client.forget_coordinator(GROUP, group))
