"""Rules about logs of which something goes: the last value of each key stays, and nothing goes before its time."""

from collections.abc import Iterator

from tests.simulation.history.history import History, Outcome, Poll, Send, TopicPartition
from tests.simulation.history.logs import Scan, scan_of


def lost_values(history: History) -> Iterator[str]:
    """Who reads a compacted log from its start sees the last value of each key, and no older one behind it.

    A tombstone is seen for delete.retention.ms at least. What is not committed for certain when the scan begins is no
    last value; where a later one may be there when it ends, either may be seen.
    """
    by_key: dict[tuple[TopicPartition, bytes], list[Send]] = {}
    for send in history.sends:
        if send.key is not None and not _is_aborted(send):
            by_key.setdefault((send.at, send.key), []).append(send)
    for scan in [*history.scans, *_final_scans(history)]:
        seen = {value: offset for offset, value in scan.records}
        for (at, _), sends in by_key.items():
            if at == scan.at:
                yield from _lost_of_key(history, scan, sends, seen)


def _lost_of_key(history: History, scan: Scan, sends: list[Send], seen: dict[bytes, int]) -> Iterator[str]:
    settled = [number for number, send in enumerate(sends) if _is_settled(send, scan)]
    if not settled or any(send.began_us <= scan.ended_us for send in sends[settled[-1] + 1 :]):
        return
    if any(send.transaction is None and send.outcome is not Outcome.OK for send in sends[: settled[-1]]):
        return  # it may have arrived behind the others
    last = sends[settled[-1]]
    older = [send for send in sends[: settled[-1]] if seen.get(send.value, -1) > seen.get(last.value, -1)]
    delete_retention_ms = history.promises[scan.at[0]].delete_retention_ms
    if older and scan.ended_us - scan.began_us < delete_retention_ms * 1000:
        yield f"{scan.line()} has {older[-1].value.decode()} as the last of its key, after {last.line()}"
    elif last.value not in seen:
        stays_us = last.began_us + delete_retention_ms * 1000
        if not last.is_tombstone or (scan.ended_us < stays_us and not history.clock_jumps):
            yield f"{scan.line()} does not have the last of its key: {last.line()}"


def _is_settled(send: Send, scan: Scan) -> bool:
    """Whether it is in the part that was scanned, for certain and for all readers."""
    if send.outcome is not Outcome.OK or send.offset is None or (send.ended_us or 0) >= scan.began_us:
        return False
    if not scan.log_start_offset <= send.offset < scan.end_offset:
        return False
    transaction = send.transaction
    if transaction is None:
        return True
    return transaction.is_committed and (transaction.end_answered_us or 0) < scan.began_us


def _is_aborted(send: Send) -> bool:
    """Certainly: it is no value of its key, ever."""
    transaction = send.transaction
    if send.outcome is Outcome.FAILED:
        return True
    return transaction is not None and (transaction.is_aborted or not transaction.is_commit)


def _final_scans(history: History) -> Iterator[Scan]:
    found: dict[tuple[bool, TopicPartition], list[Poll]] = {}
    for poll in history.final:
        if poll.at[0] in history.promises:
            found.setdefault((poll.is_committed, poll.at), []).append(poll)
    for polls in found.values():
        yield scan_of(polls)


def moved_records(history: History) -> Iterator[str]:
    """A record has one offset, for everybody and always: neither compaction nor a try that comes again changes it."""
    offsets: dict[bytes, int] = {}
    for poll in [*history.polls, *history.final]:
        if poll.at[0] in history.promises:
            for offset, value in poll.records:
                before = offsets.setdefault(value, offset)
                if before != offset:
                    yield f"{poll.client} saw {value.decode()} at {offset} of {poll.at[0]}, where it was at {before}"


def early_deletions(history: History) -> Iterator[str]:
    """Retention deletes nothing that is younger than retention.ms, and nothing of a transaction that is open.

    Where a log is compacted as well, a value that another may have replaced, or that was aborted, may be gone before.
    """
    written = [send for send in history.sends if send.at[0] in history.promises and send.offset is not None]
    for poll in [*history.polls, *history.final]:
        promise = history.promises.get(poll.at[0])
        if promise is None or not poll.log_start_offset:
            continue
        gone = [send for send in written if send.at == poll.at and (send.offset or 0) < poll.log_start_offset]
        stays_ms = 0 if promise.retention_ms is None or history.clock_jumps else promise.retention_ms
        for send in gone:
            is_young = poll.ended_us < send.began_us + stays_ms * 1000
            if is_young and not (promise.is_compacted and _may_be_compacted_away(send, history.sends)):
                yield f"{poll.line()}, and it starts at {poll.log_start_offset}: too early for {send.line()}"
            if _is_open(send, poll):
                yield f"{poll.line()}, and it starts at {poll.log_start_offset}, in the middle of {send.line()}"


def _may_be_compacted_away(send: Send, sends: list[Send]) -> bool:
    """Whether a later value of its key may be committed, or it is of a transaction that may have been aborted."""
    assert send.offset is not None
    if send.transaction is not None and not send.transaction.is_committed:
        return True
    others = (other for other in sends if (other.at, other.key) == (send.at, send.key) and not _is_aborted(other))
    return any(other.offset is None or other.offset > send.offset for other in others)


def _is_open(send: Send, poll: Poll) -> bool:
    """Whether the transaction of a record is open for certain when a Fetch is answered."""
    transaction = send.transaction
    if transaction is None or transaction.outcome is not Outcome.OK:
        return False
    return (transaction.end_asked_us or 0) > poll.ended_us
