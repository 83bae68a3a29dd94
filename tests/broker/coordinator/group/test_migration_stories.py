"""The golden stories of tests/golden/migration: each one is played and must come out as it is written."""

from pathlib import Path

import pytest

from barnabas.broker.coordinator import consumer_groups
from tests.support.stories.golden import comes_out_as_written
from tests.support.stories.migration import MigrationStory

STORIES = sorted((Path(__file__).parents[3] / "golden" / "migration").glob("*.txt"))


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_story_comes_out_as_it_is_written(path: Path, request: pytest.FixtureRequest) -> None:
    comes_out_as_written(path, MigrationStory().run, request.config)


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_it_is_the_same_where_all_records_are_prepared(
    path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer_groups, "RECORDS_AT_ONCE", 0)
    comes_out_as_written(path, MigrationStory().run, request.config)


def test_there_are_stories() -> None:
    assert len(STORIES) >= 8
