"""A member of a consumer group (KIP-848) in calm: assignments, topics and their ids, leaving. Against a script."""

from collections.abc import Iterable
from contextlib import nullcontext

import pytest

from barnabas.client.consume.consumer_membership import ConsumerProtocol
from barnabas.client.consume.member_states import ConsumerMemberState
from barnabas.client.errors import UnsupportedByBroker
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.consumer_group_heartbeat import TopicPartitions
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.protocol.registry import ApiKey
from tests.support.scripted.broker import Answer
from tests.support.scripted.consumer_group import HEARTBEAT, ConsumerGroup, grouped
from tests.support.scripted.group import TOPIC

E = ErrorCode
FENCING = [E.FENCED_MEMBER_EPOCH, E.UNKNOWN_MEMBER_ID, E.GROUP_ID_NOT_FOUND]


def offsets(at: int, partitions: Iterable[int]) -> set[tuple[int, int]]:
    return {(partition, at) for partition in partitions}


# --- what is assigned is read, committed and given up ---


def test_assigned_partitions_are_read_and_acknowledged() -> None:
    with grouped(ConsumerGroup(0, 1)) as (broker, member):
        assert member.read() == offsets(0, [0, 1])
        assert member.state is ConsumerMemberState.STABLE
        assert broker.story() == ["heartbeat 0 []", "offsets [0, 1]", "heartbeat 1 [0, 1]"]
        assert (member.member.member_id, member.member.generation_id) == ("m", 1)


def test_a_member_without_partitions_is_at_the_end_once_a_second_answer_has_brought_none() -> None:
    with grouped(ConsumerGroup()) as (broker, member):
        assert not member.is_at_end()
        broker.interval_ms = 10_000
        member.poll(0)
        assert (member.state, member.assignment, member.is_at_end()) == (ConsumerMemberState.STABLE, [], False)
        member.clock.sleep(1)
        member.poll(0)
        assert member.is_at_end()
        broker.assign(0)
        member.clock.sleep(10)
        assert member.read() == {(0, 0)}


def test_commits_carry_the_member_epoch_and_reading_offsets_too() -> None:
    with grouped(ConsumerGroup(0), ConsumerProtocol(member_id="m", instance_id="i")) as (broker, member):
        member.read()
        broker.assign(0, 1)
        member.read()
        (commit,) = broker.of(OffsetCommitRequest)
        assert (commit.member_id, commit.group_instance_id, commit.generation_id_or_member_epoch) == ("m", "i", 1)
        fetch = broker.of(OffsetFetchRequest)[-1]
        assert (fetch.groups[0].member_id, fetch.groups[0].member_epoch) == ("m", 2)
        assert broker.offsets[0] == 1


def test_a_partition_is_committed_before_it_is_given_up_and_the_others_are_read_on() -> None:
    with grouped(ConsumerGroup(0, 1)) as (broker, member):
        broker.interval_ms = 1000
        assert member.read() == offsets(0, [0, 1])
        assert member.read() == offsets(1, [0, 1])
        broker.requests.clear()
        broker.assign(1)
        broker.interval_ms = 0
        member.clock.sleep(1)
        assert member.read() == {(1, 2)}
        assert broker.story() == ["commit 1 {0: 2, 1: 2}", "heartbeat 1", "heartbeat 2 [1]"]


def test_records_read_since_the_last_heartbeat_are_committed_on_revocation() -> None:
    """The first poll ends before the heartbeat that brings the news: what it handed out is committed by the second."""
    with grouped(ConsumerGroup(0, 1)) as (broker, member):
        member.read()
        broker.fail(ApiKey.OFFSET_COMMIT, E.STALE_MEMBER_EPOCH)
        broker.requests.clear()
        broker.assign(1)
        member.read()
        assert broker.story() == ["commit 1 {0: 1, 1: 1}", "heartbeat 1", "commit 2 {0: 1, 1: 1}", "heartbeat 2 [1]"]
        assert member.assignment == [(TOPIC, 1)]


def test_new_partitions_begin_at_what_is_committed_and_the_others_go_on() -> None:
    with grouped(ConsumerGroup(0), auto_commit=False) as (broker, member):
        assert member.read() == {(0, 0)}
        broker.assign(0, 1)
        broker.offsets[1] = 7
        assert member.read() == {(0, 1), (1, 7)}
        assert broker.story()[-2:] == ["offsets [1]", "heartbeat 2 [0, 1]"]


def test_unavailable_offsets_are_neither_read_nor_acknowledged() -> None:
    with grouped(ConsumerGroup(0)) as (broker, member):
        member.read()
        broker.fail(ApiKey.OFFSET_FETCH, *[E.COORDINATOR_LOAD_IN_PROGRESS] * 500)
        broker.assign(1, 2)
        with pytest.raises(KafkaError, match="COORDINATOR_LOAD_IN_PROGRESS"):
            member.poll()
        assert (member.state, member.assignment) == (ConsumerMemberState.RECONCILING, [])
        assert not member.is_at_end()
        broker.recover()
        assert member.read() == offsets(0, [1, 2])
        assert broker.story()[-1] == "heartbeat 2 [1, 2]"


