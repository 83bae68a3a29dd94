"""All planted bugs, by name."""

from tests.simulation.planted import (
    connections,
    disk,
    groups,
    logs,
    nodes,
    records,
    security,
    sink,
    topics,
    transactions,
    whys,
)
from tests.simulation.planted.planting import Bug

_PARTS = (records, transactions, topics, groups, disk, logs, sink, connections, nodes, security, whys)
BUGS: dict[str, Bug] = {bug.name: bug for part in _PARTS for bug in part.BUGS}
