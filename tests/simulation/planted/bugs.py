"""All planted bugs, by name."""

from __future__ import annotations

from tests.simulation.planted import groups, records, sink, topics, transactions
from tests.simulation.planted.planting import Bug

_ALL = (*records.BUGS, *transactions.BUGS, *topics.BUGS, *groups.BUGS, *sink.BUGS)
BUGS: dict[str, Bug] = {bug.name: bug for bug in _ALL}
