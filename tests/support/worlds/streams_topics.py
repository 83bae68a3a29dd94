"""Topics for decisions about streams groups: names and numbers of partitions, which a test may change."""

from collections.abc import Mapping

from barnabas.broker.coordinator.group.decisions.consumer.subscriptions import topic_hash


class StreamsTopics:
    """The existing topics, as `consumer.model.Topics`."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = dict(counts)
        self.version = self.newest_topic_version = 1

    def create(self, **counts: int) -> None:
        """Create topics, or give them another number of partitions."""
        self._counts.update(counts)
        self.version += 1
        self.newest_topic_version = self.version

    @property
    def ids(self) -> Mapping[str, bytes]:
        return {name: _topic_id(name) for name in self._counts}

    @property
    def partition_counts(self) -> Mapping[bytes, int]:
        return {_topic_id(name): count for name, count in self._counts.items()}

    def name_of(self, topic_id: bytes) -> str | None:
        return next((name for name in self._counts if _topic_id(name) == topic_id), None)

    def hash(self, name: str) -> int:
        return topic_hash(name, _topic_id(name), [()] * self._counts[name])


def _topic_id(name: str) -> bytes:
    return name.encode().ljust(16, b"\0")[:16]
