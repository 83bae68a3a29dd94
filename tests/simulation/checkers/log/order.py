"""Rules about what stands before what: in one log, for one reader, and in what was written one after the other.

Jepsen's Kafka workload calls them nonmonotonic polls and sends, poll skips and unseen records; where a rule holds over
several polls or sends, it holds within a transaction, too.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from typing import TypeAlias

from tests.simulation.checkers.log.records import in_a_row, seen
from tests.simulation.history.history import History, Outcome, Poll, Send, TopicPartition

_Log: TypeAlias = dict[TopicPartition, list[tuple[int, bytes]]]


def polls_go_back(history: History) -> Iterator[str]:
    """A reader sees offsets that only rise, in one poll and from poll to poll, but where its program moved it."""
    for before, poll in in_a_row(history.polls):
        if before is not None and not poll.is_moved and poll.from_offset < before.next_offset:
            yield f"{poll.line()}, after {before.line()}"
        offsets = [offset for offset, _ in poll.records]
        if any(one >= next_one for one, next_one in pairwise(offsets)):
            yield f"{poll.line()}: not in the log's order"
        elif offsets and offsets[0] < poll.from_offset:
            yield f"{poll.line()}: it begins before its position"


def skipped_polls(history: History) -> Iterator[str]:
    """A poll has all records between where it began and where the next one goes on, and so have two polls together.

    Deleted records are passed over rightly, though a death may bring them back: see `deleted_records`.
    """
    logs = {is_committed: _final(history, is_committed=is_committed) for is_committed in (True, False)}
    for before, poll in in_a_row(history.polls):
        log = logs[poll.is_committed].get(poll.at, [])
        begin = poll.from_offset
        if before is not None and not poll.is_moved:
            begin = min(begin, before.next_offset)
        begin = max(begin, _deleted_to(history, poll))
        seen_offsets = {offset for offset, _ in poll.records}
        for offset, value in log[bisect_left(log, (begin,)) : bisect_left(log, (poll.next_offset,))]:
            if offset not in seen_offsets:
                yield f"{poll.line()}: {value.decode()} at {offset} is left out"


def _deleted_to(history: History, poll: Poll) -> int:
    """Below which offset the records were deleted when a poll was answered, 0 if none were."""
    asked = (one for one in history.deletions if one.at == poll.at and one.began_us < poll.ended_us)
    return max((one.offset for one in asked if one.offset <= poll.log_start_offset), default=0)


def unseen(history: History) -> Iterator[str]:
    """Who reads on when everything is over has seen all there is from where it began."""
    for client in sorted(history.caught_up):
        polls = [poll for poll in history.polls if poll.client == client]
        seen_offsets = {(poll.at, offset) for poll in polls for offset, _ in poll.records}
        for at in dict.fromkeys(poll.at for poll in polls):
            first = next(poll for poll in polls if poll.at == at)
            for offset, value in _final(history, is_committed=first.is_committed).get(at, []):
                if offset >= first.from_offset and (at, offset) not in seen_offsets:
                    yield f"{client} never sees {value.decode()} at {offset} of {at[0]}-{at[1]}"


def _final(history: History, *, is_committed: bool) -> _Log:
    return {at: sorted(records) for at, records in seen(history.final, is_committed=is_committed).items()}


def sends_go_back(history: History) -> Iterator[str]:
    """What is sent after something was acknowledged stands behind it, whoever sent the two."""
    sends: dict[TopicPartition, list[Send]] = {}
    for send in history.sends:
        if send.outcome is Outcome.OK and send.offset is not None and send.ended_us is not None:
            sends.setdefault(send.at, []).append(send)
    for of_partition in sends.values():
        answered = sorted(of_partition, key=_answered_us)
        number, highest = 0, None
        for send in sorted(of_partition, key=_began_us):
            while number < len(answered) and _answered_us(answered[number]) < send.began_us:
                if highest is None or _offset(answered[number]) > _offset(highest):
                    highest = answered[number]
                number += 1
            if highest is not None and _offset(send) < _offset(highest):
                yield f"{send.line()}: it was sent after {highest.line()}"


def _began_us(send: Send) -> int:
    return send.began_us


def _answered_us(send: Send) -> int:
    assert send.ended_us is not None
    return send.ended_us


def _offset(send: Send) -> int:
    assert send.offset is not None
    return send.offset
