"""abort(): what is done when Spark says that a batch failed, which it also says after a commit() that decided it.

The driver's id has to be described *before* the ledger is read. While its transaction is open, the request that ends it
may still be on its way, and the batch decided after all; once it is not open, the ledger is authoritative. In doubt
everything is left as it is: the next run sweeps what was not decided.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark_barnabas.commit.batch import Batch, first_look
from pyspark_barnabas.commit.ledger import Ledger
from pyspark_barnabas.commit.messages import Message, Prepared, PreparedTransaction
from pyspark_barnabas.commit.prepared_state import View
from pyspark_barnabas.commit.states import Act, Call, CommitState, Do, on
from pyspark_barnabas.commit.steps import AbortOurs, AbortStep, Done

_UNDECIDED = ("Ongoing", "PrepareCommit", "PrepareEpochFence")  # a transaction in PrepareAbort decides nothing


def decide_abort(batch: Batch, driver: View | None, ledger: Ledger, messages: Iterable[Message | None]) -> AbortStep:
    """Return what abort() does. `messages` has None for a task that sent none."""
    is_fenced = driver is None or (driver.producer_id, driver.producer_epoch) != batch.run
    state, _ = first_look(batch, ledger, is_fenced=is_fenced)
    if state is CommitState.NEW and driver is not None and driver.state in _UNDECIDED and not batch.is_atomic:
        state = CommitState.PENDING
    answer = on(state, Call.ABORT)
    ours = _ours(batch, messages)
    return AbortOurs(ours) if answer == Do(Act.ABORT_OURS) and ours else Done()


def _ours(batch: Batch, messages: Iterable[Message | None]) -> tuple[PreparedTransaction, ...]:
    each_once = dict.fromkeys(
        each.transaction
        for each in messages
        if isinstance(each, Prepared) and each.transaction and (each.run, each.batch_id) == (batch.run, batch.batch_id)
    )
    return tuple(each_once)
