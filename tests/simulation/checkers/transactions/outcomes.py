"""Rules about transactions: all of one or nothing, never before its commit was asked for, never after its abort."""

from collections.abc import Iterable, Iterator

from tests.simulation.checkers.log.records import kept, seen
from tests.simulation.history.history import History, Outcome, Poll, Transaction


def _transactional(history: History, polls: Iterable[Poll]) -> Iterator[tuple[Poll, str, Transaction]]:
    """What readers of committed records saw of transactions: which record, and where."""
    transactions = {send.value: send.transaction for send in history.sends if send.transaction is not None}
    for poll in polls:
        for offset, value in poll.records if poll.is_committed else ():
            if value in transactions:
                yield poll, f"{value.decode()} at {offset}", transactions[value]


def aborted_reads(history: History) -> Iterator[str]:
    """Readers of committed records see nothing of a transaction that was aborted, or whose commit nobody asked for."""
    for poll, record, transaction in _transactional(history, [*history.polls, *history.final]):
        if transaction.is_aborted or not transaction.is_commit:
            yield f"{poll.client} saw {record} of {transaction.line()}"


def early_reads(history: History) -> Iterator[str]:
    """Readers of committed records see nothing of a transaction before its commit is asked for."""
    for poll, record, transaction in _transactional(history, history.polls):
        if poll.ended_us < (transaction.end_asked_us or 0):
            yield f"{poll.client} saw {record} before the end of {transaction.line()}"


def lost_commits(history: History) -> Iterator[str]:
    """What a transaction wrote whose commit was acknowledged is seen by readers of committed records."""
    committed = {at: {value for _, value in each} for at, each in seen(history.final, is_committed=True).items()}
    is_kept = kept(history)
    for transaction in history.transactions:
        if transaction.is_committed:
            for send in transaction.sends:
                if send.outcome is Outcome.OK and is_kept(send) and send.value not in committed.get(send.at, set()):
                    yield f"{send.value.decode()} is not seen, of {transaction.line()}"


def torn_transactions(history: History) -> Iterator[str]:
    """All of a transaction is seen, or nothing."""
    committed = {value for each in seen(history.final, is_committed=True).values() for _, value in each}
    is_kept = kept(history)
    for transaction in history.transactions:
        written = [send for send in transaction.sends if send.outcome is Outcome.OK and is_kept(send)]
        found = [send for send in written if send.value in committed]
        if found and len(found) < len(written):
            missing = next(send for send in written if send.value not in committed)
            yield f"{found[0].value.decode()} is seen, {missing.value.decode()} is not, of {transaction.line()}"
