"""Rules about a share group: each record is delivered until it is accepted, rejected, or past its limit.

What a member holds is certain for a part of the time only: from the answer to its ShareFetch until its lock may have
ended, until it acknowledges, until the last request that was answered on the connection of its session, or until
another node may lead the partition.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from tests.simulation.checkers.log.records import seen
from tests.simulation.history.history import History, Outcome, TopicPartition
from tests.simulation.history.shares import FINAL, GAP, REJECT, RELEASE, RENEW, Acknowledgement, Delivery, ShareHistory

_LATE_US = 100_000  # after the end of a lock
_MARKER_VERSION = bytes(2)  # the value of a transaction's marker begins with it, and no record's

Place = tuple[TopicPartition, int]
"""A partition, and an offset in it."""


def accepted_again(history: History) -> Iterator[str]:
    """A record does not come again whose acceptance or rejection was acknowledged, whatever happens to the broker;
    but for a reset of the group's offsets.
    """
    for (at, offset), deliveries in _by_place(history.shares).items():
        ends = [
            (each.ended_us, each)
            for delivery in deliveries
            for each in _about(delivery, offset)
            if each.outcome is Outcome.OK and each.ended_us is not None and each.type_of(offset) in FINAL
        ]
        for ended_us, end in sorted(ends, key=lambda each: each[0]):
            again = [each for each in deliveries if each.began_us > ended_us]
            for delivery in again:
                if not _may_be_reset(history.shares, at, offset, end.began_us, delivery.ended_us):
                    yield f"offset {offset}: {delivery.line()}, after {end.line()}"


def lost_shares(history: History) -> Iterator[str]:
    """At the end each record was accepted or rejected by a member, or may have been delivered to the limit: after
    the last reset that it came again by.
    """
    shares = history.shares
    places = _by_place(shares)
    for at, offset, value in _never_finished(history):
        assert shares.promise is not None, "only a share group finishes records"
        count = max((each.count for each in places.get((at, offset), [])), default=0)
        if count + len(shares.lost_fetches_us) < shares.promise.delivery_count_limit:
            yield f"{value.decode()} at {offset} of {at[0]}-{at[1]} was delivered {count} times, and is gone"


def _never_finished(history: History) -> Iterator[tuple[TopicPartition, int, bytes]]:
    """The records that no member may have accepted or rejected: since the last reset, if that is known. Records that
    were skipped by a reset are not meant.
    """
    shares = history.shares
    if shares.promise is None:
        return
    places = _by_place(shares)
    for at, records in seen(history.final, is_committed=shares.promise.is_committed).items():
        for offset, value in records if at[0] == shares.promise.topic else ():
            resets = [each for each in shares.resets if each.at == at and not each.error]
            if any(each.offset > offset for each in resets):
                continue
            is_known = all(each.outcome is Outcome.OK for each in resets)
            since_us = max((each.began_us for each in resets if is_known), default=-1)
            deliveries = [each for each in places.get((at, offset), []) if each.ended_us > since_us]
            if not any(_may_be_final(each, offset) for of in deliveries for each in _about(of, offset)):
                yield at, offset, value


def wrong_counts(history: History) -> Iterator[str]:
    """A delivery count rises by one with each delivery, and does not pass the limit. A death of the broker
    and another leader may take back what no release has stored.
    """
    shares = history.shares
    lost_us = sorted(shares.lost_fetches_us)
    for (_, offset), deliveries in _by_place(shares).items():
        assert shares.promise is not None, "only a share group gets deliveries"
        deliveries.sort(key=lambda each: each.ended_us)
        for number, delivery in enumerate(deliveries):
            lost = bisect_left(lost_us, delivery.ended_us)
            others = sum(each.began_us < delivery.ended_us for each in deliveries) - 1
            if delivery.count > min(shares.promise.delivery_count_limit, 1 + others + lost):
                yield f"offset {offset}: {delivery.line()}, after {others} deliveries"
            for before in deliveries[:number]:
                is_reset = _may_be_reset(shares, before.at, offset, before.began_us, delivery.ended_us)
                if before.count >= delivery.count and not is_reset and _is_stored_before(before, offset, delivery):
                    yield f"offset {offset}: {delivery.line()}, after {before.line()}"


def _is_stored_before(before: Delivery, offset: int, later: Delivery) -> bool:
    """Whether the leader must know of a delivery at the next one: it has led all the time, or a release was stored."""
    if before.ended_us >= later.began_us:
        return False
    is_kept = before.session.kept_until_us(before.at, before.began_us) > later.ended_us
    return (before.boot == later.boot and is_kept) or any(
        each.type_of(offset) == RELEASE
        and each.outcome is Outcome.OK
        and each.ended_us is not None
        and each.ended_us < later.began_us
        for each in _about(before, offset)
    )


def two_holders(history: History) -> Iterator[str]:
    """While a member holds a record for certain, the record is delivered to no other member, nor again to this one."""
    for (_, offset), deliveries in _by_place(history.shares).items():
        deliveries.sort(key=lambda each: each.ended_us)
        for one, other in pairwise(deliveries):
            if other.ended_us < _held_until_us(one, offset) and one.ended_us < _held_until_us(other, offset):
                yield f"offset {offset}: {other.line()}, while it is held after {one.line()}"


def overlong_locks(history: History) -> Iterator[str]:
    """Once its lock is over, a member cannot acknowledge a record; but for one that is finished, which is silent."""
    shares = history.shares
    places = _by_place(shares)
    for late in shares.acknowledgements:
        if late.outcome is not Outcome.OK or late.began_us <= _lock_surely_ends_us(late) + _LATE_US:
            continue
        for offset in range(late.first, late.last + 1):
            if not _may_be_finished(shares, places[late.delivery.at, offset], offset, late):
                yield f"offset {offset}: {late.line()}, long after {late.delivery.line()}"
                break


def acknowledged_by_others(history: History) -> Iterator[str]:
    """While a member holds a record for certain, no acknowledgement of another delivery of it succeeds."""
    for (_, offset), deliveries in _by_place(history.shares).items():
        for late in deliveries if len(deliveries) > 1 else ():
            for each in _about(late, offset):
                for holding in deliveries:
                    if _succeeds_during(each, holding, offset):
                        yield f"offset {offset}: {each.line()}, while it is held after {holding.line()}"


def _succeeds_during(acknowledged: Acknowledgement, holding: Delivery, offset: int) -> bool:
    return (
        acknowledged.outcome is Outcome.OK
        and acknowledged.delivery is not holding
        and acknowledged.ended_us is not None
        and holding.ended_us < acknowledged.began_us
        and acknowledged.ended_us < _held_until_us(holding, offset)
    )


def refused_holders(history: History) -> Iterator[str]:
    """What a member holds for certain, it can acknowledge: a request for one partition fails only if it says something
    of what the member may hold no longer.
    """
    requests: dict[tuple[int, TopicPartition, int], list[Acknowledgement]] = defaultdict(list)
    for each in history.shares.acknowledgements:
        if each.outcome is Outcome.FAILED:
            requests[id(each.delivery.session), each.delivery.at, each.began_us].append(each)
    for refused in requests.values():
        if all(_is_held(each, offset) for each in refused for offset in range(each.first, each.last + 1)):
            yield f"{refused[0].line()}, though it holds this since {refused[0].delivery.line()}"


def _is_held(acknowledged: Acknowledgement, offset: int) -> bool:
    held_until_us = _held_until_us(acknowledged.delivery, offset, but=acknowledged)
    return acknowledged.ended_us is not None and acknowledged.ended_us < held_until_us


def lost_letters(history: History) -> Iterator[str]:
    """A record that was rejected, or released after the last delivery, has a dead letter, unless the disk fails; and so
    has each record that no member accepted.
    """
    promise = history.shares.promise
    if promise is None or not promise.has_dead_letters or history.disk_fails:
        return
    written = set(history.shares.dead_letters)
    for at, offset, value in _never_finished(history):
        if value not in written:
            yield f"{value.decode()} at {offset} of {at[0]}-{at[1]} has no dead letter, and no member accepted it"
    for each in history.shares.acknowledgements:
        delivery = each.delivery
        given_up = {REJECT, RELEASE} if delivery.count == promise.delivery_count_limit else {REJECT}
        for offset, kind in enumerate(each.types, each.first) if each.outcome is Outcome.OK else ():
            if kind in given_up and _is_held(each, offset) and delivery.values[offset] not in written:
                yield f"offset {offset} has no dead letter: {each.line()}, {delivery.line()}"


def wrong_letters(history: History) -> Iterator[str]:
    """A dead letter is the copy of a record that may have been rejected, or delivered up to the limit. The end of a
    lock may give up other offsets with these: the letter of a marker has its value, that of a missing record none.
    """
    shares = history.shares
    if shares.promise is None or shares.lost_fetches_us:
        return
    given_up = {
        delivery.values.get(offset)
        for (_, offset), deliveries in _by_place(shares).items()
        for delivery in deliveries
        if delivery.count >= shares.promise.delivery_count_limit
        or any(each.type_of(offset) == REJECT and each.outcome is not Outcome.FAILED for each in delivery.acknowledged)
    }
    for value in set(shares.dead_letters) - given_up - {b""}:
        if not value.startswith(_MARKER_VERSION):
            yield f"there is a dead letter of {value.decode()}, which was not given up"


def wrong_deliveries(history: History) -> Iterator[str]:
    """The records of a delivery are those of the log, and none of them is missing; the committed ones, if only these
    are read.
    """
    shares = history.shares
    if shares.promise is None:
        return
    final = seen(history.final, is_committed=shares.promise.is_committed)
    logs = {at: dict(records) for at, records in final.items()}
    for delivery in shares.deliveries:
        log = logs.get(delivery.at, {})
        there = {at: log[at] for at in range(delivery.first, delivery.last + 1) if at in log}
        if there != delivery.values:
            different = sorted(there.items() ^ delivery.values.items())[0]
            yield f"{delivery.line()}: not what the log has, as {different[1].decode()} at {different[0]}"


def resets_of_members(history: History) -> Iterator[str]:
    """No offset is set while a member is in the group for certain, from before to after."""
    for reset in history.shares.resets:
        for each in history.shares.memberships if reset.outcome is Outcome.OK else ():
            if each.from_us < reset.began_us and reset.ended_us < each.until_us:
                yield f"{reset.line()}, while {each.member} is in the group"
                break


def _may_be_reset(shares: ShareHistory, at: TopicPartition, offset: int, since_us: int, until_us: int) -> bool:
    """Whether the record may have come again, since an offset at it or before it was set."""
    return any(
        each.at == at and each.offset <= offset and each.may_have_been(since_us, until_us) for each in shares.resets
    )


def _may_be_skipped(shares: ShareHistory, offset: int, late: Acknowledgement) -> bool:
    """Whether an offset behind the record may have been set between its delivery and the acknowledgement's answer."""
    at, since_us, until_us = late.delivery.at, late.delivery.began_us, late.ended_us
    assert until_us is not None, "it was answered"
    return any(
        each.at == at and each.offset > offset and each.may_have_been(since_us, until_us) for each in shares.resets
    )


