"""Produce and Fetch requests of very many partitions: decoded in slices, by the general decoder, into the same tuples.

Knows messages and their shapes, not how they are served. Records are views of the data, which the caller owns.
"""

from __future__ import annotations

from typing import Any

from barnabas.broker.api.stages.large_requests import decoded
from barnabas.protocol.hot.fetch import FetchPartition, FetchRequest
from barnabas.protocol.hot.produce import ProducePartition, ProduceRequest
from barnabas.protocol.hot.writing import Topic
from barnabas.protocol.registry import ApiKey, request_codec
from barnabas.storage.steps import Pauses, Steps

_PRODUCE_BY_ID_SINCE = 13
_FETCH_BY_ID_SINCE = 13
_REPLICA_STATE_SINCE = 15


def produce_request(data: memoryview, version: int) -> Steps[ProduceRequest]:
    """Return the request as protocol/hot/produce.py decodes it. Raise CloseConnection if it is invalid."""
    request: Any = yield from decoded(data, request_codec(ApiKey.PRODUCE, version), False, "Produce")
    topics: list[tuple[Topic, list[ProducePartition]]] = []
    pauses = Pauses()
    for topic in request.topic_data:
        partitions: list[ProducePartition] = []
        topics.append((topic.topic_id if version >= _PRODUCE_BY_ID_SINCE else topic.name, partitions))
        for each in topic.partition_data:
            partitions.append((each.index, each.records if each.records is None else memoryview(each.records)))
            if pauses.is_due():
                yield
    return request.transactional_id, request.acks, request.timeout_ms, topics


def fetch_request(data: memoryview, version: int) -> Steps[FetchRequest]:
    """Return the request as protocol/hot/fetch.py decodes it. Raise CloseConnection if it is invalid."""
    request: Any = yield from decoded(data, request_codec(ApiKey.FETCH, version), False, "Fetch")
    is_by_id = version >= _FETCH_BY_ID_SINCE
    topics: list[tuple[Topic, list[FetchPartition]]] = []
    pauses = Pauses()
    for topic in request.topics:
        partitions: list[FetchPartition] = []
        topics.append((topic.topic_id if is_by_id else topic.topic, partitions))
        for each in topic.partitions:
            epochs = each.current_leader_epoch, each.fetch_offset, each.last_fetched_epoch
            partitions.append(FetchPartition(each.partition, *epochs, each.log_start_offset, each.partition_max_bytes))
            if pauses.is_due():
                yield
    forgotten: list[tuple[Topic, list[int]]] = []
    for gone in request.forgotten_topics_data:
        forgotten.append((gone.topic_id if is_by_id else gone.topic, gone.partitions))
        if pauses.is_due():
            yield
    replica_id = request.replica_id
    if version >= _REPLICA_STATE_SINCE:
        replica_id = -1 if request.replica_state is None else request.replica_state.replica_id
    waits = request.max_wait_ms, request.min_bytes, request.max_bytes, request.isolation_level
    session = request.session_id, request.session_epoch
    return FetchRequest(replica_id, *waits, *session, topics, forgotten, request.rack_id)
