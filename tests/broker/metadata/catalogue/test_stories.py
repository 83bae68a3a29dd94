"""The golden stories of tests/golden/catalogue: each one is played and must come out as it is written."""

from pathlib import Path

import pytest

from tests.support.stories.catalogue import Story
from tests.support.stories.golden import comes_out_as_written

STORIES = sorted((Path(__file__).parents[3] / "golden" / "catalogue").glob("*.txt"))


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_story_comes_out_as_it_is_written(path: Path, request: pytest.FixtureRequest) -> None:
    comes_out_as_written(path, Story().run, request.config)


def test_there_are_stories() -> None:
    assert len(STORIES) >= 7
