"""What a task, commit() and abort() are told, from the ledger and what the coordinators say."""

from dataclasses import replace

import pytest

from barnabas.client.admin.transactions import STATES
from barnabas.protocol.log_records.transaction_states import OPEN_STATES, PREPARE_ABORT, PREPARE_EPOCH_FENCE
from pyspark_barnabas.commit import steps
from pyspark_barnabas.commit.aborting import decide_abort
from pyspark_barnabas.commit.atomic import describe_overlap
from pyspark_barnabas.commit.batch import Batch
from pyspark_barnabas.commit.committing import CommitView, next_step
from pyspark_barnabas.commit.identity import RunToken, Sink, batch_query_id
from pyspark_barnabas.commit.ledger import Decided, Ledger, Settled, SourceOffset
from pyspark_barnabas.commit.messages import Message, Prepared, PreparedTransaction, Skipped, WrittenPartition, author
from pyspark_barnabas.commit.prepared_state import View
from pyspark_barnabas.commit.stale_transactions import choose
from pyspark_barnabas.commit.writing import OwnId, decide_write

SINK, RUN = Sink("p", "q"), RunToken(1, 0)
BATCH = Batch(SINK, "r", RUN, 5, checkpoint_hash="five")
HERE = View("CompleteCommit", 1, 0)
OPEN = {"p.1-0.0.10": View("Ongoing", 20, 0), "p.1-0.1.11": View("Ongoing", 21, 3)}
FIRST, SECOND = PreparedTransaction("p.1-0.0.10", 20, 0), PreparedTransaction("p.1-0.1.11", 21, 3)
MESSAGES: list[Message] = [
    Prepared("q", "r", RUN, 5, 0, FIRST, rows=3, digest=2**64 - 1),
    Prepared("q", "r", RUN, 5, 1, SECOND, rows=4, digest=2),
    Prepared("q", "r", RUN, 5, 2, None),
]
OFFSETS = (SourceOffset("orders", 0, 70),)


def _decided(batch_id: int, *transactions: PreparedTransaction, run: RunToken = RUN, query: str = "q") -> Decided:
    return Decided(query, batch_id, "r", run, batch_id + 1, transactions, 0, 0, (), {5: "five"}.get(batch_id))


BEFORE = Ledger((_decided(4),))
AFTER = Ledger((*BEFORE.records, _decided(5, FIRST, SECOND)))


def _write(ledger: Ledger, batch: Batch = BATCH, *, attempt_number: int = 0) -> steps.WriteStep:
    return decide_write(batch, ledger, partition=0, attempt_number=attempt_number, task_attempt=30)


def _fails(step: object) -> str:
    assert isinstance(step, steps.Fail), step
    return step.sentence


# --- a task ---


def test_a_task_writes_what_is_not_decided() -> None:
    assert _write(BEFORE) == steps.Produce("p.1-0.0.30")


def test_a_task_of_a_decided_batch_drains() -> None:
    assert _write(AFTER) == steps.SkipAndDrain()
    assert _write(AFTER, replace(BATCH, checkpoint_hash=None)) == steps.SkipAndDrain()  # it may not see the checkpoint


def test_a_process_uses_its_id_again_two_batches_later_if_it_was_decided() -> None:
    seventh, ledger = replace(BATCH, batch_id=7, checkpoint_hash=None), Ledger((*AFTER.records, _decided(6)))

    def write(own: OwnId, batch: Batch = seventh) -> steps.WriteStep:
        return decide_write(batch, ledger, partition=0, attempt_number=0, task_attempt=30, own_ids=[own])

    fresh = steps.Produce("p.1-0.0.30")
    assert write(OwnId(FIRST.transactional_id, 5)) == steps.Produce(FIRST.transactional_id)
    assert write(OwnId("p.1-0.0.9", 5)) == fresh  # it lost
    assert write(OwnId(FIRST.transactional_id, 6)) == fresh
    assert write(OwnId(FIRST.transactional_id, 4)) == fresh  # not decided in what it was used in last
    other_run = Decided("q", 5, "s", RunToken(0, 9), 3, (FIRST,), 0, 0, (), None)
    assert (
        decide_write(
            seventh,
            Ledger((other_run, _decided(6))),
            partition=0,
            attempt_number=0,
            task_attempt=30,
            own_ids=[OwnId(FIRST.transactional_id, 5)],
        )
        == fresh
    )


@pytest.mark.parametrize(
    ("batch", "says"),
    [
        (replace(BATCH, checkpoint_hash="another"), "rolled back or copied"),
        (replace(BATCH, batch_id=3), "rolled back further than the ledger"),
        (replace(BATCH, batch_id=8), "the option firstBatch=8"),
    ],
)
def test_a_checkpoint_that_contradicts_the_ledger_is_refused_by_all(batch: Batch, says: str) -> None:
    assert says in _fails(_write(AFTER, batch))
    assert says in _fails(next_step(batch, CommitView(AFTER, MESSAGES)))
    assert decide_abort(batch, HERE, AFTER, MESSAGES) == steps.Done()


