"""What tests of share groups begin with: topics of numbered records, and groups that begin with the first of them."""

from collections.abc import Iterable

from barnabas.client.admin.configs import ConfigChange, ConfigOperation, ResourceType, alter_configs
from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.consume.share.held_records import AcquiredRecord
from barnabas.client.consume.share.share_consumer import ShareConsumer
from barnabas.client.produce.producer import Producer

FROM_THE_FIRST = {"share.auto.offset.reset": "earliest"}


def set_of_group(client: Client, group: str, settings: dict[str, str]) -> None:
    changes = [ConfigChange(key, ConfigOperation.SET, value) for key, value in settings.items()]
    alter_configs(client, ResourceType.GROUP, group, changes)


def send_numbers(client: Client, topic: str, numbers: Iterable[int], partitions: int = 1) -> None:
    """Send a record of each number, one partition after the other."""
    with Producer(client) as producer:
        for number in numbers:
            producer.send(topic, b"%d" % number, partition=number % partitions)


def new_queue(client: Client, name: str, count: int = 10, partitions: int = 1) -> str:
    """Make a topic of so many records, and the group of its name begin with the first; returns the name."""
    create_topic(client, name, partitions=partitions)
    send_numbers(client, name, range(count), partitions)
    set_of_group(client, name, FROM_THE_FIRST)
    return name


def read_at_once(member: ShareConsumer, count: int) -> list[AcquiredRecord]:
    """Exactly so many records, from one poll."""
    records = member.poll(30_000, count)
    assert len(records) == count
    return records


def offsets_and_deliveries(records: Iterable[AcquiredRecord]) -> list[tuple[int, int]]:
    return [(each.record.offset, each.delivery_count) for each in records]
