"""Why a group's consumer receives nothing, or stops: its group, then partition by partition, the worst first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.broker.insight.why.rules.answer import WhyAnswer, evidence
from barnabas.broker.insight.why.rules.formatting import counted, listed, named
from barnabas.broker.insight.why.rules.group import GroupFacts, is_rebalancing, without_state
from barnabas.broker.insight.why.rules.group import sentences as group_sentences
from barnabas.broker.insight.why.rules.held_requests import HeldRequests
from barnabas.broker.insight.why.rules.held_requests import sentences as held_sentences
from barnabas.broker.insight.why.rules.refused_clients import RefusedClients, beside
from barnabas.broker.insight.why.rules.share_consumer import SharePartitionFacts, share_sentences
from barnabas.broker.insight.why.rules.transaction import TransactionFacts, waits_for, whose

SHOWN_MAX = 5
"""Maximum number of partitions with separate sentences."""


class Contents(NamedTuple):
    """The contents between a position and the log's end, as far as examined."""

    readable_records: int = 0
    """Committed, or in no transaction, below the last stable offset."""
    aborted_records: int = 0
    markers: int = 0
    open_records: int = 0
    """In open transactions."""
    held_back_records: int = 0
    """Committed, or in no transaction, at or above the last stable offset."""
    undecided_records: int = 0
    """In transactions that end after the examined offsets."""
    looked_from: int = 0
    looked_to: int = 0
    """The first offset that was not examined."""
    is_whole: bool = True
    """Whether everything was examined."""


class PartitionFacts(NamedTuple):
    """One partition that a group reads."""

    topic: str
    partition: int
    committed: int | None = None
    """The group's position: None if it committed nothing."""
    member_id: str | None = None
    """The member to which the partition is assigned."""
    is_assignment_known: bool = True
    """Whether a missing member means that the partition is not assigned."""
    trouble: str | None = None
    """Why the partition cannot be read."""
    log_start_offset: int | None = None
    last_stable_offset: int | None = None
    high_watermark: int | None = None
    lag: int | None = None
    """Lag as Kafka defines it: to the high watermark."""
    lag_read_committed: int | None = None
    contents: Contents | None = None
    holder: TransactionFacts | None = None
    """The transaction that holds the last stable offset back."""
    is_position_pending: bool = False
    """Whether an offset is committed in an open transaction."""
    position_holder: TransactionFacts | None = None
    """That transaction, as far as known."""

    @property
    def where(self) -> str:
        """topic-partition."""
        return f"{named(self.topic)}-{self.partition}"


class ConsumerFacts(NamedTuple):
    """A group, and the partitions it reads."""

    group: GroupFacts
    topic: str | None = None
    """The topic of the query; None: all that the group reads."""
    is_there: bool = True
    """Whether the topic exists."""
    is_subscribed: bool | None = None
    """Whether members subscribe to it; None if not known."""
    subscribed_topics: tuple[str, ...] = ()
    missing_topics: tuple[str, ...] = ()
    """Subscribed topics that do not exist."""
    near_topics: tuple[tuple[str, str], ...] = ()
    """Missing topics (of the subscription or the query), each with the existing topic whose name is nearest."""
    partitions: tuple[PartitionFacts, ...] = ()
    share_partitions: tuple[SharePartitionFacts, ...] = ()
    """Those of a share group."""
    partitions_left_out: int = 0
    """How many were not examined, if there are many."""
    full: tuple[str, ...] = ()
    """Full data directories."""
    held: HeldRequests | None = None
    """Requests of the group and of its members' clients that faults hold up."""
    kept_out: RefusedClients | None = None
    """Their recent refusals."""


def explain(facts: ConsumerFacts) -> WhyAnswer:
    """Return the answer to `why consumer`."""
    return WhyAnswer((*held_sentences(facts.held), *beside(facts.kept_out, _sentences(facts))), evidence(facts))


