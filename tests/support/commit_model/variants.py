"""The protocol as the explorer drives it, and the ways that look right and are not."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from pyspark_barnabas.commit.aborting import decide_abort
from pyspark_barnabas.commit.batch import Batch
from pyspark_barnabas.commit.committing import CommitView, next_step
from pyspark_barnabas.commit.identity import RunToken, TaskId
from pyspark_barnabas.commit.ledger import Ledger, Settled
from pyspark_barnabas.commit.messages import Message, Prepared
from pyspark_barnabas.commit.opening import Opening, OpeningView
from pyspark_barnabas.commit.opening import next_step as next_opening
from pyspark_barnabas.commit.prepared_state import View
from pyspark_barnabas.commit.steps import (
    AbortOurs,
    AbortStep,
    CommitStep,
    Decide,
    Describe,
    Done,
    ListTasks,
    OpeningStep,
    Produce,
    RollForward,
    Sweep,
    TakeToken,
    UseToken,
    Wait,
    WriteStep,
)
from pyspark_barnabas.commit.writing import OwnId, decide_write
from tests.support.commit_model.world import PREFIX, Run, Task


class Protocol:
    """Ours."""

    keeps_what_it_read = False
    repeats_the_end = False
    """Of the transaction that registers the token, if nobody answers."""

    def open(self, opening: Opening, view: OpeningView) -> OpeningStep:
        return next_opening(opening, view)

    def write(self, batch: Batch, ledger: Ledger, task: Task, own_ids: tuple[OwnId, ...]) -> WriteStep:
        return _write(batch, ledger, task.partition, task.attempt_number, task.task_attempt, own_ids)

    def commit(self, batch: Batch, run: Run) -> CommitStep:
        assert run.ledger is not None
        view = _key(run)
        return _commit(batch, run.ledger, *view)

    def abort(self, batch: Batch, driver: View | None, ledger: Ledger, messages: Sequence[Message | None]) -> AbortStep:
        return decide_abort(batch, driver, ledger, messages)


@cache
def _write(
    batch: Batch, ledger: Ledger, partition: int, attempt_number: int, task_attempt: int, own_ids: tuple[OwnId, ...]
) -> WriteStep:
    return decide_write(
        batch, ledger, partition=partition, attempt_number=attempt_number, task_attempt=task_attempt, own_ids=own_ids
    )


_Seen = tuple[tuple[Message, ...], tuple[tuple[str, View | None], ...], frozenset[str] | None, View | None, bool, bool]


def _key(run: Run) -> _Seen:
    messages = tuple(each for each in run.messages if each is not None)
    return messages, run.described, run.listed, run.driver, run.is_fenced, run.is_swept


@cache
def _commit(
    batch: Batch,
    ledger: Ledger,
    messages: tuple[Message, ...],
    described: tuple[tuple[str, View | None], ...],
    listed: frozenset[str] | None,
    driver: View | None,
    is_fenced: bool,
    is_swept: bool,
) -> CommitStep:
    seen = CommitView(
        ledger,
        messages,
        described=dict(described),
        listed=listed,
        driver=driver,
        is_fenced=is_fenced,
        is_swept=is_swept,
    )
    return next_step(batch, seen)


def _abort_all(messages: Sequence[Message | None]) -> AbortOurs:
    return AbortOurs(tuple(each.transaction for each in messages if isinstance(each, Prepared) and each.transaction))


class AbortingBlindly(Protocol):
    """abort() aborts what its tasks prepared, without a look at the ledger."""

    def abort(self, batch: Batch, driver: View | None, ledger: Ledger, messages: Sequence[Message | None]) -> AbortStep:
        return _abort_all(messages)


class WithoutLedger(AbortingBlindly):
    """Each task's transaction is committed by commit(), and that is all."""

    def write(self, batch: Batch, ledger: Ledger, task: Task, own_ids: tuple[OwnId, ...]) -> WriteStep:
        return Produce(str(TaskId(batch.sink.prefix, batch.run, task.partition, task.task_attempt)))

    def commit(self, batch: Batch, run: Run) -> CommitStep:
        transactions = _abort_all(run.messages).transactions
        described = dict(run.described)
        if any(each.transactional_id not in described for each in transactions):
            return Describe(tuple(each.transactional_id for each in transactions))
        still_open = tuple(
            each
            for each in transactions
            if described[each.transactional_id] == View("Ongoing", each.producer_id, each.producer_epoch)
        )
        return RollForward(still_open) if still_open else Done()


