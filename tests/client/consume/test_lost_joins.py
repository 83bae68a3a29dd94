"""A static member (KIP-848) whose instance id is held: by itself after a lost join, or by another. Against a script."""

import pytest

from barnabas.client.consume.consumer_membership import ConsumerProtocol
from barnabas.client.consume.member_states import ConsumerMemberState
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from tests.support.scripted.broker import HANG_UP, Answer
from tests.support.scripted.consumer_group import ConsumerGroup, grouped

E = ErrorCode
STATIC = ConsumerProtocol(member_id="m", instance_id="i")


class StaticGroup(ConsumerGroup):
    """Lets a member have instance id "i" only when nobody holds it, or its holder has left for a while."""

    def __init__(self, *target: int, holder: str | None = None, **errors: list[ErrorCode]) -> None:
        super().__init__(*target, **errors)
        self.holder = holder
        self.lost_joins = 0
        """How many joins are taken, and not answered."""

    def _heartbeat(self, request: ConsumerGroupHeartbeatRequest) -> Answer:
        if code := self._refusal(request):
            return ConsumerGroupHeartbeatResponse(error_code=code, member_epoch=0, heartbeat_interval_ms=0)
        self.holder = None if request.member_epoch == -2 else request.member_id
        if request.member_epoch == 0 and self.lost_joins:
            self.lost_joins -= 1
            return HANG_UP
        return super()._heartbeat(request)

    def _refusal(self, request: ConsumerGroupHeartbeatRequest) -> ErrorCode:
        if request.member_epoch == 0:
            return E.UNRELEASED_INSTANCE_ID if self.holder else E.NONE
        if self.holder is None:
            return E.UNKNOWN_MEMBER_ID
        return E.NONE if self.holder == request.member_id else E.FENCED_INSTANCE_ID


def test_a_static_member_whose_join_was_taken_and_not_answered_is_a_member() -> None:
    with grouped(StaticGroup(0), STATIC) as (broker, member):
        broker.lost_joins = 1
        assert member.read() == {(0, 0)}
        assert [each.member_epoch for each in broker.heartbeats] == [0, 0, -2, 0, 1]
        assert {(each.member_id, each.instance_id) for each in broker.heartbeats} == {("m", "i")}
        assert member.state is ConsumerMemberState.STABLE
        assert member.clock.monotonic() < 1, "and it has not waited for a session to end"


def test_an_instance_id_of_another_member_is_told_by_every_poll() -> None:
    with grouped(StaticGroup(0, holder="another"), STATIC) as (broker, member):
        for _ in range(2):
            with pytest.raises(KafkaError, match="UNRELEASED_INSTANCE_ID: group 'g'"):
                member.poll()
        assert [each.member_epoch for each in broker.heartbeats] == [0, -2]
        assert (member.state, broker.holder) == (ConsumerMemberState.FATAL, "another")


def test_a_session_that_ended_meanwhile_is_as_good_as_a_release() -> None:
    with grouped(
        ConsumerGroup(0, CONSUMER_GROUP_HEARTBEAT=[E.UNRELEASED_INSTANCE_ID, E.UNKNOWN_MEMBER_ID]), STATIC
    ) as (broker, member):
        assert member.read() == {(0, 0)}
        assert [each.member_epoch for each in broker.heartbeats] == [0, -2, 0, 1]


def test_an_instance_id_that_is_held_after_its_release_is_not_released_again() -> None:
    errors = [E.UNRELEASED_INSTANCE_ID, E.NONE, E.UNRELEASED_INSTANCE_ID]
    with grouped(ConsumerGroup(0, CONSUMER_GROUP_HEARTBEAT=errors), STATIC) as (broker, member):
        with pytest.raises(KafkaError, match="UNRELEASED_INSTANCE_ID"):
            member.poll()
        assert (member.state, [each.member_epoch for each in broker.heartbeats]) == (
            ConsumerMemberState.FATAL,
            [0, -2, 0],
        )


def test_a_release_that_fails_is_reported_and_the_next_poll_joins() -> None:
    errors = [E.UNRELEASED_INSTANCE_ID, *[E.COORDINATOR_LOAD_IN_PROGRESS] * 500]
    with grouped(ConsumerGroup(0, CONSUMER_GROUP_HEARTBEAT=errors), STATIC) as (broker, member):
        with pytest.raises(KafkaError, match="COORDINATOR_LOAD_IN_PROGRESS"):
            member.poll()
        assert member.state is ConsumerMemberState.JOINING
        broker.recover()
        assert member.read() == {(0, 0)}
        assert [each.member_epoch for each in broker.heartbeats][-2:] == [0, 1]
