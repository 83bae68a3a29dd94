"""Share groups (KIP-932): the program of docs/queues.md with the stock Java client."""

from tests.support.clients.java import run_program
from tests.support.processes.server import ROOT, Server

SETTINGS = {"barnabas.preview.groups.enable": "true"}
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
