"""Fetch sessions as stories: what the client sends, what is told, and who gets a session when there is little room."""

from typing import Any

import pytest

from barnabas.broker.partitions.fetch.fetch_sessions import (
    EPOCH_MAX,
    EVICTABLE_AFTER_MS,
    UNKNOWN_PARTITION,
    FetchContext,
    FetchSessions,
    SessionRefused,
)
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.hot.fetch import FetchedPartition, FetchPartition, FetchRequest
from barnabas.protocol.hot.writing import Topic
from tests.support.virtual_clock import VirtualClock

Told = list[tuple[str, int]]


class Story:
    """A client and the sessions of a broker whose partitions are what `state` says."""

    def __init__(self, slots: int = 10) -> None:
        self.clock = VirtualClock()
        self.next_id = 100
        self.sessions = FetchSessions(lambda: slots, self.clock, self._random_id)
        self.state: dict[tuple[Topic, int], FetchedPartition] = {}

    def _random_id(self) -> int:
        self.next_id += 1
        return self.next_id

    def partition(self, topic: str, index: int, **changes: Any) -> None:
        """What a read of this partition gives from now on."""
        before = self.state.get((topic, index), FetchedPartition(index, 0, 10, 10, 0))
        self.state[topic, index] = before._replace(**changes)

    def begin(
        self,
        session_id: int,
        epoch: int,
        *wanted: tuple[str, int],
        forgotten: tuple[tuple[str, int], ...] = (),
        by_id: bool = False,
        offset: int = 0,
    ) -> FetchContext:
        topics: list[tuple[Topic, list[FetchPartition]]] = [
            (topic, [FetchPartition(index, -1, offset, -1, -1, 1000)]) for topic, index in wanted
        ]
        left: list[tuple[Topic, list[int]]] = [(topic, [index]) for topic, index in forgotten]
        request = FetchRequest(-1, 500, 1, 1 << 20, 0, session_id, epoch, topics, left)
        return self.sessions.begin(request, by_id)

    def fetch(self, session_id: int, epoch: int, *wanted: tuple[str, int], **more: Any) -> tuple[int, Told]:
        """(session id, partitions told) of a whole exchange."""
        context = self.begin(session_id, epoch, *wanted, **more)
        results = [
            self.state.get((topic, asked.partition), FetchedPartition(asked.partition, 0, 10, 10, 0))
            for topic, asked in context.wanted
        ]
        unknown_last = any(each.error_code in UNKNOWN_PARTITION for each in results)
        answered_id, topics = context.answer(results, unknown_last=unknown_last)
        return answered_id, [(str(topic), each.partition) for topic, parts in topics for each in parts]


A0, A1, B0 = ("a", 0), ("a", 1), ("b", 0)


@pytest.fixture
def story() -> Story:
    return Story()


def test_without_a_session_everything_is_reported_every_time(story: Story) -> None:
    for _ in range(2):
        assert story.fetch(0, -1, A0, A1) == (0, [A0, A1])
    assert len(story.sessions) == 0


def test_a_session_tells_everything_once_and_then_what_changed(story: Story) -> None:
    assert story.fetch(0, 0, A0, A1, B0) == (101, [A0, A1, B0])
    assert story.fetch(101, 1) == (101, [])
    story.partition("a", 1, high_watermark=11)
    assert story.fetch(101, 2) == (101, [A1])
    assert story.fetch(101, 3) == (101, [])
    story.partition("b", 0, log_start_offset=5)
    assert story.fetch(101, 4) == (101, [B0])
    story.partition("a", 0, records=b"data")
    assert story.fetch(101, 5) == (101, [A0])


def test_a_partition_that_gave_data_goes_to_the_end_but_not_with_the_first_answer(story: Story) -> None:
    story.partition("a", 0, records=b"data")
    story.fetch(0, 0, A0, A1, B0)
    context = story.begin(101, 1)
    assert [(topic, asked.partition) for topic, asked in context.wanted] == [A0, A1, B0]
    story.fetch(101, 2)
    assert [(topic, asked.partition) for topic, asked in story.begin(101, 3).wanted] == [A1, B0, A0]


