"""Rules about single records: nothing acknowledged is lost, nothing is there twice, everybody sees the same log."""

from collections import Counter
from collections.abc import Callable, Iterator

from tests.simulation.history.history import History, Outcome, Poll, Send, TopicPartition


def seen(polls: list[Poll], *, is_committed: bool) -> dict[TopicPartition, list[tuple[int, bytes]]]:
    """What these readers saw of each partition, in the order in which they saw it."""
    found: dict[TopicPartition, list[tuple[int, bytes]]] = {}
    for poll in polls:
        if poll.is_committed is is_committed:
            found.setdefault(poll.at, []).extend(poll.records)
    return found


def in_a_row(polls: list[Poll]) -> Iterator[tuple[Poll | None, Poll]]:
    """Each with the one before of the same reader and partition."""
    last: dict[tuple[str, TopicPartition], Poll] = {}
    for poll in polls:
        yield last.get((poll.client, poll.at)), poll
        last[poll.client, poll.at] = poll


def kept(history: History) -> Callable[[Send], bool]:
    """Whether a record that was written must be there at the end: neither its topic is deleted nor it itself.

    Of a compacted log that is `lost_values`' business.
    """
    starts = {poll.at: poll.log_start_offset for poll in history.final}

    def is_kept(send: Send) -> bool:
        start = starts.get(send.at)
        if start is None or send.key is not None:
            return False
        return start == 0 if send.offset is None else send.offset >= start

    return is_kept


def lost_writes(history: History) -> Iterator[str]:
    """A record whose write was acknowledged is in the log, whatever became of its transaction."""
    everything = {at: {value for _, value in each} for at, each in seen(history.final, is_committed=False).items()}
    is_kept = kept(history)
    for send in history.sends:
        if send.outcome is Outcome.OK and is_kept(send) and send.value not in everything.get(send.at, set()):
            yield f"{send.line()}: acknowledged, and not there at the end"


def duplicates(history: History) -> Iterator[str]:
    """No record is in the log twice: every producer is idempotent."""
    for at, records in seen(history.final, is_committed=False).items():
        for value, count in Counter(value for _, value in records).items():
            if count > 1:
                offsets = [offset for offset, each in records if each == value]
                yield f"{value.decode()} is in {at[0]}-{at[1]} at {offsets}"


def inconsistent_offsets(history: History) -> Iterator[str]:
    """An offset holds the same record for everybody and always; an acknowledged one is where its answer said."""
    held: dict[tuple[TopicPartition, int], bytes] = {}
    for poll in [*history.polls, *history.final]:
        for offset, value in poll.records:
            before = held.setdefault((poll.at, offset), value)
            if before != value:
                where = f"{poll.at[0]}-{poll.at[1]} at {offset}"
                yield f"{where}: {before.decode()}, and for {poll.client} {value.decode()}"
    for send in history.sends:
        if send.outcome is Outcome.OK and send.offset is not None:
            found = held.get((send.at, send.offset), send.value)
            if found != send.value:
                yield f"{send.line()}: {found.decode()} is there"


def reordered_sends(history: History) -> Iterator[str]:
    """What one producer wrote to one partition stands in the order in which it was written."""
    number = {send.value: index for index, send in enumerate(history.sends)}
    clients = {send.value: send.incarnation for send in history.sends}
    for at, records in seen(history.final, is_committed=False).items():
        last: dict[object, tuple[int, bytes]] = {}
        for _, value in records:
            if value not in number:
                yield f"{at[0]}-{at[1]}: nobody wrote {value!r}"
                continue
            client = clients[value]
            if client in last and last[client][0] > number[value]:
                yield f"{at[0]}-{at[1]}: {value.decode()} stands behind {last[client][1].decode()}"
            last[client] = number[value], value
