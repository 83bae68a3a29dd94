"""Runs of some seeds in the form of the test run: the compiled one, too, which no other seeds see.

What differs there is how long objects live: mypyc makes cycles of references that Python does not.
"""

from tests.simulation.running.many import findings_of

SEEDS = range(201, 213)


def test_nothing_is_found_in_either_form() -> None:
    found = findings_of(SEEDS)
    assert not found, "\n".join(found)
