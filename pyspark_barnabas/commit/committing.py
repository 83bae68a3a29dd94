"""commit(): one step after the other, from what has been seen so far, until Done or Fail.

The front end fills in a `CommitView`, calls `next_step`, takes the step, records what it saw, and calls again. A call
that was interrupted begins with an empty view: no answer depends on how often it was requested before.

Order: transactions that were left decided and open are committed first, of another query or of this one's batch before,
so that at any time only the newest decision of the ledger can be unsettled; then this batch is decided, rolled forward,
settled if it is a batch write, and transactions that will never be decided are swept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark_barnabas.commit.atomic import describe_overlap, go_on
from pyspark_barnabas.commit.batch import Batch, describe_loss, fenced, first_look
from pyspark_barnabas.commit.ledger import Decided, Ledger, Settled, SourceOffset
from pyspark_barnabas.commit.messages import Message, Prepared, PreparedTransaction
from pyspark_barnabas.commit.prepared_state import PreparedState, View, prepared_state
from pyspark_barnabas.commit.stale_transactions import choose
from pyspark_barnabas.commit.states import Act, Call, CommitState, Refuse, on
from pyspark_barnabas.commit.steps import (
    CommitStep,
    Decide,
    Describe,
    Done,
    Fail,
    ListTasks,
    RollForward,
    Sweep,
)

_DIGESTS = 1 << 64


@dataclass(frozen=True, slots=True)
class CommitView:
    """The state that commit() has seen. Replace fields as more is seen (dataclasses.replace).

    ledger: read to its end, committed records only, by the holder of the run token.
    described: the description of every id that a Describe named, None for an unknown id. Emptied by a RollForward.
    listed: the ids that ListTasks found; `driver` is the description of the driver's id after that.
    is_fenced: a request with the run token was refused with PRODUCER_FENCED, INVALID_PRODUCER_EPOCH or similar.
    """

    ledger: Ledger
    messages: Sequence[Message] = ()
    offsets: tuple[SourceOffset, ...] = ()
    described: Mapping[str, View | None] = field(default_factory=dict)
    listed: frozenset[str] | None = None
    driver: View | None = None
    is_fenced: bool = False
    is_swept: bool = False


def next_step(batch: Batch, view: CommitView) -> CommitStep:
    """Return what commit() does next."""
    state, sentence = first_look(batch, view.ledger, is_fenced=view.is_fenced)
    if state in (CommitState.NEW, CommitState.DECIDED):
        step = _leftovers(batch, view)
        if step is not None:
            return step
        state, sentence = _look_closer(batch, view, state)
    if state in (CommitState.BROKEN, CommitState.LOST):
        # A run that was fenced sees what its successors did after it; it must not treat that as a loss.
        if batch.sink.driver_id not in view.described:
            return Describe((batch.sink.driver_id,))
        if not _is_driver(batch, view.described[batch.sink.driver_id]):
            state, sentence = CommitState.FENCED, fenced(batch)
    answer = on(state, Call.COMMIT)
    if isinstance(answer, Refuse):
        return Fail(sentence)
    match answer.act:
        case Act.DESCRIBE:
            return Describe(_ids(_prepared(batch, view)))
        case Act.DECIDE:
            record = _decision(batch, view)
            return Decide(record, record.offsets)
        case Act.ROLL_FORWARD:
            step = _roll_forward(_decided(batch, view).transactions, view)
            assert step is not None, "all committed is another state"
            return step
        case _:
            return _finish(batch, view)


def _look_closer(batch: Batch, view: CommitView, state: CommitState) -> tuple[CommitState, str]:
    """Refine NEW or DECIDED by the known state of the transactions."""
    if state is CommitState.NEW:
        sentence = _lost_before(batch, view)
        if sentence:
            return CommitState.LOST, sentence
        sentence = _stranger(batch, view.messages) or (describe_overlap(view.messages) if batch.is_atomic else "")
        if sentence:
            return CommitState.CONTRADICTED, sentence
        transactions = _prepared(batch, view)
        if not _are_described(transactions, view):
            return CommitState.NEW, ""
        broken = next((each for each in transactions if _standing(each, view) is not PreparedState.OPEN), None)
        if broken is None:
            return CommitState.PREPARED, ""
        return CommitState.BROKEN, _not_ours(batch, broken, _standing(broken, view))
    record = _decided(batch, view)
    if view.ledger.is_settled(record):
        return CommitState.VISIBLE, ""
    if not _are_described(record.transactions, view):
        return CommitState.DECIDED, ""
    for each in record.transactions:
        became = _standing(each, view)
        if became in (PreparedState.ABORTED, PreparedState.UNKNOWN):
            return CommitState.LOST, describe_loss(batch, record, each.transactional_id, became.value)
    is_open = any(_standing(each, view) is PreparedState.OPEN for each in record.transactions)
    return (CommitState.DECIDED if is_open else CommitState.VISIBLE), ""


def _leftovers(batch: Batch, view: CommitView) -> CommitStep | None:
    """Return the next step for the decision before this batch's: ending it, and recording the end of another query's
    decision, as its batch may be repeated after its ids have expired. Its own query reports any other outcome of it.
    """
    newest = _unsettled_before(batch, view)
    if newest is None:
        return None
    is_described = _are_described(newest.transactions, view)
    if newest.query_id == batch.sink.query_id and not is_described:
        return Describe(_ids((*newest.transactions, *_prepared(batch, view))))  # both at once: no time is lost by it
    step = _roll_forward(newest.transactions, view)
    is_another = newest.query_id != batch.sink.query_id
    if (
        step is None
        and is_another
        and all(_standing(each, view) is PreparedState.COMMITTED for each in newest.transactions)
    ):
        return _settle(batch, view, newest)
    return step


def _unsettled_before(batch: Batch, view: CommitView) -> Decided | None:
    """Return the newest decision, unless it is this batch's own or the ledger proves that it is committed.

    One of the same query is that of the batch before. Spark does not continue after a batch that it has not seen
    committed, but a function of foreachBatch that catches our exception, or a `commits` file written by hand, does: the
    decision about this batch would then imply that all of that one is committed, and the sweep would abort its rest.
    """
    newest = view.ledger.newest()
    if newest is None or view.ledger.is_settled(newest):
        return None
    is_own = (newest.query_id, newest.batch_id) == (batch.sink.query_id, batch.batch_id)
    return None if is_own else newest


def _lost_before(batch: Batch, view: CommitView) -> str:
    """Return a sentence if the query's batch before was decided and then aborted. Ids that coordinators have forgotten
    are those of a query that was stopped for days after it, and prove nothing.
    """
    record = _unsettled_before(batch, view)
    if record is None or record.query_id != batch.sink.query_id:
        return ""
    lost = next((each for each in record.transactions if _standing(each, view) is PreparedState.ABORTED), None)
    if lost is None:
        return ""
    before = replace(batch, batch_id=record.batch_id)
    return describe_loss(before, record, lost.transactional_id, PreparedState.ABORTED.value)


def _settle(batch: Batch, view: CommitView, record: Decided) -> CommitStep:
    sequence = view.ledger.next_sequence(batch.run)
    return Decide(Settled(record.query_id, record.batch_id, batch.run_id, batch.run, sequence))


def _roll_forward(transactions: tuple[PreparedTransaction, ...], view: CommitView) -> CommitStep | None:
    """Return Describe, or a commit of what is open; None if nothing is."""
    if not _are_described(transactions, view):
        return Describe(_ids(transactions))
    still_open = tuple(each for each in transactions if _standing(each, view) is PreparedState.OPEN)
    return RollForward(still_open) if still_open else None


def _finish(batch: Batch, view: CommitView) -> CommitStep:
    record = _decided(batch, view)
    if not batch.is_stream and not view.ledger.is_settled(record):
        return _settle(batch, view, record)
    if view.is_swept:
        return Done()
    if view.listed is None or view.driver is None:
        return ListTasks()
    if not _is_driver(batch, view.driver):
        return Fail(fenced(batch))
    ids = choose(batch.sink, view.listed, view.ledger)
    return Sweep(ids) if ids else Done()


def _is_driver(batch: Batch, view: View | None) -> bool:
    return view is not None and (view.producer_id, view.producer_epoch) == batch.run


def _decision(batch: Batch, view: CommitView) -> Decided:
    prepared = [each for each in view.messages if isinstance(each, Prepared)]
    transactions = () if batch.is_atomic else tuple(each.transaction for each in prepared if each.transaction)
    return Decided(
        batch.sink.query_id,
        batch.batch_id,
        batch.run_id,
        batch.run,
        view.ledger.next_sequence(batch.run),
        transactions,
        rows=sum(each.rows for each in prepared),
        digest=sum(each.digest for each in prepared) % _DIGESTS,
        offsets=view.offsets,
        checkpoint_hash=batch.checkpoint_hash,
        is_atomic=batch.is_atomic,
        written=go_on(view.ledger.written(batch.run), prepared) if batch.is_atomic else (),
    )


def _stranger(batch: Batch, messages: Iterable[Message]) -> str:
    """Return a sentence if a task's message does not belong to an undecided batch of this run."""
    for each in messages:
        if (each.query_id, each.run, each.batch_id) != (batch.sink.query_id, batch.run, batch.batch_id):
            return (
                f"partition {each.partition} of batch {batch.batch_id} was written for batch {each.batch_id} of query"
                f" {each.query_id} in run {each.run}: nothing was decided. Restart the query"
            )
        if not isinstance(each, Prepared):
            return (
                f"partition {each.partition} of batch {batch.batch_id} was skipped as decided, but the ledger does not"
                " have the batch any more: nothing was decided. Find out what deletes records of the ledger's topic, "
                "restore it, then restart the query"
            )
    return ""


