"""The names in a request that matched a fault, and its client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barnabas.broker.control.faults.held_requests import BlockedRequest
from barnabas.broker.control.faults.matching import NOTHING, RequestNames
from barnabas.broker.control.faults.naming import names_in
from barnabas.broker.control.faults.on_requests.frames import decoded_request
from barnabas.broker.control.faults.on_requests.matched_request import MatchedRequest
from barnabas.broker.control.faults.on_requests.refusing_shares import partitions_of_session
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.registry import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.services import Services


def names_in_request(services: Services, api: ApiKey, version: int, frame: memoryview, position: int) -> RequestNames:
    """Return the names in the request of a frame; none if it cannot be decoded, which the entry reports."""
    try:
        request = decoded_request(api, version, frame, position)
    except DecodeError:
        return NOTHING
    names = names_in(api, request, lambda topic_id: _topic_name(services, topic_id))
    if api is ApiKey.FETCH:
        return _in_session(services, names, request)
    return _in_share_session(services, names, request) if api is ApiKey.SHARE_FETCH else names


def about_request(matched: MatchedRequest, frame: memoryview, now_ms: int) -> BlockedRequest:
    """Describe this request as one that is held up."""
    names = matched.names
    if names is None:
        names = names_in_request(matched.services, matched.api, matched.version, frame, matched.position)
    client = matched.client
    return BlockedRequest(
        now_ms,
        api=matched.api.api_name,
        node=matched.services.node.node_id,
        client_id=client.client_id,
        client_host=client.client_host,
        peer=client.peer,
        facts=matched.facts(),
    ).naming(names)


def _topic_name(services: Services, topic_id: bytes) -> str:
    topic = services.catalogue.topics_by_id.get(topic_id)
    return "" if topic is None else topic.name


def _in_session(services: Services, names: RequestNames, request: Any) -> RequestNames:
    """Add the rest of its session to the partitions that a Fetch names."""
    if request.session_epoch <= 0:
        return names
    partitions: dict[str, set[int]] = {name: set(numbers or ()) for name, numbers in names.partitions.items()}
    for topic, number in services.fetch_sessions.partitions_of(request.session_id):
        name = _topic_name(services, topic) if isinstance(topic, bytes) else topic
        partitions.setdefault(name, set()).add(number)
    return RequestNames(partitions=partitions)


def _in_share_session(services: Services, names: RequestNames, request: Any) -> RequestNames:
    """Add the rest of its session to the partitions that a ShareFetch names."""
    partitions: dict[str, set[int]] = {name: set(numbers or ()) for name, numbers in names.partitions.items()}
    for topic_id, number in partitions_of_session(services, request):
        partitions.setdefault(_topic_name(services, topic_id), set()).add(number)
    return RequestNames(partitions=partitions, groups=names.groups)
