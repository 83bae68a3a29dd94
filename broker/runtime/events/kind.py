"""What a kind of events is: a name, what happened, and the names of the facts that come with it."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """One kind of event. facts: names of what is told with it."""

    name: str
    what: str
    facts: tuple[str, ...]
    may_crash: bool = False
    """Whether it is a step at which a test may have the broker killed."""
    may_pause: bool = False
    """Whether it is a step at which what goes on may be held up until a test lets it go on."""
