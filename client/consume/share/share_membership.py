"""Membership in a share group (KIP-932): ShareGroupHeartbeat for joining, staying and leaving.

The coordinator assigns partitions by topic id, also one partition to several members, so that nothing has to be
revoked before another member reads it. In a new group the join is answered with an empty assignment: the coordinator
first writes the initial state of the partitions. Until there is an assignment, heartbeats come sooner than requested.

Invariants: a fenced member keeps its id and joins again with epoch 0; meanwhile it is assigned nothing, but what it
holds may still be acknowledged, because that does not need a membership.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.client.client import GROUP, Client
from barnabas.client.connections.retries import backoffs_ms
from barnabas.client.consume.heartbeats import JOIN_EPOCH, LEAVE_EPOCH, TopicIdPartition
from barnabas.client.errors import raise_for
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

if TYPE_CHECKING:
    from barnabas.client.consume.share.share_requests import ShareMember
    from barnabas.client.metadata import TopicPartition

_FENCED = frozenset({ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND})


class ShareMembership:
    """One member of a share group."""

    def __init__(self, client: Client, member: ShareMember, topics: Iterable[str]) -> None:
        self._client = client
        self._member = member
        self._topics = sorted(set(topics))
        self._names: dict[bytes, str] = {}
        self._epoch = JOIN_EPOCH
        self._assigned: frozenset[TopicIdPartition] = frozenset()
        self._has_begun = False
        self._pauses_ms = backoffs_ms()
        self.next_heartbeat = client.deadline(0)

    @property
    def assignment(self) -> dict[TopicPartition, TopicIdPartition]:
        """The assigned partitions, as far as the names of their topics are known."""
        return {
            (self._names[each.topic_id], each.partition): each
            for each in sorted(self._assigned)
            if each.topic_id in self._names
        }

    def stay(self) -> None:
        """Join or send a heartbeat. KafkaError if joining again does not cure it."""
        if not self._has_begun:
            self._client.refresh(self._topics, self._client.deadline(), auto_create=True)
            self._has_begun = True
        joins = self._epoch == JOIN_EPOCH
        try:
            response = self._ask(self._topics if joins else None)
        except KafkaError as error:
            if joins or error.code not in _FENCED:
                raise
            self._epoch, self._assigned = JOIN_EPOCH, frozenset()
            self.next_heartbeat = self._client.deadline(next(self._pauses_ms))
            return
        self._epoch = response.member_epoch
        if response.assignment is not None:
            self._assigned = frozenset(
                TopicIdPartition(each.topic_id, number)
                for each in response.assignment.topic_partitions
                for number in each.partitions
            )
        interval_ms: float = response.heartbeat_interval_ms
        if self._is_named():
            self._pauses_ms = backoffs_ms()
        else:
            interval_ms = min(next(self._pauses_ms), interval_ms)
        self.next_heartbeat = self._client.deadline(interval_ms)

    def leave(self) -> None:
        """Leave the group."""
        if self._epoch == JOIN_EPOCH:
            return
        self._epoch, self._assigned = LEAVE_EPOCH, frozenset()
        try:
            self._ask(None)
        except KafkaError as error:
            if error.code not in _FENCED:
                raise
        finally:
            self._epoch = JOIN_EPOCH

    def _is_named(self) -> bool:
        """Return whether partitions are assigned, all of topics with known names. Requests the names if needed."""
        topic_ids = {each.topic_id for each in self._assigned}
        if not topic_ids <= self._names.keys():
            found = self._client.refresh(self._topics, self._client.deadline()).topics.values()
            self._names = {topic.topic_id: topic.name for topic in found if topic.error_code == ErrorCode.NONE}
        return bool(topic_ids) and topic_ids <= self._names.keys()

    def _ask(self, topics: list[str] | None) -> ShareGroupHeartbeatResponse:
        group_id, member_id = self._member
        deadline = self._client.deadline()

        def attempt() -> ShareGroupHeartbeatResponse:
            request = ShareGroupHeartbeatRequest(
                group_id=group_id, member_id=member_id, member_epoch=self._epoch, subscribed_topic_names=topics
            )
            coordinator = self._client.coordinator(GROUP, group_id, deadline)
            response: ShareGroupHeartbeatResponse = coordinator.ask(request, deadline)
            raise_for(response.error_code, response.error_message, f"group {group_id!r}")
            return response

        return self._client.with_retries(
            attempt, deadline, lambda error: self._client.forget_coordinator(GROUP, group_id)
        )
