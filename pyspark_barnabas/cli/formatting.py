"""A look at a sink as text for people, and as JSON for programs. Pure."""

from __future__ import annotations

import time
from typing import Any

from barnabas.client.admin.transactions import TransactionHold
from barnabas.protocol.log_records.transaction_states import NO_TIMEOUT_MS
from pyspark_barnabas.cli.sink_state import BatchLine, Look, PendingTransaction, RunLine, batches, newer_token, runs
from pyspark_barnabas.cli.sink_state import open_transactions as open_ones


def report(look: Look, last: int) -> list[str]:
    """Return the lines that `ledger show` prints, with the last `last` batches."""
    decided, open_now = batches(look), open_ones(look)
    how_far = "" if look.is_whole else f", of which the last {len(look.records)} records were read"
    lines = [f"ledger {look.topic}, up to offset {look.end_offset}{how_far}", ""]
    lines += ["runs", *(f"  {run_line(each)}" for each in runs(look)[-last:])]
    if (token := newer_token(look)) is not None:
        lines.append(f"  {token}  holds the token, but has no record in the ledger")
    lines += ["", f"batches{_of(len(decided), last)}", *(f"  {batch_line(each)}" for each in decided[-last:])]
    lines += ["", "open transactions" if open_now else "no transaction is open under the prefix"]
    shown = set[str]()
    for each in open_now:
        lines.append(f"  {transaction_line(each, look.now_ms)}")
        held = [hold_line(hold) for hold in (look.holds or {}).get(each.info.transactional_id, ())]
        lines += [
            f"    {line}" for line in held if line not in shown
        ]  # each partition once, at the first of its holders
        shown.update(held)
    if open_now and look.holds is None:
        lines.append("  the waiting readers cannot be listed: that needs READ on the topics")
    if look.stable_offset < look.end_offset:
        lines.append(
            f"  the ledger itself can be read only up to offset {look.stable_offset}: a decision is in progress"
        )
    return lines


def run_line(line: RunLine) -> str:
    """Describe a run, and the run that took over from it."""
    run = line.run
    decided = "no batch" if line.batches is None else _range(*line.batches)
    after = "holds the token" if line.taken_over_by is None else f"fenced by {line.taken_over_by}"
    return f"{run.run}  since {moment(line.since_ms)}  query {run.query_id}, run {run.run_id}: {decided}; {after}"


def batch_line(line: BatchLine) -> str:
    """Describe a batch."""
    each = line.decision
    text = f"{each.batch_id}  {line.state.value}  {counted(each.rows, 'row')}, "
    text += "atomic" if each.is_atomic else counted(len(each.transactions), "transaction")
    text += f"  decided {moment(line.decided_ms)} by {each.run}  query {each.query_id}"
    if line.still_open:
        text += f"; {counted(len(line.still_open), 'transaction')} still open: `abandon` or the next run commits"
    if line.lost:
        names = ", ".join(lost.transactional_id for lost in line.lost)
        text += f"; aborted, so that rows are missing: {names}"
    return text


def transaction_line(each: PendingTransaction, now_ms: int) -> str:
    """Describe a transaction with its age, its end, and what may be done about it."""
    info = each.info
    text = f"{info.transactional_id}  {info.state} for {duration(now_ms - info.start_timestamp_ms)}"
    text += f", producer {info.producer_id}, epoch {info.producer_epoch}: "
    if each.is_ending:
        return text + "its end is being written"
    if each.decision is not None:
        what = f"part of batch {each.decision.batch_id}, which is decided: it will be committed"
    elif each.is_of_the_driver:
        what = "the driver's, which decides the batch"
    else:
        what = "not part of a decided batch"
    ends = "no timeout ends it" if info.timeout_ms == NO_TIMEOUT_MS else ""
    if not ends:
        left_ms = info.start_timestamp_ms + info.timeout_ms - now_ms
        ends = f"aborted in {duration(left_ms)} unless it ends earlier" if left_ms > 0 else "its timeout has passed"
    return f"{text}{what}; {ends}"


def hold_line(hold: TransactionHold) -> str:
    """Describe how a transaction blocks readers in one partition."""
    place = f"{hold.topic}-{hold.partition}"
    if not hold.held_back:
        return f"{place}: no reader waits"
    return f"{place}: readers stop at offset {hold.last_stable_offset} of {hold.high_watermark}"


def facts(look: Look, last: int) -> dict[str, Any]:
    """Return what `ledger show --json` prints."""
    return {
        "prefix": look.prefix,
        "ledger": look.topic,
        "end_offset": look.end_offset,
        "last_stable_offset": look.stable_offset,
        "runs": [
            {
                "query": each.run.query_id,
                "run_id": each.run.run_id,
                "token": str(each.run.run),
                "since_ms": each.since_ms,
                "batches": each.batches and list(each.batches),
                "fenced_by": each.taken_over_by and str(each.taken_over_by),
            }
            for each in runs(look)[-last:]
        ],
        "unregistered_token": (token := newer_token(look)) and str(token),
        "batches": [_batch_facts(each) for each in batches(look)[-last:]],
        "transactions": [_transaction_facts(each, look) for each in open_ones(look)],
    }


def _batch_facts(line: BatchLine) -> dict[str, Any]:
    each = line.decision
    return {
        "query": each.query_id,
        "batch": each.batch_id,
        "state": line.state.value,
        "rows": each.rows,
        "digest": f"{each.digest:016x}",
        "atomic": each.is_atomic,
        "transactions": [transaction.transactional_id for transaction in each.transactions],
        "still_open": [transaction.transactional_id for transaction in line.still_open],
        "lost": [transaction.transactional_id for transaction in line.lost],
        "token": str(each.run),
        "decided_ms": line.decided_ms,
    }


def _transaction_facts(each: PendingTransaction, look: Look) -> dict[str, Any]:
    info = each.info
    holds = None if look.holds is None else look.holds.get(info.transactional_id, ())
    return {
        "transactional_id": info.transactional_id,
        "state": info.state,
        "producer_id": info.producer_id,
        "producer_epoch": info.producer_epoch,
        "age_ms": max(0, look.now_ms - info.start_timestamp_ms),
        "timeout_ms": None if info.timeout_ms == NO_TIMEOUT_MS else info.timeout_ms,
        "decided_batch": each.decision and each.decision.batch_id,
        "holds": None if holds is None else [hold._asdict() for hold in holds],
    }


def moment(ms: int) -> str:
    """Format a time in UTC, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ms / 1000))


def duration(ms: int) -> str:
    """Format a duration: `412 ms`, `48 s`, `3 min 12 s`, `2 h 5 min`."""
    if ms < 1000:
        return f"{max(0, ms)} ms"
    minutes, seconds = divmod(ms // 1000, 60)
    hours, minutes_left = divmod(minutes, 60)
    return f"{hours} h {minutes_left} min" if hours else f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def counted(count: int, noun: str) -> str:
    """Format a count with its noun: `1 row`, `2 rows`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _range(first: int, last: int) -> str:
    return f"batch {first}" if first == last else f"batches {first} to {last}"


def _of(count: int, last: int) -> str:
    return f" (the last {last} of {count} that were read)" if count > last else ""
