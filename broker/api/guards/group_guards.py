"""Guards of APIs about groups, their offsets and their coordinators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from barnabas.broker.api.guards.guard import Guarding, divided, refused, some, topic_name, with_fields
from barnabas.broker.security.acl.rights import Rights, refusal
from barnabas.broker.security.session.operations import CLUSTER_NAME, Access, Operation, Resource
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from barnabas.storage.steps import Steps

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


def find_coordinator(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check Describe on the groups or transactional ids; the coordinator of a share group needs ClusterAction."""
    access = _KEY_TYPES.get(request.key_type)
    if access is None:
        return (yield request)
    why = refusal(access.resource)
    if context.api_version < _KEYS_SINCE:
        if rights.allows(*access, request.key):
            return (yield request)
        return FindCoordinatorResponse(
            error_code=why.code, error_message=why.message, node_id=_NO_NODE, host="", port=_NO_NODE
        )
    keys = request.coordinator_keys
    permitted, others = yield from divided(keys, lambda key: _resource_of(key, access), access, rights)
    hidden = []
    for key in others:
        hidden.append(
            Coordinator(
                key=key,
                node_id=_NO_NODE,
                host="",
                port=_NO_NODE,
                error_code=why.code,
                error_message=why.message,
            )
        )
        yield
    if not permitted:
        return FindCoordinatorResponse(coordinators=hidden)
    response = yield with_fields(request, coordinator_keys=permitted)
    return with_fields(response, coordinators=[*response.coordinators, *hidden])


def _resource_of(key: str, access: Access) -> str:
    return CLUSTER_NAME if access.resource is _CLUSTER else key


