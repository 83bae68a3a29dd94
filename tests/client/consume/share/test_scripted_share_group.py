"""A member of a share group in trouble: fenced, sessions that end, refused acknowledgements. Against a script."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from barnabas.client.client import Client
from barnabas.client.consume.share.held_records import AcquiredRecord
from barnabas.client.consume.share.share_consumer import ShareConsumer
from barnabas.protocol.acknowledge_type import AcknowledgeType
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from barnabas.protocol.messages.share_fetch import ShareFetchRequest
from barnabas.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from barnabas.protocol.registry import ApiKey
from tests.support.client_clock import StandingClock
from tests.support.scripted.broker import HANG_UP
from tests.support.scripted.share_group import LOCK_MS, ShareGroupBroker

E = ErrorCode
GAP, ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
FETCH, ACKNOWLEDGE, HEARTBEAT = ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE, ApiKey.SHARE_GROUP_HEARTBEAT


@contextmanager
def shared(broker: ShareGroupBroker, *, explicit: bool = False) -> Iterator[tuple[ShareGroupBroker, ShareConsumer]]:
    """The member "m" of the broker's group, on a clock that stands."""
    with broker, Client(broker.address, clock=StandingClock(), timeout_ms=5000) as client:
        yield broker, ShareConsumer(client, "g", ["t"], explicit=explicit, member_id="m")


def values(records: list[AcquiredRecord]) -> list[bytes | None]:
    return [each.record.value for each in records]


def test_it_joins_and_asks_again_soon_until_it_is_assigned_something() -> None:
    with shared(ShareGroupBroker()) as (broker, member):
        assert member.member_id == "m"
        assert member.assignment == []
        assert member.lock_timeout_ms is None
        assert values(member.poll()) == [b"0"]
        assert member.assignment == [("t", 0)]
        assert member.lock_timeout_ms == LOCK_MS
        join, second = broker.of(ShareGroupHeartbeatRequest)
        assert (join.member_epoch, join.subscribed_topic_names) == (0, ["t"])
        assert (second.member_epoch, second.subscribed_topic_names) == (1, None)


def test_the_next_poll_accepts_and_close_does_not() -> None:
    with shared(ShareGroupBroker()) as (broker, member):
        assert values(member.poll()) == [b"0"]
        assert broker.acknowledged() == []
        assert values(member.poll()) == [b"1"]
        assert broker.acknowledged() == [(0, 0, [ACCEPT])]
        member.commit()
        assert values(member.poll()) == [b"2"]
        member.close()
        assert broker.acknowledged() == [(0, 0, [ACCEPT]), (1, 1, [ACCEPT])]
        assert broker.epochs(ShareAcknowledgeRequest) == [1, 3, -1]
        assert broker.epochs(ShareFetchRequest) == [0, 2, 4]
        assert broker.epochs(ShareGroupHeartbeatRequest)[-1] == -1


def test_partitions_are_named_in_the_first_request_of_a_session_only() -> None:
    with shared(ShareGroupBroker()) as (broker, member):
        member.poll()
        member.poll(max_records=7)
        first, second = broker.of(ShareFetchRequest)
        assert [len(each.topics) for each in (first, second)] == [1, 0]
        assert [(each.share_acquire_mode, each.max_records) for each in (first, second)] == [(0, 500), (1, 7)]


def test_an_explicit_member_acknowledges_every_record_before_the_next_poll() -> None:
    with shared(ShareGroupBroker(), explicit=True) as (broker, member):
        (record,) = member.poll()
        with pytest.raises(RuntimeError, match="acknowledged before the next poll"):
            member.poll()
        member.acknowledge(record, REJECT)
        with pytest.raises(RuntimeError, match="t-0, offset 0: not held"):
            member.acknowledge(record)
        (record,) = member.poll()
        member.acknowledge(record)
        assert member.close() == {}
        assert broker.acknowledged() == [(0, 0, [REJECT]), (1, 1, [ACCEPT])]


def test_an_implicit_member_does_not_acknowledge() -> None:
    with shared(ShareGroupBroker()) as (_, member):
        (record,) = member.poll()
        with pytest.raises(RuntimeError, match="explicit=True"):
            member.acknowledge(record)


def test_a_renewed_record_is_held_over_polls() -> None:
    with shared(ShareGroupBroker(), explicit=True) as (broker, member):
        (record,) = member.poll()
        member.acknowledge(record, RENEW)
        (other,) = member.poll()
        member.acknowledge(other, RELEASE)
        member.acknowledge(record, ACCEPT)
        assert member.commit() == {}
        assert broker.acknowledged() == [(0, 0, [RENEW]), (0, 1, [ACCEPT, RELEASE])]
        assert [each.is_renew_ack for each in broker.of(ShareAcknowledgeRequest)] == [True, False]