def _sentences(facts: ConsumerFacts) -> list[str]:
    of_group, lines = list(_of_group(facts)), list[str]()
    if not facts.is_there or facts.group.unavailable is not None or not facts.group.exists:
        return of_group
    if facts.group.protocol == "share":
        shared = share_sentences(facts.group.group, facts.group.members_count, facts.share_partitions)
        lines = [*of_group, *shared, *without_state(facts.group)]
        return [*(lines or group_sentences(facts.group)), *_left_out(facts)]
    ranked = sorted(facts.partitions, key=_rank)
    is_held_anyway = bool(ranked) and _rank(ranked[0]) <= _HELD  # also for consumers without a group
    if not (is_held_anyway and facts.group.state == "Empty"):
        of_group, lines = [], of_group
    by_partition = [_of_partition(each, facts) for each in ranked]
    worth = [texts for each, texts in zip(ranked, by_partition, strict=True) if _rank(each) < _READ_ALL]
    for texts in worth[:SHOWN_MAX]:
        lines += texts
    if len(worth) > SHOWN_MAX:
        lines.append(f"{counted(len(worth) - SHOWN_MAX, 'more partition')} of it also wait, or have a lag.")
    lines += of_group
    if not worth and not lines:
        lines += _nothing_wrong(facts, by_partition)
    lines += [f"{each[:1].upper()}{each[1:]}." for each in facts.full]
    return [*lines, *_left_out(facts)]


def _left_out(facts: ConsumerFacts) -> list[str]:
    count = facts.partitions_left_out
    return [f"{counted(count, 'partition')} of it were not examined."] if count else []


def _of_group(facts: ConsumerFacts) -> Iterator[str]:
    group = named(facts.group.group)
    if not facts.is_there:
        assert facts.topic is not None
        yield f"There is no topic {named(facts.topic)}{_meant(facts, facts.topic)}."
        return
    if facts.group.unavailable is not None or not facts.group.exists:
        yield from group_sentences(facts.group)
        return
    if facts.group.state == "Empty" or is_rebalancing(facts.group):
        yield from group_sentences(facts.group)
    if facts.topic is not None and facts.is_subscribed is False:
        others = listed([named(each) for each in facts.subscribed_topics])
        yield f"No member of group {group} subscribes to topic {named(facts.topic)}: they subscribe to {others}."
    for each in facts.missing_topics[:SHOWN_MAX]:
        yield f"Group {group} subscribes to topic {named(each)}, and there is no such topic{_meant(facts, each)}."


def _meant(facts: ConsumerFacts, topic: str) -> str:
    near = dict(facts.near_topics).get(topic)
    return "" if near is None else f" (did you mean {named(near)}?)"


_TROUBLE, _OUT_OF_RANGE, _PENDING, _HELD, _UNASSIGNED, _LAGS, _NOTHING_LEFT, _READ_ALL = range(8)


def _rank(each: PartitionFacts) -> int:
    """Return the rank of a partition: the worse, the lower."""
    if each.trouble is not None:
        return _TROUBLE
    if _is_out_of_range(each):
        return _OUT_OF_RANGE
    if each.is_position_pending:
        return _PENDING
    if _is_held(each):
        return _HELD
    if not each.lag:
        return _READ_ALL
    if each.contents is not None and each.contents.is_whole and not each.contents.readable_records:
        return _NOTHING_LEFT
    return _LAGS


def _is_out_of_range(each: PartitionFacts) -> bool:
    if each.committed is None or each.log_start_offset is None or each.high_watermark is None:
        return False
    return not each.log_start_offset <= each.committed <= each.high_watermark


def _is_held(each: PartitionFacts) -> bool:
    return each.holder is not None


def _of_partition(each: PartitionFacts, facts: ConsumerFacts) -> list[str]:
    match _rank(each):
        case 0:  # _TROUBLE
            return [f"{each.where} cannot be read: {each.trouble}."]
        case 1:  # _OUT_OF_RANGE
            return _out_of_range(each)
        case 2:  # _PENDING
            return _pending(each)
        case 3:  # _HELD
            return _held(each)
        case 7:  # _READ_ALL
            return [_read_all(each)]
    return _lags(each, facts)


def _read_all(each: PartitionFacts) -> str:
    if each.committed is None:
        return f"{each.where}: there is nothing to read, and nothing is committed."
    return f"{each.where}: the group has read all there is, up to offset {each.committed}."


def _out_of_range(each: PartitionFacts) -> list[str]:
    there = f"the log has {each.log_start_offset} to {each.high_watermark}"
    return [
        f"{each.where}: the group's position is {each.committed}, and {there}.",
        "A consumer that fetches there gets OFFSET_OUT_OF_RANGE: its auto.offset.reset decides where it continues.",
    ]


