"""What the Java client does when a fault meets it: the scenarios are played by ../java/UnderFaults.java, in one JVM."""

from pathlib import Path

from tests.compat.under_faults.program import Program
from tests.support.clients.java import program_command
from tests.support.kafka.jars import KAFKA_VERSION

_SOURCE = Path(__file__).resolve().parents[1] / "java" / "UnderFaults.java"

PROGRAM = Program(lambda: program_command(_SOURCE, client_version=KAFKA_VERSION))
SCENARIOS = PROGRAM.scenarios()