def test_a_partition_with_an_unstable_offset_is_acknowledged_and_the_others_are_read() -> None:
    with grouped(ConsumerGroup(0), auto_commit=False) as (broker, member):
        broker.interval_ms = 1000
        member.read()
        broker.unstable = {1}
        broker.assign(0, 1, 2)
        member.clock.sleep(1)
        assert member.read() == {(0, 1), (2, 0)}
        assert (member.state, member.assignment) == (ConsumerMemberState.STABLE, [(TOPIC, 0), (TOPIC, 2)])
        assert broker.story()[-2:] == ["offsets [1, 2]", "heartbeat 2 [0, 1, 2]"]
        assert not member.is_at_end()
        broker.unstable, broker.offsets[1] = set(), 7
        member.clock.sleep(1)
        assert member.read() == {(0, 2), (1, 7), (2, 1)}
        assert "offsets [1]" in broker.story(), "only of the one that is missing"


def test_unstable_offsets_are_requested_with_growing_pauses_and_are_no_failure() -> None:
    with grouped(ConsumerGroup(0)) as (broker, member):
        broker.interval_ms = 60_000
        broker.unstable = {0}
        assert member.poll(10_000) == []
        assert len(broker.of(OffsetFetchRequest)) < 20
        assert not member.is_at_end()
        broker.unstable = set()
        assert member.read() == {(0, 0)}


def test_an_unstable_partition_that_is_taken_away_is_not_requested_again() -> None:
    with grouped(ConsumerGroup(0, 1)) as (broker, member):
        broker.interval_ms = 1000
        broker.unstable = {1}
        member.read()
        broker.assign(0)
        member.clock.sleep(1)
        member.read()
        asked = len(broker.of(OffsetFetchRequest))
        member.clock.sleep(0.9)
        member.read()
        assert len(broker.of(OffsetFetchRequest)) == asked
        assert broker.story()[-1] == "heartbeat 2 [0]"


def test_a_failed_acknowledgement_is_repeated_by_the_next_poll() -> None:
    with grouped(ConsumerGroup(0)) as (broker, member):
        broker.interval_ms = 1000
        member.read()
        broker.assign(0, 1)
        member.clock.sleep(1)
        broker.fail(HEARTBEAT, E.NONE, *[E.COORDINATOR_LOAD_IN_PROGRESS] * 500)
        with pytest.raises(KafkaError, match="COORDINATOR_LOAD_IN_PROGRESS"):
            member.poll()
        assert member.state is ConsumerMemberState.ACKNOWLEDGING
        broker.recover()
        assert member.read() == {(0, 1), (1, 0)}
        assert (broker.story()[-1], member.state) == ("heartbeat 2 [0, 1]", ConsumerMemberState.STABLE)


# --- topics and their ids ---


def test_a_topic_without_a_name_is_requested_again_while_others_are_read() -> None:
    with grouped(ConsumerGroup(0)) as (broker, member):
        broker.interval_ms = 10_000
        broker.topic_ids[TOPIC] = bytes(16)
        member.poll(0)
        assert (member.state, member.assignment) == (ConsumerMemberState.RECONCILING, [])
        broker.topic_ids[TOPIC] = broker.topic_id
        member.clock.sleep(1)
        assert member.read() == {(0, 0)}
        assert member.state is ConsumerMemberState.STABLE


def test_a_topic_that_was_made_again_begins_at_what_is_committed() -> None:
    with grouped(ConsumerGroup(0), auto_commit=False) as (broker, member):
        member.read()
        assert member.read() == {(0, 1)}
        broker.topic_id = broker.topic_ids[TOPIC] = b"n" * 16
        broker.assign(0)
        assert member.read() == {(0, 0)}
        assert broker.heartbeats[-1].topic_partitions == [TopicPartitions(topic_id=b"n" * 16, partitions=[0])]


def test_of_a_deleted_topic_nothing_is_committed_and_nobody_is_held_up() -> None:
    with grouped(ConsumerGroup(0)) as (broker, member):
        member.read()
        broker.fail(ApiKey.OFFSET_COMMIT, *[E.UNKNOWN_TOPIC_OR_PARTITION] * 2)
        broker.requests.clear()
        broker.assign()
        member.poll(0)
        assert broker.story() == ["commit 1 {0: 1}", "heartbeat 1", "commit 2 {0: 1}", "heartbeat 2 []"]
        assert member.clock.monotonic() == 0


def test_heartbeats_go_on_while_nothing_can_be_fetched_and_that_is_reported_after_the_timeout() -> None:
    with grouped(ConsumerGroup(0)) as (broker, member):
        broker.interval_ms = 1000
        member.read()
        broker.fail(ApiKey.FETCH, *[E.UNKNOWN_TOPIC_OR_PARTITION] * 500)
        before = len(broker.heartbeats)
        with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION: t-0"):
            member.poll(60_000)
        assert 4 <= len(broker.heartbeats) - before <= 6
        assert 5 <= member.clock.monotonic() < 7
        broker.recover()
        assert member.read() == {(0, 1)}