def offset_fetch(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check Describe on the groups and on the topics. A request for all offsets gets only those of allowed topics."""
    if context.api_version >= _BATCHED_SINCE:
        return (yield from _offset_fetch_of_several(request, context, rights))
    if not rights.allows(Operation.DESCRIBE, _GROUP, request.group_id):
        return (yield from refused(request, refusal(_GROUP), context))
    if request.topics is None:
        response = yield request
        shown, _ = yield from divided(response.topics, lambda topic: topic.name, _DESCRIBE_TOPIC, rights)
        return with_fields(response, topics=shown)
    permitted, others = yield from divided(request.topics, lambda topic: topic.name, _DESCRIBE_TOPIC, rights)
    if not others:
        return (yield request)
    answer = yield from refused(with_fields(request, topics=others), refusal(_TOPIC), with_version(context, 1))
    response = yield with_fields(request, topics=permitted)
    return _followed(answer.topics, response)


def offset_delete(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check Read on the topics. If none is allowed, the group is still checked: it may not exist."""
    permitted, others = yield from divided(request.topics, lambda topic: topic.name, _READ_TOPIC, rights)
    if not others:
        return (yield request)
    answer = yield from refused(with_fields(request, topics=others), refusal(_TOPIC), context, in_part=True)
    response = yield with_fields(request, topics=permitted)
    return _followed(answer.topics, response)


def share_group_offsets(operation: Operation, request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check the operation on the group, and Read on the topics. If none is allowed, the group is still checked."""
    if not context.services.offers_share_groups:
        return (yield request)  # it answers that there is no such protocol
    if not rights.allows(operation, _GROUP, request.group_id):
        return (yield from refused(request, refusal(_GROUP), context))
    permitted, others = yield from divided(request.topics, lambda topic: topic.topic_name, _READ_TOPIC, rights)
    if not others:
        return (yield request)
    answer = yield from refused(with_fields(request, topics=others), refusal(_TOPIC), context, in_part=True)
    response = yield with_fields(request, topics=permitted)
    if response.error_code:
        return response
    return with_fields(response, responses=[*answer.responses, *response.responses])


def _followed(hidden: list[Any], response: Any) -> Any:
    """Add the refused topics to the answer; an error of the whole group lists none."""
    return response if response.error_code else with_fields(response, topics=[*response.topics, *hidden])


def with_version(context: RequestContext, version: int) -> RequestContext:
    """Return the context with another API version: in version 1 of OffsetFetch errors are with the partitions."""
    return RequestContext(context.services, context.api_key, version)


def _offset_fetch_of_several(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check each group, and return the groups in the order of the request."""
    ids = [requested.group_id for requested in request.groups]
    describable = yield from rights.each_allowed(Operation.DESCRIBE, _GROUP, ids)
    wanted: list[Any] = []
    plans: list[tuple[Any, list[Any] | None]] = []
    for requested in request.groups:
        yield
        if requested.group_id not in describable:
            plans.append((requested, None))
            continue
        hidden: list[Any] = []
        permitted = requested
        if requested.topics is not None:
            kept_topics, hidden = yield from _describable(requested.topics, context, rights)
            permitted = with_fields(requested, topics=kept_topics)
        wanted.append(permitted)
        plans.append((requested, hidden))
    response = yield with_fields(request, groups=wanted)
    answers = iter(response.groups)
    groups = []
    for requested, left_out in plans:
        groups.append((yield from _answered(requested, left_out, answers, context, rights)))
        yield
    return with_fields(response, groups=groups)


def _describable(topics: list[Any], context: RequestContext, rights: Rights) -> Steps[tuple[list[Any], list[Any]]]:
    return divided(topics, lambda topic: topic_name(topic, context), _DESCRIBE_TOPIC, rights)


def _answered(
    requested: Any, hidden: list[Any] | None, answers: Iterator[Any], context: RequestContext, rights: Rights
) -> Steps[OffsetFetchResponseGroup]:
    if hidden is None:
        return OffsetFetchResponseGroup(
            group_id=requested.group_id, topics=[], error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED
        )
    group: OffsetFetchResponseGroup = next(answers)
    if group.error_code:
        return group
    if requested.topics is None:
        permitted, _ = yield from _describable(group.topics, context, rights)
        return with_fields(group, topics=permitted)
    hidden_topics = yield from _hidden_topics(hidden)
    return with_fields(group, topics=[*group.topics, *hidden_topics])


def _hidden_topics(hidden: list[Any]) -> Steps[list[Any]]:
    topics = []
    for topic in hidden:
        partitions = []
        for index in topic.partition_indexes:
            partitions.append(
                OffsetFetchResponsePartitions(
                    partition_index=index,
                    committed_offset=-1,
                    metadata="",
                    error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                )
            )
            yield
        topics.append(OffsetFetchResponseTopics(name=topic.name, topic_id=topic.topic_id, partitions=partitions))
    return topics


def list_groups(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """List all groups if Describe is allowed on the cluster, else only the groups where Describe is allowed."""
    if rights.allows(Operation.DESCRIBE, _CLUSTER, quietly=True):
        return (yield request)
    response = yield request
    ids = [each.group_id for each in response.groups]
    names = yield from rights.each_allowed(Operation.DESCRIBE, _GROUP, ids, quietly=True)
    return with_fields(response, groups=[each for each in response.groups if each.group_id in names])


def describe_groups(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check Describe on the groups, and add the authorized operations."""
    response = yield from _described(request, context, rights, "groups")
    if request.include_authorized_operations:
        for group in response.groups:
            if not group.error_code:
                group.authorized_operations = rights.operations(_GROUP, group.group_id)
            yield
    return response


def consumer_group_describe(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check groups as for DescribeGroups; a group with a topic that may not be described shows none of its members."""
    return (yield from _with_topics_allowed(request, context, rights, _topics_of, _hidden_group))


def _with_topics_allowed(
    request: Any,
    context: RequestContext,
    rights: Rights,
    topics_of: Callable[[Any], set[str]],
    hidden: Callable[[Any], Any],
) -> Guarding:
    response = yield from _described(request, context, rights, "group_ids")
    topics = []
    for group in response.groups:
        if request.include_authorized_operations and not group.error_code:
            group.authorized_operations = rights.operations(_GROUP, group.group_id)
        topics.append(topics_of(group))
        yield
    names = sorted(set[str]().union(*topics))
    describable = yield from rights.each_allowed(*_DESCRIBE_TOPIC, names, quietly=True)
    shown = []
    for group, required in zip(response.groups, topics, strict=True):
        shown.append(group if required <= describable else hidden(group))
        yield
    return with_fields(response, groups=shown)


def _described(request: Any, context: RequestContext, rights: Rights, field: str) -> Guarding:
    access = Access(Operation.DESCRIBE, _GROUP)
    permitted, others = yield from divided(getattr(request, field), str, access, rights)
    return (yield from some(request, context, field, "groups", permitted, others, refusal(_GROUP)))


def _topics_of(group: Any) -> set[str]:
    found: set[str] = set()
    for member in group.members:
        found.update(member.subscribed_topic_names or ())
        for name in ("assignment", "target_assignment"):  # members of share groups have no target
            if (assignment := getattr(member, name, None)) is not None:
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


def consumer_group_heartbeat(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check Read on the group, and Describe on each topic that it subscribes to by name."""
    if not context.services.offers_consumer_groups:
        return (yield request)  # it answers that there is no such protocol
    return (yield from _heartbeat(request, context, rights))


def share_group_heartbeat(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check what is checked for a heartbeat of a consumer group."""
    if not context.services.offers_share_groups:
        return (yield request)
    return (yield from _heartbeat(request, context, rights))


def _heartbeat(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    if not rights.allows(Operation.READ, _GROUP, request.group_id):
        return (yield from refused(request, refusal(_GROUP), context))
    names = request.subscribed_topic_names or ()
    describable = yield from rights.each_allowed(*_DESCRIBE_TOPIC, names)
    if len(describable) < len(set(names)):
        return (yield from refused(request, refusal(_TOPIC), context))
    return (yield request)


def streams_group_heartbeat(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check Read on the group, and Describe on each topic of its topology. Its handler checks Create."""
    from barnabas.broker.api.guards.streams_topics import check_names, topic_names  # few brokers have such groups

    if not context.services.offers_streams_groups:
        return (yield request)  # it answers that there is no such protocol
    if not rights.allows(Operation.READ, _GROUP, request.group_id):
        return (yield from refused(request, refusal(_GROUP), context))
    if request.topology is not None:
        names = yield from topic_names(request.topology)
        try:
            yield from check_names(names)
        except KafkaError:
            return (yield request)  # it answers that the names are invalid
        describable = yield from rights.each_allowed(*_DESCRIBE_TOPIC, names)
        if len(describable) < len(names):
            return (yield from refused(request, refusal(_TOPIC), context))
    return (yield request)


def streams_group_topology_description_update(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check Read on the group."""
    if not context.services.offers_streams_groups:
        return (yield request)  # as above
    if not rights.allows(Operation.READ, _GROUP, request.group_id):
        return (yield from refused(request, refusal(_GROUP), context))
    return (yield request)


def streams_group_describe(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check groups as for DescribeGroups; a group with a topic that may not be described shows none of its members."""
    return (yield from _with_topics_allowed(request, context, rights, _topics_of_topology, _hidden_streams_group))


def _topics_of_topology(group: Any) -> set[str]:
    found: set[str] = set()
    for each in () if group.topology is None else group.topology.subtopologies or ():
        found.update(each.source_topics, each.repartition_sink_topics)
        found.update(topic.name for topic in (*each.repartition_source_topics, *each.state_changelog_topics))
    return found


def _hidden_streams_group(group: Any) -> Any:
    return type(group)(
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        error_message="The described group uses topics that the client is not authorized to describe.",
        group_id=group.group_id,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        members=[],
    )
