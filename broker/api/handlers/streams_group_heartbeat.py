"""StreamsGroupHeartbeat (key 88), v0-1: join, stay in and leave a group of the streams protocol (KIP-1071).

Offered while the feature streams.version is 1 and group.coordinator.rebalance.protocols has `streams`, else
UNSUPPORTED_VERSION. Answers the member's epoch, the group's statuses, and the member's tasks if they changed or it
joins. Internal topics that the topology lacks are created before the answer; the next heartbeat finds them. Refusals
have Kafka's messages: INVALID_REQUEST, STREAMS_INVALID_TOPOLOGY, GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED,
UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, UNRELEASED_INSTANCE_ID, FENCED_INSTANCE_ID. The decision is in
coordinator/group/decisions/streams. Versions: 1 the acceptable recovery lag is an int64, and there is the status
MISSING_CLIENT_TAGS; topology descriptions (KIP-1331), which no plugin stores here, are never asked for.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Mapping

from barnabas.broker.api.current_request import keep_current_request
from barnabas.broker.api.guards.streams_topics import created, topology_in
from barnabas.broker.coordinator.group.decisions.shared_texts import shared
from barnabas.broker.coordinator.group.decisions.streams.model import (
    EndpointTasks,
    StreamsHeartbeatReply,
    StreamsHeartbeatRequest,
    UserEndpoint,
)
from barnabas.broker.coordinator.group.decisions.streams.task_offsets import ReportedOffset
from barnabas.broker.coordinator.group.decisions.streams.tasks import Tasks, TaskSets, task_map
from barnabas.broker.coordinator.group.decisions.streams.topics.topology import StreamsTopology
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.streams_group_heartbeat import (
    Endpoint,
    EndpointToPartitions,
    Status,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    TaskIds,
    TaskOffset,
    TopicPartition,
)

_LONG_LAG_SINCE = 1
_MISSING_INTERNAL_TOPICS, _MISSING_CLIENT_TAGS = 3, 6
_MISSING_CLIENT_TAGS_SINCE = 1
_REPORTED_MAX = 10_000


def handle(
    request: StreamsGroupHeartbeatRequest, context: RequestContext
) -> StreamsGroupHeartbeatResponse | Future[StreamsGroupHeartbeatResponse]:
    return reply_to(lambda: _heartbeat(request, context), lambda reply: _response(reply, context), _refused)


def _heartbeat(request: StreamsGroupHeartbeatRequest, context: RequestContext) -> Reply[StreamsHeartbeatReply]:
    if not context.services.offers_streams_groups:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    if request.topology is None:
        return context.services.groups.streams.heartbeat(_requested(request, context, None))
    declared = request.topology
    as_current_request = keep_current_request(context.services)

    def heartbeat(topology: StreamsTopology) -> Reply[StreamsHeartbeatReply]:
        return as_current_request(
            lambda: context.services.groups.streams.heartbeat(_requested(request, context, topology))
        )

    return reply_to(lambda: context.services.request_scheduler.in_slices(lambda: topology_in(declared)), heartbeat)


def _requested(
    request: StreamsGroupHeartbeatRequest, context: RequestContext, topology: StreamsTopology | None
) -> StreamsHeartbeatRequest:
    endpoint, tags = request.user_endpoint, request.client_tags
    return StreamsHeartbeatRequest(
        request.group_id,
        request.member_id,
        request.member_epoch,
        endpoint_epoch=request.endpoint_information_epoch,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topology=topology,
        owned=_owned(request),
        process_id=request.process_id,
        user_endpoint=None if endpoint is None else UserEndpoint(endpoint.host, endpoint.port),
        client_tags=None if tags is None else {tag.key: tag.value for tag in tags},
        task_offsets=_reported(request.task_offsets),
        task_end_offsets=_reported(request.task_end_offsets),
        shutdown_application=request.shutdown_application,
        client_id=shared(context.client_id or ""),
        client_host=shared(f"/{context.client_host}"),  # as Java prints an address; the record stores it so
    )


def _owned(request: StreamsGroupHeartbeatRequest) -> TaskSets | None:
    """Return the tasks that the member claims to have; None if the request has no such fields."""
    active, standby, warmup = request.active_tasks, request.standby_tasks, request.warmup_tasks
    if active is None and standby is None and warmup is None:
        return None
    if active is None or standby is None or warmup is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "If one task-type is non-null, all must be non-null.")
    return TaskSets(_tasks_in(active), _tasks_in(standby), _tasks_in(warmup))


def _reported(offsets: list[TaskOffset] | None) -> list[ReportedOffset] | None:
    """Return the offsets of so many tasks that all of a member's are among them; further ones are ignored."""
    if offsets is None:
        return None
    return [ReportedOffset(each.subtopology_id, each.partition, each.offset) for each in offsets[:_REPORTED_MAX]]