def test_with_a_regular_expression_every_topics_name_is_requested() -> None:
    with grouped(ConsumerGroup(0), ConsumerProtocol(regex="t.*", remote_assignor="range")) as (broker, member):
        assert member.read() == {(0, 0)}
        first = broker.heartbeats[0]
        assert (first.subscribed_topic_regex, first.server_assignor) == ("t.*", "range")
        assert len(first.member_id) == 22


# --- coordinators, and brokers that are older ---


@pytest.mark.parametrize("api", ["CONSUMER_GROUP_HEARTBEAT", "OFFSET_COMMIT", "OFFSET_FETCH"])
def test_a_coordinator_that_moved_is_looked_for_again(api: str) -> None:
    errors = [E.NOT_COORDINATOR, E.COORDINATOR_LOAD_IN_PROGRESS, E.COORDINATOR_NOT_AVAILABLE]
    with grouped(ConsumerGroup(0, **{api: errors})) as (broker, member):
        assert member.read() | member.read() == {(0, 0), (0, 1)}
        assert len(broker.of(FindCoordinatorRequest)) >= 2


def test_after_a_heartbeat_without_an_answer_everything_is_reported_again() -> None:
    with grouped(ConsumerGroup(0)) as (broker, member):
        member.read()
        broker.hang_ups = 1
        broker.requests.clear()
        member.read()
        assert [each.subscribed_topic_names for each in broker.heartbeats] == [None, [TOPIC]]
        assert broker.story()[-1] == "heartbeat 1 [0]"


def test_between_heartbeats_nothing_is_queried_of_the_coordinator() -> None:
    with grouped(ConsumerGroup(0)) as (broker, member):
        broker.interval_ms = 3000
        member.read()
        broker.requests.clear()
        for _ in range(5):
            member.read()
        assert broker.story() == []
        member.clock.sleep(3)
        member.read()
        assert broker.story() == ["commit 1 {0: 6}", "heartbeat 1"]


def test_a_regular_expression_needs_a_broker_that_takes_it() -> None:
    with grouped(ConsumerGroup(0), ConsumerProtocol(regex="t")) as (broker, member):
        broker.offered[HEARTBEAT] = (0, 0)
        with pytest.raises(UnsupportedByBroker, match="too old to subscribe by a regular expression"):
            member.poll()
    with grouped(ConsumerGroup(0)) as (broker, member):
        broker.offered[HEARTBEAT] = (0, 0)
        assert member.read() == {(0, 0)}


def test_a_broker_without_the_protocol_is_reported() -> None:
    with grouped(ConsumerGroup(0)) as (broker, member):
        del broker.offered[HEARTBEAT]
        with pytest.raises(UnsupportedByBroker, match="does not offer ConsumerGroupHeartbeat"):
            member.poll()


def test_topics_are_made_where_the_broker_makes_them() -> None:
    with grouped(ConsumerGroup(0)) as (broker, member):
        asked: list[MetadataRequest] = []

        def metadata(request: MetadataRequest) -> Answer:
            asked.append(request)
            return broker._metadata(request)

        broker.script[ApiKey.METADATA] = metadata
        member.read()
        assert [request.allow_auto_topic_creation for request in asked if request.topics].count(True) == 1


# --- leaving ---


@pytest.mark.parametrize(("instance_id", "epoch"), [(None, -1), ("i", -2)])
def test_closing_commits_and_leaves_for_good_or_for_a_while(instance_id: str | None, epoch: int) -> None:
    with grouped(ConsumerGroup(0), ConsumerProtocol(member_id="m", instance_id=instance_id)) as (broker, member):
        member.read()
        broker.requests.clear()
        member.close()
        assert broker.story() == ["commit 1 {0: 1}", f"heartbeat {epoch}"]
        assert (member.state, member.assignment) == (ConsumerMemberState.UNSUBSCRIBED, [])
        member.close()
        assert len(broker.heartbeats) == 1
        assert member.read() == {(0, 1)}, "it may come back"


@pytest.mark.parametrize("error", [*FENCING, E.GROUP_AUTHORIZATION_FAILED])
def test_close_leaves_the_group_and_raises_refusals_but_unknown_member(error: ErrorCode) -> None:
    with grouped(ConsumerGroup(0, CONSUMER_GROUP_HEARTBEAT=[E.NONE, E.NONE, error])) as (_, member):
        member.read()
        with nullcontext() if error in FENCING else pytest.raises(KafkaError, match="GROUP_AUTHORIZATION_FAILED"):
            member.close()
        assert member.state is ConsumerMemberState.UNSUBSCRIBED


def test_a_member_that_never_joined_has_nothing_to_leave() -> None:
    with grouped(ConsumerGroup()) as (broker, member):
        member.close()
        assert broker.requests == []
