"""Requests for one resource each, and what right each of them needs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.records.builder import build_batch
from tests.simulation.world.world import BEGINNING_MS
from tests.support import requests

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


def produce(topic: str, value: bytes) -> Request:
    """One record, to partition 0."""
    return requests.produce(build_batch([(None, value, (), BEGINNING_MS)]), topic, acks=1)


KINDS: Final = (
    Kind(
        *("Produce", 8, Operation.WRITE, Resource.TOPIC, produce),
        lambda answer: answer.responses[0].partition_responses[0].error_code,
        is_write=True,
    ),
    Kind(
        *("Fetch", 11, Operation.READ, Resource.TOPIC),
        lambda name, _: requests.fetch(topic=name, max_bytes=1_000, wait_ms=_WAIT_MS),
        lambda answer: answer.responses[0].partitions[0].error_code,
    ),
    Kind(
        *("ListOffsets", 7, Operation.DESCRIBE, Resource.TOPIC),
        lambda name, _: requests.list_offsets(topic=name),
        lambda answer: answer.topics[0].partitions[0].error_code,
    ),
    Kind(
        *("Metadata", 12, Operation.DESCRIBE, Resource.TOPIC),
        lambda name, _: requests.metadata(name),
        lambda answer: answer.topics[0].error_code,
    ),
    Kind(
        *("OffsetFetch", 9, Operation.DESCRIBE, Resource.GROUP),
        lambda name, _: requests.offset_fetch(name),
        lambda answer: answer.groups[0].error_code,
    ),
    Kind(
        *("InitProducerId", 5, Operation.WRITE, Resource.TRANSACTIONAL_ID),
        lambda name, _: requests.init_producer(name, 10_000),
        lambda answer: answer.error_code,
    ),
)
