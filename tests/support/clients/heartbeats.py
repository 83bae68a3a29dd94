"""Heartbeats by hand, for tests that need a member of the consumer or the streams protocol and no program."""

from collections.abc import Mapping, Sequence
from typing import Any

from barnabas.client.client import GROUP, Client
from barnabas.client.errors import raise_for
from barnabas.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from barnabas.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)
from tests.support.waiting import until


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


class StreamsMember:
    """The only member of a streams group: a program that counts the words of the topic `lines`, of two partitions."""

    def __init__(self, client: Client, group: str) -> None:
        self._client, self._group = client, group
        self.epoch = 0
        self._tasks: list[TaskIds] = []
        self._beat(0)
        until(self._has_every_task)

    def leave(self) -> None:
        self._beat(-1)

    def _has_every_task(self) -> bool:
        self._beat(self.epoch)
        return len(self._tasks) == 2

    def _beat(self, epoch: int) -> None:
        is_first, deadline = epoch == 0, self._client.deadline()
        request = StreamsGroupHeartbeatRequest(
            group_id=self._group,
            member_id="m",
            member_epoch=epoch,
            endpoint_information_epoch=0,
            rebalance_timeout_ms=60_000 if is_first else -1,
            topology=_counting(self._group) if is_first else None,
            active_tasks=self._tasks,
            standby_tasks=[],
            warmup_tasks=[],
            process_id="a process" if is_first else None,
        )

        def attempt() -> None:
            answer = self._client.coordinator(GROUP, self._group, deadline).ask(request, deadline)
            raise_for(answer.error_code, answer.error_message, f"group {self._group!r}")
            self.epoch = answer.member_epoch
            if answer.active_tasks is not None:
                self._tasks = answer.active_tasks

        self._client.with_retries(attempt, deadline, lambda error: self._client.forget_coordinator(GROUP, self._group))


def _counting(group: str) -> Topology:
    repartition, changelog = (
        TopicInfo(name=f"{group}-counts-{which}", partitions=0, replication_factor=1, topic_configs=[])
        for which in ("repartition", "changelog")
    )
    empty: dict[str, Any] = {"source_topic_regex": [], "copartition_groups": []}
    return Topology(
        epoch=0,
        subtopologies=[
            Subtopology(
                subtopology_id="0",
                source_topics=["lines"],
                state_changelog_topics=[],
                repartition_sink_topics=[repartition.name],
                repartition_source_topics=[],
                **empty,
            ),
            Subtopology(
                subtopology_id="1",
                source_topics=[],
                state_changelog_topics=[changelog],
                repartition_sink_topics=[],
                repartition_source_topics=[repartition],
                **empty,
            ),
        ],
    )
