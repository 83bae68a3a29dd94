"""The states of a classic group, and the meaning of each event in each of them.

              first member                     all joined                       assignment stored
    Empty ───────────────► PreparingRebalance ────────────► CompletingRebalance ────────────────► Stable
      ▲ │                     │   ▲   ▲                            │                                │
      │ │   no members left   │   │   └── join, leave, expiry ─────┘                                │
      └─┼─────────────────────┘   └────────── join, leave, expiry, leader rejoins ──────────────────┘
        │ deleted, expired
        ▼
      Dead

Only `Group` records of a finished generation are durable: after a crash a group in PreparingRebalance or
CompletingRebalance is restored in its previous state (Stable or Empty).

Four kinds of meaning: `Go` (the group moves), `Proceed` (the request is served and the group stays), `Say` (the
client's mistake, or a state it has to wait for), and `Never` (our own bug: asserted, never a reply). The table is
total; a test compares its keys with ClassicGroupState x ClassicGroupEvent.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from barnabas.broker.coordinator.runtime.transitions import Go, Meaning, Never, Proceed, Say
from barnabas.protocol.errors import ErrorCode


class ClassicGroupState(Enum):
    """The states of a classic group. The value is the name that ListGroups and DescribeGroups use."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class ClassicGroupEvent(Enum):
    """An event that a group can receive."""

    MEMBER_ADDED = "a new member joins"
    MEMBER_REJOINED = "a follower rejoins with the same protocols"
    LEADER_REJOINED = "the leader rejoins with the same protocols"
    MEMBER_CHANGED = "a member rejoins with other protocols"
    STATIC_REPLACED = "a static member rejoins with a new member id; the vote does not change"
    STATIC_CHANGED = "a static member rejoins with a new member id and the vote changes"
    MEMBER_REMOVED = "a member leaves, or its session ends"
    ALL_JOINED = "the join phase ends with members"
    NONE_JOINED = "the join phase ends without members"
    SYNC = "a member requests its assignment"
    ASSIGNED = "the leader's assignment is stored"
    ASSIGNMENT_LOST = "the leader's assignment could not be stored"
    SYNC_OVERDUE = "members did not request their assignment in time"
    HEARTBEAT = "a member sends a heartbeat"
    MEMBER_COMMIT = "a member commits offsets"
    OVERSIZED = "a group was loaded with more members than are allowed"
    DELETED = "the group is deleted, or expired with its last offset"


Cell: TypeAlias = Meaning[ClassicGroupState]

_PREPARE, _COMPLETE = Go(ClassicGroupState.PREPARING_REBALANCE), Go(ClassicGroupState.COMPLETING_REBALANCE)
_SERVE = Proceed()
_UNKNOWN = Say(ErrorCode.UNKNOWN_MEMBER_ID)
_REBALANCING = Say(ErrorCode.REBALANCE_IN_PROGRESS)
_NOT_EMPTY = Say(ErrorCode.NON_EMPTY_GROUP)
_GONE = Say(ErrorCode.COORDINATOR_NOT_AVAILABLE)
_NO_MEMBERS = Never("an empty group has no members")
_JOINING = Never("a join phase only runs in PreparingRebalance")
_SYNCING = Never("assignments are only stored in CompletingRebalance")
_RUNNING = Never("the timer is cancelled when the group leaves this phase")
_BURIED = Never("a dead group is removed with its members")

_ROWS: dict[ClassicGroupEvent, tuple[Cell, Cell, Cell, Cell, Cell]] = {
    #                       Empty        Preparing     Completing   Stable       Dead
    ClassicGroupEvent.MEMBER_ADDED:    (_PREPARE,    _SERVE,       _PREPARE,    _PREPARE,    _GONE),
    ClassicGroupEvent.MEMBER_REJOINED: (_UNKNOWN,    _SERVE,       _SERVE,      _SERVE,      _GONE),
    ClassicGroupEvent.LEADER_REJOINED: (_UNKNOWN,    _SERVE,       _SERVE,      _PREPARE,    _GONE),
    ClassicGroupEvent.MEMBER_CHANGED:  (_UNKNOWN,    _SERVE,       _PREPARE,    _PREPARE,    _GONE),
    ClassicGroupEvent.STATIC_REPLACED: (_NO_MEMBERS, _SERVE,       _PREPARE,    _SERVE,      _GONE),
    ClassicGroupEvent.STATIC_CHANGED:  (_NO_MEMBERS, _SERVE,       _PREPARE,    _PREPARE,    _GONE),
    ClassicGroupEvent.MEMBER_REMOVED:  (_SERVE,      _SERVE,       _PREPARE,    _PREPARE,    _BURIED),
    ClassicGroupEvent.ALL_JOINED:      (_JOINING,    _COMPLETE,    _JOINING,    _JOINING,    _BURIED),
    ClassicGroupEvent.NONE_JOINED:     (_JOINING,    Go(ClassicGroupState.EMPTY), _JOINING, _JOINING,    _BURIED),
    ClassicGroupEvent.SYNC:            (_UNKNOWN,    _REBALANCING, _SERVE,      _SERVE,      _GONE),
    ClassicGroupEvent.ASSIGNED:        (_SYNCING,    _SYNCING,     Go(ClassicGroupState.STABLE), _SYNCING, _BURIED),
    ClassicGroupEvent.ASSIGNMENT_LOST: (_SYNCING,    _SYNCING,     _PREPARE,    _SYNCING,    _BURIED),
    ClassicGroupEvent.SYNC_OVERDUE:    (_RUNNING,    _RUNNING,     _PREPARE,    _PREPARE,    _BURIED),
    ClassicGroupEvent.HEARTBEAT:       (_UNKNOWN,    _REBALANCING, _SERVE,      _SERVE,      _GONE),
    ClassicGroupEvent.MEMBER_COMMIT:   (_SERVE,      _SERVE,       _REBALANCING, _SERVE,     _GONE),
    ClassicGroupEvent.OVERSIZED:       (_NO_MEMBERS, _NO_MEMBERS,  _NO_MEMBERS, _PREPARE,    _BURIED),
    ClassicGroupEvent.DELETED:         (Go(ClassicGroupState.DEAD), _NOT_EMPTY, _NOT_EMPTY, _NOT_EMPTY,
    Say(ErrorCode.GROUP_ID_NOT_FOUND)),
}  # fmt: skip  # a table

TABLE: dict[tuple[ClassicGroupState, ClassicGroupEvent], Cell] = {
    (state, event): meaning
    for event, row in _ROWS.items()
    for state, meaning in zip(ClassicGroupState, row, strict=True)
}


def on(state: ClassicGroupState, event: ClassicGroupEvent) -> Go[ClassicGroupState] | Proceed | Say:
    """Return the meaning of `event` in `state`. Raises AssertionError for an impossible combination."""
    meaning = TABLE[state, event]
    assert not isinstance(meaning, Never), f"{event.name} in {state.value}: {meaning.why}"
    return meaning
