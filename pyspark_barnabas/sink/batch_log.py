"""The driver's log of a query: its first line, a line for each batch, and a warning for each recovery.

The sentences are pure. The first batch of a run is found in the ledger, as Spark may commit each batch in another
process. The timeout is the one that the coordinator reports for the transactions, not the requested one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from barnabas.protocol.log_records.transaction_states import NO_TIMEOUT_MS
from pyspark_barnabas.commit.batch import Batch
from pyspark_barnabas.commit.identity import parse_task_id
from pyspark_barnabas.commit.ledger import Decided, Ledger
from pyspark_barnabas.commit.messages import Message, Prepared, PreparedTransaction

_NAMED = 3


def is_first(batch: Batch, ledger: Ledger, decision: Decided) -> bool:
    """Return whether it is the first batch of its run that has a transaction, before it is decided."""
    before = [each for each in ledger.of_run(batch.run) if isinstance(each, Decided)]
    return _has_transaction(decision) and not any(_has_transaction(each) for each in before)


def describe_query(batch: Batch, topic: str, timeouts_ms: Mapping[str, int]) -> str:
    """Return the first line: names, and what happens to open transactions if no client ends them."""
    prefix = batch.sink.prefix
    shortest_ms = min(timeouts_ms.values(), default=0)
    end_it = (
        f"start it again, or end them with `python -m pyspark_barnabas ledger abandon {prefix}`; `barnabas txn abort`"
        " is only for those that are not part of a decided batch"
    )
    if shortest_ms == NO_TIMEOUT_MS:
        how = (
            "Two-phase commits are used: no decided batch can be lost by a timeout. Transactions have no timeout, so "
            f"if the query dies, readers wait: {end_it}"
        )
    else:
        how = (
            f"Transactions time out after {shortest_ms} ms. If broker or query are away for longer between a batch's"
            " decision and its end, part of the batch is lost, and the next run reports it. If the query dies, "
            f"readers wait that long: {end_it}"
        )
    return f"query {batch.sink.query_id} writes under the prefix {prefix!r}, ledger {topic}, token {batch.run}. {how}"


def describe_batch(batch: Batch, messages: Sequence[Message], began_ms: int, ended_ms: int) -> str:
    """Return the line of a batch that was committed. began_ms: when commit() was called."""
    prepared = [each for each in messages if isinstance(each, Prepared)]
    name = f"batch {batch.batch_id} of query {batch.sink.query_id}"
    if not prepared:
        return (
            f"recovery: {name} was already decided, so its rows were not written again; commit {ended_ms - began_ms} ms"
        )
    places = {(where.topic, where.partition) for each in prepared for where in each.written}
    first_ms = min(each.began_ms for each in prepared)
    prepare_ms = max(0, max(each.prepared_ms for each in prepared) - first_ms)
    return (
        f"{name}: {sum(each.rows for each in prepared)} rows, {sum(each.sent_bytes for each in prepared)} bytes,"
        f" {len(places)} partitions; prepare {prepare_ms} ms, commit {ended_ms - began_ms} ms,"
        f" total {max(0, ended_ms - first_ms)} ms"
    )


def describe_recovery(batch: Batch, ledger: Ledger, transactions: Sequence[PreparedTransaction]) -> str:
    """Return the warning about a batch that an earlier run decided and did not finish; empty if it is this run's."""
    record = next((each for each in _decisions(ledger) if transactions[0] in each.transactions), None)
    if record is None or record.run == batch.run:
        return ""
    return (
        f"recovery: batch {record.batch_id} of query {record.query_id} was decided by the run {record.run}, but not "
        f"finished; its {len(transactions)} open transactions of {len(record.transactions)} are committed now"
    )


def describe_sweep(batch: Batch, ids: Iterable[str]) -> str:
    """Return the warning about transactions of earlier runs that were never decided; empty if there are none."""
    tasks = {each: parse_task_id(each) for each in ids}
    left = [name for name, task in tasks.items() if task is not None and task.run != batch.run]
    if not left:
        return ""
    named = ", ".join(left[:_NAMED]) + (", …" if len(left) > _NAMED else "")
    return f"recovery: {len(left)} transactions of earlier runs, not part of a decided batch, are aborted: {named}"


def _decisions(ledger: Ledger) -> list[Decided]:
    return [each for each in ledger.records if isinstance(each, Decided)]


def _has_transaction(decision: Decided) -> bool:
    return bool(decision.transactions) or (decision.is_atomic and decision.rows > 0)
