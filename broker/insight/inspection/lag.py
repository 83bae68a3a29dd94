"""A group's lag in the partitions it reads, for either isolation level."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.insight.inspection.logs import ends

if TYPE_CHECKING:
    from barnabas.broker.insight.inspection.groups import Committed
    from barnabas.broker.services import Services


class Lag(NamedTuple):
    """The number of offsets between a group's committed offset and the end for its readers."""

    read_uncommitted: int
    """To the high watermark; negative if the group committed an offset beyond it."""
    read_committed: int
    """To the last stable offset; 0 if the group is beyond it, as a group that reads uncommitted records may be."""


def lag(services: Services, committed: Committed) -> Lag | None:
    """Return the lag on one partition; None if its end is unknown without opening the log, or if it is deleted.

    For a log that is not open the high watermark is used as the last stable offset: a transaction that was open at the
    shutdown holds records back only from the first use of the log on. Inspection does not open logs.
    """
    found = ends(services, committed.topic, committed.partition)
    if found is None:
        return None
    end, stable = found
    to_end = end - committed.offset
    return Lag(to_end, max(0, to_end if stable is None else stable - committed.offset))