def _by_place(shares: ShareHistory) -> dict[Place, list[Delivery]]:
    places: dict[Place, list[Delivery]] = defaultdict(list)
    for delivery in shares.deliveries:
        for offset in range(delivery.first, delivery.last + 1):
            places[delivery.at, offset].append(delivery)
    return places


def _about(delivery: Delivery, offset: int) -> Iterator[Acknowledgement]:
    return (each for each in delivery.acknowledged if each.type_of(offset) is not None)


def _may_be_final(acknowledgement: Acknowledgement, offset: int) -> bool:
    is_final = acknowledgement.type_of(offset) in FINAL - {GAP}
    return is_final and acknowledgement.outcome is not Outcome.FAILED


def _may_be_finished(shares: ShareHistory, deliveries: list[Delivery], offset: int, late: Acknowledgement) -> bool:
    """Whether a record may have been finished, or skipped by a reset, before an acknowledgement was answered."""
    assert shares.promise is not None, "only a share group gets deliveries"
    assert late.ended_us is not None, "it was answered"
    count = max(each.count for each in deliveries)
    lost = sum(began_us < late.ended_us for began_us in shares.lost_fetches_us)
    if count + lost >= shares.promise.delivery_count_limit or _may_be_skipped(shares, offset, late):
        return True
    return any(
        each is not late
        and each.began_us < late.ended_us
        and each.outcome is not Outcome.FAILED
        and each.type_of(offset) in FINAL
        for delivery in deliveries
        for each in _about(delivery, offset)
    )


