"""Topics in memory, as consumer groups look at them."""

from collections.abc import Mapping

from barnabas.broker.coordinator.group.decisions.consumer.model import ConsumerConfig, ConsumerContext
from barnabas.broker.coordinator.group.decisions.consumer.subscriptions import topic_hash


class MemoryTopics:
    """Topics that a test makes, grows and deletes. The first has the id 01 01 01 …, the second 02 02 02 …."""

    def __init__(self) -> None:
        self.version = self.newest_topic_version = 0
        self._ids: dict[str, bytes] = {}
        self._counts: dict[bytes, int] = {}
        self._made = 0

    @property
    def ids(self) -> Mapping[str, bytes]:
        return self._ids

    @property
    def partition_counts(self) -> Mapping[bytes, int]:
        return self._counts

    def name_of(self, topic_id: bytes) -> str | None:
        return next((name for name, each in self._ids.items() if each == topic_id), None)

    def hash(self, name: str) -> int:
        topic_id = self._ids[name]
        return topic_hash(name, topic_id, [()] * self._counts[topic_id])

    def make(self, name: str, partitions: int, topic_id: bytes | None = None) -> bytes:
        """A new topic, or one with more partitions."""
        self.version += 1
        if name not in self._ids:
            self._made += 1
            self._ids[name] = topic_id or bytes([self._made]) * 16
            self.newest_topic_version = self.version
        self._counts[self._ids[name]] = partitions
        return self._ids[name]

    def delete(self, name: str) -> None:
        self.version += 1
        del self._counts[self._ids.pop(name)]


def no_consumers() -> ConsumerContext:
    """For a machine whose consumer groups do not matter."""
    return ConsumerContext(lambda group_id: ConsumerConfig(), MemoryTopics())
