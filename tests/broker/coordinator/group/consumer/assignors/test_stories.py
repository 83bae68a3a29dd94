"""The golden stories of tests/golden/assignors: our assignors must tell each one as it is written, as Kafka's do."""

from pathlib import Path

import pytest

from tests.support.stories.assignor import Story
from tests.support.stories.golden import comes_out_as_written
from tests.support.worlds.assigned_group import AssignedGroup

STORIES = sorted((Path(__file__).parents[5] / "golden" / "assignors").glob("*.txt"))


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_story_comes_out_as_it_is_written(path: Path, request: pytest.FixtureRequest) -> None:
    comes_out_as_written(path, Story(AssignedGroup.assign).run, request.config)


def test_there_are_stories() -> None:
    assert len(STORIES) >= 8
