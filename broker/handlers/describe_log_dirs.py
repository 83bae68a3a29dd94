"""DescribeLogDirs (key 35), v1-5: the one data directory, how much each partition takes in it, and the room there is.

A partition's size is that of its segments without indexes, read off the file system: nothing is opened for it. Asked
for all (null), every partition of the catalogue is listed, one that was never used with size 0; of a list, those of it
that exist; of an empty list none. Nothing lags and nothing moves between directories here, and none is cordoned. A
directory that is offline is listed with KAFKA_STORAGE_ERROR and nothing else. Versions: 3 an error for the whole
answer; 4 the room of the volume; 5 cordoned.
"""

from __future__ import annotations

import os
from asyncio import Future
from typing import TYPE_CHECKING

from barnabas.broker.context import RequestContext
from barnabas.broker.slices import Kind
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from barnabas.storage.errors import StorageError
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.storage.log_directory import LogDirectory

_PARTITIONS = Kind(steps_max=100, slice_ms=5)  # some 20 us each


def handle(
    request: DescribeLogDirsRequest, context: RequestContext
) -> DescribeLogDirsResponse | Future[DescribeLogDirsResponse]:
    return context.services.slices.in_slices(lambda: _describe(request, context), _PARTITIONS)


def _describe(request: DescribeLogDirsRequest, context: RequestContext) -> Steps[DescribeLogDirsResponse]:
    directory = context.services.partitions.directory
    result = _nothing(directory)
    try:
        result.topics = yield from _sizes(_wanted(request.topics, context), directory)
        volume = directory.volume()
        result.total_bytes, result.usable_bytes = volume.total_bytes, volume.usable_bytes
    except StorageError:
        result.topics = []
        result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
    return DescribeLogDirsResponse(error_code=ErrorCode.NONE, results=[result])


def _nothing(directory: LogDirectory) -> DescribeLogDirsResult:
    return DescribeLogDirsResult(error_code=ErrorCode.NONE, log_dir=os.path.abspath(directory.path), topics=[])


def _wanted(asked: list[DescribableLogDirTopic] | None, context: RequestContext) -> dict[str, list[int]]:
    """The partitions to describe, in order: those asked for that are here, each once."""
    cluster = context.services.cluster
    existing = {name: cluster.led(topic) for name, topic in context.services.catalogue.topics.items()}
    if asked is None:
        return {name: list(partitions) for name, partitions in existing.items()}
    wanted: dict[str, set[int]] = {}
    for topic in asked:
        wanted.setdefault(topic.topic, set()).update(topic.partitions)
    return {name: sorted(numbers.intersection(existing.get(name, ()))) for name, numbers in wanted.items()}


def _sizes(wanted: dict[str, list[int]], directory: LogDirectory) -> Steps[list[DescribeLogDirsTopic]]:
    topics = []
    for name, numbers in wanted.items():
        partitions = []
        for number in numbers:
            size = directory.size_of(name, number)
            partitions.append(
                DescribeLogDirsPartition(partition_index=number, partition_size=size, offset_lag=0, is_future_key=False)
            )
            yield
        if partitions:
            topics.append(DescribeLogDirsTopic(name=name, partitions=partitions))
    return topics
