"""`broker.share_group`: what is in flight in a share group, and with which member."""

from collections.abc import Iterator

import pytest

from barnabas import Barnabas, BarnabasError
from barnabas.client.client import Client
from barnabas.client.consume.share.share_consumer import ShareConsumer
from barnabas.protocol.acknowledge_type import AcknowledgeType
from barnabas.protocol.errors import ErrorCode
from barnabas.pytest_plugin import HELD_RANGES_SHOWN, describe
from tests.barnabas.conftest import NewBroker, Writer
from tests.support.clients.queues import FROM_THE_FIRST, set_of_group

WAIT_MS = 20_000


@pytest.fixture
def broker(new_broker: NewBroker, writer: Writer) -> Barnabas:
    """A broker with six records in orders-0, and the group "workers", which begins with the first."""
    broker = new_broker(topics={"orders": 2})
    writer.write(broker, *(b"%d" % number for number in range(6)))
    with Client(broker.bootstrap_servers) as client:
        set_of_group(client, "workers", FROM_THE_FIRST)
    return broker


@pytest.fixture
def member(broker: Barnabas) -> Iterator[ShareConsumer]:
    with (
        Client(broker.bootstrap_servers) as client,
        ShareConsumer(client, "workers", ["orders"], explicit=True, member_id="m") as member,
    ):
        yield member


def test_records_in_flight_are_reported_with_their_member_and_the_time_left(
    broker: Barnabas, member: ShareConsumer
) -> None:
    records = member.poll(WAIT_MS, 4)
    broker.clock.freeze()
    for record, kind in zip(records, [AcknowledgeType.RELEASE, AcknowledgeType.ACCEPT], strict=False):
        member.acknowledge(record, kind)
    assert member.commit() == {}
    group = broker.share_group("workers")
    assert (group.group_id, group.state, group.members) == ("workers", "Stable", ("m",))
    first, second = group.partitions
    assert (first.topic, first.partition, first.start_offset, first.lag) == ("orders", 0, 0, 5)
    assert [each[2:7] for each in first.in_flight] == [
        (0, 0, "available", 1, None),
        (1, 1, "acknowledged", 1, None),
        (2, 3, "acquired", 1, "m"),
        (4, 5, "available", 0, None),
    ]
    before_ms = first.in_flight[2].lock_left_ms
    broker.clock.advance("10s")
    (held,) = broker.share_group("workers").held["m"]
    assert (before_ms or 0) - (held.lock_left_ms or 0) == 10_000
    assert (second.partition, second.in_flight) == (1, ())
    assert group.held == {"m": [first.in_flight[2]]}
    for record in records[2:]:
        member.acknowledge(record)


def test_a_group_without_members_shows_what_is_stored(broker: Barnabas, member: ShareConsumer) -> None:
    for record in member.poll(WAIT_MS, 4):
        member.acknowledge(record)
    member.close()
    broker.restart()
    group = broker.share_group("workers")
    assert (group.state, group.members, group.in_flight, group.held) == ("Empty", (), (), {})
    assert [each.lag for each in group.partitions] == [2, None]


def test_held_records_are_listed_by_group_and_in_the_report_of_a_failed_test(
    broker: Barnabas, member: ShareConsumer
) -> None:
    assert broker.held_records() == {}
    assert "share group" not in describe(broker)
    records = member.poll(WAIT_MS, 4)
    broker.clock.freeze()
    held = broker.held_records()
    assert held == {"workers": broker.share_group("workers").held["m"]}
    (first,) = held["workers"]
    line = f"member m holds orders-0 from offset 0 to 3 for {first.lock_left_ms} ms more (delivery 1)"
    assert f"share group workers: {line}\n" in describe(broker)
    for record in records:
        member.acknowledge(record)
    assert member.commit() == {}
    assert broker.held_records() == {}


def test_a_report_of_many_held_ranges_is_bounded(broker: Barnabas, writer: Writer, member: ShareConsumer) -> None:
    writer.write(broker, *(b"%d" % number for number in range(60)))
    records = member.poll(WAIT_MS, 60)
    for record in records[::2]:
        member.acknowledge(record)
    assert member.commit() == {}
    count = len(broker.held_records()["workers"])
    assert count == len(records[1::2]) > HELD_RANGES_SHOWN
    said = describe(broker)
    assert said.count("share group workers: member m holds") == HELD_RANGES_SHOWN
    assert f"\n... and {count - HELD_RANGES_SHOWN} more ranges\n" in said


def test_locks_end_at_once_for_one_member_or_for_all(broker: Barnabas, member: ShareConsumer) -> None:
    records = member.poll(WAIT_MS, 4)
    with pytest.raises(BarnabasError, match="another is not a member of group workers"):
        broker.end_locks("workers", "another")
    assert list(broker.share_group("workers").held) == ["m"]
    assert broker.end_locks("workers", "m") == 4
    assert broker.share_group("workers").held == {}
    for record in records:
        member.acknowledge(record)
    assert [error.code for error in member.commit().values()] == [ErrorCode.INVALID_RECORD_STATE]
    again = member.poll(WAIT_MS, 4)
    assert [(each.record.offset, each.delivery_count) for each in again] == [(offset, 2) for offset in range(4)]
    assert broker.end_locks("workers") == 4
    assert broker.end_locks("workers") == broker.end_locks("workers", "m") == 0


def test_a_group_that_is_not_there_is_refused(broker: Barnabas, new_broker: NewBroker) -> None:
    with pytest.raises(BarnabasError, match="nobody"):
        broker.share_group("nobody")
    with pytest.raises(BarnabasError, match="nobody"):
        broker.end_locks("nobody")
    with pytest.raises(BarnabasError, match=r"the feature share\.version is at 0"):
        new_broker(features={"share.version": 0}).share_group("workers")
