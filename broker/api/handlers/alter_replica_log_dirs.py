"""AlterReplicaLogDirs (key 34), v1-2: move partitions to other data directories of this broker.

The answer comes at once; the move continues after it, and DescribeLogDirs shows its progress. NONE also for a partition
that is there already; a move of it to another directory is then cancelled. REPLICA_NOT_AVAILABLE for one that another
node leads, UNKNOWN_TOPIC_OR_PARTITION for one that does not exist, KAFKA_STORAGE_ERROR for one that is offline. Before
that the directory is checked: LOG_DIR_NOT_FOUND unless its absolute path is given, as DescribeLogDirs returns it, and
KAFKA_STORAGE_ERROR while it is offline; and before that the name: INVALID_TOPIC_EXCEPTION if it is too long for the
name of a directory for a move. If a partition is named several times, the last one counts.
"""

from __future__ import annotations

import os
from asyncio import Future

from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext, Services
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from barnabas.storage.directories.log_directory import LogDirectory
from barnabas.storage.steps import Steps

_FILE_NAME_MAX = 255
_FUTURE_SUFFIX_LENGTH = len(".") + 32 + len("-future")  # the suffix of a directory that a partition is moved to
_PARTITIONS = WorkClass(steps_max=1_000, slice_ms=5)


def handle(
    request: AlterReplicaLogDirsRequest, context: RequestContext
) -> AlterReplicaLogDirsResponse | Future[AlterReplicaLogDirsResponse]:
    return context.services.request_scheduler.in_slices(lambda: _alter(request, context.services), _PARTITIONS)


def _alter(request: AlterReplicaLogDirsRequest, services: Services) -> Steps[AlterReplicaLogDirsResponse]:
    codes: dict[str, dict[int, ErrorCode]] = {}
    for destination in request.dirs:
        of_directory = _judge_directory(destination.path, services)
        for topic in destination.topics:
            of_topic = codes.setdefault(topic.name, {})
            for number in topic.partitions:
                of_topic[number] = _judge(topic.name, number, of_directory, services)
                yield
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(
                topic_name=name,
                partitions=[
                    AlterReplicaLogDirPartitionResult(partition_index=number, error_code=code)
                    for number, code in of_topic.items()
                ],
            )
            for name, of_topic in codes.items()
            if of_topic
        ]
    )


def _judge_directory(path: str, services: Services) -> LogDirectory | ErrorCode:
    directories = services.partitions.directory
    if path in map(os.path.abspath, directories.failed):
        return ErrorCode.KAFKA_STORAGE_ERROR
    found = directories.at(path)
    if found is None:
        return ErrorCode.LOG_DIR_NOT_FOUND
    is_usable = found.offline_reason is None and found.root.disk.full_reason is None
    return found if is_usable else ErrorCode.KAFKA_STORAGE_ERROR


def _judge(name: str, number: int, destination: LogDirectory | ErrorCode, services: Services) -> ErrorCode:
    if len(f"{name}-{number}") + _FUTURE_SUFFIX_LENGTH > _FILE_NAME_MAX:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if isinstance(destination, ErrorCode):
        return destination
    topic = services.catalogue.topics.get(name)
    if topic is None or not 0 <= number < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not services.cluster.leads(name, number):
        return ErrorCode.REPLICA_NOT_AVAILABLE
    try:
        services.moves.ask(name, number, destination)
    except KafkaError as refusal:
        return refusal.code
    return ErrorCode.NONE
