"""DescribeLogDirs (key 35), v1-5: the data directories, the size of each partition in them, and the free space.

A partition's size is that of its segments without indexes, read from the file system: nothing is opened for it. A
request for all (null) lists every partition of the catalogue, one that was never used with size 0 in its future
directory; a list, those of it that exist; an empty list none. A partition that is being moved is also listed in the
target directory, with the bytes copied. Each of several nodes lists its replicas, with an offset lag of 0. One that
could not be opened has an offset lag of -1: unknown. The usable bytes are those that producers can fill: none while the
directory is full (docs/decisions/0122). None is cordoned. A directory that has failed is listed with
KAFKA_STORAGE_ERROR and nothing else.

Versions: 3 an error for the whole answer; 4 the size and free space of the volume; 5 cordoned.
"""

from __future__ import annotations

import os
from asyncio import Future
from contextlib import suppress
from typing import TYPE_CHECKING

from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext
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
from barnabas.storage.steps import Steps, mapped

if TYPE_CHECKING:
    from barnabas.broker.partitions.opening.failed_openings import FailedOpenings
    from barnabas.storage.directories.log_directory import LogDirectory

_PARTITIONS = WorkClass(steps_max=100, slice_ms=5)  # some 20 us each


def handle(
    request: DescribeLogDirsRequest, context: RequestContext
) -> DescribeLogDirsResponse | Future[DescribeLogDirsResponse]:
    return context.services.request_scheduler.in_slices(lambda: _describe(request, context), _PARTITIONS)


def _describe(request: DescribeLogDirsRequest, context: RequestContext) -> Steps[DescribeLogDirsResponse]:
    directories = context.services.partitions.directory
    wanted = yield from _wanted(request.topics, context)
    by_directory = yield from _by_directory(wanted, context)
    coming = _coming(wanted, context)
    failed = context.services.partitions.failed
    results = [_failed(path) for path in directories.failed]
    for directory in directories.members:
        result = _nothing(directory.path)
        try:
            result.topics = yield from _sizes(by_directory.get(directory, {}), directory, failed)
            result.topics += coming.get(directory, [])
            volume = context.services.disk_space.volume_for_producers(directory)
            result.total_bytes, result.usable_bytes = volume.total_bytes, volume.usable_bytes
        except StorageError:
            result = _failed(directory.path)
        results.append(result)
    return DescribeLogDirsResponse(error_code=ErrorCode.NONE, results=results)


def _nothing(path: str) -> DescribeLogDirsResult:
    return DescribeLogDirsResult(error_code=ErrorCode.NONE, log_dir=os.path.abspath(path), topics=[])


def _failed(path: str) -> DescribeLogDirsResult:
    result = _nothing(path)
    result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
    return result


def _by_directory(
    wanted: dict[str, list[int]], context: RequestContext
) -> Steps[dict[LogDirectory, dict[str, list[int]]]]:
    """Group partitions by their present or future directory; omit missing directories and deleted partitions."""
    directories, topics = context.services.partitions.directory, context.services.catalogue.topics
    found: dict[LogDirectory, dict[str, list[int]]] = {}
    for name, numbers in wanted.items():
        for number in numbers:
            topic = topics.get(name)
            if topic is not None and number < len(topic.partitions):
                with suppress(StorageError):  # the directory is offline: it is omitted
                    place = directories.place(name, number, topic.partitions[number].directory_id)
                    found.setdefault(place, {}).setdefault(name, []).append(number)
            yield
    return found


def _wanted(requested: list[DescribableLogDirTopic] | None, context: RequestContext) -> Steps[dict[str, list[int]]]:
    """Return the partitions to describe, in order: the requested ones that have a replica here, each once."""
    cluster, topics = context.services.cluster, context.services.catalogue.topics

    def hosted(name: str) -> list[int]:
        found = topics.get(name)
        return [] if found is None else list(cluster.hosted(found))

    if requested is None:
        there = list(topics)
        return dict(zip(there, (yield from mapped(hosted, there)), strict=True))
    wanted: dict[str, set[int]] = {}
    for topic in requested:
        wanted.setdefault(topic.topic, set()).update(topic.partitions)
    existing = yield from mapped(hosted, wanted)
    return {
        name: sorted(numbers.intersection(here)) for (name, numbers), here in zip(wanted.items(), existing, strict=True)
    }


def _coming(wanted: dict[str, list[int]], context: RequestContext) -> dict[LogDirectory, list[DescribeLogDirsTopic]]:
    """Return the copies of partitions that are being moved, by target directory."""
    partitions, moves = context.services.partitions, context.services.deferred_moves.built
    found: dict[LogDirectory, list[DescribeLogDirsTopic]] = {}
    for (name, number), (target, size, offset) in ({} if moves is None else moves.under_way()).items():
        if number in wanted.get(name, ()):
            end = partitions.get(name, number).log_end_offset if partitions.is_open(name, number) else offset
            row = DescribeLogDirsPartition(
                partition_index=number, partition_size=size, offset_lag=max(0, end - offset), is_future_key=True
            )
            found.setdefault(target, []).append(DescribeLogDirsTopic(name=name, partitions=[row]))
    return found


def _sizes(
    wanted: dict[str, list[int]], directory: LogDirectory, failed: FailedOpenings
) -> Steps[list[DescribeLogDirsTopic]]:
    topics = []
    for name, numbers in wanted.items():
        partitions = []
        for number in numbers:
            size = directory.resting.size_of(name, number)
            lag = -1 if failed.has((name, number)) else 0
            partitions.append(
                DescribeLogDirsPartition(
                    partition_index=number, partition_size=size, offset_lag=lag, is_future_key=False
                )
            )
            yield
        if partitions:
            topics.append(DescribeLogDirsTopic(name=name, partitions=partitions))
    return topics
