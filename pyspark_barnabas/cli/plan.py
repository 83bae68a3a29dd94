"""`ledger abandon`: whether a run seems alive, and what is done with each transaction under the prefix. Pure.

A broker does not know whether a producer lives. What can be seen: when a transaction began, when the ledger was written
to, and whether anything moves between two looks, rows included. The time of rows says nothing, as they may bring their
own. A run that is silent for longer may live all the same, in a batch whose rows take long to compute; to be fenced
costs it a restart, and no row.
"""

from __future__ import annotations

from typing import NamedTuple

from pyspark_barnabas.cli.picture import BatchState, Look, batches
from pyspark_barnabas.cli.words import duration
from pyspark_barnabas.commit.identity import Sink, is_rescue, parse_task_id
from pyspark_barnabas.commit.ledger import Decided
from pyspark_barnabas.commit.messages import PreparedTransaction
from pyspark_barnabas.commit.sweeping import choose


class Plan(NamedTuple):
    """What is done once the token is taken: commit what is decided, abort what is not.

    settled: decisions of which everything is committed now. lost: what was aborted though decided. is_ending: whether a
    transaction is just being committed, so that it is better to look again. forgotten: the last decision, where nobody
    knows what became of its transactions.
    """

    commit: tuple[PreparedTransaction, ...]
    abort: tuple[str, ...]
    settled: tuple[Decided, ...]
    lost: tuple[tuple[Decided, PreparedTransaction], ...]
    is_ending: bool
    forgotten: tuple[Decided, ...] = ()


def signs_of_life(first: Look, second: Look, quiet_ms: int) -> list[str]:
    """Why a run seems alive; nothing where none does. What `abandon` and `recover` wrote and left open is no sign."""
    found = []
    rescues = {each.record.run for each in second.records if is_rescue(each.record.run_id)}
    written = [each.timestamp_ms for each in second.records if each.record.run not in rescues]
    begun = [
        each.start_timestamp_ms
        for each in second.listed
        if parse_task_id(each.transactional_id) or (each.producer_id, each.producer_epoch) not in rescues
    ]
    moments = {
        "the ledger was written to": max(written, default=0),
        "a transaction was begun": max(begun, default=0),
    }
    for what, when_ms in moments.items():
        if second.now_ms - when_ms < quiet_ms:
            found.append(f"{what} {duration(second.now_ms - when_ms)} ago")
    if first.end_offset != second.end_offset:
        found.append("the ledger grows")
    if {each.transactional_id for each in second.listed} - {each.transactional_id for each in first.listed}:
        found.append("transactions are begun")
    if second.written - first.written:
        found.append("rows are being written")
    if first.driver != second.driver:
        found.append("the token changes hands")
    return found


def plan(look: Look) -> Plan:
    """What is to be done, from a look that was taken by whoever holds the token now."""
    unsettled = [each for each in batches(look) if not look.ledger.is_settled(each.decision)]
    listed = [each.transactional_id for each in look.listed]
    last = batches(look)[-1:]
    return Plan(
        commit=tuple(transaction for each in unsettled for transaction in each.still_open),
        abort=choose(Sink(look.prefix, ""), listed, look.ledger),
        settled=tuple(each.decision for each in unsettled if each.state is BatchState.FINISHED),
        lost=tuple((each.decision, transaction) for each in unsettled for transaction in each.lost),
        is_ending=any(each.state is BatchState.DECIDED and not each.still_open for each in unsettled),
        forgotten=tuple(each.decision for each in last if each.state is BatchState.UNKNOWN),
    )
