"""The golden stories of groups, their assignors and transactions: each one is played and must come out as written."""

from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.broker.coordinator.group import group_decisions
from tests.support.source_tree import ROOT
from tests.support.stories import assignor, consumer_group, golden, group, migration, transaction
from tests.support.worlds.assigned_group import AssignedGroup

Tell = Callable[[str], str]

FOLDERS: dict[str, tuple[int, Callable[[], Tell]]] = {
    "tests/golden/assignors/": (8, lambda: assignor.Story(AssignedGroup.assign).run),  # as Kafka's assignors tell them
    "tests/golden/consumer_group/": (12, lambda: consumer_group.ConsumerStory().run),
    "tests/golden/group/": (12, lambda: group.Story().run),
    "tests/golden/migration/": (8, lambda: migration.MigrationStory().run),
    "tests/golden/transaction/": (50, lambda: transaction.Story().run),
}
"""How many stories a folder has at least, and who tells them."""


def stories(folder: str) -> list[Path]:
    return sorted((ROOT / folder).glob("*.txt"))


@pytest.mark.parametrize(
    ("path", "teller"),
    [
        pytest.param(path, teller, id=f"{path.parent.name}-{path.stem}")
        for folder, (_, teller) in FOLDERS.items()
        for path in stories(folder)
    ],
)
def test_the_story_comes_out_as_it_is_written(
    path: Path, teller: Callable[[], Tell], request: pytest.FixtureRequest
) -> None:
    golden.comes_out_as_written(path, teller(), request.config)


@pytest.mark.parametrize("path", stories("tests/golden/migration/"), ids=lambda path: path.stem)
def test_it_is_the_same_where_all_records_are_prepared(
    path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_decisions, "RECORDS_AT_ONCE", 0)
    golden.comes_out_as_written(path, migration.MigrationStory().run, request.config)


@pytest.mark.parametrize("folder", FOLDERS)
def test_there_are_stories(folder: str) -> None:
    assert len(stories(folder)) >= FOLDERS[folder][0]
