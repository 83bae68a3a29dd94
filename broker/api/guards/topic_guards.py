"""Guards of APIs about topics: hidden topics, allowed creations, and authorized operations in answers."""

from __future__ import annotations

from typing import Any

from barnabas.broker.api.guards.guard import Guarding, divided, some, topic_name, with_fields
from barnabas.broker.metadata.image.topic_changes import duplicates
from barnabas.broker.security.acl.rights import Rights, refusal
from barnabas.broker.security.session.operations import Access, Operation, Resource
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.files.names import CLUSTER_METADATA_TOPIC
from barnabas.protocol.messages.create_topics import CreatableTopicResult
from barnabas.protocol.messages.delete_topics import DeletableTopicResult
from barnabas.protocol.messages.metadata import MetadataResponseTopic
from barnabas.protocol.primitives import ZERO_UUID
from barnabas.storage.steps import Steps

_TOPIC, _CLUSTER = Resource.TOPIC, Resource.CLUSTER
_FAILED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_CLUSTER_OPERATIONS_UNTIL = 10
_CONFIGS_SINCE = 5


def metadata(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Hide topics without Describe, whether they exist or not; a request for all topics gets those with Describe.

    A missing topic is created if Create is allowed on it, or on the cluster.
    """
    requested = request.topics
    if requested is None or (not requested and context.api_version == 0):
        response = yield request
        names = [topic.name for topic in response.topics]
        describable = yield from rights.each_allowed(Operation.DESCRIBE, _TOPIC, names, quietly=True)
        response = with_fields(response, topics=[topic for topic in response.topics if topic.name in describable])
        return (yield from _with_operations(request, response, context, rights))
    access = Access(Operation.DESCRIBE, _TOPIC)
    permitted, others = yield from divided(requested, lambda topic: topic_name(topic, context), access, rights)
    if request.allow_auto_topic_creation and context.services.config.boolean("auto.create.topics.enable"):
        permitted, not_created = yield from _may_create(permitted, context, rights)
        others += not_created
    hidden = []
    for topic in {(each.topic_id, each.name): each for each in others}.values():
        hidden.append(_hidden(topic))
        yield
    response = yield (with_fields(request, topics=permitted) if others else request)
    response = with_fields(response, topics=[*response.topics, *hidden])
    return (yield from _with_operations(request, response, context, rights))


def _with_operations(request: Any, response: Any, context: RequestContext, rights: Rights) -> Steps[Any]:
    if request.include_topic_authorized_operations:
        yield from _fill_operations(response.topics, rights)
    if request.include_cluster_authorized_operations and context.api_version <= _CLUSTER_OPERATIONS_UNTIL:
        response.cluster_authorized_operations = cluster_operations(rights)
    return response


def _fill_operations(topics: list[Any], rights: Rights) -> Steps[None]:
    for topic in topics:
        if topic.name is not None and topic.error_code != _FAILED:
            topic.topic_authorized_operations = rights.operations(_TOPIC, topic.name)
        yield


def _may_create(requested: list[Any], context: RequestContext, rights: Rights) -> Steps[tuple[list[Any], list[Any]]]:
    """Return the topics that exist, or may be created, and the others."""
    there = context.services.catalogue.topics
    missing = [each for each in requested if each.topic_id == ZERO_UUID and each.name and each.name not in there]
    if not missing or rights.allows(Operation.CREATE, _CLUSTER, quietly=True):
        return requested, []
    creatable = yield from rights.each_allowed(Operation.CREATE, _TOPIC, [each.name for each in missing])
    permitted: list[Any] = []
    refused_ones: list[Any] = []
    for each in requested:
        is_missing = each.topic_id == ZERO_UUID and each.name and each.name not in there
        (refused_ones if is_missing and each.name not in creatable else permitted).append(each)
        yield
    return permitted, refused_ones


def _hidden(requested: Any) -> MetadataResponseTopic:
    """Return the entry of a hidden topic. An id is no secret; no name is returned with it."""
    by_id = requested.topic_id != ZERO_UUID
    return MetadataResponseTopic(
        error_code=_FAILED,
        name=None if by_id else requested.name,
        topic_id=requested.topic_id,
        is_internal=False,
        partitions=[],
    )


def cluster_operations(rights: Rights) -> int:
    """Return the authorized operations of the cluster: none if the client may not describe it."""
    return rights.operations(_CLUSTER) if rights.allows(Operation.DESCRIBE, _CLUSTER) else 0


def describe_cluster(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Pass on every request, and add the authorized operations."""
    response = yield request
    if not request.include_cluster_authorized_operations or response.error_code:
        return response
    return with_fields(response, cluster_authorized_operations=cluster_operations(rights))


def create_topics(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check Create on the cluster, or else on each topic. Settings are shown only with DescribeConfigs."""
    twice = duplicates(topic.name for topic in request.topics)
    once = {topic.name for topic in request.topics} - twice - {CLUSTER_METADATA_TOPIC}
    creatable = once
    if not rights.allows(Operation.CREATE, _CLUSTER, quietly=True):
        creatable = yield from rights.each_allowed(Operation.CREATE, _TOPIC, sorted(once))
    describable = yield from rights.each_allowed(Operation.DESCRIBE_CONFIGS, _TOPIC, sorted(once), quietly=True)
    permitted, others = [], []
    for topic in request.topics:
        if topic.name in creatable or topic.name not in once:
            permitted.append(topic)
        else:
            others.append(
                CreatableTopicResult(name=topic.name, error_code=_FAILED, error_message="Authorization failed.")
            )
        yield
    response = yield with_fields(request, topics=permitted)
    shown = []
    for topic in response.topics:
        shown.append(_without_configs(topic) if _hides(topic, describable) else topic)
        yield
    return with_fields(response, topics=[*shown, *others])


def _hides(topic: CreatableTopicResult, describable: set[str]) -> bool:
    return topic.error_code == ErrorCode.NONE and topic.name not in describable


def _without_configs(topic: CreatableTopicResult) -> CreatableTopicResult:
    return with_fields(topic, configs=[], num_partitions=-1, replication_factor=-1, topic_config_error_code=_FAILED)


def delete_topics(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check Delete on the cluster, or else on each topic. The name of an id is returned only with Describe."""
    if rights.allows(Operation.DELETE, _CLUSTER, quietly=True):
        return (yield request)
    by_name = set(request.topic_names) | {topic.name for topic in request.topics if topic.topic_id == ZERO_UUID}
    by_id = {each.topic_id for each in request.topics} - {ZERO_UUID}
    ids = {topic_id: _name_of(topic_id, context) for topic_id in by_id}
    names = sorted({name for name in (*by_name, *ids.values()) if name is not None})
    describable = yield from rights.each_allowed(Operation.DESCRIBE, _TOPIC, names)
    deletable = yield from rights.each_allowed(Operation.DELETE, _TOPIC, names)
    there = context.services.catalogue.topics
    hidden = {name for name in names if name not in describable or (name in there and name not in deletable)}
    others: dict[tuple[str | None, bytes], DeletableTopicResult] = {}
    permitted = []
    for topic in request.topics:
        yield
        name = ids[topic.topic_id] if topic.name is None and topic.topic_id != ZERO_UUID else topic.name
        if (topic.name is not None and topic.topic_id != ZERO_UUID) or name not in hidden:
            permitted.append(topic)
            continue
        shown_name = topic.name if topic.name is not None or name not in describable else name
        others[shown_name, topic.topic_id] = _not_deleted(shown_name, topic.topic_id)
    for name in request.topic_names:
        if name in hidden:
            others[name, ZERO_UUID] = _not_deleted(name, ZERO_UUID)
        yield
    if not others:
        return (yield request)
    wanted = with_fields(
        request, topics=permitted, topic_names=[name for name in request.topic_names if name not in hidden]
    )
    response = yield wanted
    return with_fields(response, responses=[*response.responses, *others.values()])


def _name_of(topic_id: bytes, context: RequestContext) -> str | None:
    topic = context.services.catalogue.topics_by_id.get(topic_id)
    return None if topic is None else topic.name


def _not_deleted(name: str | None, topic_id: bytes) -> DeletableTopicResult:
    why = refusal(_TOPIC)
    return DeletableTopicResult(name=name, topic_id=topic_id, error_code=why.code, error_message=why.message)


def create_partitions(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check Alter on each topic; the handler refuses a topic that is named twice."""
    twice = duplicates(topic.name for topic in request.topics)
    permitted, others = yield from divided(
        request.topics,
        lambda topic: None if topic.name in twice else topic.name,
        Access(Operation.ALTER, _TOPIC),
        rights,
    )
    return (yield from some(request, context, "topics", "results", permitted, others, refusal(_TOPIC)))


def offset_for_leader_epoch(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check ClusterAction for brokers, or else Describe on each topic."""
    if rights.allows(Operation.CLUSTER_ACTION, _CLUSTER, quietly=True):
        return (yield request)
    access = Access(Operation.DESCRIBE, _TOPIC)
    permitted, others = yield from divided(request.topics, lambda topic: topic.topic, access, rights)
    return (yield from some(request, context, "topics", "topics", permitted, others, refusal(_TOPIC)))