def test_an_old_broker_renews_nothing() -> None:
    with shared(ShareGroupBroker(), explicit=True) as (broker, member):
        broker.offered[FETCH] = broker.offered[ACKNOWLEDGE] = (1, 1)
        (record,) = member.poll(max_records=1)
        member.acknowledge(record, RENEW)
        assert [error.code for error in member.commit().values()] == [E.UNSUPPORTED_VERSION]
        assert broker.acknowledged() == []


@pytest.mark.parametrize("error", [E.FENCED_MEMBER_EPOCH, E.UNKNOWN_MEMBER_ID, E.GROUP_ID_NOT_FOUND])
def test_a_fenced_member_joins_again_and_goes_on_with_its_session(error: ErrorCode) -> None:
    with shared(ShareGroupBroker()) as (broker, member):
        member.poll()
        broker.fail(HEARTBEAT, error)
        member._client.clock.sleep(5)
        assert values(member.poll()) == [b"1"]
        assert broker.epochs(ShareGroupHeartbeatRequest) == [0, 1, 2, 0, 1]
        assert broker.acknowledged() == [(0, 0, [ACCEPT])]
        assert broker.epochs(ShareFetchRequest) == [0, 2]


def test_a_group_of_another_type_is_an_error() -> None:
    with shared(ShareGroupBroker(SHARE_GROUP_HEARTBEAT=[E.GROUP_ID_NOT_FOUND])) as (_, member):
        with pytest.raises(KafkaError) as caught:
            member.poll()
        assert caught.value.code is E.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("trouble", [E.SHARE_SESSION_NOT_FOUND, E.INVALID_SHARE_SESSION_EPOCH, HANG_UP])
def test_a_lost_session_is_begun_anew_and_its_records_are_refused(trouble: Any) -> None:
    with shared(ShareGroupBroker()) as (broker, member):
        member.poll()
        broker.fail(ACKNOWLEDGE, trouble)
        assert values(member.poll()) == [b"1"]
        assert broker.epochs(ShareFetchRequest) == [0, 0], "a new session"
        code = E.NETWORK_EXCEPTION if trouble is HANG_UP else trouble
        assert {where: error.code for where, error in member.commit().items()} == {("t", 0): code}
        assert member.commit() == {}


def test_a_record_of_a_lost_session_can_still_be_acknowledged_and_is_refused() -> None:
    with shared(ShareGroupBroker(), explicit=True) as (broker, member):
        (record,) = member.poll()
        member.acknowledge(record, RENEW)
        broker.fail(FETCH, HANG_UP)
        (other,) = member.poll()
        assert other.record.value == b"1"
        member.acknowledge(other)
        member.acknowledge(record)
        assert [error.code for error in member.commit().values()] == [E.NETWORK_EXCEPTION]
        assert broker.acknowledged() == [(0, 0, [RENEW]), (1, 1, [ACCEPT])]


def test_a_refused_acknowledgement_is_no_error_and_is_named_once() -> None:
    with shared(ShareGroupBroker()) as (broker, member):
        member.poll()
        broker.refusal = E.INVALID_RECORD_STATE
        assert values(member.poll()) == [b"1"]
        assert broker.epochs(ShareFetchRequest) == [0, 2], "the session goes on"
        broker.refusal = E.NONE
        assert {where: error.code for where, error in member.commit().items()} == {("t", 0): E.INVALID_RECORD_STATE}


def test_damaged_records_are_rejected_and_the_poll_goes_on() -> None:
    with shared(ShareGroupBroker()) as (broker, member):
        broker.damages = True
        assert values(member.poll()) == [b"1"], "the error is one that a retry may heal"
        assert broker.acknowledged() == [(0, 0, [REJECT])]


@pytest.mark.parametrize(
    ("error", "is_final"), [(E.NOT_LEADER_OR_FOLLOWER, False), (E.TOPIC_AUTHORIZATION_FAILED, True)]
)
def test_an_error_of_a_partition_is_raised_at_once_or_when_it_has_lasted(error: ErrorCode, is_final: bool) -> None:
    with shared(ShareGroupBroker()) as (broker, member):
        broker.partition_error = error
        with pytest.raises(KafkaError) as caught:
            member.poll(60_000)
        assert caught.value.code is error
        assert (len(broker.of(ShareFetchRequest)) == 1) is is_final
        broker.partition_error = E.NONE
        assert values(member.poll()) == [b"0"]


def test_a_leave_that_comes_too_late_is_no_error() -> None:
    with shared(ShareGroupBroker()) as (broker, member):
        member.poll()
        broker.fail(HEARTBEAT, E.UNKNOWN_MEMBER_ID)
        member.close()
        assert broker.epochs(ShareAcknowledgeRequest) == [-1]
