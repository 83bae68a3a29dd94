"""Every step that a task can take next: about its run's token, then about its rows."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count

from pyspark_barnabas.commit.batch import Batch
from pyspark_barnabas.commit.identity import RunToken, Sink
from pyspark_barnabas.commit.ledger import Ledger
from pyspark_barnabas.commit.ledger import Run as RunRecord
from pyspark_barnabas.commit.messages import Message, Prepared, PreparedTransaction, Skipped, WrittenPartition
from pyspark_barnabas.commit.opening import Opening
from pyspark_barnabas.commit.steps import Produce, Register, SkipAndDrain, TakeToken, UseToken, Wait
from pyspark_barnabas.commit.writing import OwnId
from tests.support.commit_model.coordinator import Refused, Row
from tests.support.commit_model.variants import Protocol
from tests.support.commit_model.world import DRIVER, PREFIX, Run, Scenario, Task, World

TOPIC = "t"
TOO_LONG_MS = 1_000_000

Stepped = tuple[str, World]


def step_task(protocol: Protocol, scenario: Scenario, world: World, number: int, task: Task) -> Stepped | None:
    """What happened, and the world after it; None while the task waits."""
    run = world.runs[number]
    label = f"run {number}, batch {task.batch_id}, partition {task.partition}, task {task.task_attempt}"
    match task.at:
        case "open":
            return _open(protocol, scenario, world, number, task, label)
        case "take":
            broker, producer = world.broker.init_producer(DRIVER)
            seen = _seen(protocol, task, taken=RunToken(*producer), unanswered_ms=None)
            after = world._replace(broker=broker)
            return f"{label} takes the token {seen.opening.taken}", put(after, number, exchange(run, task, seen))
        case "register" | "end register":
            return _register(protocol, world, number, task, label)
        case "init":
            broker, producer = world.broker.init_producer(task.transactional_id)
            ready = task._replace(at="write", producer=producer)
            owner = exchange(_own(run, task), task, ready)
            return f"{label} initialises", put(world._replace(broker=broker), number, owner)
    return _write(world, number, task, label)


def _open(
    protocol: Protocol, scenario: Scenario, world: World, number: int, task: Task, label: str
) -> tuple[str, World] | None:
    """Read the ledger, and return the next step: for the token, and if there is one, for the rows."""
    run = world.runs[number]
    sink = Sink(PREFIX, run.query_id)
    ledger = task.opening.ledger or Ledger(world.broker.ledger)
    opening = Opening(sink, run.run_id, task.partition)
    step = protocol.open(opening, replace(task.opening, ledger=ledger))
    match step:
        case Wait() if task.opening.unanswered_ms == 0:
            waited = _seen(protocol, task, unanswered_ms=TOO_LONG_MS)
            return f"{label} looks for its record for long", put(world, number, exchange(run, task, waited))
        case Wait():
            return None
        case TakeToken():
            opened = _seen(protocol, task, ledger=ledger)._replace(at="take")
            return f"{label} will take the token", put(world, number, exchange(run, task, opened))
        case Register():
            return f"{label} will register", put(world, number, exchange(run, task, task._replace(at="register")))
        case UseToken(token):
            batch = batch_of(scenario, run, token, task.batch_id)
            return _decide(protocol, world, number, task, batch, ledger, label)
    return f"{label}: {type(step).__name__}", put(world, number, report(run, task, None))


def _seen(protocol: Protocol, task: Task, **changes: object) -> Task:
    """The task looks again; it forgets what it read, as the protocol requires."""
    seen = replace(task.opening, **changes)  # type: ignore[arg-type]  # because the fields are named by the caller
    return task._replace(at="open", opening=seen if protocol.keeps_what_it_read else replace(seen, ledger=None))


def _register(protocol: Protocol, world: World, number: int, task: Task, label: str) -> tuple[str, World]:
    run, token = world.runs[number], task.opening.taken
    assert token is not None
    try:
        if task.at == "register":
            broker = world.broker.write(DRIVER, token, RunRecord(run.query_id, run.run_id, token), 0)
            after = task._replace(at="end register")
        else:
            broker = world.broker.end(DRIVER, token, commit=True)
            after = _seen(protocol, task, is_registered=True)
    except Refused:
        fenced = _seen(protocol, task, is_fenced=True)
        return f"{label} cannot register", put(world, number, exchange(run, task, fenced))
    return f"{label}: {task.at}", put(world._replace(broker=broker), number, exchange(run, task, after))


def unanswered(protocol: Protocol, world: World, number: int, task: Task) -> Iterator[Stepped]:
    """What may come of an end with which a task registers the token, and which nobody answers."""
    run, token = world.runs[number], task.opening.taken
    assert token is not None
    after = task if protocol.repeats_the_end else _seen(protocol, task, unanswered_ms=0)
    with suppress(Refused):  # then it is answered: `_register` has that
        broker = world.broker.end(DRIVER, token, commit=True)
        ended = put(world._replace(broker=broker), number, exchange(run, task, after))
        yield f"run {number}: the answer to the end of task {task.task_attempt} is lost", ended
    if world.in_flight is None:
        sent = put(world._replace(in_flight=token), number, exchange(run, task, after))
        yield f"run {number}: the end of task {task.task_attempt} is held up", sent


def _decide(
    protocol: Protocol, world: World, number: int, task: Task, batch: Batch, ledger: Ledger, label: str
) -> tuple[str, World]:
    run = world.runs[number]
    own_ids = tuple(own for process, own in run.own_ids if process == task.process)
    step = protocol.write(batch, ledger, task, own_ids)
    if isinstance(step, Produce):
        at = {(each.topic, each.partition): each.next_sequence for each in step.written}
        ready = task._replace(
            at="write" if step.known else "init",
            token=batch.run,
            transactional_id=step.transactional_id,
            producer=step.known or (-1, -1),
            sequence=at.get((TOPIC, task.partition), 0),
        )
        return f"{label} may write as {step.transactional_id}", put(world, number, exchange(run, task, ready))
    message: Message | None = None
    if isinstance(step, SkipAndDrain):
        message = Skipped(run.query_id, run.run_id, batch.run, task.batch_id, task.partition)
    return f"{label}: {type(step).__name__}", put(world, number, report(run, task, message))


def _write(world: World, number: int, task: Task, label: str) -> tuple[str, World]:
    run = world.runs[number]
    try:
        row = Row(run.query_id, task.batch_id, task.partition)
        broker = world.broker.write(task.transactional_id, task.producer, row, task.sequence)
    except Refused as refused:
        return f"{label} cannot write: {refused}", put(world, number, report(run, task, None))
    message = Prepared(
        run.query_id,
        run.run_id,
        task.token,
        task.batch_id,
        task.partition,
        PreparedTransaction(task.transactional_id, *task.producer),
        rows=1,
        written=(WrittenPartition(TOPIC, task.partition, task.sequence + 1),),
    )
    return f"{label} writes", put(world._replace(broker=broker), number, report(run, task, message))


def batch_of(scenario: Scenario, run: Run, token: RunToken, batch_id: int) -> Batch:
    """A batch of the run, as the owners of its token see it."""
    sink, is_stream = Sink(PREFIX, run.query_id), scenario.is_stream
    checkpoint_hash = f"h{batch_id}" if is_stream else None
    return Batch(sink, run.run_id, token, batch_id, checkpoint_hash, is_stream=is_stream, is_atomic=scenario.is_atomic)


def put(world: World, number: int, run: Run) -> World:
    """The world with another state of a run."""
    return world._replace(runs=(*world.runs[:number], run, *world.runs[number + 1 :]))


def exchange(run: Run, task: Task, other: Task) -> Run:
    """The run with another state of a task."""
    return run._replace(tasks=tuple(other if each == task else each for each in run.tasks))


def begin(run: Run, batch_id: int, partition: int, attempt_number: int) -> Run:
    """The run with one more task, in the first process that has none."""
    busy = {each.process for each in run.tasks}
    process = next(each for each in count() if each not in busy)
    task = Task(batch_id, partition, attempt_number, run.task_attempts, process)
    return run._replace(tasks=(*run.tasks, task), task_attempts=run.task_attempts + 1)


def another(run: Run, task: Task) -> Run:
    """The run with another attempt at the task's partition."""
    attempt_number = 1 + max(
        each.attempt_number for each in run.tasks if (each.batch_id, each.partition) == (task.batch_id, task.partition)
    )
    return begin(run, task.batch_id, task.partition, attempt_number)


def _own(run: Run, task: Task) -> Run:
    """The task's process remembers the id that it uses."""
    others = tuple(each for each in run.own_ids if each[1].transactional_id != task.transactional_id)
    own = (task.process, OwnId(task.transactional_id, task.batch_id))
    return run._replace(own_ids=tuple(sorted((*others, own))))


def report(run: Run, task: Task, message: Message | None) -> Run:
    """The task is over. The first message of a partition counts, as in Spark's commit coordinator."""
    run = run._replace(tasks=tuple(each for each in run.tasks if each != task))
    if run.at != "tasks" or task.batch_id != run.batch_id or run.messages[task.partition] is not None:
        return run
    if message is not None:
        messages = (*run.messages[: task.partition], message, *run.messages[task.partition + 1 :])
        return run._replace(messages=messages)
    if any((each.batch_id, each.partition) == (task.batch_id, task.partition) for each in run.tasks):
        return run  # another attempt is under way
    return run._replace(at="abort", failure="a task failed")
