"""What others see of the transactions: values at an isolation level, a group's offsets. Seen through librdkafka."""

from collections.abc import Sequence

from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.client.admin.transactions import describe_transactions
from barnabas.client.client import Client
from tests.compat.clients.confluent import Confluent
from tests.support.waiting import PATIENCE_S, until

PARTITIONS = 3


def make_topics(address: str, *names: str) -> None:
    """Make topics of three partitions, and wait until everybody knows them."""
    admin = AdminClient({"bootstrap.servers": address})
    for future in admin.create_topics([NewTopic(name, PARTITIONS) for name in names]).values():
        future.result(timeout=PATIENCE_S)
    until(lambda: set(names) <= set(admin.list_topics(timeout=10).topics))


def write(address: str, topic: str, count: int, first: int = 0) -> None:
    """Write the values "0", "1", … over the partitions, outside any transaction: `count` of them from `first` on."""
    producer = Producer({"bootstrap.servers": address})
    for number in range(first, first + count):
        producer.produce(topic, key=str(number), value=str(number), partition=number % PARTITIONS)
    assert producer.flush(30) == 0


def values(address: str, topic: str, isolation: str = "read_committed") -> list[str]:
    """The sorted values that a reader at this isolation level gets before it has to wait."""
    return sorted((record.value or b"").decode() for record in Confluent().read(address, topic, isolation))


def wait_for_coordinators(address: str, transactional_ids: Sequence[str]) -> None:
    """Until a broker that has just started knows its transactions again: kafkajs's commit cannot wait for that."""
    with Client(address) as client:
        assert len(describe_transactions(client, transactional_ids)) == len(transactional_ids)


def committed_offsets(address: str, group: str, topic: str) -> int:
    """The sum of the offsets that the group has committed in the partitions of the topic; 0 where there is none."""
    admin = AdminClient({"bootstrap.servers": address})
    wanted = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, number) for number in range(PARTITIONS)])
    told = admin.list_consumer_group_offsets([wanted], require_stable=False)[group].result(timeout=PATIENCE_S)
    return sum(max(partition.offset, 0) for partition in told.topic_partitions)
