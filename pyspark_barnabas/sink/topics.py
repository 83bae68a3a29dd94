"""How many partitions a topic has that rows go to, and whether it is there at all."""

from __future__ import annotations

from client.client import Client
from protocol.errors import ErrorCode

_CREATION_MS = 10_000  # how long a topic that the broker makes by itself may take to be there


def count_partitions(client: Client, topic: str) -> int:
    """The number of partitions; KafkaError if the topic is not there, and the broker does not make it when asked."""
    known = client.cluster.topics.get(topic)
    if known is not None and known.error_code == ErrorCode.NONE:
        return len(known.partitions)
    deadline = client.deadline(min(_CREATION_MS, client.timeout_ms))

    def attempt() -> int:
        return len(client.refresh([topic], deadline, auto_create=True).topic(topic).partitions)

    return client.with_retries(attempt, deadline)
