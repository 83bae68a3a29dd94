"""Guards of APIs about groups, their offsets and their coordinators."""

from __future__ import annotations

from functools import partial
from typing import Any

from barnabas.broker.authorization.rights import Rights, refusal
from barnabas.broker.catalogue.features import GROUP_VERSION
from barnabas.broker.context import RequestContext
from barnabas.broker.guards.guard import Ask, divided, refused, some, then, topic_name, with_fields
from barnabas.broker.replies import Reply
from barnabas.broker.session.operations import CLUSTER_NAME, Access, Operation, Resource
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

_GROUP, _TOPIC, _CLUSTER = Resource.GROUP, Resource.TOPIC, Resource.CLUSTER
_DESCRIBE_TOPIC = Access(Operation.DESCRIBE, _TOPIC)
_READ_TOPIC = Access(Operation.READ, _TOPIC)
_BATCHED_SINCE = 8
_KEYS_SINCE = 4
_KEY_TYPES = {
    0: Access(Operation.DESCRIBE, _GROUP),
    1: Access(Operation.DESCRIBE, Resource.TRANSACTIONAL_ID),
    2: Access(Operation.CLUSTER_ACTION, _CLUSTER),
}
_NO_NODE = -1


def find_coordinator(ask: Ask, request: Any, context: RequestContext, rights: Rights) -> Reply[Any]:
    """Of a group or a transactional id that may be described; of a share group only brokers ask."""
    access = _KEY_TYPES.get(request.key_type)
    if access is None:
        return ask(request)
    why = refusal(access.resource)
    if context.api_version < _KEYS_SINCE:
        if rights.allows(*access, request.key):
            return ask(request)
        return FindCoordinatorResponse(
            error_code=why.code, error_message=why.message, node_id=_NO_NODE, host="", port=_NO_NODE
        )
    kept, others = divided(request.coordinator_keys, lambda key: _resource_of(key, access), access, rights)
    hidden = [
        Coordinator(key=key, node_id=_NO_NODE, host="", port=_NO_NODE, error_code=why.code, error_message=why.message)
        for key in others
    ]
    if not kept:
        return FindCoordinatorResponse(coordinators=hidden)
    return then(
        ask(with_fields(request, coordinator_keys=kept)),
        lambda response: with_fields(response, coordinators=[*response.coordinators, *hidden]),
    )


def _resource_of(key: str, access: Access) -> str:
    return CLUSTER_NAME if access.resource is _CLUSTER else key


def offset_fetch(ask: Ask, request: Any, context: RequestContext, rights: Rights) -> Reply[Any]:
    """Of groups that may be described, the offsets of topics that may be described. Who asks for all offsets is not
    told of the others."""
    if context.api_version >= _BATCHED_SINCE:
        return _offset_fetch_of_several(ask, request, context, rights)
    if not rights.allows(Operation.DESCRIBE, _GROUP, request.group_id):
        return refused(request, refusal(_GROUP), context)
    if request.topics is None:
        return then(ask(request), lambda response: with_fields(response, topics=_shown(response.topics, rights)))
    kept, others = divided(request.topics, lambda topic: topic.name, _DESCRIBE_TOPIC, rights)
    if not others:
        return ask(request)
    hidden = refused(with_fields(request, topics=others), refusal(_TOPIC), with_version(context, 1)).topics
    return then(ask(with_fields(request, topics=kept)), partial(_followed, hidden))


def offset_delete(ask: Ask, request: Any, context: RequestContext, rights: Rights) -> Reply[Any]:
    """Of topics that may be read. Where none of them may, the group is asked all the same: it may not be there."""
    kept, others = divided(request.topics, lambda topic: topic.name, _READ_TOPIC, rights)
    if not others:
        return ask(request)
    hidden = refused(with_fields(request, topics=others), refusal(_TOPIC), context, in_part=True).topics
    return then(ask(with_fields(request, topics=kept)), partial(_followed, hidden))


def _followed(hidden: list[Any], response: Any) -> Any:
    """The answer with the topics that were not asked for; an error of the whole group lists none."""
    return response if response.error_code else with_fields(response, topics=[*response.topics, *hidden])


def with_version(context: RequestContext, version: int) -> RequestContext:
    """The same request in another version of its API: in version 1 of OffsetFetch errors stand with the partitions."""
    return RequestContext(context.services, context.api_key, version)


def _shown(topics: list[Any], rights: Rights) -> list[Any]:
    return divided(topics, lambda topic: topic.name, _DESCRIBE_TOPIC, rights)[0]


