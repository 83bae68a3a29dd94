"""The golden stories of tests/golden/catalogue: each one is played and must come out as it is written."""

from pathlib import Path

import pytest

from tests.support.stories.catalogue import Story

STORIES = sorted((Path(__file__).parents[2] / "golden" / "catalogue").glob("*.txt"))


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_story_comes_out_as_it_is_written(path: Path, request: pytest.FixtureRequest) -> None:
    told = Story().run(path.read_text())
    if request.config.getoption("--rewrite", default=False):
        path.write_text(told)
    assert told == path.read_text()


def test_there_are_stories() -> None:
    assert len(STORIES) >= 7
