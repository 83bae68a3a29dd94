"""A few random lives of a partition; many more are in tests/crash."""

import pytest

from tests.support.stories.crash import CrashStory


@pytest.mark.parametrize("seed", range(30))
def test_no_accident_loses_what_was_promised(seed: int) -> None:
    CrashStory(seed).live(60)
