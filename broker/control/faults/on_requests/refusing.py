"""The answer to a request that a fault refuses with an error code.

A request is not applied, except for reads: Fetch and Metadata are answered as usual, and the code is inserted, since a
client cannot use an answer without its session, or without nodes. ShareFetch and ShareAcknowledge: refusing_shares.py.

If a fault matches by topic or partition, and each partition of the answer has a separate code, the others are applied
and answered as usual. AddPartitionsToTxn adds all or none, as in Kafka: the others are OPERATION_NOT_ATTEMPTED.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from barnabas.broker.api.deferred_response import Answer, CloseConnection, DeferredResponse, changed
from barnabas.broker.api.error_responses import error_response
from barnabas.broker.control.faults.armed import Armed
from barnabas.broker.control.faults.codes import AT_THE_TOP, FOR_THE_TOPIC, OF_SHARE_PARTITIONS
from barnabas.broker.control.faults.matching import fits
from barnabas.broker.control.faults.model import RequestMatch
from barnabas.broker.control.faults.naming import OF_PARTITIONS, OF_TOPICS, partition_number, topic_name
from barnabas.broker.control.faults.on_requests.frames import (
    decoded_request,
    decoded_response,
    encoded_request,
    encoded_response,
)
from barnabas.broker.control.faults.on_requests.matched_request import MatchedRequest
from barnabas.broker.control.faults.on_requests.refusing_shares import (
    add_refusals,
    refused_partitions,
    without_partitions,
)
from barnabas.protocol.codec.schema import default_instance
from barnabas.protocol.errors import DecodeError, ErrorCode
from barnabas.protocol.messages.fetch import FetchableTopicResponse, PartitionData
from barnabas.protocol.registry import ApiKey, spec
from barnabas.storage.errors import StorageError

IN_PARTS: Final = frozenset(
    {
        ApiKey.PRODUCE,
        ApiKey.LIST_OFFSETS,
        ApiKey.OFFSET_COMMIT,
        ApiKey.TXN_OFFSET_COMMIT,
        ApiKey.DELETE_RECORDS,
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        ApiKey.DESCRIBE_PRODUCERS,
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_PARTITIONS,
    }
)
"""APIs whose answers have only codes of topics or partitions, each separately."""
_SHARES: Final = (ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE)
_ONE_FOR_ALL_SINCE: Final = 4
"""The version of AddPartitionsToTxn from which on brokers send it to each other, for several transactions at a time."""

_OF_PARTITIONS_IN_METADATA: Final = frozenset(
    {ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.REPLICA_NOT_AVAILABLE, ErrorCode.LISTENER_NOT_FOUND}
)
"""All other codes are set for a topic as a whole."""

Wanted = Callable[[str, "int | None"], bool]
"""Returns whether a partition of a topic matches; None: the topic as a whole."""


def refused(armed: Armed, code: ErrorCode, matched: MatchedRequest, frame: memoryview) -> Answer:
    """Return the answer. Raise CloseConnection if it has no place for the code, and with acks=0."""
    try:
        request = decoded_request(matched.api, matched.version, frame, matched.position)
    except DecodeError as error:
        raise CloseConnection(str(error), matched.api.api_name) from error
    if matched.api is ApiKey.PRODUCE and request.acks == 0:
        raise CloseConnection(f"acks=0 and {code.name}, by fault {armed.name}", matched.api.api_name)
    match = armed.fault.match
    assert isinstance(match, RequestMatch)
    if matched.api in (ApiKey.FETCH, ApiKey.METADATA):
        return _put_in(armed, match, code, matched, frame, request)
    if matched.api in _SHARES and code in OF_SHARE_PARTITIONS:
        places = refused_partitions(request, matched, partial(_is_meant, match))
        answer = without_partitions(request, matched, frame, places)
        add = partial(add_refusals, api=matched.api, places=places, code=code, message=f"fault {armed.name}")
        return _once_here(answer, add, matched)
    if match.topic is None and match.partition is None:
        return _answer(armed, matched, code, request)
    wanted = partial(_is_meant, match)
    if matched.api is ApiKey.ADD_PARTITIONS_TO_TXN:
        return _not_added(armed, matched, code, request, wanted)
    if matched.api not in IN_PARTS:
        return _answer(armed, matched, code, request)
    others = decoded_request(matched.api, matched.version, frame, matched.position)
    _keep(matched, others, lambda topic, number: not wanted(topic, number))
    if not any(True for _ in _lists(others)):
        return _answer(armed, matched, code, request)
    _keep(matched, request, wanted)
    others_frame = encoded_request(matched.api, matched.version, frame[: matched.position], others)
    answer = matched.entry(others_frame, matched.position, matched.correlation_id, matched.client)
    return _once_here(answer, lambda response: _merge(response, _response(armed, matched, code, request)), matched)


def _is_meant(match: RequestMatch, topic: str, number: int | None) -> bool:
    return fits(match.topic, topic) and match.partition in (None, number)


def _answer(armed: Armed, matched: MatchedRequest, code: ErrorCode, request: Any) -> bytearray:
    return encoded_response(
        matched.api, matched.version, matched.correlation_id, _response(armed, matched, code, request)
    )


def _response(armed: Armed, matched: MatchedRequest, code: ErrorCode, request: Any) -> Any:
    response: Any = error_response(spec(matched.api), matched.version, request, code, f"fault {armed.name}")
    if response is None:
        raise CloseConnection(f"{code.name}, by fault {armed.name}, has no place in the response", matched.api.api_name)
    if matched.api is ApiKey.PRODUCE:
        for each in _partitions_of(response):
            each.base_offset = -1
    return response


def _not_added(armed: Armed, matched: MatchedRequest, code: ErrorCode, request: Any, wanted: Wanted) -> bytearray:
    """Refuse one transaction: each matching partition has the code, the others were not attempted."""
    response = _response(armed, matched, code, request)
    if code in FOR_THE_TOPIC and matched.version < _ONE_FOR_ALL_SINCE:
        for topic in response.results_by_topic_v3_and_below:
            for each in topic.results_by_partition:
                if not wanted(topic.name, each.partition_index):
                    each.partition_error_code = ErrorCode.OPERATION_NOT_ATTEMPTED
    return encoded_response(matched.api, matched.version, matched.correlation_id, response)


# --- parts of a request ----------------------------------------------------------------------------------------------


def _lists(struct: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield its non-empty lists of topics."""
    for name in (*OF_TOPICS, "results"):
        listed = getattr(struct, name, None)
        if listed:
            yield name, listed


