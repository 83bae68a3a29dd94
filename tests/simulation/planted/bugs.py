"""All planted bugs, by name."""

from tests.simulation.planted import (
    connections,
    disk,
    logs,
    nodes,
    records,
    schemas,
    security,
    sink,
    topics,
    transactions,
    whys,
)
from tests.simulation.planted.groups import consuming, dead_letters, shares, streams
from tests.simulation.planted.planting import Bug

_PARTS = (
    records,
    transactions,
    topics,
    consuming,
    shares,
    dead_letters,
    streams,
    disk,
    logs,
    sink,
    connections,
    nodes,
    security,
    schemas,
    whys,
)
BUGS: dict[str, Bug] = {bug.name: bug for part in _PARTS for bug in part.BUGS}
