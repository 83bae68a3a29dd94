"""Rules about producers: who was fenced has written his last record; no sequence is left out; offsets are those of
committed transactions.
"""

from collections.abc import Iterator

from tests.simulation.checkers.log.records import seen
from tests.simulation.history.history import NO_PRODUCER, History, Incarnation, Outcome, TopicPartition, Transaction


def zombies(history: History) -> Iterator[str]:
    """Once a newer producer of an id has its answer, no older one writes a record."""
    there = {value for each in seen(history.final, is_committed=False).values() for _, value in each}
    fenced_us = {each: _fenced_us(history, each) for each in history.incarnations}
    for send in history.sends:
        over_us = fenced_us[send.incarnation]
        if over_us is not None and send.began_us > over_us:
            if send.outcome is Outcome.OK:
                yield f"{send.line()}: acknowledged, though {send.incarnation.line()} was fenced before"
            elif send.value in there:
                yield f"{send.line()}: it is there, though {send.incarnation.line()} was fenced before"


def _fenced_us(history: History, incarnation: Incarnation) -> int | None:
    """When a newer producer of the same id, that asked after this one was answered, had its own answer."""
    if incarnation.transactional_id is None or incarnation.ended_us is None:
        return None
    newer = [
        each.ended_us
        for each in history.incarnations
        if each.transactional_id == incarnation.transactional_id
        and each is not incarnation
        and each.ended_us is not None
        and each.began_us > incarnation.ended_us
    ]
    return min(newer, default=None)


def wrong_offsets(history: History) -> Iterator[str]:
    """A group's offset is that of its last committed transaction; one whose end was not answered may be it."""
    for read in [*history.offset_reads, *history.final_offsets]:
        key = read.group, *read.at
        before = [each for each in history.transactions if key in each.offsets]
        possible = [each for each in before if each.is_commit and not each.is_aborted]
        committed = [each for each in possible if each.is_committed and _answered_us(each) < read.began_us]
        if read.offset < 0:
            if committed:
                yield f"{read.line()}: there is none, after {committed[-1].line()}"
            continue
        found = [
            each for each in possible if each.offsets[key] == read.offset and (each.end_asked_us or 0) < read.ended_us
        ]
        if not found:
            yield f"{read.line()}: no transaction that can be committed has it"
        elif all(any(_answered_us(each) < (later.end_asked_us or 0) for later in committed) for each in found):
            yield f"{read.line()}: it is older than {committed[-1].line()}"


def _answered_us(transaction: Transaction) -> float:
    """By when it was decided."""
    return float("inf") if transaction.end_answered_us is None else transaction.end_answered_us


def accepted_gaps(history: History) -> Iterator[str]:
    """A record is taken only behind the one with the sequence before, of the same producer and epoch.

    A producer that a log knows nothing of may begin anywhere, as in Kafka. Where records were deleted or compacted
    nobody can tell.
    """
    records = seen(history.final, is_committed=False)
    offsets = {at: {value: offset for offset, value in each} for at, each in records.items()}
    whole = {at for at in offsets if at[0] not in history.promises}
    whole -= {poll.at for poll in history.final if poll.log_start_offset > 0}
    there = [
        (offsets[send.at][send.value], send)
        for send in history.sends
        if send.producer != NO_PRODUCER and send.at in whole and send.value in offsets[send.at]
    ]
    known = {(send.producer, send.at, send.sequence) for _, send in there}
    begins: dict[tuple[int, TopicPartition], int] = {}
    for offset, send in there:
        key = send.producer[0], send.at
        begins[key] = min(offset, begins.get(key, offset))
    for offset, send in there:
        is_first = begins[send.producer[0], send.at] == offset
        if send.sequence > 0 and not is_first and (send.producer, send.at, send.sequence - 1) not in known:
            who = f"{send.producer[0]}/{send.producer[1]}"
            yield f"{send.line()}: it was taken with sequence {send.sequence} of {who}, and the one before is not there"
