"""librdkafka's share consumer (KIP-932), a preview in confluent-kafka 2.16: queues, markers, and a killed broker."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import AcknowledgeType, KafkaException, Message, ShareConsumer, TopicPartition

from barnabas.client.admin.share_offsets import share_offsets
from barnabas.client.client import Client
from tests.support.clients.committed import begun
from tests.support.clients.queues import new_queue, send_numbers, set_of_group
from tests.support.processes.server import Server
from tests.support.waiting import PATIENCE_S, until

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT

SETTINGS = {  # a member learns of its partitions by the second heartbeat
    "group.share.min.heartbeat.interval.ms": 100,
    "group.share.heartbeat.interval.ms": 100,
}

Open = Callable[..., ShareConsumer]


@pytest.fixture
def name(request: pytest.FixtureRequest, client: Client) -> str:
    """A topic of ten records in its only partition, and a group that begins with the first."""
    return new_queue(client, request.node.name)


@pytest.fixture
def opened(server: Server, name: str) -> Open:
    """Opens a member of the group of the topic's name."""

    def open_member(**settings: Any) -> ShareConsumer:
        dotted = {key.replace("_", "."): value for key, value in settings.items()}
        member = ShareConsumer({"bootstrap.servers": server.address, "group.id": name, **dotted})
        member.subscribe([name])
        return member

    return open_member


def read(member: ShareConsumer, count: int) -> list[Message]:
    """At least so many records, from as many polls as that takes; only implicit acknowledgement allows several."""
    found: list[Message] = []

    def is_enough() -> bool:
        found.extend(member.poll(1.0))
        return len(found) >= count

    until(is_enough, PATIENCE_S)
    assert [message.error() for message in found if message.error() is not None] == []
    return found


def facts(messages: list[Message]) -> list[tuple[int | None, int | None]]:
    """Offset and delivery count of each record."""
    return [(message.offset(), message.delivery_count()) for message in messages]


def lag(client: Client, name: str) -> int | None:
    return share_offsets(client, name)[name, 0].lag


def test_records_are_accepted_released_and_rejected(client: Client, name: str, opened: Open) -> None:
    done: list[tuple[dict[TopicPartition, set[int]], KafkaException | None]] = []
    with closing(opened(share_acknowledgement_mode="explicit")) as member:
        member.set_acknowledgement_commit_callback(lambda *result: done.append(result))
        messages = read(member, 10)
        assert facts(messages) == [(offset, 1) for offset in range(10)]
        for message, kind in zip(messages, [ACCEPT] * 7 + [RELEASE, REJECT, RELEASE], strict=True):
            member.acknowledge(message, kind)
        assert member.commit_sync() == {TopicPartition(name, 0): None}
        assert facts(read(member, 2)) == [(7, 2), (9, 2)]
        assert lag(client, name) == 2
        for offset in (7, 9):
            member.acknowledge_offset(name, 0, offset)
        member.commit_async()
        until(lambda: (len(member.poll(0.1)), len(done)) == (0, 2), PATIENCE_S)
    assert [(list(offsets.values()), failure) for offsets, failure in done] == [
        ([set(range(10))], None),
        ([{7, 9}], None),
    ]
    assert lag(client, name) == 0


def test_what_a_closed_member_did_not_acknowledge_comes_again(client: Client, name: str, opened: Open) -> None:
    with closing(opened(share_acknowledgement_mode="explicit")) as member:
        for message in read(member, 10)[:4]:
            member.acknowledge(message)
    with closing(opened()) as member:
        assert facts(read(member, 6)) == [(offset, 2) for offset in range(4, 10)]
        assert member.commit_sync() == {TopicPartition(name, 0): None}
        assert lag(client, name) == 0


def test_two_members_share_a_partition(client: Client, name: str, opened: Open) -> None:
    for first in range(10, 60, 2):
        send_numbers(client, name, range(first, first + 2))
    with closing(opened(max_poll_records=1)) as one, closing(opened(max_poll_records=1)) as other:
        found: dict[ShareConsumer, list[tuple[int | None, int | None]]] = {one: [], other: []}

        def has_all() -> bool:
            for member, of_member in found.items():
                of_member.extend(facts(list(member.poll(0.1))))
                member.commit_sync()
            return sum(map(len, found.values())) >= 60

        until(has_all, PATIENCE_S)
        assert sorted(found[one] + found[other]) == [(offset, 1) for offset in range(60)]
        assert all(found.values())
    assert lag(client, name) == 0


def test_markers_and_aborted_records_are_no_records(client: Client, name: str, opened: Open) -> None:
    set_of_group(client, name, {"share.isolation.level": "read_committed"})
    begun(client, f"{name}-1", b"aborted", topic=name).abort()
    begun(client, f"{name}-2", b"ten", topic=name).commit()
    with closing(opened()) as member:
        values = [message.value() for message in read(member, 11)]
        assert values == [b"%d" % number for number in range(10)] + [b"ten"]
        assert member.commit_sync() == {TopicPartition(name, 0): None}
    assert lag(client, name) == 0


def test_a_member_goes_on_after_a_kill(server: Server, client: Client, name: str, opened: Open) -> None:
    with closing(opened()) as member:
        assert facts(read(member, 10)) == [(offset, 1) for offset in range(10)]
        assert member.commit_sync() == {TopicPartition(name, 0): None}
        server.kill()
        server.start()
        with Client(server.address) as anew:
            send_numbers(anew, name, range(10, 20))
        assert facts(read(member, 10)) == [(offset, 1) for offset in range(10, 20)]
        assert member.commit_sync() == {TopicPartition(name, 0): None}
