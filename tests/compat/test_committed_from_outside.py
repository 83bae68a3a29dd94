"""Offsets that somebody committed who is no member, before anybody joined: each partition is read on from there.

Several librdkafka members share the partitions, one leaves and another comes. What is committed covers all partitions
or some of them; the others begin where auto.offset.reset says.
"""

from collections.abc import Sequence

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.compat.readers import Reader
from tests.support.clients import topics
from tests.support.processes.server import Server
from tests.support.waiting import until

PARTITIONS = 6
RECORDS = 20
COMMITTED = 5
COMMITTED_FOR = {"all": range(PARTITIONS), "some": range(0, PARTITIONS, 2)}
WITHIN_S = 60


def _commit(server: Server, topic: str, partitions: Sequence[int], by: str) -> None:
    """Nobody is in the group, which is named after the topic, and whoever commits does not join it."""
    wanted = [TopicPartition(topic, number, COMMITTED) for number in partitions]
    if by == "admin":
        admin = AdminClient({"bootstrap.servers": server.address})
        admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(topic, wanted)])[topic].result(30)
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
    topics.send(server.address, topic, [b"record"] * (RECORDS * PARTITIONS))
    _commit(server, topic, COMMITTED_FOR[covered], by)
    settings = {"partition.assignment.strategy": strategy, "heartbeat.interval.ms": 200}
    members = [Reader(server.address, topic, topic, settings) for _ in range(3)]
    until(lambda: all(len(member.has) == PARTITIONS // 3 for member in members), WITHIN_S)
    members.append(Reader(server.address, topic, topic, settings))
    members[0].close()  # it has partitions: without any, a cooperative librdkafka does not say that it leaves
    topics.send(server.address, topic, [b"record"] * PARTITIONS)

    def read(partition: int) -> set[int]:
        return {offset for member in members for number, offset, _ in member.read if number == partition}

    until(lambda: all(RECORDS in read(number) for number in range(PARTITIONS)), WITHIN_S)
    for number in range(PARTITIONS):
        first = COMMITTED if number in COMMITTED_FOR[covered] else 0
        assert read(number) == set(range(first, RECORDS + 1))
    until(lambda: all(member.has for member in members[1:]), WITHIN_S)
    for member in members[1:]:
        member.close()
