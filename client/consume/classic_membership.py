"""The classic group protocol from a member's side: join, sync, heartbeat, commit, leave.

Each request to the coordinator is retried while the error is retriable. Every join is a new generation that does not
use the previous one's state: all partitions begin at their committed offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from barnabas.client.client import GROUP, Client
from barnabas.client.clock import Deadline
from barnabas.client.connections.connection import BrokerConnection
from barnabas.client.consume.assignors import (
    PROTOCOL_TYPE,
    RANGE,
    assigned_partitions,
    encode_assignment,
    encode_subscription,
    range_assignment,
    subscribed_topics,
)
from barnabas.client.consume.membership import Assignment
from barnabas.client.errors import raise_for
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import commit_offsets, stable_offsets
from barnabas.client.transaction_requests import ConsumerGroupMetadata
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from barnabas.protocol.registry import ApiKey

T = TypeVar("T")

SESSION_TIMEOUT_MS = 45_000
HEARTBEAT_MS = 3_000
REBALANCE_TIMEOUT_MS = 60_000
_TOPIC_PATIENCE_MS = 5_000  # how long the leader waits for subscribed topics that are being created

_FORGOTTEN = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})
_JOIN_AGAIN = _FORGOTTEN | {ErrorCode.REBALANCE_IN_PROGRESS}


class ClassicProtocol(NamedTuple):
    """The settings of a classic member. instance_id: of a static member, which does not leave when it closes."""

    session_timeout_ms: int = SESSION_TIMEOUT_MS
    heartbeat_ms: int = HEARTBEAT_MS
    instance_id: str | None = None

    def membership(self, client: Client, group_id: str, topics: Iterable[str]) -> ClassicMembership:
        """Return a member that is in no group yet."""
        return ClassicMembership(client, group_id, sorted(set(topics)), self)


class ClassicMembership:
    """One member of a group: see barnabas.client.consume.membership."""

    def __init__(self, client: Client, group_id: str, topics: list[str], settings: ClassicProtocol) -> None:
        self._client = client
        self._group_id = group_id
        self._topics = topics
        self._settings = settings
        self._member_id = ""
        self._generation_id = -1
        self.is_member = False
        self.to_reconcile: Assignment | None = None
        self.next_heartbeat = client.deadline(0)

    @property
    def member(self) -> ConsumerGroupMetadata:
        """The member, without an id and a generation before the first join."""
        return ConsumerGroupMetadata(self._group_id, self._generation_id, self._member_id, self._settings.instance_id)

    def is_settled(self) -> bool:
        """Return whether the group is settled. No member has joined before all have: lost members time out first."""
        return self.is_member and self.to_reconcile is None

    def stay(self) -> None:
        """Join or send a heartbeat. Joining takes as long as the other members need for the rebalance."""
        try:
            if self.is_member:
                self._heartbeat()
            else:
                self.to_reconcile = Assignment(frozenset(self._join()), frozenset())
                self.is_member = True
        except KafkaError as error:
            self.lose(error)
        self.next_heartbeat = self._client.deadline(self._settings.heartbeat_ms)

    def acknowledge(self) -> None:
        """Note that the assignment is adopted. The other members need no notification."""
        self.to_reconcile = None

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int | None]:
        """Return the committed offsets."""
        return stable_offsets(self._client, self._group_id, partitions)

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit these offsets."""
        commit_offsets(
            self._client,
            self._group_id,
            offsets,
            generation_id=self._generation_id,
            member_id=self._member_id,
            instance_id=self._settings.instance_id,
        )

    def lose(self, error: KafkaError) -> None:
        """Handle a refused commit. In a rebalance the member keeps its id."""
        if error.code not in _JOIN_AGAIN:
            raise error
        self.is_member, self.to_reconcile = False, None
        if error.code in _FORGOTTEN:
            self._forget()

    def leave(self) -> None:
        """Leave the group. A static member stays, as in Kafka: it may be back before its session ends."""
        if self._member_id and self._settings.instance_id is None:
            self._ask_to_leave()
        self.is_member, self.to_reconcile = False, None
        self._forget()

    def _forget(self) -> None:
        self._member_id, self._generation_id = "", -1

    def _join(self) -> list[TopicPartition]:
        """Take part in a rebalance; return the partitions assigned to this member."""
        deadline = self._client.deadline(REBALANCE_TIMEOUT_MS + self._client.timeout_ms)
        joined = self._with_coordinator(deadline, lambda coordinator: self._ask_to_join(coordinator, deadline))
        self._generation_id = joined.generation_id
        request = SyncGroupRequest(
            group_id=self._group_id,
            generation_id=self._generation_id,
            member_id=self._member_id,
            group_instance_id=self._settings.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=RANGE,
            assignments=self._lead(joined) if joined.leader == self._member_id else [],
        )

        def sync(coordinator: BrokerConnection) -> SyncGroupResponse:
            response: SyncGroupResponse = coordinator.ask(request, deadline)
            raise_for(response.error_code, None, f"group {self._group_id!r}")
            return response

        return assigned_partitions(self._with_coordinator(deadline, sync).assignment)

    def _heartbeat(self) -> None:
        deadline = self._client.deadline()
        request = HeartbeatRequest(
            group_id=self._group_id,
            generation_id=self._generation_id,
            member_id=self._member_id,
            group_instance_id=self._settings.instance_id,
        )

        def attempt(coordinator: BrokerConnection) -> None:
            raise_for(coordinator.ask(request, deadline).error_code, None, f"group {self._group_id!r}")

        self._with_coordinator(deadline, attempt)

    def _ask_to_leave(self) -> None:
        deadline = self._client.deadline()

        def attempt(coordinator: BrokerConnection) -> None:
            if coordinator.version(ApiKey.LEAVE_GROUP) >= 3:
                members = [MemberIdentity(member_id=self._member_id)]
                request = LeaveGroupRequest(group_id=self._group_id, members=members)
            else:
                request = LeaveGroupRequest(group_id=self._group_id, member_id=self._member_id)
            raise_for(coordinator.ask(request, deadline).error_code, None, f"group {self._group_id!r}")

        self._with_coordinator(deadline, attempt)

    def _ask_to_join(self, coordinator: BrokerConnection, deadline: Deadline) -> JoinGroupResponse:
        request = JoinGroupRequest(
            group_id=self._group_id,
            session_timeout_ms=self._settings.session_timeout_ms,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            member_id=self._member_id,
            group_instance_id=self._settings.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol(name=RANGE, metadata=encode_subscription(self._topics))],
        )
        response: JoinGroupResponse = coordinator.ask(request, deadline)
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = request.member_id = response.member_id
            response = coordinator.ask(request, deadline)
        raise_for(response.error_code, None, f"group {self._group_id!r}")
        self._member_id = response.member_id
        return response

    def _lead(self, joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        """Return the leader's assignment of the partitions of all topics to all members."""
        subscriptions = {member.member_id: subscribed_topics(member.metadata) for member in joined.members}
        counts = self._count_partitions({topic for subscribed in subscriptions.values() for topic in subscribed})
        return [
            SyncGroupRequestAssignment(member_id=member, assignment=encode_assignment(partitions))
            for member, partitions in range_assignment(subscriptions, counts).items()
        ]

    def _count_partitions(self, topics: set[str]) -> dict[str, int]:
        """Return the partitions by topic. Wait a little for missing topics, which the broker may create."""
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

    def _with_coordinator(self, deadline: Deadline, attempt: Callable[[BrokerConnection], T]) -> T:
        return self._client.with_retries(
            lambda: attempt(self._client.coordinator(GROUP, self._group_id, deadline)),
            deadline,
            lambda error: self._client.forget_coordinator(GROUP, self._group_id),
        )
