"""A share consumer against a running broker: each record once, again after a release, and by whom."""

from collections.abc import Iterator

import pytest

from barnabas import Barnabas
from barnabas.client.client import Client
from barnabas.client.consume.share.share_consumer import ShareConsumer
from barnabas.protocol.acknowledge_type import AcknowledgeType
from barnabas.protocol.errors import ErrorCode
from tests.support.clients.committed import begun
from tests.support.clients.queues import new_queue, offsets_and_deliveries, read_at_once

GAP, ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
WAIT_MS = 20_000


@pytest.fixture(scope="module")
def broker() -> Iterator[Barnabas]:
    with Barnabas(in_process=True) as running:
        yield running


@pytest.fixture
def client(broker: Barnabas) -> Iterator[Client]:
    with Client(broker.bootstrap_servers, timeout_ms=WAIT_MS) as connected:
        yield connected


@pytest.fixture
def name(client: Client, request: pytest.FixtureRequest) -> str:
    """A topic of ten records in one partition, and a group that begins with the first."""
    return new_queue(client, request.node.name)


def test_accepted_records_come_once_and_released_ones_again(client: Client, name: str) -> None:
    with ShareConsumer(client, name, [name], explicit=True) as member:
        for record in read_at_once(member, 10):
            member.acknowledge(record, RELEASE if record.record.offset in (3, 7) else ACCEPT)
        records = read_at_once(member, 2)
        assert offsets_and_deliveries(records) == [(3, 2), (7, 2)]
        member.acknowledge(records[0], REJECT)
        member.acknowledge(records[1])
        assert member.commit() == {}
        assert member.poll(0) == []


def test_what_is_not_accepted_before_the_close_comes_to_the_next_member(client: Client, name: str) -> None:
    with ShareConsumer(client, name, [name]) as member:
        read_at_once(member, 4)
        read_at_once(member, 3)
    with ShareConsumer(client, name, [name]) as member:
        assert offsets_and_deliveries(read_at_once(member, 6)) == [(4, 2), (5, 2), (6, 2), (7, 1), (8, 1), (9, 1)]
        assert member.commit() == {}


def test_two_members_share_a_partition(client: Client, broker: Barnabas, name: str) -> None:
    with (
        Client(broker.bootstrap_servers) as other_client,
        ShareConsumer(client, name, [name]) as one,
        ShareConsumer(other_client, name, [name]) as other,
    ):
        assert offsets_and_deliveries(read_at_once(one, 5)) == [(offset, 1) for offset in range(5)]
        assert offsets_and_deliveries(read_at_once(other, 5)) == [(offset, 1) for offset in range(5, 10)]
        assert one.assignment == other.assignment == [(name, 0)]


def test_a_record_whose_lock_is_over_is_refused_and_one_with_a_renewed_lock_is_not(
    client: Client, broker: Barnabas, name: str
) -> None:
    with ShareConsumer(client, name, [name], explicit=True) as member:
        held, given_up = read_at_once(member, 2)
        broker.clock.advance("16s")
        member.acknowledge(held, RENEW)
        assert member.commit() == {}
        assert member.lock_timeout_ms == 30_000
        broker.clock.advance("16s")
        member.acknowledge(held)
        assert member.commit() == {}
        member.acknowledge(given_up)
        assert [error.code for error in member.commit().values()] == [ErrorCode.INVALID_RECORD_STATE]
        (again,) = read_at_once(member, 1)
        assert offsets_and_deliveries([again]) == [(given_up.record.offset, 2)]
        member.acknowledge(again)


def test_markers_of_transactions_are_gaps(client: Client, name: str) -> None:
    begun(client, name, b"ten", topic=name).commit()
    with ShareConsumer(client, name, [name]) as member:
        assert member.poll(WAIT_MS)[-1].record.value == b"ten"
        assert member.commit() == {}
        assert member.poll(0) == []
