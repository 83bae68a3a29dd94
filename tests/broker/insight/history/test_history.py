"""The ring is bounded, numbered and filtered; who follows is told what happens, and how much they missed."""

from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.broker.insight.history.history import FOLLOWED_MAX, FOLLOWERS_MAX, History, TooManyFollowers
from barnabas.broker.insight.history.trace_event import TEXT_MAX
from barnabas.broker.insight.history.trace_filter import TraceFilter, UnknownKind, wanted
from barnabas.broker.runtime.events import Events
from barnabas.broker.runtime.events.cause import RequestCause, TimerCause
from barnabas.broker.runtime.events.kinds import (
    MEMBER_LEFT,
    OFFSETS_COMMITTED,
    REQUEST_ANSWERED,
    SEGMENT_ROLLED,
    TRANSACTION_PARTITIONS_ADDED,
    TRANSACTION_REFUSED,
)

ROLLED = {"topic": "t", "partition": 0, "base_offset": 7}


class Clocked:
    """A history whose clocks show what they are set to."""

    def __init__(self, events_max: int = 1_000, bytes_max: int = 1 << 20) -> None:
        self.events = Events()
        self.now_ms = 1_000
        self.history = History(
            self.events,
            now_ms=lambda: self.now_ms,
            machine_now_ms=lambda: self.now_ms + 5,
            events_max=events_max,
            bytes_max=bytes_max,
        )

    def roll(self, count: int = 1, **facts: Any) -> None:
        for _ in range(count):
            self.events.emit(SEGMENT_ROLLED, {**ROLLED, **facts})

    def numbers(self, start: int = 1, limit: int = 1_000, **asked: Any) -> list[int | None]:
        return [told.number for told in self.history.past(TraceFilter(**asked), start, limit).events]


@pytest.fixture
def clocked() -> Iterator[Clocked]:
    clocked = Clocked()
    yield clocked
    clocked.history.close()
    assert not clocked.events.is_on


def test_an_event_has_its_number_both_times_and_its_cause(clocked: Clocked) -> None:
    clocked.roll()
    clocked.now_ms = 2_000
    clocked.events.cause = RequestCause(3, "EndTxn", 5, "me", "1.2.3.4:5", 8, 1, {"transactional_id": "x"})
    clocked.roll()
    clocked.events.cause = TimerCause("session", "g", "m")
    clocked.roll()
    first, second, third = clocked.history.past(TraceFilter()).events
    assert (first.number, first.at_ms, first.machine_at_ms, first.kind) == (1, 1_000, 1_005, "log.segment_rolled")
    assert (dict(first.facts), dict(first.cause)) == (ROLLED, {})
    assert (second.number, second.at_ms, second.cause["api"], second.cause["request"]) == (2, 2_000, "EndTxn", 3)
    assert second.fact("transactional_id") == "x"
    assert third.cause == {"timer": "session", "member_id": "m"}


def test_only_the_last_are_kept_and_who_comes_late_is_informed_how_many_are_lost() -> None:
    clocked = Clocked(events_max=3)
    clocked.roll(10)
    past = clocked.history.past(TraceFilter(), 5)
    assert ([told.number for told in past.events], past.lost, past.next) == ([8, 9, 10], 3, 11)
    assert clocked.history.past(TraceFilter(), 11) == ([], 11, 0)
    assert clocked.history.past(TraceFilter(), 99) == ([], 11, 0)


def test_the_ring_is_bounded_by_its_size_in_memory_and_long_texts_are_cut() -> None:
    clocked = Clocked(bytes_max=20_000)
    clocked.roll(100, topic="long" * 1_000)
    assert 0 < len(clocked.numbers()) < 40
    (last,) = clocked.history.last(TraceFilter(), 1)
    assert len(last.facts["topic"]) == TEXT_MAX
    assert last.number == 100


def test_a_page_has_as_many_as_are_requested_and_states_where_the_next_begins(clocked: Clocked) -> None:
    clocked.roll(3)
    clocked.roll(3, topic="u")
    first = clocked.history.past(TraceFilter(topic="u"), 1, 2)
    assert ([told.number for told in first.events], first.next) == ([4, 5], 6)
    assert clocked.numbers(first.next, 2, topic="u") == [6]
    assert [told.number for told in clocked.history.last(TraceFilter(topic="t"), 2)] == [2, 3]


