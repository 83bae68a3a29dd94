"""Faults of the disk, read from JSON. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barnabas.broker.control.faults.model import (
    DiskAction,
    DiskError,
    DiskFileKind,
    DiskMatch,
    DiskOperation,
    FaultRefused,
)
from barnabas.broker.control.faults.plan.names import partition_number, topic_pattern
from barnabas.broker.control.faults.plan.scalars import delay, object_of, one_of
from barnabas.protocol.files.names import CLUSTER_METADATA_TOPIC

MATCHES = ("disk", "file", "topic", "partition", "nth", "probability")
_ACTIONS = ("error", "delay")


def disk_fault(match: Mapping[str, Any], do: Mapping[str, Any]) -> tuple[DiskMatch, DiskAction]:
    """Read a fault of the disk. Raises FaultRefused."""
    object_of(match, "match of a disk fault", MATCHES)
    operation = DiskOperation(one_of(match["disk"], "disk", tuple(each.value for each in DiskOperation)))
    done = object_of(do, "do of a disk fault", _ACTIONS)
    if len(done) != 1:
        raise FaultRefused(f"a disk fault has exactly one action: {' or '.join(_ACTIONS)}")
    file = DiskFileKind(one_of(match.get("file", "log"), "file", tuple(each.value for each in DiskFileKind)))
    _check_is_there(file, operation, match)
    matches = DiskMatch(
        operation=operation,
        file=file,
        topic=topic_pattern(match["topic"]) if "topic" in match else None,
        partition=partition_number(match["partition"]) if "partition" in match else None,
    )
    if "error" in done:
        error = one_of(done["error"], "an error of the disk", tuple(each.value for each in DiskError))
        if operation is DiskOperation.READ and error == DiskError.ENOSPC.value:
            raise FaultRefused("a read needs no disk space: its error must be EIO")
        return matches, DiskAction(error=DiskError(error))
    if operation is not DiskOperation.SYNC:
        raise FaultRefused(
            "only a sync can be delayed: all other calls run in the event loop, and a delay would block it"
        )
    if file is DiskFileKind.CATALOGUE:
        raise FaultRefused("the catalogue is synced in the event loop, and a delay would block it")
    return matches, DiskAction(delay=delay(done["delay"], "delay"))


def _check_is_there(file: DiskFileKind, operation: DiskOperation, match: Mapping[str, Any]) -> None:
    """Raise FaultRefused if there is no such file of such a partition."""
    if file is DiskFileKind.CATALOGUE:
        if operation is DiskOperation.READ:
            raise FaultRefused("the catalogue is read only at the start, before a fault is armed")
        if "topic" in match or "partition" in match:
            raise FaultRefused(f"the catalogue is all of {CLUSTER_METADATA_TOPIC}: it has no topic and no partition")
    elif match.get("topic") == CLUSTER_METADATA_TOPIC:
        raise FaultRefused(f'the files of {CLUSTER_METADATA_TOPIC} are matched by "file": "catalogue"')