def _held_until_us(delivery: Delivery, offset: int, *, but: Acknowledgement | None = None) -> int:
    """Until when a member holds a record for certain; `but`: without this acknowledgement."""
    ends_us = delivery.began_us + delivery.lock_ms * 1000
    lost_us = min(delivery.session.alive_us, delivery.session.kept_until_us(delivery.at, delivery.began_us))
    for each in _about(delivery, offset):
        if each is but:
            break
        if each.type_of(offset) != RENEW or each.outcome is not Outcome.OK:
            return min(ends_us, each.began_us, lost_us)
        if each.ended_us is not None and each.ended_us < ends_us:
            ends_us = each.began_us + delivery.lock_ms * 1000
    return min(ends_us, lost_us)


def _lock_surely_ends_us(late: Acknowledgement) -> int:
    """When the lock of what is acknowledged is over at the latest."""
    delivery = late.delivery
    ends = [delivery.ended_us]
    for each in delivery.acknowledged:
        if each is not late and each.outcome is not Outcome.FAILED and RENEW in each.types:
            ends.append(each.ended_us or late.began_us)
    return max(ends) + delivery.lock_ms * 1000


RULES = (
    *(accepted_again, lost_shares, wrong_counts, two_holders, overlong_locks, refused_holders, wrong_deliveries),
    *(acknowledged_by_others, lost_letters, wrong_letters, resets_of_members),
)
