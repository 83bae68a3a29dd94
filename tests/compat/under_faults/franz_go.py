"""What franz-go does when a fault meets it: the scenarios are played by ../go/under_faults, in one process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.compat.under_faults.program import Program
from tests.support.clients.go import under_faults

PROGRAM = Program(lambda: [str(under_faults())])
SCENARIOS: dict[str, Callable[[str], str]] = {
    api: partial(PROGRAM.play, scenario)
    for api, scenario in {
        "Produce": "produce",
        "Fetch": "fetch",
        "InitProducerId": "initProducerId",
        "AddPartitionsToTxn": "transaction",
        "TxnOffsetCommit": "transaction",
        "EndTxn": "transaction",
        "JoinGroup": "joinGroup",
        "OffsetCommit": "offsetCommit",
    }.items()
}