def _offset_fetch_of_several(ask: Ask, request: Any, context: RequestContext, rights: Rights) -> Reply[Any]:
    """The answer has the groups in the order of the request."""
    wanted: list[Any] = []
    plans: list[tuple[Any, list[Any] | None]] = []
    for asked in request.groups:
        if not rights.allows(Operation.DESCRIBE, _GROUP, asked.group_id):
            plans.append((asked, None))
            continue
        hidden: list[Any] = []
        kept = asked
        if asked.topics is not None:
            kept_topics, hidden = divided(
                asked.topics, lambda topic: topic_name(topic, context), _DESCRIBE_TOPIC, rights
            )
            kept = with_fields(asked, topics=kept_topics)
        wanted.append(kept)
        plans.append((asked, hidden))

    def whole(response: Any) -> Any:
        answers = iter(response.groups)
        return with_fields(response, groups=[_answered(*plan, answers, context, rights) for plan in plans])

    return then(ask(with_fields(request, groups=wanted)), whole)


def _answered(
    asked: Any, hidden: list[Any] | None, answers: Any, context: RequestContext, rights: Rights
) -> OffsetFetchResponseGroup:
    if hidden is None:
        return OffsetFetchResponseGroup(
            group_id=asked.group_id, topics=[], error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED
        )
    group: OffsetFetchResponseGroup = next(answers)
    if group.error_code:
        return group
    if asked.topics is None:
        kept, _ = divided(group.topics, lambda topic: topic_name(topic, context), _DESCRIBE_TOPIC, rights)
        return with_fields(group, topics=kept)
    return with_fields(group, topics=[*group.topics, *_hidden_topics(hidden)])


def _hidden_topics(hidden: list[Any]) -> list[Any]:
    return [
        OffsetFetchResponseTopics(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=[
                OffsetFetchResponsePartitions(
                    partition_index=index,
                    committed_offset=-1,
                    metadata="",
                    error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                )
                for index in topic.partition_indexes
            ],
        )
        for topic in hidden
    ]


def list_groups(ask: Ask, request: Any, context: RequestContext, rights: Rights) -> Reply[Any]:
    """All of them to who may describe the cluster, else those that may be described."""
    if rights.allows(Operation.DESCRIBE, _CLUSTER, quietly=True):
        return ask(request)

    def shown(response: Any) -> Any:
        names = rights.allowed(Operation.DESCRIBE, _GROUP, [each.group_id for each in response.groups], quietly=True)
        return with_fields(response, groups=[each for each in response.groups if each.group_id in names])

    return then(ask(request), shown)


def describe_groups(ask: Ask, request: Any, context: RequestContext, rights: Rights) -> Reply[Any]:
    """Those that may be described, and what may be done to them."""
    return then(_described(ask, request, context, rights, "groups"), _with_operations(request, rights))


def consumer_group_describe(ask: Ask, request: Any, context: RequestContext, rights: Rights) -> Reply[Any]:
    """As DescribeGroups; a group with a topic in it that may not be described shows none of its members."""

    def without_hidden(response: Any) -> Any:
        names = {topic for group in response.groups for topic in _topics_of(group)}
        describable = rights.allowed(*_DESCRIBE_TOPIC, sorted(names), quietly=True)
        shown = [group if _topics_of(group) <= describable else _hidden_group(group) for group in response.groups]
        return with_fields(response, groups=shown)

    described = then(_described(ask, request, context, rights, "group_ids"), _with_operations(request, rights))
    return then(described, without_hidden)


def _described(ask: Ask, request: Any, context: RequestContext, rights: Rights, field: str) -> Reply[Any]:
    access = Access(Operation.DESCRIBE, _GROUP)
    kept, others = divided(getattr(request, field), str, access, rights)
    return some(ask, request, context, field, "groups", kept, others, refusal(_GROUP))


def _with_operations(request: Any, rights: Rights) -> Any:
    def told(response: Any) -> Any:
        if request.include_authorized_operations:
            for group in response.groups:
                if not group.error_code:
                    group.authorized_operations = rights.operations(_GROUP, group.group_id)
        return response

    return told


def _topics_of(group: Any) -> set[str]:
    found: set[str] = set()
    for member in group.members:
        found.update(member.subscribed_topic_names or ())
        for assignment in (member.assignment, member.target_assignment):
            found.update(each.topic_name for each in assignment.topic_partitions)
    return found


def _hidden_group(group: Any) -> Any:
    sentence = "The group has described topic(s) that the client is not authorized to describe."
    return type(group)(
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        error_message=sentence,
        group_id=group.group_id,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
        members=[],
    )


def consumer_group_heartbeat(ask: Ask, request: Any, context: RequestContext, rights: Rights) -> Reply[Any]:
    """Who may read the group, and describe each topic that it subscribes to by name."""
    if not context.services.catalogue.feature_level(GROUP_VERSION):
        return ask(request)  # which says that there is no such protocol
    if not rights.allows(Operation.READ, _GROUP, request.group_id):
        return refused(request, refusal(_GROUP), context)
    names = request.subscribed_topic_names or ()
    if len(rights.allowed(*_DESCRIBE_TOPIC, names)) < len(set(names)):
        return refused(request, refusal(_TOPIC), context)
    return ask(request)
