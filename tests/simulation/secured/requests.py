"""Requests for one resource each, and what right each of them needs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from barnabas.broker.session.operations import Operation, Resource
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.protocol.records.builder import build_batch
from barnabas.protocol.schema import Request
from tests.simulation.world.world import BEGINNING_MS

_LATEST: Final = -1
_WAIT_MS: Final = 200


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of request: how it is made for a resource, and where its answer says the error."""

    api: str
    version: int
    operation: Operation
    resource: Resource
    request: Callable[[str, bytes], Request]
    code_of: Callable[[Any], int]
    is_write: bool = False


def produce(topic: str, value: bytes) -> ProduceRequest:
    """One record, to partition 0."""
    partition = PartitionProduceData(index=0, records=build_batch([(None, value, (), BEGINNING_MS)]))
    return ProduceRequest(
        acks=1, timeout_ms=1_000, topic_data=[TopicProduceData(name=topic, partition_data=[partition])]
    )


def _fetch(topic: str, _: bytes) -> Request:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1_000)
    return FetchRequest(
        max_wait_ms=_WAIT_MS,
        min_bytes=1,
        max_bytes=1_000,
        isolation_level=0,
        topics=[FetchTopic(topic=topic, partitions=[partition])],
    )


def _list_offsets(topic: str, _: bytes) -> Request:
    partition = ListOffsetsPartition(partition_index=0, timestamp=_LATEST)
    return ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[partition])])


def _metadata(topic: str, _: bytes) -> Request:
    return MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)


def _fetch_offsets(group: str, _: bytes) -> Request:
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])


def _init_producer_id(transactional_id: str, _: bytes) -> Request:
    return InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=10_000)


KINDS: Final = (
    Kind(
        *("Produce", 8, Operation.WRITE, Resource.TOPIC, produce),
        lambda answer: answer.responses[0].partition_responses[0].error_code,
        is_write=True,
    ),
    Kind(
        *("Fetch", 11, Operation.READ, Resource.TOPIC, _fetch),
        lambda answer: answer.responses[0].partitions[0].error_code,
    ),
    Kind(
        *("ListOffsets", 7, Operation.DESCRIBE, Resource.TOPIC, _list_offsets),
        lambda answer: answer.topics[0].partitions[0].error_code,
    ),
    Kind(*("Metadata", 12, Operation.DESCRIBE, Resource.TOPIC, _metadata), lambda answer: answer.topics[0].error_code),
    Kind(
        *("OffsetFetch", 9, Operation.DESCRIBE, Resource.GROUP, _fetch_offsets),
        lambda answer: answer.groups[0].error_code,
    ),
    Kind(
        *("InitProducerId", 5, Operation.WRITE, Resource.TRANSACTIONAL_ID, _init_producer_id),
        lambda answer: answer.error_code,
    ),
)