def _not_ours(batch: Batch, transaction: PreparedTransaction, became: PreparedState) -> str:
    return (
        f"transaction {transaction.transactional_id!r} of batch {batch.batch_id} is {became.value}, before the batch"
        " was decided: nothing of it is visible. Restart the query: it writes the batch again. If this happens "
        "again, a batch takes longer than the transaction timeout: raise kafka.transaction.timeout.ms"
    )


def _prepared(batch: Batch, view: CommitView) -> tuple[PreparedTransaction, ...]:
    """Return the transactions of the tasks, each once: in atomic mode they share one."""
    each_once = dict.fromkeys(
        each.transaction for each in view.messages if isinstance(each, Prepared) and each.transaction
    )
    return tuple(each_once)


def _decided(batch: Batch, view: CommitView) -> Decided:
    record = view.ledger.of(batch.sink.query_id, batch.batch_id)
    assert record is not None, "used only where the ledger has it"
    return record


def _ids(transactions: Iterable[PreparedTransaction]) -> tuple[str, ...]:
    return tuple(each.transactional_id for each in transactions)


def _are_described(transactions: Iterable[PreparedTransaction], view: CommitView) -> bool:
    return all(each.transactional_id in view.described for each in transactions)


def _standing(transaction: PreparedTransaction, view: CommitView) -> PreparedState:
    return prepared_state(transaction, view.described[transaction.transactional_id])
