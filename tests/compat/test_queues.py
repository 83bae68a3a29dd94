"""Share groups (KIP-932): the programs of docs/queues.md with the stock Java client, and franz-go's own tests."""

import pytest

from tests.compat.franz_go import run_franz_go_test
from tests.support.clients.java import run_program
from tests.support.processes.server import ROOT, Server

FIRST_DELIVERIES = [f"job {number}, delivery 1: {'release' if number == 3 else 'accept'}" for number in range(10)]


def test_a_job_that_fails_is_delivered_again_until_it_is_rejected(server: Server) -> None:
    assert run_program(ROOT / "examples" / "java" / "Queue.java", server.address).splitlines() == [
        *FIRST_DELIVERIES,
        "job 3, delivery 2: release",
        "job 3, delivery 3: reject",
        "workers: Empty",
        "jobs-0: lag 0",
        "groups left: []",
    ]


@pytest.mark.parametrize("name", ["TestShareGroupETL", "TestShareGroupAckOnClose", "TestShareGroupOffsetsAdmin"])
def test_franz_gos_tests_of_share_groups_pass(server: Server, name: str) -> None:
    run_franz_go_test(name, server, records=3_000)
