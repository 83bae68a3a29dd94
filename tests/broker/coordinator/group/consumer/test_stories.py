"""The golden stories of tests/golden/consumer_group: each one is played and must come out as it is written."""

from pathlib import Path

import pytest

from tests.support.stories.consumer_group import ConsumerStory
from tests.support.stories.golden import comes_out_as_written

STORIES = sorted((Path(__file__).parents[4] / "golden" / "consumer_group").glob("*.txt"))


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_story_comes_out_as_it_is_written(path: Path, request: pytest.FixtureRequest) -> None:
    comes_out_as_written(path, ConsumerStory().run, request.config)


def test_there_are_stories() -> None:
    assert len(STORIES) >= 12
