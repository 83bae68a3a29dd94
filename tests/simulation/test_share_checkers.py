"""The rules about share groups over histories written by hand: what breaks each of them, and what does not."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tests.simulation.checkers.shares import (
    accepted_again,
    acknowledged_by_others,
    lost_letters,
    lost_shares,
    overlong_locks,
    refused_holders,
    resets_of_members,
    two_holders,
    wrong_counts,
    wrong_deliveries,
    wrong_letters,
)
from tests.simulation.history.history import History, Outcome, Poll
from tests.simulation.history.nodes import LeaderView
from tests.simulation.history.shares import (
    ACCEPT,
    REJECT,
    RELEASE,
    RENEW,
    Acknowledgement,
    Delivery,
    Membership,
    Reset,
    SessionLife,
    SharePromise,
)

AT = ("output", 0)
LOCK_MS = 1_000
SECOND = 1_000_000
LIMIT = 3
LOG = Poll(
    "final", False, AT, 0, 1, 1, 1, 0, 1, [(0, b"v")], log_start_offset=0, last_stable_offset=1, high_watermark=1
)


def delivery(member: str, count: int, at_us: int, *, boot: int = 1, alive_us: int = 99 * SECOND) -> Delivery:
    """Of the only record, answered 10 microseconds after it was asked for."""
    return Delivery(SessionLife(member, alive_us), AT, 0, 0, count, at_us, at_us + 10, boot, LOCK_MS, {0: b"v"})


def said(of: Delivery, kind: int, at_us: int, outcome: Outcome = Outcome.OK) -> Acknowledgement:
    made = Acknowledgement(of, 0, (kind,), at_us, outcome, at_us + 10)
    of.acknowledged.append(made)
    return made


def history(*deliveries: Delivery, lost_fetches: int = 0) -> History:
    found = History()
    found.final.append(LOG)
    found.shares.promise = SharePromise(AT[0], False, LIMIT)
    found.shares.deliveries += deliveries
    found.shares.acknowledgements += [each for of in deliveries for each in of.acknowledged]
    found.shares.lost_fetches_us += [0] * lost_fetches
    return found


def accepted_first() -> History:
    first = delivery("a", 1, 100)
    said(first, ACCEPT, 200)
    return history(first, delivery("b", 2, 300))


def released_first() -> History:
    first, again = delivery("a", 1, 100), delivery("b", 2, 300)
    said(first, RELEASE, 200)
    said(again, ACCEPT, 400)
    return history(first, again)


def accepted_at_the_same_time() -> History:
    first, again = delivery("a", 1, 100), delivery("b", 2, 205)
    said(first, ACCEPT, 200)
    return history(first, again)


def given_up_early() -> History:
    first = delivery("a", LIMIT - 1, 100)
    said(first, RELEASE, 200)
    return history(first)


def given_up_at_the_limit() -> History:
    first = delivery("a", LIMIT, 100)
    said(first, RELEASE, 200)
    return history(first)


def given_up_perhaps() -> History:
    found = given_up_early()
    found.shares.lost_fetches_us.append(0)
    return found


def past_the_limit() -> History:
    return history(*(delivery("a", count, count * 2 * SECOND) for count in range(1, LIMIT + 2)))


def counted_twice() -> History:
    return history(delivery("a", 2, 100))


def counted_twice_as_an_answer_was_lost() -> History:
    return history(delivery("a", 2, 100), lost_fetches=1)


def not_counted() -> History:
    return history(delivery("a", 1, 100), delivery("b", 1, 3 * SECOND))


def forgotten_by_a_death() -> History:
    return history(delivery("a", 1, 100), delivery("b", 1, 3 * SECOND, boot=2))


def a_release_forgotten_by_a_death() -> History:
    first = delivery("a", 1, 100)
    said(first, RELEASE, 200)
    return history(first, delivery("b", 1, 3 * SECOND, boot=2))


def taken_while_it_is_held() -> History:
    return history(delivery("a", 1, 100), delivery("b", 2, 300))


def taken_after_its_session() -> History:
    return history(delivery("a", 1, 100, alive_us=200), delivery("b", 2, 300))


def taken_after_its_lock() -> History:
    return history(delivery("a", 1, 100), delivery("b", 2, 2 * SECOND))


def taken_after_a_renewal() -> History:
    first = delivery("a", 1, 100)
    said(first, RENEW, SECOND // 2)
    return history(first, delivery("b", 2, SECOND + 100))


def accepted_late() -> History:
    first = delivery("a", 1, 100)
    said(first, ACCEPT, 2 * SECOND)
    return history(first)


def accepted_late_and_renewed() -> History:
    first = delivery("a", 1, 100)
    said(first, RENEW, SECOND)
    said(first, ACCEPT, 2 * SECOND - 100)
    return history(first)


def accepted_late_when_it_was_finished() -> History:
    first, again = delivery("a", 1, 100), delivery("b", 2, 2 * SECOND)
    said(again, ACCEPT, 2 * SECOND + 100)
    said(first, ACCEPT, 3 * SECOND)
    return history(first, again)


def accepted_while_another_holds() -> History:
    first, again = delivery("a", 1, 100), delivery("b", 2, 2 * SECOND)
    said(first, ACCEPT, 2 * SECOND + 100)
    return history(first, again)


def refused_while_it_is_held() -> History:
    first = delivery("a", 1, 100)
    said(first, ACCEPT, 200, Outcome.FAILED)
    return history(first)


def refused_late() -> History:
    first = delivery("a", 1, 100)
    said(first, ACCEPT, 2 * SECOND, Outcome.FAILED)
    return history(first)


def another_record() -> History:
    return history(replace(delivery("a", 1, 100), values={0: b"w"}))


def a_missing_record() -> History:
    return history(replace(delivery("a", 1, 100), values={}))


def dead_letters(*values: bytes, count: int, kind: int) -> History:
    first = delivery("a", count, 100)
    said(first, kind, 200)
    found = history(first)
    found.shares.promise = SharePromise(AT[0], False, LIMIT, has_dead_letters=True)
    found.shares.dead_letters += values
    return found


def rejected_without_a_letter() -> History:
    return dead_letters(count=1, kind=REJECT)


def worn_out_without_a_letter() -> History:
    return dead_letters(count=LIMIT, kind=RELEASE)


def rejected_with_a_letter() -> History:
    return dead_letters(b"v", count=1, kind=REJECT)


def worn_out_with_a_letter() -> History:
    return dead_letters(b"v", count=LIMIT, kind=RELEASE)


def worn_out_with_the_marker_beside_it() -> History:
    return dead_letters(b"v", bytes(6), count=LIMIT, kind=RELEASE)


def accepted_with_a_letter() -> History:
    return dead_letters(b"v", count=1, kind=ACCEPT)


def reset(found: History, offset: int, at_us: int, outcome: Outcome = Outcome.OK) -> History:
    """With an offset that was set then."""
    error = "NON_EMPTY_GROUP" if outcome is Outcome.FAILED else ""
    found.shares.resets.append(Reset(AT, offset, at_us, outcome, at_us + 10, error=error))
    for each in found.shares.deliveries:
        each.session.kept_until_us = found.shares.kept_until_us
    return found


def accepted_before_a_reset() -> History:
    return reset(accepted_first(), 0, 250)


def accepted_before_a_refused_reset() -> History:
    return reset(accepted_first(), 0, 250, Outcome.FAILED)


def accepted_before_a_reset_behind_it() -> History:
    return reset(accepted_first(), 1, 250)


def accepted_late_when_a_reset_had_skipped_it() -> History:
    return reset(accepted_late(), 1, SECOND)


def accepted_late_after_a_reset_to_it() -> History:
    return reset(accepted_late(), 0, SECOND)


def accepted_and_never_again_after_a_reset() -> History:
    first = delivery("a", 1, 100)
    said(first, ACCEPT, 200)
    return reset(history(first), 0, 300)


def skipped_by_a_reset() -> History:
    return reset(history(), 1, 300)


def counted_anew_after_a_reset() -> History:
    return reset(not_counted(), 0, 500)


def taken_after_a_reset() -> History:
    return reset(taken_while_it_is_held(), 0, 200)


def taken_before_a_reset() -> History:
    return reset(taken_while_it_is_held(), 0, 600)


def moved(*epochs: int, held: Callable[[], History]) -> History:
    """With a view of the leader each 150 us."""
    found = held()
    found.shares.leaders = found.leaders
    for number, epoch in enumerate(epochs):
        found.leaders.seen(LeaderView(AT, 9092 + epoch, epoch, 150 * number, 150 * number + 10))
    for each in found.shares.deliveries:
        each.session.kept_until_us = found.shares.kept_until_us
    return found


def taken_at_another_leader() -> History:
    return moved(0, 1, 1, 1, held=taken_while_it_is_held)


def taken_at_the_same_leader() -> History:
    return moved(0, 0, 0, 0, 0, held=taken_while_it_is_held)


def reset_under_a_member() -> History:
    found = reset(history(), 0, 300)
    found.shares.memberships.append(Membership("a", 100, 2 * SECOND))
    return found


def reset_after_a_member() -> History:
    found = reset(history(), 0, 300)
    found.shares.memberships.append(Membership("a", 100, 305))
    return found


@pytest.mark.parametrize(
    ("rule", "broken", "kept"),
    [
        (
            accepted_again,
            [accepted_first, accepted_before_a_refused_reset, accepted_before_a_reset_behind_it],
            [released_first, accepted_at_the_same_time, accepted_before_a_reset],
        ),
        (
            lost_shares,
            [given_up_early, accepted_and_never_again_after_a_reset],
            [given_up_at_the_limit, given_up_perhaps, released_first, skipped_by_a_reset],
        ),
        (resets_of_members, [reset_under_a_member], [reset_after_a_member]),
        (
            wrong_counts,
            [past_the_limit, counted_twice, not_counted, a_release_forgotten_by_a_death],
            [counted_twice_as_an_answer_was_lost, forgotten_by_a_death, released_first, counted_anew_after_a_reset],
        ),
        (
            two_holders,
            [taken_while_it_is_held, taken_after_a_renewal, taken_before_a_reset, taken_at_the_same_leader],
            [
                *(taken_after_its_session, taken_after_its_lock, released_first),
                *(taken_after_a_reset, taken_at_another_leader),
            ],
        ),
        (
            overlong_locks,
            [accepted_late, accepted_late_after_a_reset_to_it],
            [
                accepted_late_and_renewed,
                accepted_late_when_it_was_finished,
                accepted_late_when_a_reset_had_skipped_it,
            ],
        ),
        (acknowledged_by_others, [accepted_while_another_holds], [accepted_late_when_it_was_finished, accepted_late]),
        (refused_holders, [refused_while_it_is_held], [refused_late, accepted_late]),
        (
            lost_letters,
            [rejected_without_a_letter, worn_out_without_a_letter],
            [rejected_with_a_letter, worn_out_with_a_letter, released_first],
        ),
        (wrong_letters, [accepted_with_a_letter], [rejected_with_a_letter, worn_out_with_the_marker_beside_it]),
        (wrong_deliveries, [another_record, a_missing_record], [released_first]),
    ],
)
def test_a_rule_finds_what_breaks_it_and_nothing_else(
    rule: Callable[[History], Iterator[str]],
    broken: list[Callable[[], History]],
    kept: list[Callable[[], History]],
) -> None:
    assert [story.__name__ for story in broken if not list(rule(story()))] == []
    assert [story.__name__ for story in kept if list(rule(story()))] == []
