"""A kind of event: a name, what happened, and the names of its facts."""

from __future__ import annotations

from typing import NamedTuple


class EventKind(NamedTuple):
    """One kind of event. facts: the names of the facts of such an event."""

    name: str
    what: str
    facts: tuple[str, ...]
    may_crash: bool = False
    """Whether it is a step at which a test may kill the broker."""
    may_pause: bool = False
    """Whether it is a step at which a test may pause the work, and continue it later."""
    may_fail: bool = False
    """Whether it is a step before a write that a test may have fail, before anything is written."""

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of what a test may do at this step: none if it is only reported."""
        may = (("crash", self.may_crash), ("pause", self.may_pause), ("error", self.may_fail))
        return tuple([name for name, is_so in may if is_so])
