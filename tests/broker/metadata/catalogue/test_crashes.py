"""A power cut before any change of the disk: an answered change is there, another one whole or not at all."""

from collections.abc import Callable
from typing import Any

import pytest

from barnabas.broker.metadata.catalogue import Catalogue, NewPartitions, NewTopic
from barnabas.broker.metadata.catalogue.config_alterations import Alteration
from tests.support.files.memory_files import PowerCut, Survival
from tests.support.worlds.catalogue import CatalogueWorld, state_of

Change = Callable[[Catalogue], object]

CHANGES: tuple[Change, ...] = (
    lambda c: c.create_topics([NewTopic("a", 3, configs={"retention.ms": "1", "flush.ms": "2"}), NewTopic("b")]),
    lambda c: c.lead([("a", 0), ("a", 1), ("b", 0)]),
    lambda c: c.allocate_producer_ids(),
    lambda c: c.alter_configs(2, "a", [Alteration("retention.ms", 1, None), Alteration("segment.ms", 0, "9")]),
    lambda c: c.create_partitions([NewPartitions("a", 5), NewPartitions("b", 2)]),
    lambda c: c.delete_topics(["a", "b"]),
    lambda c: c.create_topic("a", 2),
    lambda c: c.close(),
)


def _states() -> list[dict[str, Any]]:
    """What the catalogue says before the first change and after each; ids and epochs as an undisturbed run has them."""
    world = CatalogueWorld()
    states = [_comparable(world.catalogue)]
    for change in CHANGES:
        change(world.catalogue)
        states.append(_comparable(world.catalogue))
    return states


def _comparable(catalogue: Catalogue) -> dict[str, Any]:
    return state_of(catalogue) | {"next_producer_id": catalogue._image.next_producer_id}


def _changes_of_a_whole_run() -> int:
    world = CatalogueWorld()
    for change in CHANGES:
        change(world.catalogue)
    return world.files.changes_made


@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("survival", ["nothing", "some", "everything"])
def test_a_power_cut_at_any_moment_leaves_whole_changes(survival: Survival, torn: bool) -> None:
    states = _states()
    first = CatalogueWorld().files.changes_made
    for cut in range(first, _changes_of_a_whole_run()):
        world = CatalogueWorld()
        answered = _run_until_power_cut(world, cut)
        found = _comparable(world.cut_power(survival, torn=torn))
        assert found in states[answered : answered + 2], f"power cut before change {cut}, {answered} answered"
        world.catalogue.create_topic("afterwards")
        assert "afterwards" in world.cut_power().topics


def _run_until_power_cut(world: CatalogueWorld, cut: int) -> int:
    """How many changes were answered before the power went."""
    world.files.cut_power_at(cut)
    for answered, change in enumerate(CHANGES):
        try:
            change(world.catalogue)
        except PowerCut:
            world.files.cut_power_at(None)
            return answered
    raise AssertionError(f"the power was never cut at {cut}")


@pytest.mark.parametrize("survival", ["nothing", "some", "everything"])
def test_a_power_cut_in_the_very_first_start_does_not_prevent_the_second(survival: Survival) -> None:
    first = CatalogueWorld(is_started=False).files.changes_made
    for cut in range(first, CatalogueWorld().files.changes_made):
        world = CatalogueWorld(seed=cut, is_started=False)
        world.files.cut_power_at(cut)
        with pytest.raises(PowerCut):
            world.start()
        world.files.cut_power_at(None)
        world.cut_power(survival)
        world.catalogue.create_topic("a")
        assert set(world.cut_power().topics) == {"a"}
