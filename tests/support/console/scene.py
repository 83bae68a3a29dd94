"""What stock clients leave on a broker, for the console to show: committed, aborted and open transactions, groups."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

MARKUP = "<img src=x onerror=alert(1)>"
TOPICS = {"orders": 3, "payments": 3, "shipments": 1}
_TIMEOUT_S = 30


class Scene:
    """Clients that stay connected until it ends, one of them with a transaction open."""

    def __init__(self, address: str) -> None:
        self.address = address
        admin = AdminClient({"bootstrap.servers": address})
        for made in admin.create_topics([NewTopic(name, count) for name, count in TOPICS.items()]).values():
            made.result(_TIMEOUT_S)
        self._clients: list[Any] = []
        self._plain()
        self._consumers = [self.consumer("order-readers", "orders"), self.consumer("billing", "payments")]
        self._ended()
        self.open = self.begin("checkout-7")
        self._markup = self.begin(MARKUP)

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for consumer in self._consumers:
            consumer.close()

    def producer(self, transactional_id: str, client_id: str = "checkout") -> Producer:
        """A transactional producer that is ready."""
        settings: dict[str, Any] = {
            "bootstrap.servers": self.address,
            "transactional.id": transactional_id,
            "client.id": client_id,
            "transaction.timeout.ms": 900_000,
        }
        producer = Producer(settings)
        producer.init_transactions(_TIMEOUT_S)
        self._clients.append(producer)
        return producer

    def begin(self, transactional_id: str) -> Producer:
        """A producer with an open transaction over two topics."""
        producer = self.producer(transactional_id, client_id=f"{transactional_id}-client")
        producer.begin_transaction()
        for number in range(4):
            producer.produce("orders", value=b'{"order":%d,"state":"paid"}' % number, key=b"k%d" % number, partition=0)
        producer.produce("payments", value=f"<b>{MARKUP}</b>".encode(), key=MARKUP.encode(), partition=1)
        producer.flush(_TIMEOUT_S)
        return producer

    def consumer(self, group: str, topic: str) -> Consumer:
        """A consumer that has read all records, and committed its offsets."""
        settings = {
            "bootstrap.servers": self.address,
            "group.id": group,
            "client.id": f"{group}-1",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
        consumer = Consumer(settings)
        consumer.subscribe([topic])
        assert len(consumer.consume(45, _TIMEOUT_S)) == 45
        consumer.commit(asynchronous=False)
        return consumer

    def values(self, topic: str, count: int) -> list[bytes | None]:
        """The first values of a topic, as a separate consumer reads them."""
        settings = {
            "bootstrap.servers": self.address,
            "group.id": f"values-of-{topic}",
            "auto.offset.reset": "earliest",
        }
        consumer = Consumer(settings)
        consumer.subscribe([topic])
        found = [message.value() for message in consumer.consume(count, _TIMEOUT_S)]
        consumer.close()
        return found

    def _plain(self) -> None:
        producer = Producer({"bootstrap.servers": self.address, "client.id": "shop", "linger.ms": 0})
        for number in range(60):
            value = b'{"order":%d,"castle":"K.","items":[{"sku":"door-%d","count":2}]}' % (number, number % 7)
            headers: dict[str, str | bytes | None] = {"trace": b"%032x" % number, "source": b"shop"}
            producer.produce("orders", value=value, key=b"k%d" % (number % 5), partition=number % 3, headers=headers)
            producer.produce("payments", value=b"\x00\x01\xfe%d" % number, partition=number % 3)
            producer.flush(_TIMEOUT_S)
        self._clients.append(producer)

    def _ended(self) -> None:
        """Two ids that took turns: most commit, one aborts, and one producer fences the one before."""
        first, second = self.producer("checkout-7"), self.producer("invoices")
        for number in range(8):
            producer = (first, second)[number % 2]
            producer.begin_transaction()
            for _ in range(3 + number):
                producer.produce("orders", value=b'{"order":%d}' % number, key=b"k", partition=0)
                producer.produce("payments", value=b"paid %d" % number, partition=1)
                producer.flush(_TIMEOUT_S)
            if number % 4 == 2:
                producer.abort_transaction(_TIMEOUT_S)
            else:
                producer.commit_transaction(_TIMEOUT_S)
