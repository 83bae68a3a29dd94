"""Transactions that will never be decided: those of older runs, and the losing attempts of this one.

A token does not show which of two runs is older, as its numbers may go down. The ids are listed first, and
the driver's id is described after that. If it still is this run's, no newer run had begun when the list was made, so
every other run in it is an older one. And an older run decides nothing any more: its first attempt is fenced.

No id of a decision that the ledger does not prove settled is ever chosen, whatever else is known of it. That of an
older decision may be: the open transaction under it is that of a later attempt that reused the id and lost.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark_barnabas.commit.identity import Sink, parse_task_id
from pyspark_barnabas.commit.ledger import Decided, Ledger


def choose(sink: Sink, listed: Iterable[str], ledger: Ledger) -> tuple[str, ...]:
    """Return the listed ids, all with an open transaction, that have to be aborted. To be called between two batches
    of this run, by the run that still was the driver after they were listed.
    """
    decided = {
        each.transactional_id
        for record in ledger.records
        if isinstance(record, Decided) and not ledger.is_settled(record)
        for each in record.transactions
    }
    tasks = ((parse_task_id(each), each) for each in listed)
    return tuple(sorted(each for task, each in tasks if task and task.prefix == sink.prefix and each not in decided))
