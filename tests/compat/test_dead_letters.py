"""Dead-letter queues (KIP-1191): the program of docs/queues.md with the stock Java client, alone on its broker."""

from tests.support.clients.java import run_program
from tests.support.processes.server import ROOT, Server


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
