"""A member of a consumer group (KIP-848) is at no end while partitions may be on their way. Against a script."""

import pytest

from barnabas.client.errors import UnsupportedByBroker
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.protocol.registry import ApiKey
from tests.support.scripted.consumer_group import DESCRIBE, ConsumerGroup, Member, MemberOf

E = ErrorCode


def joined(consumer_member: MemberOf, broker: ConsumerGroup) -> Member:
    """A member that was told twice that it has nothing."""
    member = consumer_member(broker)
    for _ in range(2):
        member.poll(0)
        member.clock.sleep(1)
    return member


@pytest.mark.parametrize("state", ["Assigning", "Reconciling"])
def test_a_member_without_partitions_is_not_at_the_end_while_the_group_rebalances(
    consumer_member: MemberOf, state: str
) -> None:
    with ConsumerGroup() as broker:
        broker.state = state
        member = joined(consumer_member, broker)
        assert not member.is_at_end()
        broker.assign(0)  # whoever had it did not come back, and its session is over
        broker.state = "Stable"
        assert member.read() == {(0, 0)}
        assert not member.is_at_end(), "there is more to read in it"


def test_it_is_at_the_end_once_every_member_has_what_it_is_to_have(consumer_member: MemberOf) -> None:
    with ConsumerGroup() as broker:
        broker.state = "Reconciling"
        member = joined(consumer_member, broker)
        assert not member.is_at_end()
        broker.state = "Stable"
        member.clock.sleep(1)
        assert member.is_at_end()


def test_a_member_whose_target_is_more_than_it_owns_is_not_at_the_end(consumer_member: MemberOf) -> None:
    with ConsumerGroup() as broker:
        broker.described_target = {3}
        member = joined(consumer_member, broker)
        assert not member.is_at_end()


def test_the_coordinator_is_asked_once_a_second_and_not_before_there_is_nothing_to_read(
    consumer_member: MemberOf,
) -> None:
    with ConsumerGroup() as broker:
        broker.state = "Reconciling"
        member = joined(consumer_member, broker)
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


def test_a_coordinator_that_moved_is_asked_again(consumer_member: MemberOf) -> None:
    with ConsumerGroup(CONSUMER_GROUP_DESCRIBE=[E.NOT_COORDINATOR, E.COORDINATOR_LOAD_IN_PROGRESS]) as broker:
        assert joined(consumer_member, broker).is_at_end()


def test_a_group_that_is_gone_is_at_no_end(consumer_member: MemberOf) -> None:
    with ConsumerGroup(CONSUMER_GROUP_DESCRIBE=[E.GROUP_ID_NOT_FOUND]) as broker:
        assert not joined(consumer_member, broker).is_at_end()


def test_what_may_not_be_told_is_an_error_and_no_end(consumer_member: MemberOf) -> None:
    with ConsumerGroup(CONSUMER_GROUP_DESCRIBE=[E.TOPIC_AUTHORIZATION_FAILED]) as broker:
        member = joined(consumer_member, broker)
        with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED: group 'g'"):
            member.is_at_end()


def test_a_broker_that_describes_no_groups_is_said(consumer_member: MemberOf) -> None:
    with ConsumerGroup() as broker:
        del broker.offered[ApiKey.CONSUMER_GROUP_DESCRIBE]
        with pytest.raises(UnsupportedByBroker, match="does not offer ConsumerGroupDescribe"):
            joined(consumer_member, broker).is_at_end()


def test_a_member_that_reads_asks_nothing_of_the_groups_state(consumer_member: MemberOf) -> None:
    with ConsumerGroup(0) as broker:
        broker.fail(DESCRIBE, E.UNKNOWN_SERVER_ERROR)
        member = consumer_member(broker)
        assert member.read() == {(0, 0)}
        assert not member.is_at_end()
