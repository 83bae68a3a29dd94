"""Produce and Fetch requests that name very many partitions: decoded in slices, by the decoder of all other requests,
into what their own decoders make.

Knows messages and their shapes, not what is done with them. Records are views of the data, which is the caller's own.
"""

from __future__ import annotations

from typing import Any

from barnabas.broker.api.large_requests import decoded
from barnabas.protocol.hot.produce import ProducePartition, ProduceRequest
from barnabas.protocol.hot.writing import Topic
from barnabas.protocol.registry import ApiKey, request_codec
from barnabas.storage.steps import Steps

_AT_ONCE = 100
_PRODUCE_BY_ID_SINCE = 13


def produce_request(data: memoryview, version: int) -> Steps[ProduceRequest]:
    """What protocol/hot/produce.py makes of the body of a request. CloseConnection where it is none."""
    request: Any = yield from decoded(data, request_codec(ApiKey.PRODUCE, version), False, "Produce")
    topics: list[tuple[Topic, list[ProducePartition]]] = []
    count = 0
    for topic in request.topic_data:
        partitions: list[ProducePartition] = []
        topics.append((topic.topic_id if version >= _PRODUCE_BY_ID_SINCE else topic.name, partitions))
        for each in topic.partition_data:
            partitions.append((each.index, each.records if each.records is None else memoryview(each.records)))
            count += 1
            if not count % _AT_ONCE:
                yield
    return request.transactional_id, request.acks, request.timeout_ms, topics
