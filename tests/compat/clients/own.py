"""Our own small client, so that others read the batches it builds and it reads theirs."""

from collections.abc import Iterable, Sequence

from barnabas.client.client import Client
from barnabas.client.consume.consumer import ConsumedRecord
from barnabas.client.consume.group_consumer import GroupConsumer
from barnabas.client.offsets import READ_UNCOMMITTED
from barnabas.client.produce.producer import Producer
from tests.compat.model import PARTITIONS, Message, Stored
from tests.support.clients.committed import read


class Own:
    name = "barnabas"
    writes_bytes = True
    writes_null_headers = True

    def write(self, address: str, topic: str, messages: Sequence[Message], compression: str) -> list[int]:
        with Client(address) as client, Producer(client, compression=compression) as producer:
            deliveries = [
                producer.send(
                    topic,
                    message.value,
                    key=message.key,
                    headers=message.headers,
                    timestamp=message.timestamp,
                    partition=message.partition,
                )
                for message in messages
            ]
            producer.flush()
            return [delivery.result() for delivery in deliveries]

    def read(self, address: str, topic: str) -> list[Stored]:
        with Client(address) as client:
            return _stored(read(client, [(topic, each) for each in range(PARTITIONS)], READ_UNCOMMITTED))

    def read_in_group(self, address: str, topic: str, group: str, count: int) -> list[Stored]:
        with Client(address) as client, GroupConsumer(client, group, [topic], auto_offset_reset="earliest") as member:
            found: list[Stored] = []
            while len(found) < count:
                found += _stored(member.poll(max_records=count - len(found)))
            return found


def _stored(records: Iterable[ConsumedRecord]) -> list[Stored]:
    return [
        Stored(each.partition, record.offset, record.timestamp, record.key, record.value, tuple(record.headers))
        for each in records
        for record in (each.record,)
    ]