def _partitions_of(struct: Any) -> Iterator[Any]:
    for _, topics in _lists(struct):
        for topic in topics:
            yield from _listed_partitions(topic)[1]


def _listed_partitions(topic: Any) -> tuple[str, list[Any]]:
    """Return the field name of its list of partitions, and the list; ("", []) if it is named as a whole."""
    for name in OF_PARTITIONS:
        listed = getattr(topic, name, None)
        if listed is not None:
            return name, listed
    return "", []


def _keep(matched: MatchedRequest, request: Any, keep: Wanted) -> None:
    """Remove all other partitions from the request."""
    for name, topics in list(_lists(request)):
        remaining = []
        for topic in topics:
            called, (inner, partitions) = topic_name(topic, matched.topic_name), _listed_partitions(topic)
            if not inner:
                remaining += [topic] if keep(called, None) else []
                continue
            left = [each for each in partitions if keep(called, partition_number(each))]
            if left:
                setattr(topic, inner, left)
                remaining.append(topic)
        setattr(request, name, remaining)


def _merge(response: Any, failed: Any) -> None:
    """Add the failed partitions to the answer: to the topic if it is there, or after the others."""
    for name, topics in _lists(failed):
        there: list[Any] = getattr(response, name)
        for topic in topics:
            inner, partitions = _listed_partitions(topic)
            same = next((each for each in there if inner and _identity(each) == _identity(topic)), None)
            if same is None:
                there.append(topic)
            else:
                getattr(same, inner).extend(partitions)


