"""What must hold of any bytes at all: answered in the request's format, or the connection closed.

Knows requests and answers as bytes; the player knows how they are sent and received.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from barnabas.broker.partitions.share.acquisition import AcquireMode
from barnabas.protocol.codec.schema import Struct
from barnabas.protocol.connection.framing import SIZE_BYTES, split_frames
from barnabas.protocol.errors import DecodeError, ErrorCode
from barnabas.protocol.headers import parse_request_header, parse_response_header
from barnabas.protocol.primitives import MAX_STRING_BYTES
from barnabas.protocol.registry import ApiKey, request_codec, response_codec
from tests.support.fuzz.offered import TABLE

_SERVED = {int(row.key): range(row.min_version, row.max_version + 1) for row in TABLE}
_NEVER = (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.KAFKA_STORAGE_ERROR)
"""Codes that mean that the broker is broken, which no request may bring about."""
_STORABLE_BYTES = MAX_STRING_BYTES
"""A larger request may hold what fits no record: Kafka's coordinators answer that with UNKNOWN_SERVER_ERROR."""


class Finding(AssertionError):
    """The broker did what it must not do."""


def frames_in(data: bytes) -> tuple[list[bytes], bool]:
    """The whole frames in what was sent, and whether what follows them may still become one."""
    split = split_frames(data, 0, len(data))
    return [data[start:end] for start, end in split.frames], split.refused is None


def judge(sent: bytes, answers: Sequence[bytes], *, is_closed: bool, is_waiting: bool) -> None:
    """Raise Finding unless the answers (without their sizes) are right for what was sent.

    is_waiting: the broker reports that it will answer the first unanswered frame later.
    """
    requests, is_sound = frames_in(sent)
    unanswered = list(requests)
    for answer in answers:
        request = _request_of(answer, unanswered)
        _check_answer(request, answer)
    if is_closed or is_waiting:
        return
    if not is_sound:
        raise Finding("bytes that cannot be a frame, and the connection is open")
    for request in unanswered:
        if not _wants_no_answer(request):
            raise Finding(f"neither answered nor closed: {request[:100].hex()}")


def _request_of(answer: bytes, unanswered: list[bytes]) -> bytes:
    """The request that this answers; those before it in `unanswered` are taken away."""
    while unanswered:
        request = unanswered.pop(0)
        if request[4:8] == answer[:4]:
            return request
        if not _wants_no_answer(request):
            raise Finding("an answer overtook another one")
    raise Finding("an answer to nothing")


def _check_answer(request: bytes, answer: bytes) -> None:
    header, _ = parse_request_header(request)
    version = header.api_version
    if header.api_key not in _SERVED:
        raise Finding(f"API key {header.api_key} is not offered, and was answered")
    if version not in _SERVED[header.api_key]:
        if header.api_key != ApiKey.API_VERSIONS:
            raise Finding(f"version {version} is not offered, and was answered")
        version = 0
    try:
        _, position = parse_response_header(header.api_key, version, answer)
        message, end = response_codec(ApiKey(header.api_key), version).decode(answer, position)
    except DecodeError as error:
        raise Finding(f"the answer cannot be decoded: {error}: {answer[:200].hex()}") from error
    if end != len(answer):
        raise Finding(f"{len(answer) - end} bytes behind the answer")
    for code in _error_codes(message):
        if code in _NEVER and len(request) <= _STORABLE_BYTES and not _fails_in_kafka(request):
            raise Finding(f"answered with {ErrorCode(code).name}: {message}")


def _error_codes(message: Any) -> Iterator[int]:
    if isinstance(message, Struct):
        for field in message.__schema__.fields:
            value = getattr(message, field.name)
            if field.name.endswith("error_code"):
                yield value
            elif isinstance(value, (list, Struct)):
                yield from _error_codes(value)
    elif isinstance(message, list) and message and isinstance(message[0], Struct):
        for each in message:
            yield from _error_codes(each)


def _wants_no_answer(request: bytes) -> bool:
    """Whether this is a Produce with acks=0."""
    message = _decoded(request, ApiKey.PRODUCE)
    return message is not None and message.acks == 0


def _fails_in_kafka(request: bytes) -> bool:
    """Whether Kafka, too, answers this with UNKNOWN_SERVER_ERROR (the probe book has an example of each kind)."""
    if _names_an_owner_of_no_type(request):
        return True
    fetch, heartbeat = _decoded(request, ApiKey.SHARE_FETCH), _decoded(request, ApiKey.STREAMS_GROUP_HEARTBEAT)
    if fetch is not None:
        return fetch.share_acquire_mode not in tuple(AcquireMode)
    if heartbeat is None or heartbeat.topology is None:
        return False
    return heartbeat.topology.epoch < 0 or any(map(_has_missing_topics, heartbeat.topology.subtopologies))


def _has_missing_topics(subtopology: Any) -> bool:
    """Whether a copartition group names a topic by a number that no topic has."""
    counts = {
        "source_topics": len(subtopology.source_topics),
        "source_topic_regex": len(subtopology.source_topic_regex),
        "repartition_source_topics": len(subtopology.repartition_source_topics),
    }
    return any(
        not 0 <= number < count
        for group in subtopology.copartition_groups
        for name, count in counts.items()
        for number in getattr(group, name)
    )


def _names_an_owner_of_no_type(request: bytes) -> bool:
    """Whether this asks for a token for an owner in a way that Kafka itself fails over (the probe page on tokens)."""
    message = _decoded(request, ApiKey.CREATE_DELEGATION_TOKEN)
    return message is not None and message.owner_principal_type is None and bool(message.owner_principal_name)


def _decoded(request: bytes, key: ApiKey) -> Any:
    """The message, or None for a request of another API or a broken one."""
    if len(request) < SIZE_BYTES or int.from_bytes(request[:2], "big") != key:
        return None
    header, position = parse_request_header(request)
    try:
        message, _ = request_codec(key, header.api_version).decode(request, position)
    except DecodeError:
        return None
    return message
