"""Every step that a run, a task or the world around them can take next."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from pyspark_barnabas.commit.identity import parse_task_id
from pyspark_barnabas.commit.ledger import Ledger
from pyspark_barnabas.commit.messages import author as author_of
from pyspark_barnabas.commit.steps import (
    AbortOurs,
    CommitStep,
    Decide,
    Describe,
    Done,
    Fail,
    ListTasks,
    RollForward,
    Sweep,
)
from tests.support.commit_model.coordinator import Broker, Refused
from tests.support.commit_model.tasks import (
    TOO_LONG_MS,
    another,
    batch_of,
    begin,
    exchange,
    put,
    step_task,
    unanswered,
)
from tests.support.commit_model.variants import Protocol
from tests.support.commit_model.world import DRIVER, NEW_QUERY, QUERY, Operation, Run, Scenario, World

_ENVIRONMENT = (-1, -1)


class Step(NamedTuple):
    """An actor, what it did as a text, and the world after it."""

    actor: tuple[int, int]
    text: str
    world: World


class Stepper:
    """The steps of a scenario under a protocol."""

    def __init__(self, scenario: Scenario, protocol: Protocol) -> None:
        self.scenario = scenario
        self.protocol = protocol

    def steps(self, world: World) -> Iterator[Step]:
        """All that may happen next, as far as there are faults left for it."""
        goes_on = False
        others: list[Step] = []
        for number, run in enumerate(world.runs):
            for actor, step in self._of_run(world, number, run):
                if actor == world.last:
                    goes_on = True
                    yield Step(actor, step[0], step[1]._replace(last=actor))
                else:
                    others.append(Step(actor, step[0], step[1]._replace(last=actor)))
        if not goes_on:
            yield from others
        elif world.faults.preemptions:
            for each in others:
                faults = each.world.faults
                fewer = faults._replace(preemptions=faults.preemptions - 1)
                yield each._replace(world=each.world._replace(faults=fewer))
        yield from self._faults(world)

    def alone(self, world: World, number: int) -> World | None:
        """The world after the next step of one run, of its tasks first; None when it has none."""
        run = world.runs[number]
        for task in reversed(run.tasks):
            if (step := step_task(self.protocol, self.scenario, world, number, task)) is not None:
                return step[1]
        own = self._of_driver(world, number, run)
        return None if own is None else own[1]

    # --- what goes wrong ---

    def _faults(self, world: World) -> Iterator[Step]:
        faults = world.faults
        if faults.starts:
            for query_id in self._queries(world):
                runs = (*world.runs, Run(f"run {len(world.runs)}", query_id=query_id))
                new = world._replace(runs=runs, faults=faults._replace(starts=faults.starts - 1))
                yield Step(_ENVIRONMENT, f"a run of {query_id} is started", new._replace(last=(len(runs) - 1, -1)))
        for number, run in enumerate(world.runs):
            if faults.raises and run.at == "commit":
                yield Step(_ENVIRONMENT, f"run {number}: commit() raises", self._raise(world, number, run))
            if faults.retries and run.at == "tasks":
                fewer = world._replace(faults=faults._replace(retries=faults.retries - 1))
                for task in run.tasks:
                    if task.batch_id == run.batch_id and run.messages[task.partition] is None:
                        text = f"run {number}: partition {task.partition} is given to another task"
                        yield Step(_ENVIRONMENT, text, put(fewer, number, another(run, task)))
            if faults.restages and run.at == "tasks" and run.tasks:
                yield Step(_ENVIRONMENT, f"run {number}: its stage is tried again", self._restage(world, number, run))
            if faults.impatience:
                fewer = world._replace(faults=faults._replace(impatience=faults.impatience - 1))
                for task in run.tasks:
                    if task.at == "open" and not task.opening.waited_ms:
                        hurried = replace(task.opening, waited_ms=TOO_LONG_MS)
                        text = f"run {number}: task {task.task_attempt} has waited too long"
                        run_after = exchange(run, task, task._replace(opening=hurried))
                        yield Step(_ENVIRONMENT, text, put(fewer, number, run_after))
            if faults.lost_answers:
                fewer = world._replace(faults=faults._replace(lost_answers=faults.lost_answers - 1))
                for task in run.tasks:
                    if task.at == "end register":
                        for text, after in unanswered(self.protocol, fewer, number, task):
                            yield Step(_ENVIRONMENT, text, after)
        if faults.timeouts:
            fewer = world._replace(faults=faults._replace(timeouts=faults.timeouts - 1))
            for each in world.broker.ongoing():
                timed_out = fewer._replace(broker=world.broker.abort_open(each))
                yield Step(_ENVIRONMENT, f"{each} times out", timed_out)
        if faults.expiries:
            fewer = world._replace(faults=faults._replace(expiries=faults.expiries - 1))
            yield Step(_ENVIRONMENT, "ids expire", fewer._replace(broker=world.broker.expire()))
        if world.in_flight:
            arrived = world._replace(in_flight=None)
            with suppress(Refused):  # its sender does not listen any more
                arrived = arrived._replace(broker=world.broker.end(DRIVER, world.in_flight, commit=True))
            yield Step(_ENVIRONMENT, "the EndTxn without a waiting sender arrives", arrived)

    def _queries(self, world: World) -> tuple[str, ...]:
        if not self.scenario.is_stream:
            return QUERY, NEW_QUERY
        latest = world.runs[-1].query_id
        return (latest, NEW_QUERY) if self.scenario.has_new_checkpoint and latest != NEW_QUERY else (latest,)

    def _restage(self, world: World, number: int, run: Run) -> World:
        faults = world.faults
        for partition, message in enumerate(run.messages):
            if message is None:
                run = begin(run, run.batch_id, partition, 0)
        return put(world._replace(faults=faults._replace(restages=faults.restages - 1)), number, run)

    def _raise(self, world: World, number: int, run: Run) -> World:
        """commit() fails where it is; a request on its way may arrive later."""
        world = world._replace(faults=world.faults._replace(raises=world.faults.raises - 1))
        if run.operations and run.operations[0].kind == "end decision":
            world = world._replace(in_flight=run.token)
        return put(world, number, run.forget()._replace(at="abort", failure="raised"))

    # --- a run ---

    def _of_run(self, world: World, number: int, run: Run) -> Iterator[tuple[tuple[int, int], tuple[str, World]]]:
        driver = self._of_driver(world, number, run)
        if driver is not None:
            yield (number, -1), driver
        for task in run.tasks:
            step = step_task(self.protocol, self.scenario, world, number, task)
            if step is not None:
                yield (number, task.task_attempt), step

    def _of_driver(self, world: World, number: int, run: Run) -> tuple[str, World] | None:
        match run.at:
            case "plan":
                return f"run {number} reads the checkpoint", put(
                    world, number, self._begin(run, self._first(world, run))
                )
            case "tasks" if all(each is not None for each in run.messages):
                author = author_of(run.messages)
                assert author is not None
                began = run.forget()._replace(at="commit", token=author.run)
                return f"run {number} begins commit()", put(world, number, began)
            case "commit":
                return self._commit(world, number, run)
            case "note":
                if world.last_noted(run.query_id) >= run.batch_id and self.scenario.is_stream:
                    return f"run {number} finds its batch noted by another", put(world, number, run._replace(at="over"))
                noted = put(world._replace(noted=_noted(world, run)), number, self._begin(run, run.batch_id + 1))
                return f"run {number} notes batch {run.batch_id}", noted
            case "abort":
                return self._abort(world, number, run)
        return None

    def _first(self, world: World, run: Run) -> int:
        return world.last_noted(run.query_id) + 1 if self.scenario.is_stream else 0

    def _begin(self, run: Run, batch_id: int) -> Run:
        if batch_id >= self.scenario.batches:
            return run.forget()._replace(at="over")
        partitions = self.scenario.partitions
        run = run.forget()._replace(at="tasks", batch_id=batch_id, messages=(None,) * partitions)
        for partition in range(partitions):
            run = begin(run, batch_id, partition, 0)
        return run

    # --- commit() and abort() ---

    def _commit(self, world: World, number: int, run: Run) -> tuple[str, World]:
        if run.operations:
            return self._operate(world, number, run)
        if run.ledger is None:
            return f"run {number} reads the ledger", put(
                world, number, run._replace(ledger=Ledger(world.broker.ledger))
            )
        step = self.protocol.commit(batch_of(self.scenario, run, run.token, run.batch_id), run)
        text = f"run {number}: {type(step).__name__}"
        match step:
            case Done():
                return text, put(world, number, run.forget()._replace(at="note"))
            case Fail(sentence):
                return text, put(world, number, run.forget()._replace(at="abort", failure=sentence))
            case Describe(ids):
                seen = dict(run.described) | {each: world.broker.describe(each) for each in ids}
                return text, put(world, number, run._replace(described=tuple(sorted(seen.items()))))
        return self._operate(world, number, run._replace(operations=_operations(step)))

    def _operate(self, world: World, number: int, run: Run) -> tuple[str, World]:
        """The next request of the step that was begun."""
        operation, left = run.operations[0], run.operations[1:]
        run = run._replace(operations=left)
        try:
            broker, run = _request(world.broker, run, operation)
        except Refused as refused:
            broker = world.broker
            if "decision" in operation.kind:
                run = run._replace(operations=(), is_fenced=True)
            text = f"run {number}: {operation.kind} is refused: {refused}"
            return text, put(world, number, run)
        named = operation.transactional_id or (operation.transaction.transactional_id if operation.transaction else "")
        return f"run {number}: {operation.kind} {named}", put(world._replace(broker=broker), number, run)

    def _abort(self, world: World, number: int, run: Run) -> tuple[str, World]:
        if run.operations:
            return self._operate(world, number, run)
        author = author_of(run.messages)
        if author is None:
            return f"run {number} is over, and has nothing to abort", put(world, number, run._replace(at="over"))
        run = run._replace(token=author.run)
        if run.driver is None:
            seen = run._replace(driver=world.broker.describe(DRIVER))
            return f"run {number}: abort() looks at the driver", put(world, number, seen)
        if run.ledger is not None:
            return f"run {number} is over", put(world, number, run.forget()._replace(at="over"))
        ledger = Ledger(world.broker.ledger)
        batch = batch_of(self.scenario, run, run.token, run.batch_id)
        step = self.protocol.abort(batch, run.driver, ledger, run.messages)
        run = run._replace(ledger=ledger)
        if isinstance(step, AbortOurs):
            run = run._replace(operations=tuple(Operation("abort", each) for each in step.transactions))
        return f"run {number}: abort() reads the ledger: {type(step).__name__}", put(world, number, run)


def _operations(step: CommitStep) -> tuple[Operation, ...]:
    match step:
        case Decide(record):
            return Operation("write decision", record=record), Operation("end decision")
        case RollForward(transactions):
            return (*(Operation("commit", each) for each in transactions), Operation("look again"))
        case ListTasks():
            return Operation("list"), Operation("describe driver")
        case Sweep(ids):
            return (*(Operation("sweep", transactional_id=each) for each in ids), Operation("swept"))
    raise AssertionError(step)


def _request(broker: Broker, run: Run, operation: Operation) -> tuple[Broker, Run]:
    transaction, record = operation.transaction, operation.record
    match operation.kind:
        case "write decision":
            assert record is not None
            return broker.write(DRIVER, run.token, record, record.sequence), run
        case "end decision":
            return broker.end(DRIVER, run.token, commit=True), run._replace(ledger=None)
        case "commit" | "abort" as kind:
            assert transaction is not None
            producer = (transaction.producer_id, transaction.producer_epoch)
            return broker.end(transaction.transactional_id, producer, commit=kind == "commit"), run
        case "look again":
            return broker, run._replace(described=())
        case "list":
            listed = frozenset(each for each in broker.ongoing() if parse_task_id(each))
            return broker, run._replace(listed=listed)
        case "describe driver":
            return broker, run._replace(driver=broker.describe(DRIVER))
        case "sweep":
            return broker.init_producer(operation.transactional_id)[0], run
    return broker, run._replace(is_swept=True)


def _noted(world: World, run: Run) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((dict(world.noted) | {run.query_id: run.batch_id}).items()))
