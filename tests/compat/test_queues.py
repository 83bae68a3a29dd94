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


def _letter(offset: int, deliveries: int, message: str) -> list[str]:
    facts = {
        "topic": "jobs",
        "partition": 0,
        "offset": offset,
        "group": "workers",
        "delivery.count": deliveries,
        "message": message,
    }
    return [f"    __dlq.errors.{name}: {value}" for name, value in facts.items()]


def test_failed_jobs_become_dead_letters(server: Server) -> None:
    assert run_program(ROOT / "examples" / "java" / "DeadLetters.java", server.address).splitlines() == [
        "-- a job that is rejected, and one that always fails",
        "good, delivery 1: accept",
        "bad, delivery 1: reject",
        "worn, delivery 1: release",
        *[f"worn, delivery {number}: release" for number in range(2, 6)],
        "dlq.jobs: key of bad = bad",
        *_letter(1, 1, "Offset rejected by client."),
        "dlq.jobs: key of worn = worn",
        *_letter(2, 5, "Offset delivery count exceeded the threshold."),
        "-- a topic that the broker creates, without copies",
        "bad, delivery 1: reject",
        "dlq.made: null = null",
        *_letter(3, 1, "Offset rejected by client."),
        "{errors.deadletterqueue.group.enable=true, message.timestamp.type=CreateTime}",
        "-- a topic that may have no dead letters",
        "bad, delivery 1: reject",
        "jobs-0: lag 0",
        "topics: [dlq.jobs, dlq.made, jobs]",
    ]


@pytest.mark.parametrize("name", ["TestShareGroupETL", "TestShareGroupAckOnClose", "TestShareGroupOffsetsAdmin"])
def test_franz_gos_tests_of_share_groups_pass(server: Server, name: str) -> None:
    run_franz_go_test(name, server, records=3_000)
