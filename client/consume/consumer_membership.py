"""The consumer group protocol (KIP-848) from a member's side: one request for joining, staying and leaving.

Theory of operation: the coordinator assigns partitions by topic id. A response with other partitions than the member
reads makes it RECONCILING: `to_reconcile` names them, as far as Metadata names their topics, until the consumer has
acknowledged; the next heartbeat, which is sent at once, reports the partitions read then. The coordinator assigns a
partition to a member only after the previous one has reported that it does not read it any more.

Invariants: the state changes only by member_states.TRANSITIONS; `_owned` are the partitions that the consumer reads,
and only these are reported to the coordinator; the epoch sent is that of the last response. A fenced member keeps its
id, owns nothing and joins again with epoch 0. If the instance id is in use when this member joins,
one attempt is made to release it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.client.client import GROUP, Client
from barnabas.client.connections.retries import backoffs_ms
from barnabas.client.consume.heartbeats import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
    Heartbeats,
    MemberSettings,
    TopicIdPartition,
    assigned,
)
from barnabas.client.consume.member_states import IN_GROUP, ConsumerMemberState, MemberEvent, next_state
from barnabas.client.consume.membership import Assignment
from barnabas.client.consume.rebalances import is_through, one_group
from barnabas.client.errors import UnsupportedByBroker, raise_for
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import commit_offsets, stable_offsets
from barnabas.client.transaction_requests import ConsumerGroupMetadata
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest, DescribedGroup
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from barnabas.protocol.primitives import uuid_text
from barnabas.protocol.registry import ApiKey

REBALANCE_TIMEOUT_MS = 60_000
SOON_MS = 1000
"""The pause before a new request for something expected: a first assignment, or the name of a topic."""

_REGEX_SINCE = 1
_FENCED = frozenset({ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND})
_NOT_FATAL = frozenset({ErrorCode.TOPIC_AUTHORIZATION_FAILED})


class ConsumerProtocol(NamedTuple):
    """The settings of a member. regex: subscribe to topics whose names match (RE2), besides the named ones.

    instance_id: of a static member, whose partitions are reserved for a while. member_id: by default a random one.
    """

    regex: str | None = None
    instance_id: str | None = None
    remote_assignor: str | None = None
    rebalance_timeout_ms: int = REBALANCE_TIMEOUT_MS
    member_id: str | None = None

    def membership(self, client: Client, group_id: str, topics: Iterable[str]) -> ConsumerMembership:
        """Return a member that is in no group yet."""
        settings = MemberSettings(
            group_id=group_id,
            member_id=self.member_id or uuid_text(os.urandom(16)),
            topics=tuple(sorted(set(topics))),
            regex=self.regex,
            instance_id=self.instance_id,
            remote_assignor=self.remote_assignor,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
        )
        return ConsumerMembership(client, settings)


class ConsumerMembership:
    """One member of a group: see barnabas.client.consume.membership."""

    def __init__(self, client: Client, settings: MemberSettings) -> None:
        self._client = client
        self._settings = settings
        self._where = f"group {settings.group_id!r}"
        self._heartbeats = Heartbeats(settings)
        self._epoch = JOIN_EPOCH
        self._target: frozenset[TopicIdPartition] = frozenset()
        self._owned: dict[TopicIdPartition, TopicPartition] = {}
        self._names: dict[bytes, str] = {}
        self._failure: KafkaError | None = None
        self._pauses_ms = backoffs_ms()  # between being fenced and joining again, in a row
        self.state = ConsumerMemberState.UNSUBSCRIBED
        self._is_confirmed = False  # an empty assignment is, after a second response without another one
        self._next_question = client.deadline(0)  # when to request again whether the rebalance is complete
        self.next_heartbeat = client.deadline(0)

    # --- the interface of Membership ---

    @property
    def is_member(self) -> bool:
        """Whether the group knows this member."""
        return self.state in IN_GROUP

    @property
    def member(self) -> ConsumerGroupMetadata:
        """The member, with the member epoch as the generation of a classic member."""
        settings = self._settings
        return ConsumerGroupMetadata(settings.group_id, self._epoch, settings.member_id, settings.instance_id)

    @property
    def to_reconcile(self) -> Assignment | None:
        """The assignment to reconcile; also if some topics have no names yet and the others need a change."""
        if self.state is not ConsumerMemberState.RECONCILING:
            return None
        named = self._named_target()
        if named.keys() == self._owned.keys():
            return None
        kept = frozenset(place for where, place in named.items() if where in self._owned)
        return Assignment(frozenset(named.values()), kept)

    def is_settled(self) -> bool:
        """Return whether the group is settled. Requests it: partitions may still come from a lost member."""
        if self.state is not ConsumerMemberState.STABLE or not self._is_confirmed or not self._next_question.is_over:
            return False
        is_settled = self._is_rebalance_over()
        if not is_settled:
            self._next_question = self._client.deadline(SOON_MS)
        return is_settled

    def stay(self) -> None:
        """Join or send a heartbeat."""
        if self._failure is not None:
            raise self._failure
        if self.state is ConsumerMemberState.UNSUBSCRIBED:
            self._move(MemberEvent.SUBSCRIBED)
            self._make_topics()
        elif self.state is ConsumerMemberState.FENCED:
            self._client.clock.sleep(next(self._pauses_ms) / 1000)
            self._move(MemberEvent.RELEASED)
        self._heartbeat()

    def acknowledge(self) -> None:
        """Note that the assignment is adopted and notify the coordinator at once."""
        self._owned = self._named_target()
        self._move(MemberEvent.RECONCILED)
        self._heartbeat()

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int | None]:
        """Return the committed offsets."""
        settings = self._settings
        return stable_offsets(
            self._client, settings.group_id, partitions, member_id=settings.member_id, member_epoch=self._epoch
        )

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit these offsets."""
        settings = self._settings
        commit_offsets(
            self._client,
            settings.group_id,
            offsets,
            generation_id=self._epoch,
            member_id=settings.member_id,
            instance_id=settings.instance_id,
        )

    def lose(self, error: KafkaError) -> None:
        """Handle a refused commit. A stale epoch only needs a heartbeat: the response has the newer one, or fences."""
        if error.code is ErrorCode.STALE_MEMBER_EPOCH:
            self.next_heartbeat = self._client.deadline(0)
        elif error.code in _FENCED:
            self._forget(MemberEvent.WAS_FENCED)
        else:
            raise error

    def leave(self) -> None:
        """Leave the group. A static member's partitions are reserved until its session ends."""
        if self.state in (ConsumerMemberState.UNSUBSCRIBED, ConsumerMemberState.FATAL):
            return
        was_fenced = self.state is ConsumerMemberState.FENCED
        self._forget(MemberEvent.CLOSED)
        if was_fenced:
            return
        self._epoch = LEAVE_EPOCH if self._settings.instance_id is None else LEAVE_STATIC_EPOCH
        try:
            self._ask()
        except KafkaError as error:
            if error.code not in _FENCED:
                raise
        finally:
            self._forget(MemberEvent.LEFT)

    # --- helpers ---

    def _move(self, event: MemberEvent) -> None:
        self.state = next_state(self.state, event)

    def _forget(self, event: MemberEvent) -> None:
        """Apply an event after which the member owns nothing and has no epoch."""
        self._move(event)
        self._owned, self._target, self._epoch = {}, frozenset(), JOIN_EPOCH
        self._heartbeats.was_not_answered()

    def _named_target(self) -> dict[TopicIdPartition, TopicPartition]:
        """Return the assigned partitions of topics with known names."""
        names = self._names
        return {where: (names[where.topic_id], where.partition) for where in self._target if where.topic_id in names}

    def _is_named(self) -> bool:
        return all(where.topic_id in self._names for where in self._target)

    def _heartbeat(self) -> None:
        try:
            response = self._join_or_ask()
        except KafkaError as error:
            self._take_error(error)
        else:
            self._take(response)

    def _join_or_ask(self) -> ConsumerGroupHeartbeatResponse:
        """Return the response. An instance id that this member holds by an unanswered join is released first."""
        try:
            return self._ask()
        except KafkaError as error:
            is_held = self.state is ConsumerMemberState.JOINING and error.code is ErrorCode.UNRELEASED_INSTANCE_ID
            if not is_held or not self._has_released():
                raise
        return self._ask()

    def _has_released(self) -> bool:
        """Return whether the instance id is free: this member leaves temporarily, which no other can do for it."""
        self._epoch = LEAVE_STATIC_EPOCH
        try:
            self._ask()
        except KafkaError as error:
            if error.code is ErrorCode.FENCED_INSTANCE_ID:
                return False
            if error.code not in _FENCED:
                raise
        finally:
            self._epoch = JOIN_EPOCH
        return True

    def _ask(self) -> ConsumerGroupHeartbeatResponse:
        deadline = self._client.deadline()
        settings = self._settings
        owned = frozenset(self._owned)

        def attempt() -> ConsumerGroupHeartbeatResponse:
            coordinator = self._client.coordinator(GROUP, settings.group_id, deadline)
            if settings.regex is not None and coordinator.version(ApiKey.CONSUMER_GROUP_HEARTBEAT) < _REGEX_SINCE:
                raise UnsupportedByBroker("the broker is too old to subscribe by a regular expression")
            request = self._heartbeats.request(self._epoch, owned)
            self._heartbeats.was_not_answered()
            response: ConsumerGroupHeartbeatResponse = coordinator.ask(request, deadline)
            raise_for(response.error_code, response.error_message, self._where)
            self._heartbeats.was_answered(owned)
            return response

        def forget(error: KafkaError) -> None:
            self._client.forget_coordinator(GROUP, settings.group_id)

        return self._client.with_retries(attempt, deadline, forget)

    def _is_rebalance_over(self) -> bool:
        """Return whether ConsumerGroupDescribe shows the end. If the group is gone, the next heartbeat reports it."""
        deadline = self._client.deadline()
        group_id = self._settings.group_id
        request = ConsumerGroupDescribeRequest(group_ids=[group_id], include_authorized_operations=False)

        def attempt() -> DescribedGroup:
            response = self._client.coordinator(GROUP, group_id, deadline).ask(request, deadline)
            return one_group(response, self._where)

        def forget(error: KafkaError) -> None:
            self._client.forget_coordinator(GROUP, group_id)

        try:
            group = self._client.with_retries(attempt, deadline, forget)
        except KafkaError as error:
            if error.code is ErrorCode.GROUP_ID_NOT_FOUND:
                return False
            raise
        return is_through(group, self._settings.member_id, self._owned.keys())

    def _take(self, response: ConsumerGroupHeartbeatResponse) -> None:
        has_joined, self._epoch = self._epoch == JOIN_EPOCH, response.member_epoch
        self._pauses_ms = backoffs_ms()
        if response.assignment is not None:
            self._target = assigned(response.assignment)
        self._is_confirmed = bool(self._target) or not has_joined
        soon_ms = min(SOON_MS, response.heartbeat_interval_ms)
        self.next_heartbeat = self._client.deadline(response.heartbeat_interval_ms if self._is_confirmed else soon_ms)
        if self._target == self._owned.keys():
            self._move(MemberEvent.AGREED)
            return
        self._move(MemberEvent.ASSIGNED)
        if not self._is_named():
            self._find_names()
        if not self._is_named():
            self.next_heartbeat = self._client.deadline(soon_ms)

    def _take_error(self, error: KafkaError) -> None:
        """Handle an error of a heartbeat: fenced, retriable or permitted, or fatal.

        A member that joins makes its group: if that is not found, there is a group of another type.
        """
        is_other_type = error.code is ErrorCode.GROUP_ID_NOT_FOUND and self._epoch == JOIN_EPOCH
        if error.code in _FENCED and not is_other_type:
            self._forget(MemberEvent.WAS_FENCED)
            return
        if not error.code.retriable and error.code not in _NOT_FATAL:
            self._forget(MemberEvent.FAILED)
            self._failure = error
        self.next_heartbeat = self._client.deadline(0)  # the heartbeat must be repeated
        raise error

    def _find_names(self) -> None:
        """Request the names of the assigned topics. Those without a name now stay unnamed until a later response."""
        topics = None if self._settings.regex is not None else self._settings.topics
        found = self._client.refresh(topics, self._client.deadline()).topics.values()
        self._names = {topic.topic_id: topic.name for topic in found if topic.error_code == ErrorCode.NONE}

    def _make_topics(self) -> None:
        """Request creation of the subscribed topics, if the broker does that: only existing ones are assigned."""
        if self._settings.topics:
            self._client.refresh(self._settings.topics, self._client.deadline(), auto_create=True)