def test_an_empty_ledger_begins_with_the_batch_it_is_told_to() -> None:
    assert "the option firstBatch=5" in _fails(_write(Ledger()))
    assert isinstance(_write(Ledger(), replace(BATCH, first_batch=5)), steps.Produce)


def test_a_ledger_that_was_left_behind_by_another_sink_goes_on_with_the_batch_it_is_told_to() -> None:
    ahead = replace(BATCH, batch_id=8)
    assert isinstance(_write(AFTER, replace(ahead, first_batch=8)), steps.Produce)
    left = next_step(replace(ahead, first_batch=8), CommitView(AFTER))  # what batch 5 still needs comes before it
    assert left == steps.Describe((FIRST.transactional_id, SECOND.transactional_id))
    for wrong in (7, 9):
        assert "the option firstBatch=8" in _fails(_write(AFTER, replace(ahead, first_batch=wrong)))
    assert "rolled back further than the ledger" in _fails(_write(AFTER, replace(BATCH, batch_id=3, first_batch=3)))
    assert isinstance(_write(AFTER, replace(BATCH, batch_id=6, first_batch=9)), steps.Produce)


def test_a_rolled_back_checkpoint_that_repeats_history_skips_it() -> None:
    assert next_step(BATCH, CommitView(Ledger((*AFTER.records, _decided(6))))) == steps.ListTasks()


# --- commit() ---


def test_a_commit_looks_decides_and_then_commits() -> None:
    view = CommitView(BEFORE, MESSAGES, OFFSETS)
    assert next_step(BATCH, view) == steps.Describe((FIRST.transactional_id, SECOND.transactional_id))
    view = replace(view, described=OPEN)
    record = Decided("q", 5, "r", RUN, 6, (FIRST, SECOND), rows=7, digest=1, offsets=OFFSETS, checkpoint_hash="five")
    assert next_step(BATCH, view) == steps.Decide(record, OFFSETS)
    view = replace(view, ledger=Ledger((*BEFORE.records, record)))
    assert next_step(BATCH, view) == steps.RollForward((FIRST, SECOND))
    view = replace(view, described=dict(OPEN) | {FIRST.transactional_id: View("CompleteCommit", 20, 0)})
    assert next_step(BATCH, view) == steps.RollForward((SECOND,))
    view = replace(view, described={each: replace_state(told) for each, told in OPEN.items()})
    assert next_step(BATCH, view) == steps.ListTasks()
    losers = frozenset({"p.1-0.0.9", "p.0-7.0.1", "other.1-0.0.9", "p.driver", FIRST.transactional_id})
    view = replace(view, listed=losers, driver=HERE)
    assert next_step(BATCH, view) == steps.Sweep(("p.0-7.0.1", "p.1-0.0.9"))
    assert next_step(BATCH, replace(view, is_swept=True)) == steps.Done()


def replace_state(view: View) -> View:
    return view._replace(state="CompleteCommit")


def test_a_batch_without_rows_is_decided_too() -> None:
    step = next_step(BATCH, CommitView(BEFORE, [MESSAGES[2]], OFFSETS))
    assert isinstance(step, steps.Decide)
    assert step.offsets == OFFSETS


def test_a_transaction_that_is_not_ours_any_more_is_not_decided() -> None:
    gone = dict(OPEN) | {SECOND.transactional_id: View("CompleteAbort", 21, 4)}
    view = CommitView(BEFORE, MESSAGES, described=gone)
    assert next_step(BATCH, view) == steps.Describe(("p.driver",))
    sentence = _fails(next_step(BATCH, replace(view, described=gone | {"p.driver": HERE})))
    assert "raise kafka.transaction.timeout.ms" in sentence
    overtaken = gone | {"p.driver": View("Empty", 1, 1)}
    assert "another run took over" in _fails(next_step(BATCH, replace(view, described=overtaken)))


def test_a_decided_transaction_that_was_aborted_is_reported_loudly() -> None:
    for became in (View("CompleteAbort", 21, 4), None, View("Empty", 21, 9)):
        gone = dict(OPEN) | {SECOND.transactional_id: became, "p.driver": HERE}
        sentence = _fails(next_step(BATCH, CommitView(AFTER, described=gone)))
        assert "part of the batch is missing" in sentence
        assert SECOND.transactional_id in sentence


