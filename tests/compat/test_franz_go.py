"""franz-go's own test of groups: a chain of consumer groups whose members come and go, under every balancer it has."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from tests.support.go import franz_go_tests
from tests.support.server import Server

TIMEOUT_S = 300


@pytest.mark.parametrize("records", [5_000, pytest.param(20_000, marks=pytest.mark.long)])
def test_records_pass_a_chain_of_groups_each_once_and_in_order(server: Server, records: int) -> None:
    passed = run_franz_go_test("TestGroupETL", server, records)
    assert {"range", "cooperative-sticky", "cooperative-sticky/static"} <= passed


def run_franz_go_test(name: str, server: Server, records: int) -> set[str]:
    """The names of the parts that passed; those for protocols that the broker does not offer skip themselves."""
    settings = {"KGO_SEEDS": server.address, "KGO_TEST_RF": "1", "KGO_TEST_RECORDS": str(records)}
    command = [str(franz_go_tests()), "-test.v", "-test.run", f"^{name}$", "-test.timeout", f"{TIMEOUT_S}s"]
    done = subprocess.run(
        command, env=os.environ | settings | {"KGO_LOG_LEVEL": "none"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{name}:\n{done.stdout[-8000:]}\n{done.stderr[-4000:]}"
    return set(re.findall(rf"--- PASS: {name}/(\S+)", done.stdout))
