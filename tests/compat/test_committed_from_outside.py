"""Offsets that somebody committed who is no member, before anybody joined: each partition is read on from there.

Several librdkafka members share the partitions, one leaves and another comes. What is committed covers all partitions
or some of them; the others begin where auto.offset.reset says.
"""

import threading
from collections.abc import Sequence
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.processes.server import Server
from tests.support.waiting import until

PARTITIONS = 6
RECORDS = 20
COMMITTED = 5
COMMITTED_FOR = {"all": range(PARTITIONS), "some": range(0, PARTITIONS, 2)}
WITHIN_S = 60


class Member:
    """A consumer in a thread of its own. `read`: partition -> the offsets it was given."""

    def __init__(self, server: Server, topic: str, strategy: str) -> None:
        self.read: dict[int, list[int]] = {number: [] for number in range(PARTITIONS)}
        self.has: set[int] = set()
        self._ending = threading.Event()
        settings = {
            "bootstrap.servers": server.address,
            "group.id": topic,
            "auto.offset.reset": "earliest",
            "partition.assignment.strategy": strategy,
            "heartbeat.interval.ms": 200,
        }
        self._thread = threading.Thread(target=self._live, args=(topic, settings), daemon=True)
        self._thread.start()

    def _live(self, topic: str, settings: dict[str, Any]) -> None:
        consumer = Consumer(settings)
        consumer.subscribe([topic], on_assign=self._assigned, on_revoke=self._revoked)
        while not self._ending.is_set():
            message = consumer.poll(0.05)
            if message is not None and message.error() is None:
                partition, offset = message.partition(), message.offset()
                assert partition is not None
                assert offset is not None
                self.read[partition].append(offset)
        consumer.close()

    def _assigned(self, _: Consumer, partitions: Sequence[Any]) -> None:
        self.has |= {each.partition for each in partitions}

    def _revoked(self, _: Consumer, partitions: Sequence[Any]) -> None:
        self.has -= {each.partition for each in partitions}

    def leave(self) -> None:
        """Commit and leave. It has partitions: without any, a cooperative librdkafka does not say that it leaves."""
        self._ending.set()
        self._thread.join()


def _write(server: Server, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": server.address})
    for partition in range(PARTITIONS):
        for _ in range(count):
            producer.produce(topic, b"record", partition=partition)
    assert producer.flush(30) == 0


def _commit(server: Server, topic: str, partitions: Sequence[int], by: str) -> None:
    """Nobody is in the group, which is named after the topic, and whoever commits does not join it."""
    wanted = [TopicPartition(topic, number, COMMITTED) for number in partitions]
    if by == "admin":
        admin = AdminClient({"bootstrap.servers": server.address})
        altered = admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(topic, wanted)])
        altered[topic].result(30)
        return
    consumer = Consumer({"bootstrap.servers": server.address, "group.id": topic})
    consumer.commit(offsets=wanted, asynchronous=False)
    consumer.close()


@pytest.mark.parametrize(("covered", "by"), [("all", "consumer"), ("some", "admin")])
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_members_read_on_from_what_was_committed_before_they_came(
    server: Server, strategy: str, covered: str, by: str
) -> None:
    topic = f"outside-{strategy}-{covered}-{by}"
    admin = AdminClient({"bootstrap.servers": server.address})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(30)
    _write(server, topic, RECORDS)
    _commit(server, topic, COMMITTED_FOR[covered], by)

    members = [Member(server, topic, strategy) for _ in range(3)]
    until(lambda: all(len(member.has) == PARTITIONS // 3 for member in members), WITHIN_S)
    members.append(Member(server, topic, strategy))
    members[0].leave()
    _write(server, topic, 1)

    def read(partition: int) -> set[int]:
        return {offset for member in members for offset in member.read[partition]}

    until(lambda: all(RECORDS in read(number) for number in range(PARTITIONS)), WITHIN_S)
    for number in range(PARTITIONS):
        first = COMMITTED if number in COMMITTED_FOR[covered] else 0
        assert read(number) == set(range(first, RECORDS + 1))
    until(lambda: all(member.has for member in members[1:]), WITHIN_S)
    for member in members[1:]:
        member.leave()
