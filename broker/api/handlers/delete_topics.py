"""DeleteTopics (key 20), v1-6: topics by name, from v6 on also by id.

They are removed from the catalogue, durably, before their files are; the files follow through the catalogue's
listeners. Many topics are deleted in several changes, with other work in between. Answers per topic:
UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_REQUEST (named twice, or both by name and id, or by neither),
TOPIC_DELETION_DISABLED when `delete.topic.enable` is off (INVALID_REQUEST before v3), THROTTLING_QUOTA_EXCEEDED where a
quota on deleted partitions is exceeded (before v5 they are deleted then, and the client is throttled). A request with
no time left is REQUEST_TIMED_OUT for every topic, and deletes nothing; unless none of them has to be looked up.
"""

from asyncio import Future
from collections.abc import Collection, Container, Iterable
from functools import partial
from typing import NamedTuple

from barnabas.broker.api.current_request import keep_current_request
from barnabas.broker.metadata.catalogue import Catalogue, TopicImage
from barnabas.broker.metadata.image.topic_changes import Admit, duplicates
from barnabas.broker.metadata.split_changes import CHANGES, in_changes
from barnabas.broker.runtime.refusals import without_time
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse
from barnabas.protocol.primitives import ZERO_UUID
from barnabas.storage.steps import Pauses, Steps, mapped


class _Target(NamedTuple):
    """One topic of the request: by name, or by id (16 bytes, zero for none)."""

    name: str | None
    topic_id: bytes = ZERO_UUID


_Doomed = tuple[_Target, TopicImage]
_Answers = list[DeletableTopicResult]
_KNOWS_QUOTAS_SINCE = 5


def handle(
    request: DeleteTopicsRequest, context: RequestContext
) -> DeleteTopicsResponse | Future[DeleteTopicsResponse]:
    admit = context.services.quotas.admission(context.measured, is_strict=context.api_version >= _KNOWS_QUOTAS_SINCE)
    return context.services.upkeep.to_the_end(lambda: _delete_all(request, admit, context), CHANGES)


def _delete_all(
    request: DeleteTopicsRequest, admit: Admit | None, context: RequestContext
) -> Steps[DeleteTopicsResponse]:
    catalogue, as_current_request = context.services.catalogue, keep_current_request(context.services)
    targets = yield from mapped(lambda topic: _Target(topic.name, topic.topic_id), request.topics)
    targets += yield from mapped(_Target, request.topic_names)
    twice = duplicates(targets)
    distinct = dict.fromkeys(targets)
    refusal = _refusal(request, distinct, twice, context)
    if refusal is not None:
        return DeleteTopicsResponse(responses=(yield from mapped(lambda target: _refused(target, refusal), targets)))
    doomed, answers = yield from _doomed(distinct, twice, admit, catalogue)
    for count, some in enumerate(in_changes(doomed, lambda each: len(each[1].partitions))):
        if count:
            yield
        there = [(target, topic) for target, topic in some if topic.topic_id in catalogue.topics_by_id]
        answers += [_refused(target, _unknown(target)) for target, topic in some if (target, topic) not in there]
        answers += as_current_request(partial(_delete, there, catalogue))
    return DeleteTopicsResponse(responses=answers)


def _refusal(
    request: DeleteTopicsRequest, targets: Iterable[_Target], twice: set[_Target], context: RequestContext
) -> KafkaError | None:
    """Return why no topic of the request is deleted, or None."""
    if not context.services.config.boolean("delete.topic.enable"):
        code = ErrorCode.TOPIC_DELETION_DISABLED if context.api_version >= 3 else ErrorCode.INVALID_REQUEST
        return KafkaError(code, "Topic deletion is disabled by delete.topic.enable.")
    late = without_time(request.timeout_ms)
    return late if late and any(_is_looked_up(target, twice) for target in targets) else None


def _doomed(
    targets: Collection[_Target], twice: set[_Target], admit: Admit | None, catalogue: Catalogue
) -> Steps[tuple[list[_Doomed], _Answers]]:
    """Return the topics that exist, and that a quota allows to delete, and the answers for the others."""
    doomed: list[_Doomed] = []
    answers: _Answers = []
    pauses = Pauses()
    for target in targets:
        try:
            topic = _resolve(target, twice, targets, catalogue)
            if admit is not None:
                admit(len(topic.partitions))
            doomed.append((target, topic))
        except KafkaError as refusal:
            answers.append(_refused(target, refusal))
        if pauses.is_due():
            yield
    return doomed, answers


def _delete(doomed: list[_Doomed], catalogue: Catalogue) -> _Answers:
    try:
        catalogue.delete_topics([topic.name for _, topic in doomed])
    except KafkaError as refusal:
        return [_refused(target, refusal) for target, _ in doomed]
    return [
        DeletableTopicResult(name=topic.name, topic_id=topic.topic_id, error_code=ErrorCode.NONE) for _, topic in doomed
    ]


def _is_looked_up(target: _Target, twice: set[_Target]) -> bool:
    """Return whether the target is unambiguous, so that Kafka looks it up."""
    return (target.name is None) is not (target.topic_id == ZERO_UUID) and target not in twice


def _resolve(target: _Target, twice: set[_Target], targets: Container[_Target], catalogue: Catalogue) -> TopicImage:
    """Return the topic to delete. Raise KafkaError when it does not exist, or the target is ambiguous."""
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
            raise _unknown(target)
        other = _Target(topic.name)
    else:
        assert target.name is not None
        topic = catalogue.topics.get(target.name)
        if topic is None:
            raise _unknown(target)
        other = _Target(None, topic.topic_id)
    if other in targets:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The provided topic name maps to an ID that was already supplied.")
    return topic


def _unknown(target: _Target) -> KafkaError:
    if target.topic_id != ZERO_UUID:
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
    return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")


def _refused(target: _Target, refusal: KafkaError) -> DeletableTopicResult:
    return DeletableTopicResult(
        name=target.name, topic_id=target.topic_id, error_code=refusal.code, error_message=refusal.message
    )
