"""CreatePartitions (key 37), v0-3: more partitions for topics that exist.

Answers per topic: UNKNOWN_TOPIC_OR_PARTITION, INVALID_PARTITIONS (no more than there are),
INVALID_REPLICA_ASSIGNMENT, INVALID_REQUEST (a name twice in one request), POLICY_VIOLATION (more than 10,000
partitions at once), KAFKA_STORAGE_ERROR while the disk is full, THROTTLING_QUOTA_EXCEEDED where a quota on
created partitions is used up (before v3 they are created then, and the client waits). A request that leaves no time is
REQUEST_TIMED_OUT for every topic, and adds nothing; unless there is nothing in it but names given twice.
"""

from barnabas.broker.catalogue import NewPartitions
from barnabas.broker.catalogue.topics import Admit, duplicates
from barnabas.broker.context import RequestContext
from barnabas.broker.refusals import without_time
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

_KNOWS_QUOTAS_SINCE = 3


def handle(request: CreatePartitionsRequest, context: RequestContext) -> CreatePartitionsResponse:
    twice = duplicates(topic.name for topic in request.topics)
    admit = context.services.quotas.admission(is_strict=context.api_version >= _KNOWS_QUOTAS_SINCE)
    wishes = [_wish(topic, admit) for topic in request.topics if topic.name not in twice]
    if wishes and (late := without_time(request.timeout_ms)):
        return CreatePartitionsResponse(results=[_answer(topic.name, late) for topic in request.topics])
    results: list[KafkaError | None]
    try:
        context.services.room.check_may_grow()
        results = context.services.catalogue.create_partitions(wishes, validate_only=request.validate_only)
    except KafkaError as refusal:
        results = [refusal.as_value()] * len(wishes)
    answers = [_answer(wish.name, result) for wish, result in zip(wishes, results, strict=True)]
    duplicate = KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    return CreatePartitionsResponse(results=answers + [_answer(name, duplicate) for name in sorted(twice)])


def _wish(topic: CreatePartitionsTopic, admit: Admit | None) -> NewPartitions:
    assignments = None if topic.assignments is None else [assigned.broker_ids for assigned in topic.assignments]
    return NewPartitions(topic.name, topic.count, assignments, admit)


def _answer(name: str, refusal: KafkaError | None) -> CreatePartitionsTopicResult:
    if refusal is None:
        return CreatePartitionsTopicResult(name=name, error_code=ErrorCode.NONE)
    return CreatePartitionsTopicResult(name=name, error_code=refusal.code, error_message=refusal.message)
