"""How far the members of a streams group have read the changelogs of tasks, as they report it (KIP-1071). Pure.

Members report it now and then, also of tasks whose state their process only has on disk. It is lost with the process of
the broker, and begins no epoch; the next target prefers members that have read more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from barnabas.protocol.errors import ErrorCode, KafkaError

OffsetSums: TypeAlias = Mapping[str, Mapping[int, int]]
"""Subtopology id -> partition -> the sum of offsets in the changelogs of the task."""

_NONE: OffsetSums = MappingProxyType({})


class ReportedOffset(NamedTuple):
    """One entry of a request."""

    subtopology_id: str
    partition: int
    offset_sum: int


class TaskOffsets(NamedTuple):
    """The last reports of one member."""

    offsets: OffsetSums = _NONE
    end_offsets: OffsetSums = _NONE


NOTHING_REPORTED = TaskOffsets()


def with_report(
    seen: Mapping[str, TaskOffsets],
    member_id: str,
    members: Collection[str],
    offsets: Iterable[ReportedOffset] | None,
    end_offsets: Iterable[ReportedOffset] | None,
) -> Mapping[str, TaskOffsets]:
    """Return the reports by member id, after one more; None is not reported. INVALID_REQUEST for a task named twice.

    Reports of those that are no members any more are left out.
    """
    if offsets is None and end_offsets is None:
        return seen
    found = {each: reported for each, reported in seen.items() if each in members}
    before = found.get(member_id, NOTHING_REPORTED)
    found[member_id] = TaskOffsets(
        before.offsets if offsets is None else _by_task(offsets),
        before.end_offsets if end_offsets is None else _by_task(end_offsets),
    )
    return found


def _by_task(reported: Iterable[ReportedOffset]) -> OffsetSums:
    found: dict[str, dict[int, int]] = {}
    for each in reported:
        of_subtopology = found.setdefault(each.subtopology_id, {})
        if each.partition in of_subtopology:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"Task offsets contain a duplicate entry for subtopology {each.subtopology_id} and partition "
                f"{each.partition}.",
            )
        of_subtopology[each.partition] = each.offset_sum
    return found
