"""Snapshots while the broker runs: the log is short at any time, and what changes meanwhile is not lost."""

import errno

import pytest

from barnabas.broker.runtime.scheduler import Work
from tests.support.files.memory_files import PowerCut, Survival
from tests.support.worlds.catalogue import CatalogueWorld, state_of

AT_EVERY_CHANGE = {"metadata.log.max.record.bytes.between.snapshots": "1"}


@pytest.fixture
def world() -> CatalogueWorld:
    return CatalogueWorld(settings=AT_EVERY_CHANGE)


class Running:
    """A broker's part in it: `go_on` does what is due of a snapshot, a step at a time."""

    def __init__(self, world: CatalogueWorld) -> None:
        self.world = world
        self._steps: list[Work[None]] = []
        self._failure: Exception | None = None
        world.catalogue.journal.keep_short(lambda begin: self._steps.append(begin()))

    @property
    def is_due(self) -> bool:
        return bool(self._steps)

    def go_on(self, steps_max: int = 1_000) -> int:
        """Do so many steps, or all there are; how many it were. What is for a thread is done at once."""
        for done in range(steps_max):
            if not self._steps:
                return done
            failure, self._failure = self._failure, None
            try:
                what = next(self._steps[0]) if failure is None else self._steps[0].throw(failure)
            except StopIteration:
                del self._steps[0]
            else:
                if callable(what):
                    try:
                        what()
                    except Exception as error:  # the next step gets it
                        self._failure = error
        return steps_max


def test_a_log_that_grows_is_replaced_by_a_snapshot_while_the_broker_runs(world: CatalogueWorld) -> None:
    running = Running(world)
    world.fill()
    end_offset = world.catalogue.features_epoch
    assert running.go_on() > 0
    snapshot, segment = world.files_of_log()
    assert (snapshot[:20], segment) == (f"{end_offset:020d}", f"{end_offset:020d}.log")
    assert running.go_on() == 0
    fill_more(world)
    assert running.go_on() > 0
    later, _ = world.files_of_log()
    assert later > snapshot
    before = state_of(world.catalogue)
    assert state_of(world.kill()) == before


def fill_more(world: CatalogueWorld) -> None:
    """As much as the largest snapshot there is."""
    for number in range(50):
        world.catalogue.create_topic(f"b-{number}", 3)


@pytest.mark.parametrize("steps", range(12))
def test_changes_during_a_snapshot_are_in_it_or_behind_it(world: CatalogueWorld, steps: int) -> None:
    running = Running(world)
    world.fill()
    running.go_on(steps)
    world.catalogue.create_topic("meanwhile", 2)
    world.catalogue.delete_topics(["a"])
    before = state_of(world.catalogue)
    assert state_of(world.kill()) == before
    running.go_on()
    assert state_of(world.kill()) == before
    assert "meanwhile" in world.catalogue.topics


def test_a_catalogue_that_always_changes_is_tried_some_times_and_then_once_it_has_grown_again() -> None:
    world = CatalogueWorld(settings={"metadata.log.max.record.bytes.between.snapshots": "3000"})
    running = Running(world)
    for tried in range(2):
        size = len(world.log())
        while not running.is_due:
            world.catalogue.allocate_producer_ids()
        assert len(world.log()) - size > 2500 * tried
        steps = 0
        while running.go_on(1):
            steps += 1
            world.catalogue.allocate_producer_ids()
        assert 1 < steps < 10
    assert world.files_of_log() == ["00000000000000000000.log"]
    while not running.is_due:
        world.catalogue.allocate_producer_ids()
    running.go_on()
    assert len(world.files_of_log()) == 2


def test_a_full_disk_leaves_the_log_and_the_next_snapshot_is_written(world: CatalogueWorld) -> None:
    running = Running(world)
    world.fill()
    world.files.fail("pwrite", errno.ENOSPC, path=".checkpoint")
    running.go_on()
    world.files.heal()
    assert not [name for name in world.files_of_log() if name.endswith(".checkpoint")]
    fill_more(world)
    running.go_on()
    assert [name for name in world.files_of_log() if name.endswith(".checkpoint")]
    before = state_of(world.catalogue)
    assert state_of(world.kill()) == before


@pytest.mark.parametrize("survival", ["nothing", "some", "everything"])
def test_a_power_cut_at_any_moment_of_a_snapshot_loses_nothing(survival: Survival) -> None:
    def run(cut: int | None) -> tuple[CatalogueWorld, int]:
        """Two snapshots while the broker runs, the power cut before change `cut`; how many changes there were."""
        world = CatalogueWorld(settings=AT_EVERY_CHANGE)
        running = Running(world)
        world.fill()
        before = world.files.changes_made
        world.files.cut_power_at(None if cut is None else before + cut)
        try:
            running.go_on()
            world.files.cut_power_at(None)
            fill_more(world)
            more = world.files.changes_made
            world.files.cut_power_at(None if cut is None else more + cut)
            running.go_on()
        except PowerCut:
            assert cut is not None
        world.files.cut_power_at(None)
        return world, world.files.changes_made - before

    cut = 0
    while True:
        world, _ = run(cut)
        expected = state_of(world.catalogue)
        assert state_of(world.cut_power(survival)) == expected
        if len(world.files_of_log()) == 2 and cut > 20:
            break
        cut += 1
    assert cut < 100
