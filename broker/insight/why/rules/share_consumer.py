"""Why the members of a share group receive nothing: partition by partition, the worst first (KIP-932)."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from barnabas.broker.insight.why.rules.formatting import counted, duration, listed, named

SHOWN_MAX = 5
"""Maximum number of partitions with separate sentences."""


class SharePartitionFacts(NamedTuple):
    """One partition that a share group reads."""

    topic: str
    partition: int
    trouble: str | None = None
    """Why the partition cannot be read."""
    assigned_to: tuple[str, ...] = ()
    """Members; some of them, if there are many."""
    sessions_count: int = 0
    """How many of these members have a share session, so that they fetch."""
    is_used: bool = False
    """Whether a member has fetched from it, so that its state is loaded."""
    start_offset: int | None = None
    end_offset: int | None = None
    """The offset after the records in flight."""
    available: int = 0
    acquired: int = 0
    by_member: tuple[tuple[str, int], ...] = ()
    """The records that members hold, the most first; not all, if there are many members."""
    next_lock_left_ms: int | None = None
    lag: int | None = None
    span: int = 0
    locks_max: int = 0
    """share.partition.max.record.locks"""
    readable_end: int | None = None
    """The offset where the group's isolation level ends."""
    high_watermark: int | None = None

    @property
    def where(self) -> str:
        """topic-partition."""
        return f"{named(self.topic)}-{self.partition}"

    @property
    def new_records(self) -> int:
        """The offsets that were never acquired, and can be read."""
        return max(0, (self.readable_end or 0) - (self.end_offset or 0))


class _Rank(IntEnum):
    """The state of a partition, the worst first."""

    TROUBLE = 0
    UNASSIGNED = 1
    FULL = 2
    HELD = 3
    UNDECIDED = 4
    NOT_FETCHED = 5
    UNUSED = 6
    READY = 7
    READ_ALL = 8


def share_sentences(group: str, members_count: int, partitions: tuple[SharePartitionFacts, ...]) -> list[str]:
    """Return why the members of a share group receive nothing, or that nothing holds them up."""
    ranked = sorted(partitions, key=lambda each: (_rank(each), -(each.lag or 0)))
    worth = [each for each in ranked if _rank(each) is not _Rank.READ_ALL]
    lines = [sentence for each in worth[:SHOWN_MAX] for sentence in _of_partition(each) if members_count]
    if len(worth) > SHOWN_MAX and members_count:
        lines.append(f"{counted(len(worth) - SHOWN_MAX, 'more partition')} of it also wait, or have a lag.")
    if not worth and partitions:
        lines.append(f"Nothing holds group {named(group)} up: no record of its partitions is unfinished.")
    return lines


def _rank(each: SharePartitionFacts) -> _Rank:
    if each.trouble is not None:
        return _Rank.TROUBLE
    if not each.assigned_to:
        return _Rank.UNASSIGNED
    if not each.is_used:
        return _Rank.UNUSED
    if not each.lag:
        return _Rank.READ_ALL
    if each.span >= each.locks_max and not each.available:
        return _Rank.FULL
    if not each.available and not each.new_records:
        return _Rank.HELD if each.acquired else _Rank.UNDECIDED
    return _Rank.READY if each.sessions_count else _Rank.NOT_FETCHED


def _of_partition(each: SharePartitionFacts) -> list[str]:
    rank, where = _rank(each), each.where
    match rank:
        case _Rank.TROUBLE:
            return [f"{where} cannot be read: {each.trouble}."]
        case _Rank.UNASSIGNED:
            return [f"No member is assigned {where}."]
        case _Rank.UNUSED:
            return [
                f"No member fetches from {where}, which is assigned to {_named(each.assigned_to)}: a share consumer "
                f"fetches only in poll()."
            ]
        case _Rank.FULL:
            return [
                f"{where} has {each.span} offsets in flight from {each.start_offset} on, and "
                f"share.partition.max.record.locks is {each.locks_max}: no new record is acquired before the first "
                f"one is finished.",
                *_holders(each),
            ]
        case _Rank.HELD:
            return [f"Every record of {where} that is not finished is held by a member.", *_holders(each)]
        case _Rank.UNDECIDED:
            return [
                f"{where} has nothing to acquire before offset {each.high_watermark}: open transactions hold records "
                f"back from offset {each.readable_end} on, and share.isolation.level is read_committed."
            ]
        case _Rank.NOT_FETCHED:
            return [
                f"{_ready(each)}, but no member that it is assigned to has a share session: a share consumer fetches "
                f"only in poll()."
            ]
        case _:
            return [f"{_ready(each)}: nothing in the broker holds them back."]


def _ready(each: SharePartitionFacts) -> str:
    return (
        f"{each.where} has a lag of {each.lag}, and {each.available + each.new_records} of its offsets can be acquired"
    )


def _holders(each: SharePartitionFacts) -> list[str]:
    if not each.by_member:
        return []
    held = listed([f"member {named(member)} holds {count}" for member, count in each.by_member])
    left = "" if each.next_lock_left_ms is None else f"; the first lock ends in {duration(each.next_lock_left_ms)}"
    return [f"{held[:1].upper()}{held[1:]}{left}."]


def _named(members: tuple[str, ...]) -> str:
    return listed([f"member {named(each)}" for each in members])
