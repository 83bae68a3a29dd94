"""StreamsGroupDescribe (key 89), v0-1: streams groups (KIP-1071), their topology, members and tasks.

Offered while the feature streams.version is 1 and group.coordinator.rebalance.protocols has `streams`, else
UNSUPPORTED_VERSION. Each group has its own code: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, also for a group of another
type. The numbers of partitions of internal topics are those that the topology needs, once all its topics exist.
Versions: 1 the assignor; no topology descriptions are stored (KIP-1331). A group that is named again is answered again,
up to a limit: INVALID_REQUEST.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from barnabas.broker.api.group_descriptions.modern_groups import describe_each
from barnabas.broker.api.guards.authorized_operations import GROUP_OPERATIONS, NOT_REQUESTED
from barnabas.broker.coordinator.group.decisions.streams.group import StreamsGroup
from barnabas.broker.coordinator.group.decisions.streams.model import StreamsGroupMember
from barnabas.broker.coordinator.group.decisions.streams.task_offsets import NOTHING_REPORTED, OffsetSums
from barnabas.broker.coordinator.group.decisions.streams.tasks import Tasks, TaskSets, active_of
from barnabas.broker.coordinator.group.decisions.streams.topics.internal_topics import ConfiguredTopology, InternalTopic
from barnabas.broker.runtime.replies import Reply
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.log_records.streams_group import StoredSubtopology, StoredTopicInfo
from barnabas.protocol.messages.streams_group_describe import (
    Assignment,
    DescribedGroup,
    Endpoint,
    KeyValue,
    Member,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    Subtopology,
    TaskIds,
    TaskOffset,
    TopicInfo,
    Topology,
)

_DESCRIPTION_NOT_REQUESTED, _DESCRIPTION_NOT_STORED = 0, 1

_UNDESCRIBED = partial(DescribedGroup, group_state="", group_epoch=0, assignment_epoch=0, members=[])


def handle(request: StreamsGroupDescribeRequest, context: RequestContext) -> Reply[StreamsGroupDescribeResponse]:
    return describe_each(
        request.group_ids,
        context,
        is_offered=context.services.offers_streams_groups,
        describe=lambda group_id: _described(group_id, request, context),
        undescribed=_UNDESCRIBED,
        respond=StreamsGroupDescribeResponse,
    )


def _described(group_id: str, request: StreamsGroupDescribeRequest, context: RequestContext) -> DescribedGroup:
    group = context.services.groups.streams.describe(group_id)
    return DescribedGroup(
        error_code=ErrorCode.NONE,
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        topology=_topology(group),
        members=[_member(group, member) for member in group.members.values()],
        authorized_operations=GROUP_OPERATIONS if request.include_authorized_operations else NOT_REQUESTED,
        topology_description_status=(
            _DESCRIPTION_NOT_STORED if request.include_topology_description else _DESCRIPTION_NOT_REQUESTED
        ),
        assignor_name="sticky",
    )


def _topology(group: StreamsGroup) -> Topology | None:
    """Return the topology as it runs; as its members declared it while it does not."""
    configured = group.volatile.configured
    if configured is not None and configured.is_ready:
        return Topology(epoch=configured.epoch, subtopologies=_running(configured))
    if group.topology is None:
        return None
    declared = group.topology.subtopologies
    return Topology(epoch=group.topology.epoch, subtopologies=[_declared(declared[each]) for each in sorted(declared)])


def _running(configured: ConfiguredTopology) -> list[Subtopology]:
    return [
        Subtopology(
            subtopology_id=subtopology_id,
            source_topics=sorted(each.source_topics),
            repartition_sink_topics=sorted(each.repartition_sink_topics),
            state_changelog_topics=_running_topics(each.state_changelog_topics.values()),
            repartition_source_topics=_running_topics(each.repartition_source_topics.values()),
        )
        for subtopology_id, each in configured.subtopologies.items()
    ]


def _running_topics(topics: Iterable[InternalTopic]) -> list[TopicInfo]:
    return [
        TopicInfo(
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            topic_configs=[KeyValue(key=key, value=value) for key, value in topic.configs.items()],
        )
        for topic in sorted(topics, key=lambda topic: topic.name)
    ]


def _declared(subtopology: StoredSubtopology) -> Subtopology:
    return Subtopology(
        subtopology_id=subtopology.subtopology_id,
        source_topics=sorted(subtopology.source_topics),
        repartition_sink_topics=sorted(subtopology.repartition_sink_topics),
        state_changelog_topics=_declared_topics(subtopology.state_changelog_topics),
        repartition_source_topics=_declared_topics(subtopology.repartition_source_topics),
    )


def _declared_topics(topics: Iterable[StoredTopicInfo]) -> list[TopicInfo]:
    return [
        TopicInfo(
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            topic_configs=[KeyValue(key=each.key, value=each.value) for each in topic.topic_configs],
        )
        for topic in sorted(topics, key=lambda topic: topic.name)
    ]


def _member(group: StreamsGroup, member: StreamsGroupMember) -> Member:
    endpoint, assigned = member.user_endpoint, member.assigned
    reported = group.volatile.task_offsets.get(member.member_id, NOTHING_REPORTED)
    return Member(
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if endpoint is None else Endpoint(host=endpoint.host, port=endpoint.port),
        client_tags=[KeyValue(key=key, value=value) for key, value in member.client_tags.items()],
        task_offsets=_offsets(reported.offsets),
        task_end_offsets=_offsets(reported.end_offsets),
        assignment=_assignment(TaskSets(active_of(assigned), assigned.standby, assigned.warmup)),
        target_assignment=_assignment(group.target_of(member)),
        is_classic=False,
    )


def _offsets(sums: OffsetSums) -> list[TaskOffset]:
    return [
        TaskOffset(subtopology_id=each, partition=number, offset=sums[each][number])
        for each in sorted(sums)
        for number in sorted(sums[each])
    ]


def _assignment(tasks: TaskSets) -> Assignment:
    return Assignment(
        active_tasks=_task_ids(tasks.active),
        standby_tasks=_task_ids(tasks.standby),
        warmup_tasks=_task_ids(tasks.warmup),
    )


def _task_ids(tasks: Tasks) -> list[TaskIds]:
    return [TaskIds(subtopology_id=each, partitions=sorted(tasks[each])) for each in sorted(tasks)]
