"""The kinds of events: a table, and nothing else. Each has a name, and says what happened and
which facts come with it.

A kind is told where it happens, by exactly one part of the broker. Those at which a test may stop or end the broker say
so: at some of them nothing can be held up, since what follows is one step with what came before.
"""

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


TRANSACTION_PREPARED = Kind(
    "transaction.prepared",
    "the end of a transaction is decided and in the log; no marker is written yet",
    ("transactional_id", "producer_id", "producer_epoch", "is_commit", "partitions"),
    may_crash=True,
    may_pause=True,
)

FAULT_CHANGED = Kind("fault.changed", "a fault was armed, released or disarmed", ("fault", "change"))
FAULT_FIRED = Kind(
    "fault.fired",
    "an armed fault did what it does: to a request, at a point or to the disk",
    ("fault", "does", "api", "node", "client_id", "connection", "point", "disk", "topic", "partition"),
)

KINDS: dict[str, Kind] = {kind.name: kind for kind in (TRANSACTION_PREPARED, FAULT_CHANGED, FAULT_FIRED)}
"""All of them, by name, in the order in which the documentation lists them."""