def _identity(topic: Any) -> tuple[object, ...]:
    return tuple(getattr(topic, name, None) for name in ("name", "topic", "topic_id"))


# --- reads -----------------------------------------------------------------------------------------------------------


def _put_in(
    armed: Armed, match: RequestMatch, code: ErrorCode, matched: MatchedRequest, frame: memoryview, request: Any
) -> Answer:
    """Read the requested data, without waiting, and insert the code."""
    if code in AT_THE_TOP:
        return _at_the_top(armed, matched, code)
    if matched.api is ApiKey.FETCH:
        request.max_wait_ms = request.min_bytes = 0
        frame = encoded_request(matched.api, matched.version, frame[: matched.position], request)
    answer = matched.entry(frame, matched.position, matched.correlation_id, matched.client)
    wanted = partial(_is_meant, match)
    put = _put_into_fetch if matched.api is ApiKey.FETCH else _put_into_metadata
    return _once_here(answer, lambda response: put(response, code, matched, wanted), matched)


def _at_the_top(armed: Armed, matched: MatchedRequest, code: ErrorCode) -> bytearray:
    fields = spec(matched.api).response.__schema__.fields
    if not any(each.name == "error_code" and each.in_version(matched.version) for each in fields):
        raise CloseConnection(f"{code.name}, by fault {armed.name}, has no place in the response", matched.api.api_name)
    response: Any = default_instance(spec(matched.api).response)
    response.error_code = code
    return encoded_response(matched.api, matched.version, matched.correlation_id, response)


def _put_into_fetch(response: Any, code: ErrorCode, matched: MatchedRequest, wanted: Wanted) -> None:
    """Set the code in all matching partitions, including those that a session omits because they have nothing new."""
    missing = (
        {} if response.error_code else dict.fromkeys(matched.services.fetch_sessions.partitions_of(response.session_id))
    )
    for topic in response.responses:
        called = topic_name(topic, matched.topic_name)
        for each in topic.partitions:
            missing.pop((topic.topic or bytes(topic.topic_id), each.partition_index), None)
            if wanted(called, each.partition_index):
                topic.partitions[topic.partitions.index(each)] = _failed_fetch(each.partition_index, code)
    for named, number in missing:
        topic = FetchableTopicResponse(partitions=[_failed_fetch(number, code)])
        if isinstance(named, bytes):
            topic.topic_id = named
        else:
            topic.topic = named
        if wanted(topic_name(topic, matched.topic_name), number):
            response.responses.append(topic)


def _failed_fetch(number: int, code: ErrorCode) -> PartitionData:
    return PartitionData(
        partition_index=number, error_code=code, high_watermark=-1, aborted_transactions=None, records=b""
    )


def _put_into_metadata(response: Any, code: ErrorCode, matched: MatchedRequest, wanted: Wanted) -> None:
    """Set the code in the matching topics, or in their partitions."""
    for topic in response.topics:
        if wanted(topic.name or "", None):
            if code in _OF_PARTITIONS_IN_METADATA:
                for each in topic.partitions:
                    each.error_code, each.leader_id = code, -1
            else:
                topic.error_code, topic.partitions = code, []


def _once_here(answer: Answer, change: Callable[[Any], None], matched: MatchedRequest) -> Answer:
    """Return the answer with its response changed, once it is available."""
    return changed(answer, partial(_with_change, change, matched))


def _with_change(change: Callable[[Any], None], matched: MatchedRequest, answer: Answer) -> Answer:
    if answer is None:
        return None
    assert not isinstance(answer, DeferredResponse)
    try:
        correlation_id, response = decoded_response(matched.api, matched.version, answer)
    except (EOFError, StorageError) as error:
        raise CloseConnection(f"an answer could not be read: {error}", matched.api.api_name) from error
    change(response)
    return encoded_response(matched.api, matched.version, correlation_id, response)
