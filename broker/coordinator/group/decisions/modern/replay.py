"""The replay of the records that all modern groups have: of members, targets, and what members own now.

Each function applies key and value to a group, as an entry of a `ReplayTable`. Where the value is None, the record is a
tombstone; one for a member that does not exist changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Apply: TypeAlias = Callable[[Any, Any, Any], None]

_NO_EPOCH = -1


def replay_targets(group: Any, key: Any, value: Any) -> None:
    """Apply the record with the epoch of all targets."""
    group.assignment_epoch = _NO_EPOCH if value is None else value.assignment_epoch
    group.assignment_timestamp_ms = 0 if value is None else value.assignment_timestamp


def replay_target(target_of: Callable[[Any], Any]) -> Apply:
    """Return the replay of the record with a member's target, which `target_of` reads from the value."""

    def apply(group: Any, key: Any, value: Any) -> None:
        if value is None:
            group.targets.pop(key.member_id, None)
        else:
            group.targets[key.member_id] = target_of(value)

    return apply


def replay_member(new: Callable[[str], Any], member_of: Callable[[Any, Any], Any]) -> Apply:
    """Return the replay of the record with a member's own facts. `member_of`: the member after it, from the one before.

    `new` returns a member from its id, for the first record.
    """

    def apply(group: Any, key: Any, value: Any) -> None:
        before = group.members.get(key.member_id)
        if value is not None:
            group.put_member(member_of(value, before or new(key.member_id)))
        elif before is not None:
            group.remove_member(key.member_id)

    return apply


def replay_current(
    new: Callable[[str], Any], reconciled: Callable[[Any, Any], Any], nothing: Mapping[str, object]
) -> Apply:
    """Return the replay of the record with what a member owns now. `nothing`: its fields after a tombstone.

    `reconciled` returns the member after the record, from the one before.
    """

    def apply(group: Any, key: Any, value: Any) -> None:
        before = group.members.get(key.member_id)
        if value is not None:
            group.put_member(reconciled(value, before or new(key.member_id)))
        elif before is not None:
            group.put_member(before._replace(member_epoch=_NO_EPOCH, previous_member_epoch=_NO_EPOCH, **nothing))

    return apply
