"""Reading a partition's log batch by batch, as it is: with control batches, and whatever became of a transaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.client.client import Client
from barnabas.client.errors import raise_for
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import READ_UNCOMMITTED
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from barnabas.protocol.records.batch import BatchHeader, iter_batches

_BYTES = 4 * 1024 * 1024


class ReadBatch(NamedTuple):
    """A batch of a log. data: all its bytes."""

    header: BatchHeader
    data: memoryview


def read_batches(client: Client, where: TopicPartition, start: int, end: int) -> Iterator[ReadBatch]:
    """Yield the batches that have offsets from `start` on, below `end`, which must exist. KafkaError."""
    position = start
    while position < end:
        data = _fetch(client, where, position)
        if not data:
            return  # deleted meanwhile
        for at, header in iter_batches(data):
            position = header.next_offset
            if header.base_offset >= end:
                return
            yield ReadBatch(header, memoryview(data)[at : at + header.size_in_bytes])


def _fetch(client: Client, where: TopicPartition, offset: int) -> bytes:
    deadline = client.deadline()
    partition = FetchPartition(partition=where[1], fetch_offset=offset, partition_max_bytes=_BYTES)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=_BYTES,
        isolation_level=READ_UNCOMMITTED,
        topics=[FetchTopic(topic=where[0], partitions=[partition])],
    )

    def ask() -> bytes:
        response: FetchResponse = client.node(client.leader(*where, deadline), deadline).ask(request, deadline)
        raise_for(response.error_code, None, "fetch")
        (topic,) = response.responses
        (answer,) = topic.partitions
        raise_for(answer.error_code, None, f"{where[0]}-{where[1]}")
        return bytes(answer.records or b"")

    return client.with_retries(ask, deadline, lambda error: client.forget({where[0]}))
