"""A member of a consumer group (KIP-848) is at no end while partitions may be on their way. Against a script."""

import pytest

from barnabas.client.errors import UnsupportedByBroker
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.protocol.registry import ApiKey
from tests.support.scripted.consumer_group import DESCRIBE, ConsumerGroup, Member, grouped

E = ErrorCode


def joined(member: Member) -> Member:
    """The member, when it was told twice that it has nothing."""
    for _ in range(2):
        member.poll(0)
        member.clock.sleep(1)
    return member


@pytest.mark.parametrize("state", ["Assigning", "Reconciling"])
def test_a_member_without_partitions_is_not_at_the_end_while_the_group_rebalances(state: str) -> None:
    with grouped(ConsumerGroup()) as (broker, member):
        broker.state = state
        joined(member)
        assert not member.is_at_end()
        broker.assign(0)  # whoever had it did not come back, and its session is over
        broker.state = "Stable"
        assert member.read() == {(0, 0)}
        assert not member.is_at_end(), "there is more to read in it"


def test_it_is_at_the_end_once_every_member_has_what_it_is_to_have() -> None:
    with grouped(ConsumerGroup()) as (broker, member):
        broker.state = "Reconciling"
        joined(member)
        assert not member.is_at_end()
        broker.state = "Stable"
        member.clock.sleep(1)
        assert member.is_at_end()


def test_a_member_whose_target_is_more_than_it_owns_is_not_at_the_end() -> None:
    with grouped(ConsumerGroup()) as (broker, member):
        broker.described_target = {3}
        joined(member)
        assert not member.is_at_end()


def test_the_coordinator_is_queried_once_a_second_and_not_before_there_is_nothing_to_read() -> None:
    with grouped(ConsumerGroup()) as (broker, member):
        broker.state = "Reconciling"
        joined(member)
        for _ in range(5):
            assert not member.is_at_end()
        assert len(broker.of(ConsumerGroupDescribeRequest)) == 1
        member.clock.sleep(1)
        assert not member.is_at_end()
        assert len(broker.of(ConsumerGroupDescribeRequest)) == 2
        broker.assign(0)
        member.read()
        member.clock.sleep(1)
        assert not member.is_at_end()
        assert len(broker.of(ConsumerGroupDescribeRequest)) == 2


def test_a_coordinator_that_moved_is_queried_again() -> None:
    group = ConsumerGroup(CONSUMER_GROUP_DESCRIBE=[E.NOT_COORDINATOR, E.COORDINATOR_LOAD_IN_PROGRESS])
    with grouped(group) as (_, member):
        assert joined(member).is_at_end()


def test_a_group_that_is_gone_is_at_no_end() -> None:
    with grouped(ConsumerGroup(CONSUMER_GROUP_DESCRIBE=[E.GROUP_ID_NOT_FOUND])) as (_, member):
        assert not joined(member).is_at_end()


def test_a_forbidden_description_is_an_error_and_no_end() -> None:
    with grouped(ConsumerGroup(CONSUMER_GROUP_DESCRIBE=[E.TOPIC_AUTHORIZATION_FAILED])) as (_, member):
        joined(member)
        with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED: group 'g'"):
            member.is_at_end()


def test_a_broker_that_describes_no_groups_is_reported() -> None:
    with grouped(ConsumerGroup()) as (broker, member):
        del broker.offered[ApiKey.CONSUMER_GROUP_DESCRIBE]
        with pytest.raises(UnsupportedByBroker, match="does not offer ConsumerGroupDescribe"):
            joined(member).is_at_end()


def test_a_member_that_reads_asks_nothing_of_the_groups_state() -> None:
    with grouped(ConsumerGroup(0)) as (broker, member):
        broker.fail(DESCRIBE, E.UNKNOWN_SERVER_ERROR)
        assert member.read() == {(0, 0)}
        assert not member.is_at_end()
