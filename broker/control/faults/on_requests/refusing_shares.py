"""The answer to a ShareFetch or ShareAcknowledge in which a fault refuses partitions (KIP-932).

The request is applied without these partitions, because the share session goes on: a ShareFetch acquires nothing, and
stores its acknowledgements; a ShareAcknowledge does not store those for the partitions that match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from barnabas.broker.control.faults.on_requests.frames import encoded_request
from barnabas.protocol.messages import share_acknowledge, share_fetch
from barnabas.protocol.registry import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.api.deferred_response import Answer
    from barnabas.broker.control.faults.on_requests.matched_request import MatchedRequest
    from barnabas.broker.services import Services
    from barnabas.protocol.errors import ErrorCode

_NO_LEADER = -1

Wanted = Callable[[str, "int | None"], bool]
Place = tuple[bytes, int]
"""A topic id and a partition."""


def refused_partitions(request: Any, matched: MatchedRequest, wanted: Wanted) -> list[Place]:
    """Return the partitions that match: of a ShareFetch, also those of its session that it does not name."""
    places = list(_named(request))
    if matched.api is ApiKey.SHARE_FETCH:
        places += partitions_of_session(matched.services, request)
    return [place for place in dict.fromkeys(places) if wanted(matched.topic_name(place[0]), place[1])]


def without_partitions(request: Any, matched: MatchedRequest, frame: memoryview, places: Iterable[Place]) -> Answer:
    """Apply the rest of the request, and return its answer."""
    if matched.api is ApiKey.SHARE_FETCH:
        request.max_wait_ms = request.min_bytes = request.max_bytes = request.max_records = 0
    else:
        left_out = set(places)
        for topic in request.topics:
            kept = [each for each in topic.partitions if (topic.topic_id, each.partition_index) not in left_out]
            topic.partitions = kept
        request.topics = [topic for topic in request.topics if topic.partitions]
    changed = encoded_request(matched.api, matched.version, frame[: matched.position], request)
    return matched.entry(changed, matched.position, matched.correlation_id, matched.client)


def add_refusals(response: Any, api: ApiKey, places: Iterable[Place], code: ErrorCode, message: str) -> None:
    """Add the partitions with the code to an answer; an answer with an error at its top stays."""
    if response.error_code:
        return
    for topic_id, number in places:
        topic = next((each for each in response.responses if each.topic_id == topic_id), None)
        if topic is None:
            topic = _topic(api, topic_id)
            response.responses.append(topic)
        topic.partitions = [each for each in topic.partitions if each.partition_index != number]
        topic.partitions.append(_partition(api, number, code, message))


def partitions_of_session(services: Services, request: share_fetch.ShareFetchRequest) -> list[Place]:
    """Return the partitions of the request's share session, before the request."""
    manager = services.deferred_share_partitions.built
    sessions = () if manager is None else manager.sessions.every()
    key = request.group_id, request.member_id
    return [(*partition,) for session in sessions if session.key == key for partition in session.partitions]


def _named(request: Any) -> Iterator[Place]:
    for topic in request.topics:
        for each in topic.partitions:
            yield topic.topic_id, each.partition_index


def _topic(api: ApiKey, topic_id: bytes) -> Any:
    if api is ApiKey.SHARE_FETCH:
        return share_fetch.ShareFetchableTopicResponse(topic_id=topic_id, partitions=[])
    return share_acknowledge.ShareAcknowledgeTopicResponse(topic_id=topic_id, partitions=[])


def _partition(api: ApiKey, number: int, code: ErrorCode, message: str) -> Any:
    if api is ApiKey.SHARE_FETCH:
        return share_fetch.PartitionData(
            partition_index=number,
            error_code=code,
            error_message=message,
            acknowledge_error_code=0,
            current_leader=share_fetch.LeaderIdAndEpoch(leader_id=_NO_LEADER, leader_epoch=_NO_LEADER),
            records=b"",
            acquired_records=[],
        )
    return share_acknowledge.PartitionData(
        partition_index=number,
        error_code=code,
        error_message=message,
        current_leader=share_acknowledge.LeaderIdAndEpoch(leader_id=_NO_LEADER, leader_epoch=_NO_LEADER),
    )