class AbortingByTheLedgerAlone(Protocol):
    """abort() reads the ledger, but does not see whether the decision may be on its way."""

    def abort(self, batch: Batch, driver: View | None, ledger: Ledger, messages: Sequence[Message | None]) -> AbortStep:
        return Done() if ledger.of(batch.sink.query_id, batch.batch_id) else _abort_all(messages)


class NamedByAttemptNumber(Protocol):
    """A task's id has the attempt number, which every batch counts from 0, so that few ids are used."""

    def write(self, batch: Batch, ledger: Ledger, task: Task, own_ids: tuple[OwnId, ...]) -> WriteStep:
        step = super().write(batch, ledger, task, own_ids)
        if not isinstance(step, Produce):
            return step
        return Produce(str(TaskId(batch.sink.prefix, batch.run, task.partition, task.attempt_number)))


class InheritingByPartition(Protocol):
    """A first attempt continues with the id that won two batches before, whichever process made it."""

    batches_before = 2

    def write(self, batch: Batch, ledger: Ledger, task: Task, own_ids: tuple[OwnId, ...]) -> WriteStep:
        step = super().write(batch, ledger, task, own_ids)
        before = ledger.of(batch.sink.query_id, batch.batch_id - self.batches_before)
        if isinstance(step, Produce) and before and before.run == batch.run and task.attempt_number == 0:
            return Produce(before.transactions[task.partition].transactional_id)
        return step


class InheritingFromTheLastBatch(InheritingByPartition):
    """A first attempt continues with the id that won in the batch before."""

    batches_before = 1


class SweepingUnasked(Protocol):
    """The sweep takes every open transaction that is not decided, and does not ask whether it still is the driver."""

    def commit(self, batch: Batch, run: Run) -> CommitStep:
        if run.driver is not None:
            run = run._replace(driver=View(run.driver.state, *batch.run))
        return super().commit(batch, run)


class WithEyesForItsOwnQuery(Protocol):
    """What another query under the prefix left decided is not examined, and aborted as unowned."""

    def commit(self, batch: Batch, run: Run) -> CommitStep:
        assert run.ledger is not None
        own = tuple(each for each in run.ledger.records if each.query_id == batch.sink.query_id)
        return super().commit(batch, run._replace(ledger=Ledger(own)))


class SweepingFirst(Protocol):
    """What is open of other runs is swept before anything else, decided or not."""

    def commit(self, batch: Batch, run: Run) -> CommitStep:
        if run.is_swept or run.is_fenced:
            return super().commit(batch, run)
        if run.listed is None:
            return ListTasks()
        return Sweep(tuple(sorted(each for each in run.listed if not each.startswith(f"{PREFIX}.{batch.run}."))))


class RegisteringWithoutReadingAgain(Protocol):
    """A run that took the token and registered it continues from what it had read before."""

    keeps_what_it_read = True

    def open(self, opening: Opening, view: OpeningView) -> OpeningStep:
        if view.is_registered and view.taken is not None:
            return UseToken(view.taken)
        return super().open(opening, view)


class RepeatingTheEnd(Protocol):
    """A task that gets no answer to the end with which it registers the token sends it again, as other clients do."""

    repeats_the_end = True


class WaitingForNobody(Protocol):
    """Every task that finds no record of its run takes the token."""

    def open(self, opening: Opening, view: OpeningView) -> OpeningStep:
        step = super().open(opening, view)
        return TakeToken(opening.sink.driver_id) if isinstance(step, Wait) and not view.taken else step


class KnownByTheQuery(Protocol):
    """The token is the query's, which keeps it from run to run."""

    def open(self, opening: Opening, view: OpeningView) -> OpeningStep:
        own = [each for each in view.ledger.records if each.query_id == opening.sink.query_id] if view.ledger else []
        return UseToken(own[-1].run) if own else super().open(opening, view)


class LeavingNoWord(Protocol):
    """What another query left decided is committed, without a record about it."""

    def commit(self, batch: Batch, run: Run) -> CommitStep:
        step = super().commit(batch, run)
        if isinstance(step, Decide) and isinstance(step.record, Settled) and step.record.query_id != run.query_id:
            assert run.ledger is not None
            passed_over = replace(step.record, run=RunToken(0, 0))
            return super().commit(batch, run._replace(ledger=Ledger((*run.ledger.records, passed_over))))
        return step
