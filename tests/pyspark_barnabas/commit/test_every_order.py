"""Two drivers, their tasks and a coordinator, in every order, with every fault: nothing twice, and nothing missing.

What is held against every world stands in tests/support/commit_model/explorer.py. From each of them a fresh run, left
alone, has to bring everything to an end.
"""

import pytest

from tests.support.commit_model import variants
from tests.support.commit_model.explorer import Wrong, explore
from tests.support.commit_model.world import Faults, Scenario

TWO_DRIVERS = Scenario(Faults(starts=1, raises=1), partitions=2, batches=1)
A_DRIVER_THAT_THAWS = Scenario(Faults(starts=1, preemptions=1), partitions=1, batches=3)
A_TASK_THAT_SLEPT = Scenario(Faults(retries=1, preemptions=2), partitions=1, batches=3)
ATOMIC = Scenario(Faults(starts=1, raises=1, preemptions=1), partitions=2, batches=1, is_atomic=True)
A_NEW_CHECKPOINT = Scenario(Faults(starts=1), partitions=2, batches=1, has_new_checkpoint=True)
TASKS_IN_ANY_ORDER = Scenario(Faults(preemptions=2), partitions=2, batches=1)
A_TASK_THAT_TOOK_THE_TOKEN_AND_DIED = Scenario(Faults(retries=1, impatience=1, preemptions=1), partitions=1, batches=1)
TWO_TASKS_THAT_TAKE_THE_TOKEN = Scenario(Faults(impatience=1, preemptions=2), partitions=2, batches=1)
TWO_RUNS_THAT_OPEN = Scenario(Faults(starts=1, impatience=1), partitions=2, batches=1)
AN_OLDER_RUN_THAT_OPENS_LATE = Scenario(Faults(starts=1, preemptions=1), partitions=1, batches=2, is_atomic=True)
A_STAGE_TRIED_AGAIN = Scenario(Faults(restages=1, preemptions=2), partitions=1, batches=3)
A_LOST_ANSWER = Scenario(Faults(lost_answers=1, preemptions=2), partitions=2, batches=1, is_atomic=True)
BATCH_WRITES = Scenario(Faults(starts=1, expiries=1), partitions=2, batches=1, is_stream=False)
TIMEOUTS = Scenario(Faults(starts=1, timeouts=1), partitions=1, batches=2)

SCENARIOS = {
    "two drivers": (TWO_DRIVERS, 5_000),
    "a driver that thaws": (A_DRIVER_THAT_THAWS, 10_000),
    "a task that slept": (A_TASK_THAT_SLEPT, 2_000),
    "one transaction for all tasks": (ATOMIC, 10_000),
    "a new checkpoint": (A_NEW_CHECKPOINT, 2_000),
    "tasks in any order": (TASKS_IN_ANY_ORDER, 100),
    "a task that took the token and died": (A_TASK_THAT_TOOK_THE_TOKEN_AND_DIED, 500),
    "two tasks that take the token": (TWO_TASKS_THAT_TAKE_THE_TOKEN, 500),
    "two runs that open": (TWO_RUNS_THAT_OPEN, 10_000),
    "a stage that is tried again": (A_STAGE_TRIED_AGAIN, 2_000),
    "the answer to the end that registers the token is lost": (A_LOST_ANSWER, 200),
    "batch writes": (BATCH_WRITES, 10_000),
    "an older run that opens late": (AN_OLDER_RUN_THAT_OPENS_LATE, 5_000),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_batch_shows_once_in_every_order(name: str) -> None:
    scenario, at_least = SCENARIOS[name]
    found = explore(scenario, variants.Protocol())
    assert found.losses == 0
    assert found.worlds > at_least  # else the faults were not even met


def test_a_decided_transaction_that_timed_out_is_reported_and_never_passed_over() -> None:
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
        Scenario(Faults(starts=2, expiries=1), partitions=1, batches=1, is_stream=False),
        Scenario(Faults(starts=1, impatience=1, preemptions=1), partitions=2, batches=1),
        Scenario(Faults(starts=1, retries=1, impatience=1), partitions=1, batches=2),
        Scenario(Faults(retries=1, impatience=2, preemptions=2), partitions=2, batches=1),
        Scenario(Faults(lost_answers=2, retries=1, preemptions=1), partitions=2, batches=1, is_atomic=True),
        Scenario(Faults(starts=1, lost_answers=1, impatience=1), partitions=2, batches=1),
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
    (variants.InheritingByPartition(), A_STAGE_TRIED_AGAIN, (), "aborted"),
    (variants.InheritingFromTheLastBatch(), A_DRIVER_THAT_THAWS, (), "false alarm"),
    (variants.LeavingNoWord(), BATCH_WRITES, (), "false alarm"),
    (variants.RegisteringWithoutReadingAgain(), AN_OLDER_RUN_THAT_OPENS_LATE, (), "twice"),
    (variants.RepeatingTheEnd(), A_LOST_ANSWER, (), "undecided"),
    (variants.WaitingForNobody(), TASKS_IN_ANY_ORDER, (), "fails for nothing"),
    (variants.KnownByTheQuery(), TWO_RUNS_THAT_OPEN, (), "aborted"),
]


@pytest.mark.parametrize(("protocol", "scenario", "ignoring", "kind"), WRONG_ONES, ids=lambda it: type(it).__name__)
def test_the_explorer_finds_what_is_wrong_with(
    protocol: variants.Protocol, scenario: Scenario, ignoring: tuple[str, ...], kind: str
) -> None:
    with pytest.raises(Wrong) as wrong:
        explore(scenario, protocol, ignoring=ignoring)
    assert wrong.value.kind == kind
    assert scenario in {each for each, _ in SCENARIOS.values()}  # where ours passes
