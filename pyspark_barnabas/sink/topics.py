"""How many partitions a topic has that rows go to, and whether it is there at all."""

from __future__ import annotations

from barnabas.client.client import Client

_CREATION_MS = 10_000  # how long a topic that the broker makes by itself may take to be there


class PartitionCounts:
    """How many partitions topics have; asked for once by each task, and the same all through it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._counts: dict[str, int] = {}

    def of(self, topic: str) -> int:
        """KafkaError if the topic is not there, and the broker does not make it when asked."""
        if topic not in self._counts:
            self._counts[topic] = self._count(topic)
        return self._counts[topic]

    def _count(self, topic: str) -> int:
        client = self._client
        deadline = client.deadline(min(_CREATION_MS, client.timeout_ms))

        def attempt() -> int:
            return len(client.refresh([topic], deadline, auto_create=True).topic(topic).partitions)

        return client.with_retries(attempt, deadline)