def _tasks_in(tasks: list[TaskIds]) -> Tasks:
    return task_map((each.subtopology_id, each.partitions) for each in tasks)


def _response(reply: StreamsHeartbeatReply, context: RequestContext) -> Reply[StreamsGroupHeartbeatResponse]:
    """Return the response, once the internal topics that are missing were created."""
    if not reply.missing_topics:
        return _filled(reply, context.api_version, "")
    return reply_to(
        lambda: created(reply.missing_topics, context),
        lambda failures: _filled(reply, context.api_version, failures),
    )


def _filled(reply: StreamsHeartbeatReply, api_version: int, failures: str) -> StreamsGroupHeartbeatResponse:
    statuses = [
        Status(status_code=each.status, status_detail=each.detail)
        for each in reply.statuses
        if each.status != _MISSING_CLIENT_TAGS or api_version >= _MISSING_CLIENT_TAGS_SINCE
    ]
    for each in statuses:
        if failures and each.status_code == _MISSING_INTERNAL_TOPICS:
            each.status_detail += failures
    tasks, endpoints = reply.tasks, reply.endpoints
    return StreamsGroupHeartbeatResponse(
        error_code=ErrorCode.NONE,
        member_id=reply.member_id,
        member_epoch=reply.member_epoch,
        heartbeat_interval_ms=reply.heartbeat_interval_ms,
        acceptable_recovery_lag_legacy=0 if api_version >= _LONG_LAG_SINCE else max(0, reply.acceptable_recovery_lag),
        task_offset_interval_ms=reply.task_offset_interval_ms,
        acceptable_recovery_lag=reply.acceptable_recovery_lag,
        status=statuses,
        active_tasks=None if tasks is None else _task_ids(tasks.active),
        standby_tasks=None if tasks is None else _task_ids(tasks.standby),
        warmup_tasks=None if tasks is None else _task_ids(tasks.warmup),
        endpoint_information_epoch=reply.endpoint_epoch,
        partitions_by_user_endpoint=None if endpoints is None else [_endpoint(each) for each in endpoints],
    )


def _task_ids(tasks: Tasks) -> list[TaskIds]:
    return [TaskIds(subtopology_id=each, partitions=sorted(tasks[each])) for each in sorted(tasks)]


def _endpoint(tasks: EndpointTasks) -> EndpointToPartitions:
    return EndpointToPartitions(
        user_endpoint=Endpoint(host=tasks.endpoint.host, port=tasks.endpoint.port),
        active_partitions=_partitions(tasks.active),
        standby_partitions=_partitions(tasks.standby),
    )


def _partitions(partitions: Mapping[str, tuple[int, ...]]) -> list[TopicPartition]:
    return [TopicPartition(topic=name, partitions=list(numbers)) for name, numbers in partitions.items()]


def _refused(refusal: KafkaError) -> StreamsGroupHeartbeatResponse:
    return StreamsGroupHeartbeatResponse(
        error_code=refusal.code,
        error_message=refusal.message,
        member_id="",
        member_epoch=0,
        heartbeat_interval_ms=0,
        task_offset_interval_ms=0,
        status=[],
        endpoint_information_epoch=0,
    )