def _pending(each: PartitionFacts) -> list[str]:
    first = f"{each.where}: the group's position is being committed in an open transaction"
    then = "consumers that begin now wait for its end (UNSTABLE_OFFSET_COMMIT)"
    if each.position_holder is None:
        return [f"{first}: {then}."]
    return [
        f"{first}: {then}.",
        f"The transaction is that of {whose(each.position_holder)}.",
        *waits_for(each.position_holder),
    ]


def _held(each: PartitionFacts) -> list[str]:
    assert each.holder is not None
    first = f"{each.where}: consumers with isolation.level=read_committed stop at offset {each.last_stable_offset}"
    before = f"; the log ends at {each.high_watermark}"
    lines = [f"{first}, the last stable offset{before}.", f"They are held by {whose(each.holder)}."]
    lines += waits_for(each.holder)
    behind = _behind(each)
    return [*lines, behind] if behind else lines


def _lags(each: PartitionFacts, facts: ConsumerFacts) -> list[str]:
    contents = each.contents
    position = "nothing is committed" if each.committed is None else f"the group's position is {each.committed}"
    first = f"{each.where}: {position}, and its lag is {each.lag}"
    if contents is not None and contents.is_whole and not contents.readable_records:
        what = _unread(contents)
        return [f"{first}, but there is nothing left to read: {what}. A consumer that reads on gets past it."]
    if contents is None or _is_unseen(contents):
        return [f"{first}. The records after its position were not examined.", *_whose_turn(each, facts)]
    behind = f"After its position are {_unread(contents)}{_as_far(contents)}."
    return [f"{first}.", behind, *(_whose_turn(each, facts) if contents.readable_records else ())]


def _whose_turn(each: PartitionFacts, facts: ConsumerFacts) -> list[str]:
    if is_rebalancing(facts.group):
        return []  # the wait of the group is reported already
    if facts.group.members_count and each.is_assignment_known and each.member_id is None:
        return ["No member is assigned this partition."]
    if facts.held is not None or facts.kept_out is not None or each.contents is None or _is_unseen(each.contents):
        return []
    who = "They" if each.member_id is None else f"Member {named(each.member_id)}"
    return [
        f"{who} can {'be read' if each.member_id is None else 'read them'} now: nothing in the broker holds them back."
    ]


def _behind(each: PartitionFacts) -> str | None:
    contents = each.contents
    if contents is None or not each.lag:
        return None
    if _is_unseen(contents):
        return f"The group's lag of {each.lag} was not examined."
    return f"The group's lag of {each.lag} is {_unread(contents)}{_as_far(contents)}."


def _unread(contents: Contents) -> str:
    counts = [
        (contents.readable_records, "record", "that can be read now"),
        (contents.aborted_records, "aborted record", ""),
        (contents.markers, "transaction marker", ""),
        (contents.open_records, "record", "of open transactions"),
        (contents.held_back_records, "record", "after the last stable offset"),
        (contents.undecided_records, "record", "of transactions that end later"),
    ]
    texts = [f"{counted(count, what)} {more}".strip() for count, what, more in counts if count]
    return listed(texts) if texts else "offsets whose records are gone"


def _is_unseen(contents: Contents) -> bool:
    """Return whether nothing was examined, so that the contents are unknown."""
    return not contents.is_whole and contents.looked_to <= contents.looked_from


def _as_far(contents: Contents) -> str:
    return "" if contents.is_whole else f", as far as examined, to offset {contents.looked_to}"


def _nothing_wrong(facts: ConsumerFacts, by_partition: list[list[str]]) -> list[str]:
    group = named(facts.group.group)
    if not facts.partitions:
        return [f"Group {group} is {facts.group.state}, and reads no existing partition."]
    if not any(each.high_watermark for each in facts.partitions):
        return [
            f"Nothing holds group {group} up: there is nothing to read.",
            *(by_partition[0] if len(by_partition) == 1 else ()),
        ]
    first = f"Nothing holds group {group} up: it has read all there is"
    if len(by_partition) == 1:
        return [f"{first}.", *by_partition[0]]
    return [f"{first} in {counted(len(by_partition), 'partition')}."]
