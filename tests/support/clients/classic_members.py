"""A member of the classic group protocol by hand, one request at a time, for tests that need no consumer."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from barnabas.client.client import GROUP, Client
from barnabas.client.consume.assignors import assigned_partitions, encode_assignment
from barnabas.client.errors import raise_for
from barnabas.client.metadata import TopicPartition
from barnabas.protocol.codec.compile import codec
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.log_records.consumer_protocol import (
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
)
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tests.support.requests import sync_group

_VERSION = 3
_PASSING = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)


class Joined(NamedTuple):
    code: ErrorCode
    generation_id: int = -1
    protocol: str | None = None
    is_leader: bool = False


class Synced(NamedTuple):
    code: ErrorCode
    assigned: tuple[TopicPartition, ...] = ()


class ClassicMember:
    """It stores its id, its generation, and its assignment, which it reports as owned."""

    def __init__(self, client: Client, group: str, topic: str, *, instance: str | None = None) -> None:
        self.client = client
        self._group = group
        self._topic = topic
        self._instance = instance
        self.member_id = ""
        self.generation_id = -1
        self.owned: tuple[TopicPartition, ...] = ()

    def join(
        self, *, protocols: Sequence[str] = ("range",), kind: str = "consumer", said: bytes | None = None
    ) -> Joined:
        """JoinGroup, until the member has an id that the coordinator knows."""
        metadata = subscription([self._topic], self.owned) if said is None else said
        request = JoinGroupRequest(
            group_id=self._group,
            session_timeout_ms=45_000,
            rebalance_timeout_ms=60_000,
            member_id=self.member_id,
            group_instance_id=self._instance,
            protocol_type=kind,
            protocols=[JoinGroupRequestProtocol(name=each, metadata=metadata) for each in protocols],
        )
        answer = ask_coordinator(self.client, self._group, request)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = request.member_id = answer.member_id
            answer = ask_coordinator(self.client, self._group, request)
        if answer.error_code != ErrorCode.NONE:
            return Joined(ErrorCode(answer.error_code))
        self.member_id, self.generation_id = answer.member_id, answer.generation_id
        is_leader = answer.leader == answer.member_id
        return Joined(ErrorCode.NONE, answer.generation_id, answer.protocol_name, is_leader)

    def sync(self, *leads: TopicPartition, protocol: str = "range", custom: bytes = b"") -> Synced:
        """SyncGroup; the leader gets all assignments."""
        given = encode_assignment(leads)
        if custom:
            given = given[:-4] + len(custom).to_bytes(4, "big") + custom
        request = sync_group(
            *(self._group, self.generation_id, self.member_id, {self.member_id: given} if leads else {}),
            group_instance_id=self._instance,
            protocol_type="consumer",
            protocol_name=protocol,
        )
        answer = ask_coordinator(self.client, self._group, request)
        if answer.error_code != ErrorCode.NONE:
            return Synced(ErrorCode(answer.error_code))
        self.owned = tuple(sorted(assigned_partitions(answer.assignment)))
        return Synced(ErrorCode.NONE, self.owned)

    def heartbeat(self) -> ErrorCode:
        request = HeartbeatRequest(
            group_id=self._group,
            generation_id=self.generation_id,
            member_id=self.member_id,
            group_instance_id=self._instance,
        )
        return ErrorCode(ask_coordinator(self.client, self._group, request).error_code)

    def leave(self) -> tuple[ErrorCode, ...]:
        who = MemberIdentity(member_id=self.member_id, group_instance_id=self._instance)
        answer = ask_coordinator(self.client, self._group, LeaveGroupRequest(group_id=self._group, members=[who]))
        return tuple(ErrorCode(each.error_code) for each in answer.members)


def ask_coordinator(client: Client, group: str, request: Any) -> Any:
    """The answer of the group's coordinator, retried while it loads or moves."""
    deadline = client.deadline()

    def attempt() -> Any:
        response = client.coordinator(GROUP, group, deadline).ask(request, deadline)
        if response.error_code in _PASSING:
            raise_for(response.error_code, None, f"group {group!r}")
        return response

    return client.with_retries(attempt, deadline, lambda error: client.forget_coordinator(GROUP, group))


def subscription(topics: Iterable[str], owned: Iterable[TopicPartition] = ()) -> bytes:
    """The metadata of a consumer in JoinGroup."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(owned):
        by_topic.setdefault(topic, []).append(number)
    message = ConsumerProtocolSubscription(
        topics=list(topics),
        owned_partitions=[
            ConsumerProtocolSubscriptionTopicPartition(topic=topic, partitions=numbers)
            for topic, numbers in by_topic.items()
        ],
    )
    return _VERSION.to_bytes(2, "big") + codec(ConsumerProtocolSubscription, _VERSION).encode(message)
