"""A transaction that is not over: its producer, what it waits for, and what will end it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.broker.insight.why.rules.answer import WhyAnswer, evidence
from barnabas.broker.insight.why.rules.formatting import as_argument, counted, duration, listed, moment, named
from barnabas.broker.insight.why.rules.held_requests import HeldFacts


class Unmarked(NamedTuple):
    """A partition that has not accepted the marker yet."""

    partition: str
    reason: str
    """Why not, as the end of a sentence."""


class TransactionFacts(NamedTuple):
    """A transaction that is open, or whose end is decided but not complete."""

    producer_id: int
    producer_epoch: int | None = None
    transactional_id: str | None = None
    """None if no coordinator has an id with this producer."""
    state: str | None = None
    age_ms: int | None = None
    time_left_ms: int | None = None
    """Until its timeout; negative if that has passed; None if no timeout ends it."""
    times_out_at_ms: int | None = None
    unmarked: tuple[Unmarked, ...] = ()
    unmarked_count: int = 0
    held_at: str | None = None
    """The step at which a test stops it."""
    held: HeldFacts | None = None
    """The fault that stops it, and since when."""
    client_id: str | None = None
    peer: str | None = None
    is_sure: bool = True
    """Whether all coordinators were queried; otherwise some still load."""
    where: str | None = None
    """The partition that waits for it; `start_offset` is its first offset there."""
    start_offset: int | None = None


def whose(txn: TransactionFacts) -> str:
    """Format as: transactional id tx (producer 4000, epoch 1, client c from 127.0.0.1:4711), begun 12 s ago."""
    facts = [f"producer {txn.producer_id}"]
    if txn.producer_epoch is not None:
        facts.append(f"epoch {txn.producer_epoch}")
    if txn.client_id is not None:
        facts.append(f"client {named(txn.client_id)}" + (f" from {txn.peer}" if txn.peer else ""))
    description = ", ".join(facts)
    name = (
        description
        if txn.transactional_id is None
        else f"transactional id {named(txn.transactional_id)} ({description})"
    )
    return name if txn.age_ms is None else f"{name}, begun {duration(txn.age_ms)} ago"


def explain(txn: TransactionFacts) -> WhyAnswer:
    """Return the answer about a transaction that a partition waits for."""
    first = f"{txn.where} is held at offset {txn.start_offset} by {whose(txn)}."
    return WhyAnswer((first, *waits_for(txn)), evidence(txn))


def waits_for(txn: TransactionFacts) -> list[str]:
    """Return what the end of the transaction waits for, and how to bring it about."""
    if txn.held_at is not None:
        return [_held_up(txn)]
    match txn.state:
        case "Ongoing":
            return [_ends_by(txn)]
        case "PrepareCommit" | "PrepareAbort":
            return _ending(txn)
        case None:
            return [_hangs(txn)]
        case _:
            return [
                f"Its coordinator has {txn.state}: the transaction is over there, and has no marker in this partition. "
                f"{_by_force(txn)}"
            ]


def _held_up(txn: TransactionFacts) -> str:
    decided = "commit" if txn.state == "PrepareCommit" else "abort"
    where = f"at the step {txn.held_at}"
    if txn.held is None:
        return f"Its {decided} is decided, and a fault holds it up {where} until that is released: `barnabas faults`."
    held = f"fault {txn.held.fault} holds it up {where}, for {duration(txn.held.held_for_ms)} so far"
    return f"Its {decided} is decided, and {held}: `barnabas faults release {txn.held.fault}` resumes it."


def _ends_by(txn: TransactionFacts) -> str:
    assert txn.transactional_id is not None
    by_hand = f"`barnabas txn abort {as_argument(txn.transactional_id)}` ends it now"
    if txn.time_left_ms is None or txn.times_out_at_ms is None:
        return f"It ends when its producer sends EndTxn; it has no timeout (two-phase commit), and {by_hand}."
    if txn.time_left_ms < 0:
        return f"Its timeout passed {duration(-txn.time_left_ms)} ago: the next check of timeouts aborts it; {by_hand}."
    left = f"in {duration(txn.time_left_ms)} (at {moment(txn.times_out_at_ms)})"
    return f"It ends when its producer sends EndTxn, or by its timeout {left}; {by_hand}."


def _ending(txn: TransactionFacts) -> list[str]:
    decided = "commit" if txn.state == "PrepareCommit" else "abort"
    if not txn.unmarked_count:
        return [f"Its {decided} is decided and is being carried out."]
    first = (
        f"Its {decided} is decided, and {counted(txn.unmarked_count, 'partition')} did not accept the marker yet: "
        "the broker retries by itself."
    )
    return [first, *_reasons(txn.unmarked)]


def _reasons(unmarked: Sequence[Unmarked]) -> list[str]:
    by_reason: dict[str, list[str]] = {}
    for each in unmarked:
        by_reason.setdefault(each.reason, []).append(each.partition)
    return [f"{listed(partitions)}: {reason}." for reason, partitions in by_reason.items()]


def _hangs(txn: TransactionFacts) -> str:
    if not txn.is_sure:
        return "Its transactional id is not known yet: partitions of __transaction_state are being loaded."
    return f"No transactional id has this producer, so no producer will end it: it hangs. {_by_force(txn)}"


def _by_force(txn: TransactionFacts) -> str:
    return (
        f"`barnabas txn abort --partition {txn.where} --start-offset {txn.start_offset}` writes the marker by force."
        if txn.where is not None
        else "`barnabas txn find-hanging` finds it."
    )
