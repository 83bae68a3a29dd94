"""Bugs of `why`: false and missing findings."""

from tests.simulation.planted.planting import Bug

BUGS = (
    Bug("lag not found by why", "`why consumer` says that a group that is behind has read all records.").at(
        "rules.consumer:_rank", "not each.lag", "each.lag is not None"
    ),
    Bug("aborted record reported as committed", "`why record` does not look for an abort marker.").at(
        "_decided",
        "facts._replace(fate=Fate.ABORTED, marker=marker)",
        "facts._replace(fate=Fate.COMMITTED, marker=marker)",
    ),
)