def test_a_run_that_was_fenced_fails_and_aborts_nothing() -> None:
    view = CommitView(BEFORE, MESSAGES, described=OPEN, is_fenced=True)
    assert "another run took over" in _fails(next_step(BATCH, view))
    assert decide_abort(BATCH, View("Empty", 1, 1), BEFORE, MESSAGES) == steps.Done()
    assert decide_abort(BATCH, None, BEFORE, MESSAGES) == steps.Done()


def test_messages_of_another_batch_or_of_a_lost_ledger_decide_nothing() -> None:
    for stranger in (replace(MESSAGES[0], batch_id=4), replace(MESSAGES[0], run=RunToken(1, 1))):
        assert "nothing was decided" in _fails(next_step(BATCH, CommitView(BEFORE, [stranger], described=OPEN)))
    assert "restore" in _fails(next_step(BATCH, CommitView(BEFORE, [Skipped("q", "r", RUN, 5, 0)])))


def test_a_decided_batch_of_another_query_is_committed_first() -> None:
    left = PreparedTransaction("p.0-3.0.2", 15, 1)
    ledger = Ledger((*BEFORE.records, _decided(2, left, run=RunToken(0, 3), query="gone")))
    assert next_step(BATCH, CommitView(ledger, MESSAGES)) == steps.Describe((left.transactional_id,))
    told = {left.transactional_id: View("Ongoing", 15, 1)} | OPEN
    assert next_step(BATCH, CommitView(ledger, MESSAGES, described=told)) == steps.RollForward((left,))
    told[left.transactional_id] = View("CompleteCommit", 15, 1)
    settled = Settled("gone", 2, "r", RUN, 6)
    assert next_step(BATCH, CommitView(ledger, MESSAGES, described=told)) == steps.Decide(settled)
    step = next_step(BATCH, CommitView(Ledger((*ledger.records, settled)), MESSAGES, described=told))
    assert isinstance(step, steps.Decide)
    assert isinstance(step.record, Decided)
    assert (step.record.batch_id, step.record.sequence) == (5, 7)


def test_a_batch_that_was_left_half_committed_is_finished_before_the_next_is_decided() -> None:
    left = PreparedTransaction("p.1-0.0.7", 18, 2)
    view = CommitView(Ledger((_decided(4, left),)), MESSAGES, OFFSETS)
    described = steps.Describe(("p.1-0.0.7", "p.1-0.0.10", "p.1-0.1.11"))  # and its own in the same request
    assert next_step(BATCH, view) == described
    half = replace(view, described={**OPEN, "p.1-0.0.7": View("Ongoing", 18, 2)})
    assert next_step(BATCH, half) == steps.RollForward((left,))
    committed = replace(view, described={**OPEN, "p.1-0.0.7": View("CompleteCommit", 18, 2)})
    assert isinstance(next_step(BATCH, committed), steps.Decide)
    expired = replace(view, described={**OPEN, "p.1-0.0.7": None})
    assert isinstance(next_step(BATCH, expired), steps.Decide)  # the query was down for days after it was through
    aborted = {**OPEN, "p.1-0.0.7": View("CompleteAbort", 18, 2), "p.driver": HERE}
    assert "batch 4 of query q was decided" in _fails(next_step(BATCH, replace(view, described=aborted)))


def test_a_lost_batch_of_another_query_is_not_reported_as_settled() -> None:
    left, lost = PreparedTransaction("p.0-3.0.2", 15, 1), PreparedTransaction("p.0-3.1.3", 16, 1)
    ledger = Ledger((*BEFORE.records, _decided(2, left, lost, run=RunToken(0, 3), query="gone")))
    for became in (View("CompleteAbort", 16, 2), None):
        told = {left.transactional_id: View("CompleteCommit", 15, 1), lost.transactional_id: became} | OPEN
        step = next_step(BATCH, CommitView(ledger, MESSAGES, described=told))
        assert isinstance(step, steps.Decide)
        assert isinstance(step.record, Decided)


# --- the sweep ---


def test_a_replaced_driver_sweeps_nothing() -> None:
    view = CommitView(AFTER, listed=frozenset({"p.1-1.0.3"}), driver=View("Empty", 1, 1))
    settled = {each: replace_state(told) for each, told in OPEN.items()}
    assert "another run took over" in _fails(next_step(BATCH, replace(view, described=settled)))


def test_an_id_that_was_taken_over_and_lost_is_swept_once_its_batch_is_settled() -> None:
    assert choose(SINK, [FIRST.transactional_id], AFTER) == ()
    assert choose(SINK, [FIRST.transactional_id], Ledger((*AFTER.records, _decided(6)))) == (FIRST.transactional_id,)


# --- abort() ---


def test_abort_ends_what_was_not_decided_with_exactly_its_producers() -> None:
    assert decide_abort(BATCH, HERE, BEFORE, [*MESSAGES, None]) == steps.AbortOurs((FIRST, SECOND))


