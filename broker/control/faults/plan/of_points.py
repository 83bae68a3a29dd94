"""Faults at named steps, read from JSON: which step, with which facts, and whether it allows the action. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barnabas.broker.control.faults.model import FaultRefused, PointAction, PointMatch
from barnabas.broker.control.faults.plan.names import partition_number, topic_pattern
from barnabas.broker.control.faults.plan.scalars import (
    boolean,
    flag,
    listed,
    object_of,
    one_of,
    shown,
    text,
    typo,
    whole_number,
)
from barnabas.broker.runtime.events import KINDS, EventKind
from barnabas.protocol.errors import ErrorCode

ACTIONS = ("crash", "pause", "error")
CODES = ("KAFKA_STORAGE_ERROR", "NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS", "MESSAGE_TOO_LARGE")
"""The errors with which an append to a log can fail."""
_NUMBER_MAX = (1 << 63) - 1
NUMBERS = {
    "base_offset": 0,
    "dead_letter_offset": 0,
    "dead_letter_partition": 0,
    "failed_count": 0,
    "generation": 0,
    "members_count": 0,
    "offset": 0,
    "partitions_count": 0,
    "position": 1,
    "producer_epoch": 0,
    "producer_id": 0,
    "records_count": 0,
    "topics_count": 0,
}
"""Facts that are numbers, and their minimum."""
FLAGS = ("is_commit",)
TEXTS = (
    "assignor",
    "dead_letter_topic",
    "delivery_states",
    "group",
    "leader_id",
    "member_id",
    "partitions",
    "protocol",
    "ranges",
    "state",
    "topics",
    "transactional_id",
    "type",
    "why",
)
_ONE_OF = {
    "state": ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "None"),
    "protocol": ("classic", "consumer"),
    "delivery_states": ("available", "acknowledged", "archiving", "archived"),
    "type": ("accept", "release", "reject", "renew", "gap"),
}


def points() -> dict[str, EventKind]:
    """Return the steps at which an action is possible, by name."""
    return {name: kind for name, kind in KINDS.items() if kind.actions}


def point_fault(
    match: Mapping[str, Any], do: Mapping[str, Any], known: Mapping[str, EventKind]
) -> tuple[PointMatch, PointAction]:
    """Read a fault at a point. Raises FaultRefused."""
    kind = known[one_of(match["point"], "a point", tuple(known))]
    facts = {name: value for name, value in match.items() if name != "point"}
    for name, value in facts.items():
        if name not in kind.facts:
            raise FaultRefused(
                f"{typo(name, kind.facts)}{kind.name} has no fact {shown(name)}, but {listed(kind.facts)}"
            )
        _check(name, value)
    done = object_of(do, f"do at {kind.name}", kind.actions)
    if len(done) != 1:
        raise FaultRefused(f"a fault at {kind.name} has exactly one action: {' or '.join(kind.actions)}")
    ((name, value),) = done.items()
    matched = PointMatch(point=kind.name, facts=facts)
    if name == "error":
        return matched, PointAction(error=ErrorCode[one_of(value, f"the error of a write at {kind.name}", CODES)])
    flag(value, name)
    return matched, PointAction(crash=name == "crash", pause=name == "pause")


def _check(name: str, value: Any) -> None:
    """Raise FaultRefused for a value that the fact never has."""
    if name == "topic":
        topic_pattern(value)
    elif name == "partition":
        partition_number(value)
    elif name in NUMBERS:
        whole_number(value, name, NUMBERS[name], _NUMBER_MAX)
    elif name in FLAGS:
        boolean(value, name)
    elif name in _ONE_OF and "*" not in text(value, name):
        one_of(value, name, _ONE_OF[name])
    else:
        text(value, name)
