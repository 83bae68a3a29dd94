"""All planted bugs, by name."""

from __future__ import annotations

from tests.simulation.planted import connections, groups, nodes, records, topics, transactions
from tests.simulation.planted.planting import Bug

_ALL = records.BUGS, transactions.BUGS, topics.BUGS, groups.BUGS, connections.BUGS, nodes.BUGS
BUGS: dict[str, Bug] = {bug.name: bug for bugs in _ALL for bug in bugs}
