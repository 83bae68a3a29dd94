"""The states of a member of a consumer group (KIP-848), and their transitions. Pure: a table.

The names are those of Kafka's Java client. It has two more: PREPARE_LEAVING, because here partitions are revoked and
the group is left in one step; and STALE, because here no heartbeat is sent between polls, so that a member that is not
polled is fenced by the coordinator instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from types import MappingProxyType


class ConsumerMemberState(Enum):
    """The state of a member."""

    UNSUBSCRIBED = "in no group"
    JOINING = "asks to join, with epoch 0"
    RECONCILING = "has other assigned partitions than it reads"
    ACKNOWLEDGING = "reads its assigned partitions, and will acknowledge them next"
    STABLE = "reads its assigned partitions, and the coordinator knows it"
    LEAVING = "leaves the group, with epoch -1, or -2 if it is static"
    FENCED = "is no longer known to the group, and must revoke its partitions"
    FATAL = "was refused for a reason that a new join does not change"


class MemberEvent(Enum):
    """An event of a member."""

    SUBSCRIBED = auto()
    ASSIGNED = auto()
    """A response after which the read partitions differ from the assigned ones."""
    AGREED = auto()
    """A response after which there is nothing to change."""
    RECONCILED = auto()
    """The member reads its assignment, as far as the topics are known."""
    WAS_FENCED = auto()
    RELEASED = auto()
    """The member reads nothing any more."""
    FAILED = auto()
    LEFT = auto()
    CLOSED = auto()


_S, _E = ConsumerMemberState, MemberEvent

_ANSWERS = {_E.ASSIGNED: _S.RECONCILING, _E.AGREED: _S.STABLE}
_ENDS = {_E.WAS_FENCED: _S.FENCED, _E.FAILED: _S.FATAL, _E.CLOSED: _S.LEAVING}

TRANSITIONS: Mapping[ConsumerMemberState, Mapping[MemberEvent, ConsumerMemberState]] = MappingProxyType(
    {
        _S.UNSUBSCRIBED: {_E.SUBSCRIBED: _S.JOINING},
        _S.JOINING: {**_ANSWERS, **_ENDS},
        _S.RECONCILING: {_E.RECONCILED: _S.ACKNOWLEDGING, **_ANSWERS, **_ENDS},
        _S.ACKNOWLEDGING: {**_ANSWERS, **_ENDS},
        _S.STABLE: {**_ANSWERS, **_ENDS},
        _S.LEAVING: {_E.LEFT: _S.UNSUBSCRIBED},
        _S.FENCED: {_E.RELEASED: _S.JOINING, _E.CLOSED: _S.UNSUBSCRIBED},
        _S.FATAL: {},
    }
)

IN_GROUP = frozenset({ConsumerMemberState.RECONCILING, ConsumerMemberState.ACKNOWLEDGING, ConsumerMemberState.STABLE})
"""The states in which a member may read and commit."""


def next_state(state: ConsumerMemberState, event: MemberEvent) -> ConsumerMemberState:
    """Return the state after an event. AssertionError if it cannot happen there."""
    following = TRANSITIONS[state].get(event)
    assert following is not None, f"{event.name} cannot happen in {state.name}"
    return following
