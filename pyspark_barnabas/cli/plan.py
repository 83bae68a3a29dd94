"""`ledger abandon`: whether a run seems alive, and what is done with each transaction under the prefix. Pure.

A broker does not know whether a producer is alive. What can be seen: when a transaction began, when the ledger was
written to, and whether anything changes between two looks, rows included. The timestamps of rows say nothing, as rows
may bring their own. A run that is silent for longer may still be alive, in a batch whose rows take long to compute;
if it is fenced, it needs a restart, and no row is lost.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.client.admin.transactions import TransactionInfo
from pyspark_barnabas.cli.formatting import duration
from pyspark_barnabas.cli.sink_state import BatchState, Look, batches
from pyspark_barnabas.commit.identity import RunToken, Sink, is_rescue, parse_task_id
from pyspark_barnabas.commit.ledger import Decided, Run
from pyspark_barnabas.commit.messages import PreparedTransaction
from pyspark_barnabas.commit.prepared_state import View
from pyspark_barnabas.commit.stale_transactions import choose


class FinishPlan(NamedTuple):
    """The steps once the token is taken: commit what is decided, abort what is not.

    settled: decisions of which everything is committed now. lost: transactions that were aborted though decided.
    is_ending: whether a transaction is being committed, which needs another look. forgotten: the last decision, if
    no coordinator knows the outcome of its transactions.
    """

    commit: tuple[PreparedTransaction, ...]
    abort: tuple[str, ...]
    settled: tuple[Decided, ...]
    lost: tuple[tuple[Decided, PreparedTransaction], ...]
    is_ending: bool
    forgotten: tuple[Decided, ...] = ()


def signs_of_life(first: Look, second: Look, quiet_ms: int) -> list[str]:
    """Return why a run seems alive; empty if none does. What `abandon` and `recover` wrote or left open is no sign, nor
    is what a run did that began behind a lost batch: it can only fail, however often it is started again.
    """
    found = []
    rescues = {each.record.run for each in second.records if is_rescue(each.record.run_id)}
    hopeless = _hopeless(second)
    silent = rescues | hopeless
    written = [each.timestamp_ms for each in second.records if each.record.run not in silent]
    begun = [each.start_timestamp_ms for each in second.listed if not _is_silent(each, silent, hopeless)]
    moments = {
        "the ledger was written to": max(written, default=0),
        "a transaction was begun": max(begun, default=0),
    }
    for what, when_ms in moments.items():
        if second.now_ms - when_ms < quiet_ms:
            found.append(f"{what} {duration(second.now_ms - when_ms)} ago")
    new = [each for each in second.records if each.offset >= first.end_offset]
    if first.end_offset != second.end_offset and not (new and all(each.record.run in hopeless for each in new)):
        found.append("the ledger grows")
    known = {each.transactional_id for each in first.listed}
    if any(each.transactional_id not in known and not _is_silent(each, silent, hopeless) for each in second.listed):
        found.append("transactions are begun")
    doomed = {each.producer_id for each in second.listed if _is_silent(each, silent, hopeless)}
    if any(each.producer_id not in doomed for each in second.written - first.written):
        found.append("rows are being written")
    if first.driver != second.driver and not (second.driver and _token(second.driver) in hopeless):
        found.append("the token changes hands")
    return found


def _hopeless(look: Look) -> set[RunToken]:
    """Return runs of a query that began behind a lost batch of it: none of them decides anything before `recover`."""
    lost = {each.decision for each in batches(look) if each.state is BatchState.LOST}
    queries, found = set[str](), set[RunToken]()
    for record in (each.record for each in look.records):
        if record in lost:
            queries.add(record.query_id)
        elif isinstance(record, Run) and record.query_id in queries:
            found.add(record.run)
        elif isinstance(record, Decided):
            found.discard(record.run)
    return found


def _is_silent(each: TransactionInfo, silent: set[RunToken], hopeless: set[RunToken]) -> bool:
    """Return whether a transaction is of the token of a silent run, or of a task of a hopeless one."""
    task = parse_task_id(each.transactional_id)
    return task.run in hopeless if task is not None else _token(each) in silent


def _token(of: TransactionInfo | View) -> RunToken:
    return RunToken(of.producer_id, of.producer_epoch)


def plan(look: Look) -> FinishPlan:
    """Return what has to be done, from a look that was taken by the current holder of the token."""
    unsettled = [each for each in batches(look) if not look.ledger.is_settled(each.decision)]
    listed = [each.transactional_id for each in look.listed]
    last = batches(look)[-1:]
    return FinishPlan(
        commit=tuple(transaction for each in unsettled for transaction in each.still_open),
        abort=choose(Sink(look.prefix, ""), listed, look.ledger),
        settled=tuple(each.decision for each in unsettled if each.state is BatchState.FINISHED),
        lost=tuple((each.decision, transaction) for each in unsettled for transaction in each.lost),
        is_ending=any(each.state is BatchState.DECIDED and not each.still_open for each in unsettled),
        forgotten=tuple(each.decision for each in last if each.state is BatchState.UNKNOWN),
    )