def test_abort_after_the_decision_does_nothing() -> None:
    assert decide_abort(BATCH, HERE, AFTER, MESSAGES) == steps.Done()


@pytest.mark.parametrize("state", STATES)
def test_abort_does_nothing_while_the_decision_may_be_on_its_way(state: str) -> None:
    is_on_its_way = (state in OPEN_STATES or state == PREPARE_EPOCH_FENCE) and state != PREPARE_ABORT
    expected = steps.Done() if is_on_its_way else steps.AbortOurs((FIRST, SECOND))
    assert decide_abort(BATCH, View(state, 1, 0), BEFORE, MESSAGES) == expected


# --- atomic mode, and batch writes ---


def test_in_atomic_mode_all_tasks_write_in_the_drivers_transaction_and_none_may_fail() -> None:
    atomic = replace(BATCH, is_atomic=True)
    assert _write(BEFORE, atomic) == steps.Produce("p.driver", known=RUN)
    assert "spark.task.maxFailures=1" in _fails(_write(BEFORE, atomic, attempt_number=1))


def test_in_atomic_mode_one_end_decides_and_shows() -> None:
    atomic, shared = replace(BATCH, is_atomic=True), PreparedTransaction("p.driver", *RUN)
    view = CommitView(BEFORE, [Prepared("q", "r", RUN, 5, each, shared, rows=1) for each in range(2)])
    assert next_step(atomic, view) == steps.Describe(("p.driver",))
    step = next_step(atomic, replace(view, described={"p.driver": View("Ongoing", *RUN)}))
    assert isinstance(step, steps.Decide)
    assert isinstance(step.record, Decided)
    assert (step.record.transactions, step.record.rows, step.record.is_atomic) == ((), 2, True)
    assert next_step(atomic, replace(view, ledger=Ledger((*BEFORE.records, step.record)))) == steps.ListTasks()


def test_in_atomic_mode_the_numbers_go_on_where_the_ledger_says() -> None:
    atomic, shared = replace(BATCH, is_atomic=True), PreparedTransaction("p.driver", *RUN)
    before = (WrittenPartition("a", 0, 9), WrittenPartition("a", 1, 4))
    ledger = Ledger((replace(_decided(4), is_atomic=True, written=before),))
    assert _write(ledger, atomic) == steps.Produce("p.driver", known=RUN, written=before)
    assert _write(ledger, replace(atomic, run=RunToken(1, 1))) == steps.Produce("p.driver", known=RunToken(1, 1))
    messages = [
        Prepared("q", "r", RUN, 5, 0, shared, rows=1, written=(WrittenPartition("a", 1, 5),)),
        Prepared("q", "r", RUN, 5, 1, shared, rows=2, written=(WrittenPartition("b", 0, 2),)),
    ]
    step = next_step(atomic, CommitView(ledger, messages, described={"p.driver": View("Ongoing", *RUN)}))
    assert isinstance(step, steps.Decide)
    assert isinstance(step.record, Decided)
    assert step.record.written == (("a", 0, 9), ("a", 1, 5), ("b", 0, 2))


def test_in_atomic_mode_a_partition_that_two_tasks_wrote_is_refused() -> None:
    shared = PreparedTransaction("p.driver", *RUN)
    both = [
        Prepared("q", "r", RUN, 5, each, shared, rows=1, written=(WrittenPartition("a", 3, 1),)) for each in range(2)
    ]
    view = CommitView(BEFORE, both, described={"p.driver": View("Ongoing", *RUN)})
    sentence = _fails(next_step(replace(BATCH, is_atomic=True), view))
    assert "a-3 was written by the tasks 0 and 1" in sentence
    assert "df.repartition" in sentence
    assert not describe_overlap([both[0], both[0]])


def test_messages_tell_whose_they_are() -> None:
    assert author([None, *MESSAGES]) == ("q", "r", RUN)
    assert author([None]) is None


def test_a_batch_write_is_settled_in_the_ledger_and_never_done_again() -> None:
    query = batch_query_id("2026-11-21")
    batch = Batch(Sink("p", query), "r", RUN, 0, is_stream=False)
    decided = _decided(0, FIRST, query=query)
    view = CommitView(Ledger((decided,)), described={FIRST.transactional_id: View("CompleteCommit", 20, 0)})
    settled = Settled(query, 0, "r", RUN, 2)
    assert next_step(batch, view) == steps.Decide(settled)
    ledger = Ledger((decided, settled))
    again = replace(batch, run=RunToken(1, 1))
    assert _write(ledger, again) == steps.SkipAndDrain()
    assert next_step(again, CommitView(ledger)) == steps.ListTasks()  # its ids may have expired: nobody asks for them
