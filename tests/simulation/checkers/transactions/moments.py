"""Rules about what can be seen at any moment: watermarks that only rise, transactions that show in one step."""

from collections.abc import Callable, Iterator

from tests.simulation.checkers.log.records import in_a_row
from tests.simulation.history.history import History, Outcome, Poll, TopicPartition, Transaction


def watermarks_go_back(history: History) -> Iterator[str]:
    """Log start, last stable offset and high watermark only rise while the broker lives.

    After a kill they do so, too, but for a log start that was not written yet, which DeleteRecords does not wait for
    (as in Kafka); after a power cut the high watermark is where the log was cut.
    """
    for before, poll in in_a_row(history.polls):
        if before is None or before.is_committed is not poll.is_committed:
            continue
        if before.boot != poll.boot and not history.all_survives:
            continue
        ends = [(before.high_watermark, poll.high_watermark, "high watermark")]
        ends += [(before.last_stable_offset, poll.last_stable_offset, "last stable offset")]
        if before.boot == poll.boot:
            ends += [(before.log_start_offset, poll.log_start_offset, "log start")]
        for old, new, what in ends:
            if new < old:
                yield f"{poll.client} {poll.at[0]}-{poll.at[1]}: the {what} went from {old} back to {new}"


def held_back(history: History) -> Iterator[str]:
    """When everybody is gone and all timeouts are over, no reader of committed records is held back."""
    for at, poll in {poll.at: poll for poll in history.final}.items():
        if poll.last_stable_offset != poll.high_watermark:
            ends = f"{poll.last_stable_offset} of {poll.high_watermark}"
            yield f"{at[0]}-{at[1]}: readers of committed records stop at {ends} for ever"


def torn_moments(history: History) -> Iterator[str]:
    """One Fetch over several partitions shows all of a transaction or nothing of it.

    What is held back in one partition by another transaction is not torn: only where a last stable offset is the first
    offset of a transaction itself, it must not be past that one's last offset elsewhere. (A partition whose disk fails
    is not waited for: docs/decisions/0072. Nor is one that nobody leads, or with too few replicas in sync, as long as
    its high watermark is not past the marker: all markers below it may be those of others.)
    """
    if history.disk_fails:
        return
    begins = {
        (at, first): transaction
        for transaction in history.transactions
        for at, first in ends_of(transaction, min).items()
    }
    records = {(send.at, send.offset) for send in history.sends if send.outcome is Outcome.OK}
    records |= {(poll.at, offset) for poll in history.final for offset, _ in poll.records}
    shown: dict[str, dict[TopicPartition, int]] = {}
    for polls in _fetches(history):
        ends = shown.setdefault(polls[0].client, {})
        ends.update({poll.at: poll.last_stable_offset for poll in polls})
        for poll in polls:
            transaction = begins.get((poll.at, poll.last_stable_offset))
            if transaction is None:
                continue
            lasts = ends_of(transaction, max)
            behind = range(lasts[poll.at] + 1, poll.high_watermark)
            markers = sum((poll.at, offset) not in records for offset in behind)
            if history.lacks_replicas and markers <= _others(history, transaction, poll):
                continue  # its marker may not be there yet
            for at, last in lasts.items():
                if at != poll.at and last < ends.get(at, 0):
                    where = f"{at[0]}-{at[1]}, and not in {poll.at[0]}-{poll.at[1]}"
                    yield f"{poll.client} was shown {transaction.line()} in {where}, at {poll.ended_us / 1000:.3f}"


def _others(history: History, transaction: Transaction, poll: Poll) -> int:
    """How many other transactions may have a marker in what a poll could read."""
    others = [
        each
        for each in history.transactions
        if each is not transaction and (each.end_answered_us is None or each.end_answered_us > transaction.began_us)
    ]
    lasts = (ends_of(each, max).get(poll.at) for each in others)
    return sum(last is not None and last < poll.high_watermark for last in lasts)


def _fetches(history: History) -> Iterator[list[Poll]]:
    """The polls of readers of committed records, those of one answer together."""
    found: dict[tuple[str, int], list[Poll]] = {}
    for poll in history.polls:
        if poll.is_committed:
            found.setdefault((poll.client, poll.fetch), []).append(poll)
    yield from found.values()


def ends_of(transaction: Transaction, which: Callable[[int, int], int]) -> dict[TopicPartition, int]:
    """The first (`min`) or last (`max`) offset that the transaction is known to have in each partition."""
    found: dict[TopicPartition, int] = {}
    for send in transaction.sends:
        if send.outcome is Outcome.OK and send.offset is not None:
            found[send.at] = which(found.get(send.at, send.offset), send.offset)
    return found