def test_partitions_that_are_not_known_are_reported_last_and_first_those_of_unknown_ids(story: Story) -> None:
    story.partition("a", 0, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    story.partition("b", 0, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
    for epoch in (-1, 0):
        _, told = story.fetch(0, epoch, A0, B0, A1)
        assert told == [A1, B0, A0]
    context = story.begin(101, 1)
    assert [(topic, asked.partition) for topic, asked in context.wanted] == [A1, B0, A0], "the order of the answer"


def test_a_diverging_epoch_is_reported(story: Story) -> None:
    story.fetch(0, 0, A0)
    story.partition("a", 0, diverging_epoch=(3, 5))
    assert story.fetch(101, 1) == (101, [A0])


@pytest.mark.parametrize(
    ("session_id", "epoch", "by_id", "code"),
    [
        (999, 1, False, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (101, 2, False, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (101, 1, True, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR),
    ],
)
def test_a_request_that_contradicts_its_session_is_refused(
    story: Story, session_id: int, epoch: int, by_id: bool, code: ErrorCode
) -> None:
    story.fetch(0, 0, A0)
    with pytest.raises(SessionRefused) as refused:
        story.begin(session_id, epoch, by_id=by_id)
    assert (refused.value.code, refused.value.session_id) == (code, 0)
    assert story.fetch(101, 1) == (101, [])


@pytest.mark.parametrize(("epoch", "new_id"), [(0, 102), (-1, 0)])
def test_a_full_request_ends_the_session_it_names(story: Story, epoch: int, new_id: int) -> None:
    story.fetch(0, 0, A0)
    assert story.fetch(101, epoch, A1) == (new_id, [A1])
    with pytest.raises(SessionRefused):
        story.begin(101, 1)


def test_a_session_that_forgot_everything_is_closed(story: Story) -> None:
    story.fetch(0, 0, A0)
    assert story.fetch(101, 1, forgotten=(A0,)) == (0, [])
    assert len(story.sessions) == 0


def test_the_epoch_goes_on_at_1_after_the_largest(story: Story) -> None:
    story.fetch(0, 0, A0)
    story.sessions._sessions[101].epoch = EPOCH_MAX
    assert story.fetch(101, EPOCH_MAX) == (101, [])
    assert story.fetch(101, 1) == (101, [])


@pytest.mark.parametrize("forgotten", [(), (A0,)], ids=["nothing", "everything"])
def test_an_answer_that_was_overtaken_is_refused_with_the_sessions_id(story: Story, forgotten: Any) -> None:
    story.fetch(0, 0, A0)
    parked = story.begin(101, 1)
    story.fetch(101, 2, forgotten=forgotten)
    with pytest.raises(SessionRefused) as refused:
        parked.answer([FetchedPartition(0, 0, 10, 10, 0)], unknown_last=False)
    assert (refused.value.code, refused.value.session_id) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 101)


def test_without_room_nobody_gets_a_session_and_is_served_all_the_same() -> None:
    story = Story(slots=1)
    assert story.fetch(0, 0, A0) == (101, [A0])
    assert story.fetch(0, 0, A0, A1) == (0, [A0, A1])


def test_a_session_nobody_used_for_two_minutes_makes_room() -> None:
    story = Story(slots=1)
    story.fetch(0, 0, A0, A1)
    story.clock.advance(EVICTABLE_AFTER_MS)
    assert story.fetch(0, 0, A0)[0] == 0
    story.clock.advance(1)
    assert story.fetch(0, 0, A0)[0] == 102


def test_an_old_session_makes_room_for_a_larger_one_only() -> None:
    story = Story(slots=1)
    story.fetch(0, 0, A0)
    story.clock.advance(EVICTABLE_AFTER_MS + 1)
    story.fetch(101, 1)
    assert story.fetch(0, 0, B0)[0] == 0
    assert story.fetch(0, 0, A1, B0)[0] == 102
    with pytest.raises(SessionRefused):
        story.begin(101, 2)


def test_no_slots_means_no_sessions() -> None:
    story = Story(slots=0)
    assert story.fetch(0, 0, A0) == (0, [A0])


def test_partitions_are_added_changed_and_forgotten(story: Story) -> None:
    story.fetch(0, 0, A0)
    assert story.fetch(101, 1, A1) == (101, [A1])
    context = story.begin(101, 2, A0, offset=7)
    assert [(asked.partition, asked.fetch_offset) for _, asked in context.wanted] == [(0, 7), (1, 0)]
    context = story.begin(101, 3, forgotten=(A0,))
    assert [asked.partition for _, asked in context.wanted] == [1]


def test_an_error_is_reported_every_time_and_then_the_recovery(story: Story) -> None:
    story.fetch(0, 0, A0, A1)
    story.partition("a", 0, error_code=3, high_watermark=-1, log_start_offset=-1)
    assert story.fetch(101, 1) == (101, [A0])
    assert story.fetch(101, 2) == (101, [A0])
    story.partition("a", 0, error_code=0, high_watermark=10, log_start_offset=0)
    assert story.fetch(101, 3) == (101, [A0])
    assert story.fetch(101, 4) == (101, [])
