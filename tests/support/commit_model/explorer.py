"""Walk through every order of steps and faults of a scenario, and check each world on the way.

Depth first, each world once. `preemptions` bounds how often a runnable process is stopped: what goes wrong
in practice needs few of these, and the bound is what keeps the number of orders small.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from pyspark_barnabas.commit.ledger import Decided
from tests.support.commit_model.coordinator import Broker, Row
from tests.support.commit_model.stepping import Stepper
from tests.support.commit_model.variants import Protocol
from tests.support.commit_model.world import Faults, Run, Scenario, World

LOSS_WORDS = "was decided by run"
"""In the sentence of a failure that says that rows are missing."""


class Wrong(AssertionError):
    """A world that must not be: `kind` is one of those in `check`; the text has the steps to it."""

    def __init__(self, kind: str, story: list[str]) -> None:
        super().__init__("\n".join([f"{kind}, after:", *story]))
        self.kind = kind


class Found(NamedTuple):
    """What was explored: worlds, how many of them have no next step, and from how many a restart reports a loss."""

    worlds: int
    ended: int
    losses: int


def explore(scenario: Scenario, protocol: Protocol, *, ignoring: Collection[str] = ()) -> Found:
    """Every world of the scenario. Wrong for the first that must not be."""
    stepper = Stepper(scenario, protocol)
    start = World(Broker(), (Run("run 0"),), scenario.faults)
    came_from: dict[World, tuple[World, str] | None] = {start: None}
    restarted: dict[tuple[Broker, object, str], str] = {}
    stack, ended = [start], 0
    while stack:
        world = stack.pop()
        kinds = [kind for kind in check(scenario, world) if kind not in ignoring]
        for query_id in [] if kinds else repeated(scenario, world):
            key = (world.broker, world.noted, query_id)
            if key not in restarted:
                restarted[key] = finish_alone(stepper, scenario, world, query_id)
                kinds += [restarted[key]] if restarted[key] not in ("", "lost", *ignoring) else []
        if kinds:
            raise Wrong(kinds[0], _story(came_from, world))
        has_next = False
        for step in stepper.steps(world):
            has_next = True
            if step.world not in came_from:
                came_from[step.world] = (world, step.text)
                stack.append(step.world)
        ended += not has_next
    return Found(len(came_from), ended, sum(outcome == "lost" for outcome in restarted.values()))


def check(scenario: Scenario, world: World) -> Iterator[str]:
    """What is wrong with a world: a row twice, or undecided, or missing from what is noted; a decision aborted."""
    broker = world.broker
    decided = [each for each in broker.ledger if isinstance(each, Decided)]
    if len(set(broker.rows)) < len(broker.rows):
        yield "twice"
    batches = {(each.query_id, each.batch_id) for each in decided}
    if len(batches) < len(decided):
        yield "decided twice"
    if {(each.query_id, each.batch_id) for each in broker.rows} - batches:
        yield "undecided"
    transactions = {each for record in decided for each in record.transactions}
    if not scenario.faults.timeouts and transactions & set(broker.aborted):
        yield "aborted"
    lost = {(record.query_id, record.batch_id) for record in decided if set(record.transactions) & set(broker.aborted)}
    if any(LOSS_WORDS in run.failure and (run.query_id, run.batch_id) not in lost for run in world.runs):
        yield "false alarm"
    if not any(scenario.faults._replace(preemptions=0)) and any(run.failure for run in world.runs):
        yield "fails for nothing"
    noted = ((query_id, batch) for query_id, last in world.noted for batch in range(last + 1))
    if rows_of(scenario, noted) - set(broker.rows):
        yield "missing"


def repeated(scenario: Scenario, world: World) -> Sequence[str]:
    """Which queries may be started again: the newest, or any batch write."""
    return [world.runs[-1].query_id] if scenario.is_stream else sorted({run.query_id for run in world.runs})


def finish_alone(stepper: Stepper, scenario: Scenario, world: World, query_id: str) -> str:
    """A fresh run with no other beside it: "" if it ends with everything shown once, "lost" if it reports the loss,
    otherwise what is wrong.
    """
    alone = World(world.broker, (Run("alone", query_id=query_id),), Faults(), world.noted)
    while (after := stepper.alone(alone, 0)) is not None:
        alone = after
    wrong = next(check(scenario, alone), None)
    if wrong is not None:
        return wrong
    failure = alone.runs[0].failure
    if failure:
        return "lost" if LOSS_WORDS in failure and scenario.faults.timeouts else f"stuck: {failure}"
    # otherwise it found nothing to do
    has_committed = not scenario.is_stream or world.last_noted(query_id) < scenario.batches - 1
    whole = {(query_id, batch) for batch in range(scenario.batches)}
    if has_committed:
        whole |= {(each.query_id, each.batch_id) for each in alone.broker.ledger if isinstance(each, Decided)}
    if rows_of(scenario, whole) - set(alone.broker.rows):
        return "missing"
    return "open for ever" if has_committed and alone.broker.ongoing() else ""


def rows_of(scenario: Scenario, batches: Iterable[tuple[str, int]]) -> set[Row]:
    """What these batches write, each (query, batch) whole."""
    return {Row(query_id, batch, each) for query_id, batch in batches for each in range(scenario.partitions)}


def _story(came_from: dict[World, tuple[World, str] | None], world: World) -> list[str]:
    steps: list[str] = []
    while (before := came_from[world]) is not None:
        world, step = before
        steps.append(step)
    return steps[::-1]
