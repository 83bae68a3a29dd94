"""A member of a consumer group (KIP-848) that is fenced, refused, or has a stale epoch. Against a script."""

import pytest

from barnabas.client.consume.member_states import ConsumerMemberState
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.registry import ApiKey
from tests.support.scripted.consumer_group import HEARTBEAT, ConsumerGroup, grouped

E = ErrorCode
FENCING = [E.FENCED_MEMBER_EPOCH, E.UNKNOWN_MEMBER_ID, E.GROUP_ID_NOT_FOUND]


@pytest.mark.parametrize("error", FENCING)
def test_a_fenced_member_gives_up_everything_and_joins_again_under_its_id(error: ErrorCode) -> None:
    with grouped(ConsumerGroup(0)) as (broker, member):
        member.read()
        broker.offsets[0] = 5
        broker.fail(HEARTBEAT, E.FENCED_MEMBER_EPOCH)
        broker.fail(ApiKey.OFFSET_COMMIT, error)
        broker.requests.clear()
        assert member.read() == {(0, 5)}, "from what is committed, maybe by another member"
        assert [(each.member_epoch, each.member_id) for each in broker.heartbeats][:2] == [(0, "m"), (0, "m")]
        assert len(broker.of(OffsetCommitRequest)) == 1


def test_a_group_of_another_type_is_an_error() -> None:
    with grouped(ConsumerGroup(0, CONSUMER_GROUP_HEARTBEAT=[E.GROUP_ID_NOT_FOUND])) as (broker, member):
        with pytest.raises(KafkaError, match="GROUP_ID_NOT_FOUND"):
            member.read()
        assert member.state is ConsumerMemberState.FATAL
        assert [each.member_epoch for each in broker.heartbeats] == [0]


@pytest.mark.parametrize("api", ["OFFSET_COMMIT", "OFFSET_FETCH"])
@pytest.mark.parametrize("error", FENCING)
def test_a_member_that_is_fenced_by_another_answer_joins_again(api: str, error: ErrorCode) -> None:
    with grouped(ConsumerGroup(0, **{api: [error]})) as (broker, member):
        found = member.read() | member.read()
        assert found == ({(0, 0)} if api == "OFFSET_COMMIT" else {(0, 0), (0, 1)})
        assert [each.member_epoch for each in broker.heartbeats].count(0) == 2


def test_a_stale_epoch_is_renewed_by_a_heartbeat_and_the_commit_repeated() -> None:
    with grouped(ConsumerGroup(0)) as (broker, member):
        broker.interval_ms = 1000
        member.read()
        broker.epoch = 8
        broker.fail(ApiKey.OFFSET_COMMIT, E.STALE_MEMBER_EPOCH)
        with pytest.raises(KafkaError, match="STALE_MEMBER_EPOCH"):
            member.commit()
        broker.requests.clear()
        member.clock.sleep(1)
        member.read()
        member.commit()
        assert broker.story() == ["commit 1 {0: 1}", "heartbeat 1", "commit 8 {0: 2}"]


def test_a_member_that_is_fenced_again_and_again_makes_growing_pauses() -> None:
    with grouped(ConsumerGroup(0, CONSUMER_GROUP_HEARTBEAT=[E.FENCED_MEMBER_EPOCH] * 5)) as (_, member):
        assert member.read() == {(0, 0)}
        assert member.clock.monotonic() == pytest.approx((20 + 40 + 80 + 160 + 320) / 1000)


FATAL = [E.UNRELEASED_INSTANCE_ID, E.FENCED_INSTANCE_ID, E.UNSUPPORTED_ASSIGNOR, E.GROUP_MAX_SIZE_REACHED]
FATAL += [E.INVALID_REGULAR_EXPRESSION, E.GROUP_AUTHORIZATION_FAILED, E.INVALID_REQUEST, E.UNSUPPORTED_VERSION]


@pytest.mark.parametrize("error", FATAL)
def test_an_error_that_rejoining_does_not_cure_is_raised_by_every_poll(error: ErrorCode) -> None:
    with grouped(ConsumerGroup(0, CONSUMER_GROUP_HEARTBEAT=[E.NONE, E.NONE, error])) as (broker, member):
        member.read()
        for _ in range(2):
            with pytest.raises(KafkaError, match=f"{error.name}: group 'g'"):
                member.poll()
        assert (member.state, member.assignment) == (ConsumerMemberState.FATAL, [])
        asked = len(broker.requests)
        member.close()
        assert len(broker.requests) == asked, "there is nothing to leave"


def test_a_topic_that_may_not_be_read_is_reported_and_requested_again() -> None:
    with grouped(ConsumerGroup(0, CONSUMER_GROUP_HEARTBEAT=[E.TOPIC_AUTHORIZATION_FAILED])) as (_, member):
        with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED"):
            member.poll()
        assert member.read() == {(0, 0)}
