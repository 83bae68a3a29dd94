"""Consumers that are members of a group while a test goes on: each polls in a thread of its own."""

import threading
from collections.abc import Mapping
from typing import Self

from confluent_kafka import Consumer
from kafka import KafkaConsumer


class Reader:
    """A librdkafka consumer of `topic`. read: (partition, offset, value) of each record; has: its partitions.

    It commits when it gives partitions up, and when it leaves.
    """

    def __init__(self, address: str, topic: str, group: str, settings: Mapping[str, object]) -> None:
        common = {"bootstrap.servers": address, "group.id": group, "auto.offset.reset": "earliest"}
        self._consumer = Consumer({**common, **settings})
        self._consumer.subscribe([topic])
        self.read: list[tuple[int, int, bytes]] = []
        self.has: set[int] = set()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    def _poll(self) -> None:
        while not self._ending.is_set():
            for message in self._consumer.consume(100, timeout=0.05):
                partition, offset = message.partition(), message.offset()
                if message.error() is None and partition is not None and offset is not None:
                    self.read.append((partition, offset, message.value() or b""))
            self.has = {each.partition for each in self._consumer.assignment()}
        self._consumer.close()

    def close(self) -> None:
        self._ending.set()
        self._thread.join()


class PythonReader:
    """A kafka-python consumer.

    It knows the topic's partitions before it joins. kafka-python 3.0.12 would join without, and again as soon as it
    knows them; and where `poll` gives up in the middle of a rebalance of that kind, it forgets it: it takes over no
    assignment and sends no heartbeat any more.
    """

    def __init__(self, address: str, topic: str, group: str) -> None:
        self.consumer = KafkaConsumer(
            topic,
            bootstrap_servers=address,
            group_id=group,
            auto_offset_reset="earliest",
            heartbeat_interval_ms=500,
            client_id="reader",
        )
        assert self.consumer.partitions_for_topic(topic)
        self.assigned: set[int] = set()
        self.changed = threading.Condition()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    def _poll(self) -> None:
        while not self._stop.is_set():
            self.consumer.poll(timeout_ms=1000)  # it forgets the assignment of a join that ends between two polls
            with self.changed:
                self.assigned = {partition.partition for partition in self.consumer.assignment()}
                self.changed.notify_all()
        self.consumer.close()

    def wait_until_it_has(self, count: int) -> set[int]:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.assigned) == count, 60), self.assigned
            return set(self.assigned)

    def leave(self) -> None:
        self._stop.set()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()
