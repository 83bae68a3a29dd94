"""A group member in trouble: coordinators that move, rebalances, members that were forgotten. Against a script."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from barnabas.client.client import Client
from barnabas.client.consume.assignors import assigned_partitions, encode_assignment, encode_subscription
from barnabas.client.consume.classic_membership import ClassicProtocol
from barnabas.client.consume.group_consumer import GroupConsumer
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from barnabas.protocol.registry import ApiKey
from tests.support.client_clock import StandingClock
from tests.support.scripted.group import GroupBroker


class ClassicBroker(GroupBroker):
    """One group of one member "m", who leads it."""

    def __init__(self, partitions: int = 1, /, **errors: Sequence[ErrorCode]) -> None:
        super().__init__(partitions, errors)
        self.offsets = dict.fromkeys(range(partitions), 0)
        self.generation = 0
        self.script |= {
            ApiKey.JOIN_GROUP: self._join,
            ApiKey.SYNC_GROUP: self._sync,
            ApiKey.HEARTBEAT: lambda request: HeartbeatResponse(error_code=self._error(ApiKey.HEARTBEAT)),
            ApiKey.LEAVE_GROUP: lambda request: LeaveGroupResponse(error_code=self._error(ApiKey.LEAVE_GROUP)),
        }

    def _join(self, request: JoinGroupRequest) -> JoinGroupResponse:
        error = self._error(ApiKey.JOIN_GROUP)
        if not error:
            self.generation += 1
        member = JoinGroupResponseMember(member_id="m", metadata=encode_subscription(["t"]))
        return JoinGroupResponse(
            error_code=error,
            generation_id=self.generation,
            protocol_name="range",
            leader="m",
            member_id="m",
            members=[member],
        )

    def _sync(self, request: SyncGroupRequest) -> SyncGroupResponse:
        error = self._error(ApiKey.SYNC_GROUP)
        assignment = request.assignments[0].assignment if request.assignments else encode_assignment([])
        return SyncGroupResponse(error_code=error, assignment=assignment)


@contextmanager
def grouped(
    broker: ClassicBroker, heartbeat_ms: int = 0, *, auto_commit: bool = True, instance_id: str | None = None
) -> Iterator[tuple[ClassicBroker, GroupConsumer]]:
    """A member of the broker's group that sends a heartbeat at every poll, on a clock that stands."""
    protocol = ClassicProtocol(heartbeat_ms=heartbeat_ms, instance_id=instance_id)
    with broker, Client(broker.address, clock=StandingClock(), timeout_ms=5000) as client:
        yield broker, GroupConsumer(client, "g", ["t"], protocol=protocol, auto_commit=auto_commit)


def values(member: GroupConsumer) -> list[bytes | None]:
    return [each.record.value for each in member.poll()]


def test_returned_records_are_committed_by_the_next_poll_and_at_the_end() -> None:
    with grouped(ClassicBroker()) as (broker, member):
        assert values(member) == [b"0"]
        assert broker.of(OffsetCommitRequest) == []
        assert values(member) == [b"1"]
        assert broker.offsets[0] == 1
        member.close()
        assert broker.offsets[0] == 2
        assert [request.members[0].member_id for request in broker.of(LeaveGroupRequest)] == ["m"]


def test_without_auto_commit_only_commit_commits() -> None:
    with grouped(ClassicBroker(), auto_commit=False) as (broker, member):
        values(member)
        values(member)
        assert broker.of(OffsetCommitRequest) == []
        member.commit()
        assert broker.offsets[0] == 2
        member.close()
        assert len(broker.of(OffsetCommitRequest)) == 1


def test_a_member_id_that_is_required_is_taken() -> None:
    with grouped(ClassicBroker(JOIN_GROUP=[ErrorCode.MEMBER_ID_REQUIRED])) as (broker, member):
        values(member)
        assert [request.member_id for request in broker.of(JoinGroupRequest)] == ["", "m"]
        (sync,) = broker.of(SyncGroupRequest)
        assert assigned_partitions(sync.assignments[0].assignment) == [("t", 0)]


def test_a_rebalance_commits_and_joins_again_as_the_same_member() -> None:
    with grouped(ClassicBroker(HEARTBEAT=[ErrorCode.REBALANCE_IN_PROGRESS])) as (broker, member):
        assert values(member) == [b"0"]
        assert values(member) == [b"1"]
        assert broker.offsets[0] == 1
        assert [request.member_id for request in broker.of(JoinGroupRequest)] == ["", "m"]


@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION])
def test_a_forgotten_member_joins_as_a_new_one_and_reads_from_what_is_committed(error: ErrorCode) -> None:
    with grouped(ClassicBroker(OFFSET_COMMIT=[error])) as (broker, member):
        assert values(member) == [b"0"]
        assert values(member) == [b"0"], "it could not be committed, so it comes again"
        assert [request.member_id for request in broker.of(JoinGroupRequest)] == ["", ""]


