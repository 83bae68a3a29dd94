"""Rules about what has its time: a transaction is aborted when its time is up, and a decided one is soon complete."""

from collections.abc import Iterator

from tests.simulation.checkers.transactions.moments import ends_of
from tests.simulation.history.history import History, Outcome, Transaction

_END_BOUND_US = 5_000_000  # of an EndTxn, from when the broker is there
_DISTURBED_US = 12_000_000  # more: what a disk kept from being opened is tried again every ten seconds


def overlong_transactions(history: History) -> Iterator[str]:
    """No transaction is committed that was open for longer than its timeout and the time until the next look for such.

    It was open when its first record was acknowledged, at the latest; and still when its end was asked for.
    """
    terms = history.terms
    if terms is None:
        return
    for each in history.transactions:
        begun_us = _begun_us(each)
        if begun_us is None or not each.is_committed or each.end_asked_us is None or each.end_answered_us is None:
            continue
        if each.end_asked_us > (due_us := terms.aborted_by_us(begun_us, each.end_answered_us)):
            late_ms = (each.end_asked_us - due_us) // 1000
            yield f"{each.line()}: it should have been aborted {late_ms} ms before its end was asked for"


def open_too_long(history: History) -> Iterator[str]:
    """No open transaction holds readers of committed records back for longer than that, whoever left it open."""
    terms = history.terms
    if terms is None or terms.disk_fails:
        return
    first = {key: each for each in history.transactions for key in ends_of(each, min).items()}
    for poll in history.polls:
        transaction = first.get((poll.at, poll.last_stable_offset))
        begun_us = None if transaction is None else _begun_us(transaction)
        if transaction is None or begun_us is None:
            continue
        if poll.began_us > (due_us := terms.aborted_by_us(begun_us, poll.ended_us)):
            late_ms = (poll.began_us - due_us) // 1000
            where = f"{poll.at[0]}-{poll.at[1]}"
            yield f"{transaction.line()} is open in {where} for {poll.client}, {late_ms} ms after it should be aborted"


def slow_ends(history: History) -> Iterator[str]:
    """The end of a transaction is answered soon, also where a death came in between: what was decided is finished.

    Soon is a few seconds after it was asked for, after the broker was started again, or after a connection was lost.
    """
    terms = history.terms
    if terms is None:
        return
    is_disturbed = terms.disk_fails or terms.network_is_slow or terms.syncs_are_late
    bound_us = _END_BOUND_US + (_DISTURBED_US if is_disturbed else 0)
    for each in history.transactions:
        if each.end_asked_us is None or each.end_answered_us is None:
            continue
        began_us = max((boot_us for boot_us in terms.boots_us if boot_us <= each.end_answered_us), default=0)
        took_us = each.end_answered_us - max(each.end_asked_us, each.end_lost_us, began_us)
        if took_us > bound_us:
            yield f"{each.line()}: its end was answered {took_us // 1000} ms after it was asked for"


def _begun_us(transaction: Transaction) -> int | None:
    """By when it was begun at the broker; None if nothing of it is known to be there."""
    done = [send.ended_us for send in transaction.sends if send.outcome is Outcome.OK and send.ended_us is not None]
    return min(done, default=None)
