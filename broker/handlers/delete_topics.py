"""DeleteTopics (key 20), v1-6: topics by name, from v6 on also by id.

They are gone from the catalogue, durably and all at once, before their files are; the files follow through the
catalogue's listeners. Answers per topic: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_REQUEST (named twice,
or both ways, or not at all), TOPIC_DELETION_DISABLED when `delete.topic.enable` is off (INVALID_REQUEST before v3).
"""

from typing import NamedTuple

from broker.catalogue import Catalogue, Topic
from broker.catalogue.topics import duplicates
from broker.context import RequestContext
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse
from protocol.primitives import ZERO_UUID


class _Target(NamedTuple):
    """One topic of the request: by name, or by id (16 bytes, zero for none)."""

    name: str | None
    topic_id: bytes = ZERO_UUID


def handle(request: DeleteTopicsRequest, context: RequestContext) -> DeleteTopicsResponse:
    catalogue = context.services.catalogue
    targets = [_Target(topic.name, topic.topic_id) for topic in request.topics]
    targets += [_Target(name) for name in request.topic_names]
    if not context.services.config.boolean("delete.topic.enable"):
        code = ErrorCode.TOPIC_DELETION_DISABLED if context.api_version >= 3 else ErrorCode.INVALID_REQUEST
        refusal = KafkaError(code, "Topic deletion is disabled by delete.topic.enable.")
        return DeleteTopicsResponse(responses=[_refused(target, refusal) for target in targets])
    answers: list[DeletableTopicResult] = []
    doomed: list[tuple[_Target, Topic]] = []
    twice = duplicates(targets)
    for target in dict.fromkeys(targets):
        try:
            doomed.append((target, _resolve(target, twice, targets, catalogue)))
        except KafkaError as refusal:
            answers.append(_refused(target, refusal))
    return DeleteTopicsResponse(responses=answers + _delete(doomed, catalogue))


def _delete(doomed: list[tuple[_Target, Topic]], catalogue: Catalogue) -> list[DeletableTopicResult]:
    try:
        catalogue.delete_topics([topic.name for _, topic in doomed])
    except KafkaError as refusal:
        return [_refused(target, refusal) for target, _ in doomed]
    return [
        DeletableTopicResult(name=topic.name, topic_id=topic.topic_id, error_code=ErrorCode.NONE) for _, topic in doomed
    ]


def _resolve(target: _Target, twice: set[_Target], targets: list[_Target], catalogue: Catalogue) -> Topic:
    """The topic to delete. KafkaError when the target is none, or not clear."""
    by_id = target.topic_id != ZERO_UUID
    if target.name is not None and by_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
    if target.name is None and not by_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
    if target in twice:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Duplicate topic {'id' if by_id else 'name'}.")
    if by_id:
        topic = catalogue.topics_by_id.get(target.topic_id)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
        other = _Target(topic.name)
    else:
        assert target.name is not None
        topic = catalogue.topics.get(target.name)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
        other = _Target(None, topic.topic_id)
    if other in targets:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The provided topic name maps to an ID that was already supplied.")
    return topic


def _refused(target: _Target, refusal: KafkaError) -> DeletableTopicResult:
    return DeletableTopicResult(
        name=target.name, topic_id=target.topic_id, error_code=refusal.code, error_message=refusal.message
    )
