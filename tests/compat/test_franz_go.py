"""franz-go's own test of groups: a chain of consumer groups whose members come and go, under every balancer it has."""

import pytest

from tests.compat.franz_go import run_franz_go_test
from tests.support.processes.server import Server


@pytest.mark.parametrize("records", [5_000, pytest.param(20_000, marks=pytest.mark.long)])
def test_records_pass_a_chain_of_groups_each_once_and_in_order(server: Server, records: int) -> None:
    passed = run_franz_go_test("TestGroupETL", server, records)
    assert {"range", "cooperative-sticky", "cooperative-sticky/static"} <= passed
