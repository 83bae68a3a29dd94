"""Errors that faults put into ShareFetch and ShareAcknowledge, and what our own client makes of them."""

from collections.abc import Iterator

import pytest

from barnabas import Barnabas
from barnabas.client.client import Client
from barnabas.client.consume.share.share_consumer import ShareConsumer
from barnabas.protocol.errors import ErrorCode, KafkaError
from tests.support.clients.queues import new_queue

WAIT_MS = 20_000


@pytest.fixture
def member(broker: Barnabas, request: pytest.FixtureRequest) -> Iterator[ShareConsumer]:
    """A member that has not begun; its topic has two records in each of two partitions."""
    name: str = request.node.name.replace("[", "-").replace("]", "")
    with Client(broker.bootstrap_servers) as client:
        new_queue(client, name, 4, partitions=2)
        with ShareConsumer(client, name, [name]) as member:
            yield member
    broker.faults.reset()


def values(member: ShareConsumer, count: int) -> list[bytes | None]:
    found: list[bytes | None] = []
    while len(found) < count:
        found += [each.record.value for each in member.poll(WAIT_MS)]
    return sorted(found, key=str)


def test_a_refused_partition_is_fetched_again_and_its_records_come_once(
    broker: Barnabas, member: ShareConsumer
) -> None:
    fault = broker.faults.arm(api="ShareFetch", partition=0, error="NOT_LEADER_OR_FOLLOWER", times=2)
    assert values(member, 4) == [b"0", b"1", b"2", b"3"]
    assert member.commit() == {}
    assert fault.fired == 2
    assert not member.poll(0)


def test_an_error_of_a_partition_is_raised(broker: Barnabas, member: ShareConsumer) -> None:
    broker.faults.arm(api="ShareFetch", error="TOPIC_AUTHORIZATION_FAILED")
    with pytest.raises(KafkaError) as caught:
        member.poll(WAIT_MS)
    assert caught.value.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert values(member, 4) == [b"0", b"1", b"2", b"3"], "nothing was acquired, so nothing is locked"


def test_a_refused_acknowledgement_is_not_stored_and_the_session_goes_on(
    broker: Barnabas, member: ShareConsumer
) -> None:
    assert len(values(member, 4)) == 4
    broker.faults.arm(api="ShareAcknowledge", partition=1, error="INVALID_RECORD_STATE")
    refused = member.commit()
    assert [(where[1], error.code) for where, error in refused.items()] == [(1, ErrorCode.INVALID_RECORD_STATE)]
    assert member.poll(0) == []
    assert member.commit() == {}
    broker.clock.advance("31s")
    assert values(member, 2) == [b"1", b"3"]


def test_a_lost_session_is_an_error_at_the_top(broker: Barnabas, member: ShareConsumer) -> None:
    assert len(values(member, 4)) == 4
    broker.faults.arm(api="ShareAcknowledge", error="SHARE_SESSION_NOT_FOUND")
    assert {error.code for error in member.commit().values()} == {ErrorCode.SHARE_SESSION_NOT_FOUND}
