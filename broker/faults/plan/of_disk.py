"""Faults of the disk, read from JSON. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barnabas.broker.faults.model import DiskAction, DiskError, DiskMatch, DiskOperation, FaultRefused
from barnabas.broker.faults.plan.names import partition_number, topic_pattern
from barnabas.broker.faults.plan.scalars import delay, object_of, one_of

_MATCHES = ("disk", "topic", "partition", "nth", "probability")
_ACTIONS = ("error", "delay")


def disk_fault(match: Mapping[str, Any], do: Mapping[str, Any]) -> tuple[DiskMatch, DiskAction]:
    """FaultRefused."""
    object_of(match, "what a fault of the disk matches", _MATCHES)
    operation = DiskOperation(one_of(match["disk"], "disk", tuple(each.value for each in DiskOperation)))
    done = object_of(do, "what a fault of the disk does", _ACTIONS)
    if len(done) != 1:
        raise FaultRefused(f"the disk does one thing: {' or '.join(_ACTIONS)}")
    matches = DiskMatch(
        operation=operation,
        topic=topic_pattern(match["topic"]) if "topic" in match else None,
        partition=partition_number(match["partition"]) if "partition" in match else None,
    )
    if "error" in done:
        error = one_of(done["error"], "an error of the disk", tuple(each.value for each in DiskError))
        return matches, DiskAction(error=DiskError(error))
    if operation is not DiskOperation.SYNC:
        raise FaultRefused("only a sync is delayed: an append is made in the event loop, and would hold up everything")
    return matches, DiskAction(delay=delay(done["delay"], "delay"))
