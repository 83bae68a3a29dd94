"""What a reset of a group's offsets does, for the command line and for the console. Pure.

A group with members is not reset: they would go on where they are, and commit over it.
"""

from __future__ import annotations

from barnabas.protocol.errors import ErrorCode, KafkaError


def nearest_offset(goal: int, first: int, after: int) -> int:
    """Return the offset of the log that is nearest to the goal. after: the log's end."""
    return min(max(goal, first), after)


def offset_since(found: int, after: int) -> int:
    """Return the first offset at or after a time, as ListOffsets found it; the log's end if it found none."""
    return after if found < 0 else found


def has_members(group: str, state: str, members_count: int) -> KafkaError:
    """Return the refusal of a reset while the group has members."""
    return KafkaError(
        ErrorCode.NON_EMPTY_GROUP,
        f"group {group!r} is {state} with {members_count} member{'' if members_count == 1 else 's'}: "
        "stop them before its offsets are changed",
    )
