"""How far a group is behind the partitions it reads, for either isolation level."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.insight.inspection.logs import ends

if TYPE_CHECKING:
    from barnabas.broker.insight.inspection.groups import Committed
    from barnabas.broker.services import Services


class Lag(NamedTuple):
    """How many offsets lie between what a group committed and where its readers can get."""

    read_uncommitted: int
    """To the high watermark; negative when the group committed an offset beyond it."""
    read_committed: int
    """To the last stable offset; 0 when the group is beyond it, as one that reads uncommitted records may be."""


def lag(services: Services, committed: Committed) -> Lag | None:
    """The lag on one partition; None where its end is not known without opening it, and where it is deleted.

    For a log that is not open the high watermark stands for the last stable offset: what a transaction that was open at
    the stop holds back is known from the first use of the log on. Looking does not open logs.
    """
    found = ends(services, committed.topic, committed.partition)
    if found is None:
        return None
    end, stable = found
    to_end = end - committed.offset
    return Lag(to_end, max(0, to_end if stable is None else stable - committed.offset))
