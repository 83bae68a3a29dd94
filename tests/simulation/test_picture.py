"""A run that stands still tells who waits for whom."""

from tests.simulation.running.many import run_many

SEED_OF_SYNCS = 20  # whose broker answers when the disk has what was written


def test_a_run_that_stands_still_shows_who_waits_for_whom() -> None:
    (result,) = run_many([SEED_OF_SYNCS], planted="sync never reported", processes=1)
    (finding,) = result.findings
    assert finding.rule == "liveness"
    client, broker = "waits for port 9092: ", "a request waits for its answer"
    lines = finding.text.splitlines()
    assert lines[0].endswith("; who waits for whom:")
    assert any(client in line and " asked at " in line for line in lines)
    assert any(line.startswith("  node 1: ") and line.endswith(broker) for line in lines)
    assert any(" < " in line for line in lines), "no task is shown with what it waits for"
