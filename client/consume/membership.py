"""The classic group protocol from a member's side: join, sync, heartbeat, commit, leave.

Each method is one exchange with the coordinator, retried while the error may pass. What does not pass is raised;
barnabas.client.consume.group decides whether to join again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from barnabas.client.client import GROUP, Client
from barnabas.client.clock import Deadline
from barnabas.client.connection import Connection
from barnabas.client.consume.assignors import (
    PROTOCOL_TYPE,
    RANGE,
    assigned_partitions,
    encode_assignment,
    encode_subscription,
    range_assignment,
    subscribed_topics,
)
from barnabas.client.errors import raise_for
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import commit_offsets
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from barnabas.protocol.registry import ApiKey

T = TypeVar("T")

REBALANCE_TIMEOUT_MS = 60_000
_TOPIC_PATIENCE_MS = 5_000  # how long the leader waits for subscribed topics that are being created


class Membership:
    """One member of a group. `member_id` is "" and `generation_id` -1 before the first join."""

    def __init__(self, client: Client, group_id: str, topics: list[str], session_timeout_ms: int) -> None:
        self._client = client
        self._group_id = group_id
        self._topics = topics
        self._session_timeout_ms = session_timeout_ms
        self.member_id = ""
        self.generation_id = -1

    def join(self) -> list[TopicPartition]:
        """Take part in a rebalance; the partitions this member is to read."""
        deadline = self._client.deadline(REBALANCE_TIMEOUT_MS + self._client.timeout_ms)
        joined = self._with_coordinator(deadline, lambda coordinator: self._ask_to_join(coordinator, deadline))
        self.generation_id = joined.generation_id
        request = SyncGroupRequest(
            group_id=self._group_id,
            generation_id=self.generation_id,
            member_id=self.member_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=RANGE,
            assignments=self._lead(joined) if joined.leader == self.member_id else [],
        )

        def sync(coordinator: Connection) -> SyncGroupResponse:
            response: SyncGroupResponse = coordinator.ask(request, deadline)
            raise_for(response.error_code, None, f"group {self._group_id!r}")
            return response

        return assigned_partitions(self._with_coordinator(deadline, sync).assignment)

    def heartbeat(self) -> None:
        """Say that this member is alive. KafkaError REBALANCE_IN_PROGRESS asks it to join again."""
        deadline = self._client.deadline()
        request = HeartbeatRequest(group_id=self._group_id, generation_id=self.generation_id, member_id=self.member_id)

        def attempt(coordinator: Connection) -> None:
            raise_for(coordinator.ask(request, deadline).error_code, None, f"group {self._group_id!r}")

        self._with_coordinator(deadline, attempt)

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit these offsets, each the next to be read."""
        commit_offsets(
            self._client, self._group_id, offsets, generation_id=self.generation_id, member_id=self.member_id
        )

    def leave(self) -> None:
        """Leave now, so that the others need not wait for this member's session to end."""
        deadline = self._client.deadline()

        def attempt(coordinator: Connection) -> None:
            if coordinator.version(ApiKey.LEAVE_GROUP) >= 3:
                members = [MemberIdentity(member_id=self.member_id)]
                request = LeaveGroupRequest(group_id=self._group_id, members=members)
            else:
                request = LeaveGroupRequest(group_id=self._group_id, member_id=self.member_id)
            raise_for(coordinator.ask(request, deadline).error_code, None, f"group {self._group_id!r}")

        self._with_coordinator(deadline, attempt)
        self.forget()

    def forget(self) -> None:
        """Be nobody: the group does not know this member any more."""
        self.member_id, self.generation_id = "", -1

    def _ask_to_join(self, coordinator: Connection, deadline: Deadline) -> JoinGroupResponse:
        request = JoinGroupRequest(
            group_id=self._group_id,
            session_timeout_ms=self._session_timeout_ms,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            member_id=self.member_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol(name=RANGE, metadata=encode_subscription(self._topics))],
        )
        response: JoinGroupResponse = coordinator.ask(request, deadline)
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = request.member_id = response.member_id
            response = coordinator.ask(request, deadline)
        raise_for(response.error_code, None, f"group {self._group_id!r}")
        self.member_id = response.member_id
        return response

    def _lead(self, joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        """The leader's work: assign the partitions of all topics to all members."""
        subscriptions = {member.member_id: subscribed_topics(member.metadata) for member in joined.members}
        counts = self._count_partitions({topic for subscribed in subscriptions.values() for topic in subscribed})
        return [
            SyncGroupRequestAssignment(member_id=member, assignment=encode_assignment(partitions))
            for member, partitions in range_assignment(subscriptions, counts).items()
        ]

    def _count_partitions(self, topics: set[str]) -> dict[str, int]:
        """Partitions by topic. Missing topics are created where the broker does that, and waited for a little."""
        deadline = self._client.deadline(min(_TOPIC_PATIENCE_MS, self._client.timeout_ms))

        def attempt() -> None:
            cluster = self._client.refresh(topics, deadline, auto_create=True)
            for topic in topics:
                cluster.topic(topic)

        try:
            self._client.with_retries(attempt, deadline)
        except KafkaError as error:
            if error.code not in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE):
                raise
        known = self._client.cluster.topics
        return {topic: len(known[topic].partitions) for topic in topics if topic in known}

    def _with_coordinator(self, deadline: Deadline, attempt: Callable[[Connection], T]) -> T:
        return self._client.with_retries(
            lambda: attempt(self._client.coordinator(GROUP, self._group_id, deadline)),
            deadline,
            lambda error: self._client.forget_coordinator(GROUP, self._group_id),
        )
