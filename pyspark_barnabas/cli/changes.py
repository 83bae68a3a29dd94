"""The changes between two looks at a sink: a line for each. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark_barnabas.cli.formatting import batch_line, duration, run_line, transaction_line
from pyspark_barnabas.cli.sink_state import BatchState, Look, batches, newer_token, open_transactions, runs


def changes(before: Look, after: Look) -> list[str]:
    """Return what is new, in the order in which it happens: runs, transactions begun, decisions, ends."""
    return [*_runs(before, after), *_begun(before, after), *_batches(before, after), *_ended(before, after)]


def _runs(before: Look, after: Look) -> Iterable[str]:
    known = {each.run.run for each in runs(before)}
    for each in runs(after):
        if each.run.run not in known:
            yield f"run {run_line(each)}"
    token = newer_token(after)
    if token is not None and token != newer_token(before):
        yield f"run {token} took the token"


def _begun(before: Look, after: Look) -> Iterable[str]:
    known = {(each.info.transactional_id, each.info.start_timestamp_ms) for each in open_transactions(before)}
    for each in open_transactions(after):
        if (each.info.transactional_id, each.info.start_timestamp_ms) not in known and not each.is_of_the_driver:
            yield f"open {transaction_line(each, after.now_ms)}"


def _batches(before: Look, after: Look) -> Iterable[str]:
    known = {(each.decision.query_id, each.decision.batch_id): each.state for each in batches(before)}
    for each in batches(after):
        was = known.get((each.decision.query_id, each.decision.batch_id))
        if was is not each.state and not (was is BatchState.FINISHED or each.state is BatchState.UNKNOWN):
            yield f"batch {batch_line(each)}"


def _ended(before: Look, after: Look) -> Iterable[str]:
    still = {(each.info.transactional_id, each.info.start_timestamp_ms) for each in open_transactions(after)}
    for each in open_transactions(before):
        info = each.info
        if (info.transactional_id, info.start_timestamp_ms) not in still and not each.is_of_the_driver:
            yield f"ended {info.transactional_id}, open for {duration(after.now_ms - info.start_timestamp_ms)} at most"
