"""The possible meanings of an event in a state: the four kinds of cell in a coordinator's table of states.

Knows neither groups nor transactions; `group/decisions/classic/states.py` and `transaction/decisions/states.py` fill
the tables. A decision reads its own table, and never guesses an entry that is not in it.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from barnabas.protocol.errors import ErrorCode

S = TypeVar("S")


class Go(NamedTuple, Generic[S]):
    """The entity moves to this state, maybe to the same one."""

    state: S


class Proceed(NamedTuple):
    """The request is served in the current state."""


class Say(NamedTuple):
    """The reply to the request is this code; nothing changes."""

    code: ErrorCode


class Never(NamedTuple):
    """An impossible event; if it occurs, it is our own bug."""

    why: str


Meaning = Go[S] | Proceed | Say | Never
