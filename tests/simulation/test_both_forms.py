"""Runs of some seeds in the form of the test run: the compiled one, too, which no other seeds see.

What differs there is how long objects live: mypyc makes cycles of references that Python does not.
"""

from tests.simulation.running.many import run_many

SEEDS = range(201, 213)


def test_nothing_is_found_in_either_form() -> None:
    found = [f"seed {result.seed}: {result.findings[0]}" for result in run_many(SEEDS) if result.findings]
    assert not found, "\n".join(found)