@pytest.mark.parametrize("api", ["JOIN_GROUP", "SYNC_GROUP", "HEARTBEAT", "OFFSET_COMMIT", "OFFSET_FETCH"])
def test_a_coordinator_that_moved_is_looked_for_again(api: str) -> None:
    errors = [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    with grouped(ClassicBroker(**{api: errors})) as (broker, member):
        assert [values(member), values(member)] == [[b"0"], [b"1"]]
        assert len(broker.of(FindCoordinatorRequest)) >= 2


LOADING = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 500  # for longer than a timeout


def test_a_member_that_could_not_have_its_offsets_requests_them_again() -> None:
    with grouped(ClassicBroker(OFFSET_FETCH=LOADING)) as (broker, member):
        with pytest.raises(KafkaError, match="COORDINATOR_LOAD_IN_PROGRESS"):
            member.poll()
        assert not member.is_at_end()
        broker.recover()
        assert values(member) == [b"0"]
        assert len(broker.of(JoinGroupRequest)) == 1


def test_after_a_rebalance_nothing_of_the_generation_before_is_read_or_committed_without_offsets() -> None:
    errors = [ErrorCode.NONE, *LOADING]
    with grouped(ClassicBroker(HEARTBEAT=[ErrorCode.REBALANCE_IN_PROGRESS], OFFSET_FETCH=errors)) as (broker, member):
        assert values(member) == [b"0"]
        with pytest.raises(KafkaError, match="COORDINATOR_LOAD_IN_PROGRESS"):
            member.poll()
        assert member.assignment == []
        commits = len(broker.of(OffsetCommitRequest))
        broker.recover()
        broker.offsets[0] = 5  # by another member, as far as this one knows
        assert values(member) == [b"5"]
        assert len(broker.of(OffsetCommitRequest)) == commits


def test_a_partition_with_an_unstable_offset_does_not_keep_the_others_waiting() -> None:
    with grouped(ClassicBroker(2), heartbeat_ms=3000) as (broker, member):
        broker.unstable, broker.offsets[1] = {1}, 7
        assert values(member) == [b"0"]
        assert member.assignment == [("t", 0)]
        assert not member.is_at_end()
        broker.unstable = set()
        while b"7" not in values(member):
            member._client.clock.sleep(0.01)  # else the clock stands still, and no request is due again
        assert member.assignment == [("t", 0), ("t", 1)]
        assert len(broker.of(JoinGroupRequest)) == 1


def test_a_rebalance_during_sync_starts_over() -> None:
    with grouped(ClassicBroker(SYNC_GROUP=[ErrorCode.REBALANCE_IN_PROGRESS])) as (broker, member):
        assert values(member) == [b"0"]
        assert len(broker.of(JoinGroupRequest)) == 2


@pytest.mark.parametrize("api", ["JOIN_GROUP", "HEARTBEAT", "OFFSET_COMMIT", "FIND_COORDINATOR"])
def test_an_error_that_rejoining_does_not_cure_is_raised(api: str) -> None:
    with (
        grouped(ClassicBroker(**{api: [ErrorCode.GROUP_AUTHORIZATION_FAILED]})) as (_, member),
        pytest.raises(KafkaError, match="GROUP_AUTHORIZATION_FAILED"),
    ):
        assert [values(member), values(member)]


def test_old_versions_of_the_protocol_will_do() -> None:
    with grouped(ClassicBroker()) as (broker, member):
        broker.offered |= {ApiKey.LEAVE_GROUP: (0, 2), ApiKey.OFFSET_FETCH: (0, 7), ApiKey.JOIN_GROUP: (0, 2)}
        assert values(member) == [b"0"]
        member.close()
        assert [request.member_id for request in broker.of(LeaveGroupRequest)] == ["m"]
        assert broker.of(OffsetFetchRequest)[0].group_id == "g"


def test_a_static_member_says_so_everywhere_and_stays_when_it_closes() -> None:
    with grouped(ClassicBroker(), instance_id="i") as (broker, member):
        values(member)
        values(member)
        member.close()
        kinds = (JoinGroupRequest, SyncGroupRequest, HeartbeatRequest, OffsetCommitRequest)
        assert [{each.group_instance_id for each in broker.of(kind)} for kind in kinds] == [{"i"}] * 4
        assert broker.of(LeaveGroupRequest) == []
        assert (member.member.member_id, member.assignment) == ("", [])


def test_between_heartbeats_nothing_is_queried_of_the_coordinator() -> None:
    with grouped(ClassicBroker(), heartbeat_ms=3000) as (broker, member):
        for _ in range(5):
            values(member)
        assert broker.of(HeartbeatRequest) == []
        assert broker.of(OffsetCommitRequest) == []


def test_a_member_that_never_joined_has_nothing_to_leave() -> None:
    with grouped(ClassicBroker()) as (broker, member):
        member.close()
        assert broker.requests == []
