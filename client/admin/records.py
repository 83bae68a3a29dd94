"""Administration of records: deleting those at a partition's beginning."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.client.client import Client
from barnabas.client.errors import raise_for
from barnabas.client.metadata import TopicPartition
from barnabas.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic


def delete_records(client: Client, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Delete the records below an offset in each partition (-1: all); return the new first offsets."""
    deadline = client.deadline()
    done: dict[TopicPartition, int] = {}

    def attempt() -> None:
        by_leader: dict[int, dict[str, list[DeleteRecordsPartition]]] = {}
        for (topic, partition), offset in before.items():
            if (topic, partition) not in done:
                topics = by_leader.setdefault(client.leader(topic, partition, deadline), {})
                topics.setdefault(topic, []).append(DeleteRecordsPartition(partition_index=partition, offset=offset))
        for leader, topics in by_leader.items():
            request = DeleteRecordsRequest(
                topics=[DeleteRecordsTopic(name=name, partitions=each) for name, each in topics.items()],
                timeout_ms=deadline.left_ms,
            )
            for answered in client.node(leader, deadline).ask(request, deadline).topics:
                for result in answered.partitions:
                    raise_for(result.error_code, None, f"{answered.name}-{result.partition_index}")
                    done[answered.name, result.partition_index] = result.low_watermark

    client.with_retries(attempt, deadline, lambda error: client.forget({topic for topic, _ in before}))
    return done
