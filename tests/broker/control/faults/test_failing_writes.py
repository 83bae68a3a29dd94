"""Writes of share groups that faults have fail: nothing of them is applied, and the broker does what it does then."""

import json
from collections.abc import Iterator

import pytest

from barnabas import Barnabas, BarnabasError
from barnabas.client.client import Client
from barnabas.client.consume.share.share_consumer import ShareConsumer
from barnabas.protocol.acknowledge_type import AcknowledgeType
from barnabas.protocol.errors import ErrorCode
from tests.support.clients.queues import new_queue
from tests.support.worlds.share_world import ShareWorld

WAIT_MS = 20_000
STATE, LETTERS = "share.record_writing", "share.dead_letters_writing"


@pytest.fixture
def group(broker: Barnabas, request: pytest.FixtureRequest) -> str:
    """A group with a topic of its own name, which has two records."""
    with Client(broker.bootstrap_servers) as client:
        return new_queue(client, request.node.name, 2)


@pytest.fixture
def member(broker: Barnabas, group: str) -> Iterator[ShareConsumer]:
    """A member of the group."""
    with Client(broker.bootstrap_servers) as client, ShareConsumer(client, group, [group], explicit=True) as member:
        yield member
    broker.faults.reset()


def accepted(member: ShareConsumer) -> list[ErrorCode]:
    """Acquire both records and accept them; return the errors."""
    records = member.poll(WAIT_MS, 2)
    assert len(records) == 2
    for record in records:
        member.acknowledge(record)
    return [error.code for error in member.commit().values()]


def test_an_acknowledgement_whose_write_fails_is_refused_and_nothing_of_it_is_applied(
    broker: Barnabas, group: str, member: ShareConsumer
) -> None:
    fault = broker.faults.arm(
        point=STATE, group=group, facts={"delivery_states": "acknowledged"}, error="MESSAGE_TOO_LARGE"
    )
    assert accepted(member) == [ErrorCode.UNKNOWN_SERVER_ERROR]
    assert fault.fired == 1
    assert broker.end_locks(group) == 2, "the member holds them as before"
    assert [each.delivery_count for each in member.poll(WAIT_MS, 2)] == [2, 2]


def test_a_write_whose_error_may_pass_is_repeated(broker: Barnabas, group: str, member: ShareConsumer) -> None:
    fault = broker.faults.arm(
        point=STATE, group=group, facts={"delivery_states": "acknowledged"}, error="KAFKA_STORAGE_ERROR", times=2
    )
    assert accepted(member) == []
    assert fault.fired == 2
    assert broker.end_locks(group) == 0


@pytest.mark.parametrize(("error", "times", "count"), [("MESSAGE_TOO_LARGE", 1, 0), ("NOT_LEADER_OR_FOLLOWER", 2, 1)])
async def test_dead_letters_are_lost_or_written_again(error: str, times: int, count: int) -> None:
    world = ShareWorld()
    world.services.catalogue.create_topic("dlq.g", 1, {"errors.deadletterqueue.group.enable": "true"})
    world.configure("errors.deadletterqueue.topic.name", "dlq.g")
    fault = {"match": {"point": LETTERS, "group": "g"}, "do": {"error": error}, "times": times}
    (armed,) = world.broker.faults.get().arm_json(json.dumps(fault))
    world.append("t", b"a")
    member = world.member()
    assert await member.acquire() == [(0, 0, 1)]
    await member.acknowledge((0, 0, [AcknowledgeType.REJECT]))
    await world.settle()
    for pause_ms in (1_000, 2_000):
        await world.advance(pause_ms)
    counts = world.services.share_partitions.dead_letters.counts["g"]
    assert (armed.chances.fired, counts.failed_requests) == (times, times)
    assert (counts.records, counts.lost) == (count, 1 - count)
    assert world.persister.updates[-1].delivery_complete_count == 1, "the record is archived in any case"


def test_only_codes_of_a_failed_write_are_taken_and_only_at_writes(broker: Barnabas) -> None:
    with pytest.raises(BarnabasError, match=r"the error of a write at share\.record_writing is one of KAFKA_STORAGE"):
        broker.faults.arm(point=STATE, error="NOT_COORDINATOR")
    with pytest.raises(BarnabasError, match="error"):
        broker.faults.arm(point="share.record_written", error="KAFKA_STORAGE_ERROR")
