"""CreateTopics (key 19), v2-7: topics, with their partitions and settings.

A request of few topics creates all valid ones in one change, or nothing; more come in several, with other work in
between (`broker/metadata/split_changes.py`). Answers per topic: INVALID_TOPIC_EXCEPTION, TOPIC_ALREADY_EXISTS,
INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR (more than one), INVALID_REPLICA_ASSIGNMENT, INVALID_CONFIG,
INVALID_REQUEST (a name twice in one request), POLICY_VIOLATION (more than 10,000 partitions at once),
KAFKA_STORAGE_ERROR while the disk is full, THROTTLING_QUOTA_EXCEEDED where a quota on created partitions is exceeded;
before v6 they are created then, and the client is throttled. A request with no time left is REQUEST_TIMED_OUT for every
topic, whatever else is wrong, and creates nothing; unless it contains only names given twice. Versions: 5 returns every
setting of the topic, never null for one that was created; 7 its id.
"""

from asyncio import Future
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from barnabas.broker.api.current_request import keep_current_request
from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.definitions.values import text_of
from barnabas.broker.config.resources.topic_configs import TOPIC_KEYS, effective, source
from barnabas.broker.metadata.catalogue import Catalogue, CreatedTopic, NewTopic
from barnabas.broker.metadata.image.topic_changes import Admit, check_request_size, duplicates
from barnabas.broker.metadata.split_changes import CHANGES, in_changes
from barnabas.broker.runtime.refusals import without_time
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.storage.steps import Steps

_KNOWS_QUOTAS_SINCE = 6


def handle(
    request: CreateTopicsRequest, context: RequestContext
) -> CreateTopicsResponse | Future[CreateTopicsResponse]:
    services = context.services
    twice = duplicates(topic.name for topic in request.topics)
    admit = services.quotas.admission(context.measured, is_strict=context.api_version >= _KNOWS_QUOTAS_SINCE)
    topics = [topic for topic in request.topics if topic.name not in twice]
    if topics and (late := without_time(request.timeout_ms)):
        return CreateTopicsResponse(topics=[_refused(topic.name, late) for topic in request.topics])
    refusal = None
    try:
        services.disk_space.check_may_grow()
        check_request_size(max(topic.num_partitions, 1) for topic in topics)
    except KafkaError as error:
        refusal = error.as_value()
    answers = partial(_create_all, topics, twice, partial(_wish, admit), refusal, request.validate_only, context)
    return services.upkeep.to_the_end(answers, CHANGES)


def _create_all(
    topics: list[CreatableTopic],
    twice: set[str],
    wish: Callable[[CreatableTopic], NewTopic],
    refusal: KafkaError | None,
    validate_only: bool,
    context: RequestContext,
) -> Steps[CreateTopicsResponse]:
    services = context.services
    catalogue, as_current_request, settings = (
        services.catalogue,
        keep_current_request(services),
        _Settings(services.config),
    )
    answers: list[CreatableTopicResult] = []
    for some in in_changes(topics, lambda topic: topic.num_partitions):
        if answers:
            yield
        wishes = [wish(topic) for topic in some]
        results = as_current_request(partial(_create, wishes, refusal, validate_only, catalogue))
        answers += [_answer(topic.name, result, settings) for topic, result in zip(some, results, strict=True)]
    duplicate = KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    answers += [_answer(name, duplicate, settings) for name in sorted(twice)]
    return CreateTopicsResponse(topics=answers)


def _create(
    wishes: list[NewTopic], refusal: KafkaError | None, validate_only: bool, catalogue: Catalogue
) -> Sequence[CreatedTopic | KafkaError]:
    """Apply one change and return the topic, or the refusal, for each name."""
    if refusal is not None:
        return [refusal] * len(wishes)
    try:
        return catalogue.create_topics(wishes, validate_only=validate_only)
    except KafkaError as failure:
        return [failure.as_value()] * len(wishes)


def _wish(admit: Admit | None, topic: CreatableTopic) -> NewTopic:
    return NewTopic(
        name=topic.name,
        num_partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=[(assigned.partition_index, assigned.broker_ids) for assigned in topic.assignments],
        configs={setting.name: setting.value for setting in topic.configs},
        admit=admit,
    )


def _answer(name: str, result: CreatedTopic | KafkaError, settings: "_Settings") -> CreatableTopicResult:
    if isinstance(result, KafkaError):
        return _refused(name, result)
    return CreatableTopicResult(
        name=name,
        topic_id=result.topic_id,
        error_code=ErrorCode.NONE,
        error_message=None,
        num_partitions=result.num_partitions,
        replication_factor=result.replication_factor,
        configs=settings.of(result.configs),
    )


def _refused(name: str, refusal: KafkaError) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=refusal.code, error_message=refusal.message)


class _Settings:
    """The settings in the answer for the topics of one request. Rows are shared: most are the same for all."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._inherited: dict[str, CreatableTopicConfigs] = {}

    def of(self, own: Mapping[str, str]) -> list[CreatableTopicConfigs]:
        """Return every setting of a topic that has these own values."""
        if not self._inherited:
            self._inherited = {key: self._row({}, key) for key in TOPIC_KEYS}
        return [self._row(own, key) if key in own else row for key, row in self._inherited.items()]

    def _row(self, own: Mapping[str, str], key: str) -> CreatableTopicConfigs:
        return CreatableTopicConfigs(
            name=key,
            value=text_of(effective(own, self._config, key)),
            read_only=False,
            config_source=source(own, self._config, key),
            is_sensitive=False,
        )
