"""What kafkajs does when a fault meets it: the scenarios are played by ../js/under_faults.mjs, in one process."""

from tests.compat.under_faults.program import Program
from tests.support.clients.npm import JS, node_of

PROGRAM = Program(lambda: [node_of(JS), str(JS / "under_faults.mjs")])
SCENARIOS = PROGRAM.scenarios()
