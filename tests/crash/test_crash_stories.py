"""Deep seeds of the random life of a partition. A failure names its seed, `CrashStory(seed).live(80)` repeats it."""

import pytest

from tests.support.stories.crash import CrashStory

SEEDS = 800
CHUNK = 40
FIRSTS = range(1000, 1000 + SEEDS, CHUNK)


@pytest.mark.parametrize(
    "first", [*(pytest.param(first, marks=pytest.mark.both_forms) for first in FIRSTS[:4]), *FIRSTS[4:]]
)
def test_no_accident_loses_what_was_promised(first: int) -> None:
    for seed in range(first, first + CHUNK):
        try:
            CrashStory(seed).live(80)
        except Exception as failure:
            raise AssertionError(f"seed {seed}") from failure
