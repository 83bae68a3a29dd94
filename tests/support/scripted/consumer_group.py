"""A scripted coordinator of one consumer group (KIP-848) with one member, and that member."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from barnabas.client.client import Client
from barnabas.client.consume.consumer_membership import ConsumerMembership, ConsumerProtocol
from barnabas.client.consume.group_consumer import GroupConsumer
from barnabas.client.consume.member_states import ConsumerMemberState
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages import consumer_group_describe as described
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.protocol.registry import ApiKey
from tests.support.client_clock import StandingClock
from tests.support.scripted.broker import HANG_UP, Answer
from tests.support.scripted.group import TOPIC, GroupBroker

HEARTBEAT = ApiKey.CONSUMER_GROUP_HEARTBEAT
DESCRIBE = ApiKey.CONSUMER_GROUP_DESCRIBE


class ConsumerGroup(GroupBroker):
    """Topic t has four partitions. A member is assigned `target`; each change of it, and each join, is a new epoch."""

    def __init__(self, *target: int, **errors: Sequence[ErrorCode]) -> None:
        super().__init__(4, errors)
        self.offsets = dict.fromkeys(range(4), 0)
        self.epoch = 0
        self.interval_ms = 0
        self.hang_ups = 0
        """How many heartbeats are not answered."""
        self.topic_id = self.topic_ids[TOPIC]
        self._target = set(target)
        self._is_news = False
        self.state = "Stable"
        """The reported state of the group."""
        self.described_target: set[int] | None = None
        """The reported target of the member, if that is not its assignment."""
        self.script[HEARTBEAT] = self._heartbeat
        self.script[DESCRIBE] = self._describe_group

    def assign(self, *target: int) -> None:
        """Tell the member with the next heartbeat that it is to read these."""
        self._target, self._is_news = set(target), True
        self.epoch += 1

    @property
    def heartbeats(self) -> list[ConsumerGroupHeartbeatRequest]:
        return self.of(ConsumerGroupHeartbeatRequest)

    def story(self) -> list[str]:
        """The requests to the group, in short: heartbeats with epoch and owned partitions."""
        return [line for _, request in self.requests if (line := _line(request))]

    def _heartbeat(self, request: ConsumerGroupHeartbeatRequest) -> Answer:
        if self.hang_ups:
            self.hang_ups -= 1
            return HANG_UP
        if error := self._error(HEARTBEAT):
            return ConsumerGroupHeartbeatResponse(error_code=error, member_epoch=0, heartbeat_interval_ms=0)
        self.epoch += request.member_epoch == 0
        is_full = request.subscribed_topic_names is not None
        assignment = None
        if request.member_epoch >= 0 and (is_full or self._is_news):
            numbers = sorted(self._target)
            topics = [TopicPartitions(topic_id=self.topic_id, partitions=numbers)] if numbers else []
            assignment, self._is_news = Assignment(topic_partitions=topics), False
        epoch = min(request.member_epoch, 0) or self.epoch
        return ConsumerGroupHeartbeatResponse(
            error_code=0,
            member_id=request.member_id,
            member_epoch=epoch,
            heartbeat_interval_ms=self.interval_ms,
            assignment=assignment,
        )

    def _describe_group(self, request: ConsumerGroupDescribeRequest) -> Answer:
        error = self._error(DESCRIBE)
        wanted = self._target if self.described_target is None else self.described_target
        member = described.Member(
            member_id=self.heartbeats[-1].member_id,
            member_epoch=self.epoch,
            client_id="c",
            client_host="/h",
            subscribed_topic_names=[TOPIC],
            assignment=self._assignment(self._target),
            target_assignment=self._assignment(wanted),
        )
        group = described.DescribedGroup(
            error_code=error,
            group_id=request.group_ids[0],
            group_state=self.state,
            group_epoch=self.epoch,
            assignment_epoch=self.epoch,
            assignor_name="uniform",
            members=[] if error else [member],
        )
        return described.ConsumerGroupDescribeResponse(groups=[group])

    def _assignment(self, partitions: set[int]) -> described.Assignment:
        topic = described.TopicPartitions(topic_id=self.topic_id, topic_name=TOPIC, partitions=sorted(partitions))
        return described.Assignment(topic_partitions=[topic] if partitions else [])


def _line(request: object) -> str:
    match request:
        case ConsumerGroupHeartbeatRequest():
            owned = request.topic_partitions
            numbers = "" if owned is None else f" {[number for each in owned for number in each.partitions]}"
            return f"heartbeat {request.member_epoch}{numbers}"
        case OffsetCommitRequest():
            offsets = {each.partition_index: each.committed_offset for each in request.topics[0].partitions}
            return f"commit {request.generation_id_or_member_epoch} {offsets}"
        case OffsetFetchRequest():
            return f"offsets {(request.groups[0].topics or [])[0].partition_indexes}"
    return ""


class Member(GroupConsumer):
    """With what a test wants to know of its membership."""

    @property
    def clock(self) -> StandingClock:
        clock = self._client.clock
        assert isinstance(clock, StandingClock)
        return clock

    @property
    def state(self) -> ConsumerMemberState:
        membership = self._membership
        assert isinstance(membership, ConsumerMembership)
        return membership.state

    def read(self) -> set[tuple[int, int]]:
        """Partitions and offsets of the records that a poll brings."""
        return {(each.partition, each.record.offset) for each in self.poll()}


Group = TypeVar("Group", bound=ConsumerGroup)


@contextmanager
def grouped(
    broker: Group, protocol: ConsumerProtocol | None = None, *, auto_commit: bool = True
) -> Iterator[tuple[Group, Member]]:
    """Member "m" of a group, or one by another protocol, on a clock that stands."""
    protocol = protocol or ConsumerProtocol(member_id="m")
    with broker, Client(broker.address, clock=StandingClock(), timeout_ms=5000) as client:
        yield broker, Member(client, "g", [TOPIC], protocol=protocol, auto_commit=auto_commit)
