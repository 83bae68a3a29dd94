"""Two drivers, their tasks and a coordinator, in every order, with every fault: nothing twice, and nothing missing.

What is held against every world stands in tests/support/commit_model/explorer.py. From each of them a fresh run, left
alone, has to bring everything to an end.
"""

from __future__ import annotations

import pytest

from tests.support.commit_model import variants
from tests.support.commit_model.explorer import Wrong, explore
from tests.support.commit_model.world import Faults, Scenario

TWO_DRIVERS = Scenario(Faults(starts=1, raises=1), partitions=2, batches=1)
A_DRIVER_THAT_THAWS = Scenario(Faults(starts=1, preemptions=1), partitions=1, batches=3)
A_TASK_THAT_SLEPT = Scenario(Faults(retries=1, preemptions=2), partitions=1, batches=3)
ATOMIC = Scenario(Faults(starts=1, raises=1, preemptions=1), partitions=2, batches=1, is_atomic=True)
A_NEW_CHECKPOINT = Scenario(Faults(starts=1), partitions=2, batches=1, has_new_checkpoint=True)
TIMEOUTS = Scenario(Faults(starts=1, timeouts=1), partitions=1, batches=2)

SCENARIOS = {
    "two drivers": (TWO_DRIVERS, 10_000),
    "a driver that thaws": (A_DRIVER_THAT_THAWS, 10_000),
    "a task that slept": (A_TASK_THAT_SLEPT, 2_000),
    "one transaction for all tasks": (ATOMIC, 10_000),
    "a new checkpoint": (A_NEW_CHECKPOINT, 2_000),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_batch_shows_once_in_every_order(name: str) -> None:
    scenario, at_least = SCENARIOS[name]
    found = explore(scenario, variants.Protocol())
    assert found.losses == 0
    assert found.worlds > at_least  # else the faults were not even met


def test_a_decided_transaction_that_timed_out_is_told_and_never_passed_over() -> None:
    assert explore(TIMEOUTS, variants.Protocol()).losses > 0


@pytest.mark.long
@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(Faults(starts=1, raises=1, preemptions=1), partitions=2, batches=1),
        Scenario(Faults(starts=1, raises=1), partitions=2, batches=2),
        Scenario(Faults(starts=2), partitions=1, batches=2),
        Scenario(Faults(starts=1, retries=1), partitions=1, batches=3),
        Scenario(Faults(starts=1, raises=1, retries=1), partitions=2, batches=1, is_atomic=True),
    ],
    ids=lambda scenario: repr(scenario),
)
def test_every_batch_shows_once_in_larger_worlds(scenario: Scenario) -> None:
    assert explore(scenario, variants.Protocol()).losses == 0


WRONG_ONES = [
    (variants.WithoutLedger(), TWO_DRIVERS, ("undecided",), "twice"),
    (variants.AbortingBlindly(), TWO_DRIVERS, (), "aborted"),
    (variants.AbortingByTheLedgerAlone(), TWO_DRIVERS, (), "aborted"),
    (variants.SweepingFirst(), TWO_DRIVERS, (), "aborted"),
    (variants.WithEyesForItsOwnQuery(), A_NEW_CHECKPOINT, (), "aborted"),
    (variants.SweepingUnasked(), A_DRIVER_THAT_THAWS, (), "aborted"),
    (variants.NamedByAttemptNumber(), A_TASK_THAT_SLEPT, (), "aborted"),
    (variants.InheritingFromTheLastBatch(), A_DRIVER_THAT_THAWS, (), "false alarm"),
]


@pytest.mark.parametrize(("protocol", "scenario", "ignoring", "kind"), WRONG_ONES, ids=lambda it: type(it).__name__)
def test_the_explorer_finds_what_is_wrong_with(
    protocol: variants.Protocol, scenario: Scenario, ignoring: tuple[str, ...], kind: str
) -> None:
    with pytest.raises(Wrong) as wrong:
        explore(scenario, protocol, ignoring=ignoring)
    assert wrong.value.kind == kind
    assert scenario in {each for each, _ in SCENARIOS.values()}  # where ours passes
