"""How a run gets its token: a task takes it, and shows it to all the others through the ledger.

Nothing of ours runs in Spark's driver before the tasks do, so the tasks do it among themselves, each at its
beginning. A task knows Spark's id of the run. It fills in an `OpeningView`, calls `next_step`, takes the step, records
what it saw, and calls again, until UseToken or Fail.

              own run's record is the newest                    UseToken
    ReadLedger ──┬─ none of the own run's, and one is elected   TakeToken ─► ReadLedger ─► Register ─► ReadLedger
                 ├─ none of the own run's                       Wait ─► ReadLedger; once patience is over, TakeToken
                 └─ the own run's, and others after it          Fail: another run took over
    Register whose end is not answered                          Wait ─► ReadLedger; after a second, TakeToken

The task at partition 0 is elected; if it died, Spark's next attempt at it. A task that has waited for it too long (it
has no core yet) takes the token, too. So two tasks of a run may take it one after the other. The later one
fences the other, whose Register is refused, and which then uses the token that the later one registers. If the earlier
one had registered already, the run's token is invalid: its commit() fails as fenced, nothing was decided, and
the next start is clean.

The end of Register is sent once: as soon as the record is visible, other tasks write with the token, and a second end
would commit their rows. If it is not answered, the task looks for its record, and takes another token if it does not
find it: that aborts what is open, and fences the end if it is still on its way. If it takes effect in between, the
run's token is invalid, as above.

Invariants, explored in tests/support/commit_model: a task decides what to do with its rows from a ledger that contains
its own run's record; all decisions of other runs are before that record, since Register is refused to a task that does
not hold the token any more. So a run that opens late, even one that is older than the one it takes over from, continues
from all that was decided. And a run id has one record of kind `run`, as long as the ledger that is read reaches back to
it.

For a front end:
* TakeToken is InitProducerId as "<prefix>.driver", retried until it is answered (CONCURRENT_TRANSACTIONS: retry).
Then nothing that any earlier driver wrote is open any more.
* ReadLedger reads committed records up to the last stable offset, as a dead driver's transaction may be open behind it.
With `taken` none is: then it waits until the last stable offset reaches the high watermark, and reads up to that. With
`unanswered_ms` the task's own may be open, so that it does not wait.
* The ledger's transactions use the older protocol (EndTxn up to v4), which does not change the token's epoch.
* A record is produced alone in its batch, and its base sequence is its `sequence`: the producer's epoch, and so the
numbers, continue from batch to batch of the run, across processes. See `ledger`.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_barnabas.commit.identity import RunToken, Sink
from pyspark_barnabas.commit.ledger import Ledger, Run
from pyspark_barnabas.commit.steps import Fail, OpeningStep, ReadLedger, Register, TakeToken, UseToken, Wait

PATIENCE_MS = 5_000
"""How long a task waits for the run's record before it takes the token itself."""
_APART_MS, _RANKS = 500, 20
"""The other tasks do not lose their patience all at once, but one after the other, by their partition."""
POLL_MS = 50
ANSWER_MS = 1_000
"""How long a task looks for its record after an end that was not answered, before it takes another token."""
UNANSWERED_MS = 120_000
"""How long it does so, again and again, before it fails."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A task that begins. run_id: Spark's id of the run; a batch write draws one in its driver."""

    sink: Sink
    run_id: str
    partition: int


@dataclass(frozen=True, slots=True)
class OpeningView:
    """The state that the task has seen. Replace fields as more is seen (dataclasses.replace).

    ledger: None until it is read; to be reset to None after every step but ReadLedger.
    taken: the token that InitProducerId returned to this very task. is_registered: its Register succeeded.
    is_fenced: its Register was refused with PRODUCER_FENCED, INVALID_PRODUCER_EPOCH or similar.
    unanswered_ms: since its Register was sent whose end was not answered; None without one, and after TakeToken.
    waited_ms: since the task began.
    """

    ledger: Ledger | None = None
    taken: RunToken | None = None
    is_registered: bool = False
    is_fenced: bool = False
    unanswered_ms: int | None = None
    waited_ms: int = 0


def next_step(opening: Opening, view: OpeningView) -> OpeningStep:
    """Return what the task does next about its run's token."""
    if view.ledger is None:
        return ReadLedger()
    holder = view.ledger.holder()
    if holder is not None and holder.run_id == opening.run_id:
        return UseToken(holder.run)
    if any(each.run_id == opening.run_id for each in view.ledger.records):
        return Fail(_overtaken(opening))
    is_patient = view.waited_ms < patience_ms(opening)
    if view.is_registered or view.is_fenced:  # our record, or that of the task that fenced us, is on its way
        return Wait(POLL_MS) if is_patient else Fail(_overtaken(opening))
    if view.unanswered_ms is not None:
        if view.unanswered_ms < ANSWER_MS:
            return Wait(POLL_MS)
        return TakeToken(opening.sink.driver_id) if view.waited_ms < UNANSWERED_MS else Fail(_unanswered(opening))
    if view.taken is not None:
        return Register(Run(opening.sink.query_id, opening.run_id, view.taken))
    if opening.partition == 0 or not is_patient:
        return TakeToken(opening.sink.driver_id)
    return Wait(POLL_MS)


def patience_ms(opening: Opening) -> int:
    """Return how long a task waits for others, before it takes the token or fails."""
    return PATIENCE_MS + _APART_MS * (opening.partition % _RANKS)


def _unanswered(opening: Opening) -> str:
    return (
        f"the brokers do not answer the ends of transactions of {opening.sink.driver_id!r}, so that run"
        f" {opening.run_id} of query {opening.sink.query_id} cannot begin: the log has their errors. Restart the query"
        " when they do"
    )


def _overtaken(opening: Opening) -> str:
    return (
        f"another run took over the sink {opening.sink.prefix!r} from run {opening.run_id} of query"
        f" {opening.sink.query_id}: this run stops, and its undecided batch is discarded. If two queries were "
        "started, stop one; to run both, give each its own prefix. If only one was started, this is an earlier run "
        "that started late, or such a run took over from it: restart the query"
    )