def test_filters(clocked: Clocked) -> None:
    who = {"transactional_id": "x", "producer_id": 4, "producer_epoch": 0}
    clocked.events.emit(TRANSACTION_PARTITIONS_ADDED, {**who, "partitions": ["t-0", "a-b-1"], "partitions_count": 2})
    clocked.events.emit(TRANSACTION_REFUSED, {**who, "error": "E", "why": "w", "state": None})
    clocked.events.cause = RequestCause(1, "LeaveGroup", 5, "me", "p", 8, 1, {"group": "g"})
    clocked.events.emit(MEMBER_LEFT, {"group": "g", "member_id": "m", "why": "it left", "members_count": 0})
    commit = {"group": "h", "offsets": ["t-0:7"], "offsets_count": 1, "producer_id": None, "producer_epoch": None}
    clocked.events.emit(OFFSETS_COMMITTED, commit)
    clocked.roll()
    assert clocked.numbers(kinds=("transaction",)) == [1, 2]
    assert clocked.numbers(kinds=("transaction.refused", "group")) == [2, 3, 4]
    assert clocked.numbers(kinds=("trans",)) == []
    assert clocked.numbers(transactional_id="x") == clocked.numbers(producer_id=4) == [1, 2]
    assert clocked.numbers(group="h") == [4]
    assert clocked.numbers(group="g") == [3, 5]  # the last one by its cause
    assert clocked.numbers(client_id="me") == [3, 4, 5]
    assert clocked.numbers(topic="t") == [1, 4, 5]
    assert clocked.numbers(topic="t", partition=1) == []
    assert clocked.numbers(topic="a-b", partition=1) == [1]


def test_the_filter_is_read_from_a_query_string() -> None:
    assert wanted({"kind": ["transaction, group.member_left"], "topic": ["t"], "partition": ["3"]}) == TraceFilter(
        ("transaction", "group.member_left"), topic="t", partition=3
    )
    with pytest.raises(UnknownKind, match=r"no kind of event is called 'trans' or begins with it: there are request\."):
        wanted({"kind": ["trans"]})
    with pytest.raises(ValueError, match="partition=-1 is not a number of 0 or more"):
        wanted({"partition": ["-1"]})


async def test_a_follower_is_given_what_happens_and_told_what_it_missed(clocked: Clocked) -> None:
    clocked.roll()
    follower = clocked.history.follow(TraceFilter(topic="t"))
    assert follower.take() == ([], 0)
    more = follower.more()
    clocked.roll(topic="u")
    assert not more.done()
    clocked.roll(FOLLOWED_MAX + 3)
    await more
    events, missed = follower.take()
    assert (len(events), missed, events[-1].number) == (FOLLOWED_MAX, 3, FOLLOWED_MAX + 5)
    assert follower.take() == ([], 0)
    waiting = follower.more()
    follower.close()
    await waiting
    clocked.roll()
    assert follower.take() == ([], 0)


async def test_requests_that_carry_data_are_told_to_who_requests_them_and_not_kept(clocked: Clocked) -> None:
    plain = clocked.history.follow(TraceFilter())
    assert not clocked.events.all_requests
    every = clocked.history.follow(TraceFilter(), all_requests=True)
    assert clocked.events.all_requests
    facts = {"version": 9, "error": None, "took_ms": 0.1}
    clocked.events.emit(REQUEST_ANSWERED, {"api": "Produce", **facts})
    clocked.events.emit(REQUEST_ANSWERED, {"api": "EndTxn", **facts})
    assert [told.number for told in every.take()[0]] == [None, 1]
    assert [told.number for told in plain.take()[0]] == clocked.numbers() == [1]
    every.close()
    assert not clocked.events.all_requests
    assert clocked.events.is_on


async def test_no_more_follow_than_may(clocked: Clocked) -> None:
    followers = [clocked.history.follow(TraceFilter()) for _ in range(FOLLOWERS_MAX)]
    with pytest.raises(TooManyFollowers, match="16 clients follow the trace already"):
        clocked.history.follow(TraceFilter())
    followers[0].close()
    clocked.history.follow(TraceFilter())
