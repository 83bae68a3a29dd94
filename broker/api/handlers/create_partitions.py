"""CreatePartitions (key 37), v0-3: more partitions for topics that exist.

Answers per topic: UNKNOWN_TOPIC_OR_PARTITION, INVALID_PARTITIONS (no more than there are), INVALID_REPLICA_ASSIGNMENT,
INVALID_REQUEST (a name twice in one request), POLICY_VIOLATION (more than 10,000 partitions at once),
KAFKA_STORAGE_ERROR while the disk is full, THROTTLING_QUOTA_EXCEEDED where a quota on created partitions is exceeded
(before v3 they are created then, and the client is throttled). A request with no time left is REQUEST_TIMED_OUT for
every topic, and adds nothing; unless it contains only names given twice. A request for many topics is applied in
several changes, with other work in between (`broker/metadata/split_changes.py`).
"""

from asyncio import Future
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from barnabas.broker.api.current_request import keep_current_request
from barnabas.broker.metadata.catalogue import Catalogue, NewPartitions, TopicImage
from barnabas.broker.metadata.image.topic_changes import Admit, check_request_size, duplicates
from barnabas.broker.metadata.split_changes import CHANGES, in_changes
from barnabas.broker.runtime.refusals import without_time
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from barnabas.storage.steps import Steps

_KNOWS_QUOTAS_SINCE = 3


def handle(
    request: CreatePartitionsRequest, context: RequestContext
) -> CreatePartitionsResponse | Future[CreatePartitionsResponse]:
    services = context.services
    twice = duplicates(topic.name for topic in request.topics)
    admit = services.quotas.admission(context.measured, is_strict=context.api_version >= _KNOWS_QUOTAS_SINCE)
    topics = [topic for topic in request.topics if topic.name not in twice]
    if topics and (late := without_time(request.timeout_ms)):
        return CreatePartitionsResponse(results=[_answer(topic.name, late) for topic in request.topics])
    there, refusal = services.catalogue.topics, None
    try:
        services.disk_space.check_may_grow()
        check_request_size((_added(topic, there) for topic in topics), "additional partitions")
    except KafkaError as error:
        refusal = error.as_value()
    answers = partial(_create_all, topics, twice, partial(_wish, admit), refusal, request.validate_only, context)
    return services.upkeep.to_the_end(answers, CHANGES)


def _create_all(
    topics: list[CreatePartitionsTopic],
    twice: set[str],
    wish: Callable[[CreatePartitionsTopic], NewPartitions],
    refusal: KafkaError | None,
    validate_only: bool,
    context: RequestContext,
) -> Steps[CreatePartitionsResponse]:
    catalogue, as_current_request = context.services.catalogue, keep_current_request(context.services)
    answers: list[CreatePartitionsTopicResult] = []
    for some in in_changes(topics, lambda topic: _added(topic, catalogue.topics)):
        if answers:
            yield
        results = as_current_request(
            partial(_create, [wish(topic) for topic in some], refusal, validate_only, catalogue)
        )
        answers += [_answer(topic.name, result) for topic, result in zip(some, results, strict=True)]
    duplicate = KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    answers += [_answer(name, duplicate) for name in sorted(twice)]
    return CreatePartitionsResponse(results=answers)


def _create(
    wishes: list[NewPartitions], refusal: KafkaError | None, validate_only: bool, catalogue: Catalogue
) -> Sequence[KafkaError | None]:
    """Apply one change and return the refusal of each topic, or None."""
    if refusal is not None:
        return [refusal] * len(wishes)
    try:
        return catalogue.create_partitions(wishes, validate_only=validate_only)
    except KafkaError as failure:
        return [failure.as_value()] * len(wishes)


def _added(topic: CreatePartitionsTopic, there: Mapping[str, TopicImage]) -> int:
    """Return how many partitions the topic gains, if the request is granted."""
    found = there.get(topic.name)
    return 0 if found is None else max(0, topic.count - len(found.partitions))


def _wish(admit: Admit | None, topic: CreatePartitionsTopic) -> NewPartitions:
    assignments = None if topic.assignments is None else [assigned.broker_ids for assigned in topic.assignments]
    return NewPartitions(topic.name, topic.count, assignments, admit)


def _answer(name: str, refusal: KafkaError | None) -> CreatePartitionsTopicResult:
    if refusal is None:
        return CreatePartitionsTopicResult(name=name, error_code=ErrorCode.NONE)
    return CreatePartitionsTopicResult(name=name, error_code=refusal.code, error_message=refusal.message)
