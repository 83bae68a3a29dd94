"""What franz-go does when a fault meets it: the scenarios are played by ../go/under_faults, in one process."""

from tests.compat.under_faults.program import Program
from tests.support.clients.go import under_faults

PROGRAM = Program(lambda: [str(under_faults())])
SCENARIOS = PROGRAM.scenarios()
