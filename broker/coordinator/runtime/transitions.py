"""What an event may mean in a state: the four kinds of cell in a coordinator's table of states.

Knows neither groups nor transactions; `group/states.py` and `transaction/states.py` fill the tables. A decision asks
its own table, and never guesses what is not in it.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from barnabas.protocol.errors import ErrorCode

S = TypeVar("S")


class Go(NamedTuple, Generic[S]):
    """The entity moves to this state, maybe to where it is."""

    state: S


class Proceed(NamedTuple):
    """The request is served in the present state."""


class Say(NamedTuple):
    """The request is answered with this code; nothing changes."""

    code: ErrorCode


class Never(NamedTuple):
    """This cannot happen; if it does, the mistake is ours."""

    why: str


Meaning = Go[S] | Proceed | Say | Never
