"""All planted bugs, by name."""

from __future__ import annotations

from tests.simulation.planted import connections, groups, records, topics, transactions
from tests.simulation.planted.planting import Bug

BUGS: dict[str, Bug] = {
    bug.name: bug for bug in (*records.BUGS, *transactions.BUGS, *topics.BUGS, *groups.BUGS, *connections.BUGS)
}
