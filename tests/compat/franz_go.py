"""The tests that franz-go brings along, run against a server."""

import os
import re
import subprocess

from tests.support.clients.go import franz_go_tests
from tests.support.processes.server import Server
from tests.support.waiting import PATIENCE_S


def run_franz_go_test(name: str, server: Server, records: int) -> set[str]:
    """The names of the parts that passed; those for protocols that the broker does not offer skip themselves."""
    settings = {"KGO_SEEDS": server.address, "KGO_TEST_RF": "1", "KGO_TEST_RECORDS": str(records)}
    command = [str(franz_go_tests()), "-test.v", "-test.run", f"^{name}$", "-test.timeout", f"{PATIENCE_S}s"]
    done = subprocess.run(
        command, env=os.environ | settings | {"KGO_LOG_LEVEL": "none"}, capture_output=True, text=True, check=False
    )
    has_passed = done.returncode == 0 and f"--- PASS: {name} " in done.stdout  # a skipped test returns 0, too
    assert has_passed, f"{name}:\n{done.stdout[-8000:]}\n{done.stderr[-4000:]}"
    return set(re.findall(rf"--- PASS: {name}/(\S+)", done.stdout))
