"""Bugs of what `why` says: sentences that are false, and such as are missing."""

from tests.simulation.planted.planting import Bug

BUGS = (
    Bug(
        "a lag that why does not see", "`why consumer` says of a group that is behind that it has read all there is."
    ).at("rules.consumer:_rank", "not each.lag", "each.lag is not None"),
    Bug("an aborted record called committed", "`why record` looks for no abort.").at(
        "_decided",
        "facts._replace(fate=Fate.ABORTED, marker=marker)",
        "facts._replace(fate=Fate.COMMITTED, marker=marker)",
    ),
)
