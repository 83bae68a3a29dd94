"""The state machine of a share partition, against what Apache Kafka 4.4.0 was seen to do, and against a model."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.resources.share_groups import share_group_settings
from barnabas.broker.partitions.share.acknowledgements import AcknowledgedBatch, checked_batches
from barnabas.broker.partitions.share.acquisition import AcquireMode, AcquireRequest, LogRange
from barnabas.broker.partitions.share.persister import StateBatch, StoredShareState
from barnabas.broker.partitions.share.share_partition import SharePartition
from barnabas.broker.partitions.share.state_change import StateChange
from barnabas.protocol.acknowledge_type import AcknowledgeType
from barnabas.protocol.errors import ErrorCode, KafkaError

ACCEPT, RELEASE, REJECT, RENEW = (
    AcknowledgeType.ACCEPT,
    AcknowledgeType.RELEASE,
    AcknowledgeType.REJECT,
    AcknowledgeType.RENEW,
)
RECORD_LIMIT = AcquireMode.RECORD_LIMIT


class Share:
    """A share partition over a log of batches of equal size, and the time."""

    def __init__(
        self, end: int, batch: int = 0, stored: Sequence[StateBatch] = (), start: int = 0, **settings: Any
    ) -> None:
        self.settings = share_group_settings({}, BrokerConfig({}))._replace(**settings)
        size = batch or end
        self.log = [LogRange(first, min(first + size, end) - 1) for first in range(0, end, size)]
        self.partition = SharePartition(StoredShareState(0, start, tuple(stored)), 0)
        self.now = 0.0

    def poll(
        self,
        records_max: int = 500,
        batch_size: int = 500,
        mode: AcquireMode = AcquireMode.BATCH_OPTIMIZED,
        member: str = "m",
    ) -> list[tuple[int, int, int]]:
        """What a fetch acquires: first and last offset and delivery count of each range."""
        if not self.partition.can_acquire(self.settings):
            return []
        offset = self.partition.next_fetch_offset
        log = [each for each in self.log if each.last >= offset]
        wanted = AcquireRequest(member, records_max, batch_size, mode)
        acquired = self.partition.acquire(wanted, offset, log, self.settings, self.now)
        return [(first, last, count) for first, last, count in acquired]

    def begin(self, first: int, last: int, *types: int, member: str = "m") -> StateChange:
        batches = [AcknowledgedBatch(first, last, types)]
        return self.partition.acknowledge(member, batches, self.settings, self.now)

    def acknowledge(self, first: int, last: int, *types: int, member: str = "m") -> None:
        change = self.begin(first, last, *types, member=member)
        self.partition.stored(change)

    def expire(self) -> StateChange:
        change = self.partition.expire(self.now, self.settings)
        self.partition.stored(change)
        return change


def delivered(share: Share, polls: int) -> list[int]:
    """How many records each of so many polls gets, whose records are all released."""
    sizes = []
    for _ in range(polls):
        acquired = share.poll()
        sizes.append(sum(last - first + 1 for first, last, _ in acquired))
        for first, last, _ in acquired:
            share.acknowledge(first, last, RELEASE)
    return sizes


@pytest.mark.parametrize(
    ("size", "limit", "sizes"),
    [
        (1, 5, [1, 1, 1, 1, 1, 0]),
        (10, 5, [10, 10, 10, 5, 1, 1, 1, 1, 1, 5, 1, 1, 1, 1, 1, 0]),
        (8, 10, [8, 8, 8, 8, 8, 4, 2, 1]),
        (8, 2, [8, 8, 0]),
    ],
)
def test_a_batch_that_is_released_again_and_again_is_taken_apart(size: int, limit: int, sizes: list[int]) -> None:
    assert delivered(Share(size, delivery_count_limit=limit), len(sizes)) == sizes


def test_released_records_come_before_new_ones_and_in_order() -> None:
    share = Share(20, 10)
    assert share.poll(10) == [(0, 9, 1)]
    share.acknowledge(0, 9, *[RELEASE if offset in (3, 7) else ACCEPT for offset in range(10)])
    assert share.poll() == [(3, 3, 2), (7, 7, 2), (10, 19, 1)]
    assert share.partition.start_offset == 3


@pytest.mark.parametrize(
    ("batch", "records_max", "batch_size", "mode", "acquired"),
    [
        (5000, 500, 500, AcquireMode.BATCH_OPTIMIZED, [(0, 4999, 1)]),
        (50, 100, 500, AcquireMode.BATCH_OPTIMIZED, [(0, 99, 1)]),
        (50, 7, 500, AcquireMode.BATCH_OPTIMIZED, [(0, 49, 1)]),
        (50, 200, 100, AcquireMode.BATCH_OPTIMIZED, [(0, 99, 1), (100, 199, 1)]),
        (100, 500, 250, AcquireMode.BATCH_OPTIMIZED, [(0, 299, 1), (300, 499, 1)]),
        (50, 100, 1, AcquireMode.BATCH_OPTIMIZED, [(0, 49, 1), (50, 99, 1)]),
        (50, 7, 500, RECORD_LIMIT, [(0, 6, 1)]),
    ],
)
def test_new_records_come_in_whole_batches_unless_they_are_counted(
    batch: int, records_max: int, batch_size: int, mode: AcquireMode, acquired: list[tuple[int, int, int]]
) -> None:
    assert Share(5000, batch).poll(records_max, batch_size, mode) == acquired


def test_counted_records_leave_the_rest_of_their_batch_for_the_next_fetch() -> None:
    share = Share(300, 100)
    assert share.poll(120, mode=RECORD_LIMIT) == [(0, 119, 1)]
    assert share.poll(120, mode=RECORD_LIMIT) == [(120, 199, 1), (200, 239, 1)]


def test_no_more_is_in_flight_than_the_limit_and_a_batch() -> None:
    share = Share(5000, 100)
    assert [share.poll(1000), share.poll(2000), share.poll()] == [
        [(0, 499, 1), (500, 999, 1)],
        [(1000, 1499, 1), (1500, 1999, 1)],
        [],
    ]
    share.acknowledge(500, 1999, ACCEPT)
    assert share.poll() == []
    share.acknowledge(0, 99, RELEASE)
    assert share.poll() == [(0, 99, 2)]


@pytest.mark.parametrize(
    ("batches", "code"),
    [
        ([(0, 1, [1]), (30, 31, [1])], ErrorCode.INVALID_REQUEST),
        ([(5, 10, [1])], ErrorCode.INVALID_REQUEST),
        ([(0, 3, [1]), (2, 5, [1])], ErrorCode.INVALID_RECORD_STATE),
        ([(-5, -1, [1]), (0, 0, [1])], None),
        ([(-5, 3, [1])], None),
    ],
)
def test_acknowledgements_are_applied_together_or_not_at_all(
    batches: list[tuple[int, int, list[int]]], code: ErrorCode | None
) -> None:
    share = Share(10)
    share.poll()
    wanted = [AcknowledgedBatch(*each) for each in batches]
    if code is None:
        assert share.partition.acknowledge("m", wanted, share.settings, 0).update is not None
        return
    with pytest.raises(KafkaError) as refused:
        share.partition.acknowledge("m", wanted, share.settings, 0)
    assert refused.value.code == code
    share.acknowledge(0, 9, ACCEPT)
    assert share.partition.start_offset == 10


def test_types_are_those_of_their_offsets_over_several_batches() -> None:
    share = Share(12, batch=4)
    assert share.poll() == [(0, 11, 1)]
    share.acknowledge(0, 1, ACCEPT)
    share.acknowledge(-1, 9, *[REJECT] * 3, RELEASE, RELEASE, ACCEPT, RELEASE, ACCEPT, ACCEPT, ACCEPT, RELEASE)
    assert share.poll() == [(2, 3, 2), (5, 5, 2), (9, 9, 2)]
    for first, last in ((2, 3), (5, 5), (9, 11)):
        share.acknowledge(first, last, ACCEPT)
    assert share.partition.start_offset == 12


def test_ten_thousand_alternating_acknowledgements_are_one_change_in_order() -> None:
    count = 10_000
    share = Share(count, partition_max_record_locks=count)
    share.poll(count)
    change = share.begin(0, count - 1, *[ACCEPT, RELEASE] * (count // 2))
    assert change.update is not None
    assert [each.first_offset for each in change.update.batches] == list(range(count))
    assert {each.delivery_state for each in change.update.batches[::2]} == {2}
    assert {each.delivery_state for each in change.update.batches[1::2]} == {0}
    assert change.update.delivery_complete_count == count // 2


def test_only_the_holder_acknowledges_and_only_once() -> None:
    share = Share(10)
    share.poll()
    for member, first in (("other", 0), ("m", 0)):
        if member == "m":
            share.acknowledge(5, 9, ACCEPT)
            first = 5
        with pytest.raises(KafkaError) as refused:
            share.acknowledge(first, 9, ACCEPT, member=member)
        assert refused.value.code == ErrorCode.INVALID_RECORD_STATE
    share.acknowledge(0, 4, ACCEPT)
    share.acknowledge(0, 9, ACCEPT)  # below the start offset: taken silently


@pytest.mark.parametrize("types", [[5], [-1], [1, 1, 1], [], [4]])
def test_acknowledgements_that_are_malformed_are_invalid(types: list[int]) -> None:
    with pytest.raises(KafkaError) as refused:
        checked_batches([AcknowledgedBatch(0, 1, types)], may_renew=False)
    assert refused.value.code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("bounds", [[(1, 0)], [(3, 4), (0, 1)], [(0, 3), (2, 5)], [(-5, 2)]])
def test_batches_that_do_not_ascend_or_begin_before_the_log_are_invalid(bounds: list[tuple[int, int]]) -> None:
    with pytest.raises(KafkaError):
        checked_batches([AcknowledgedBatch(*each, [1]) for each in bounds], may_renew=True)


def test_a_lock_ends_unless_it_is_renewed() -> None:
    share = Share(10)
    share.poll()
    share.now = 20
    share.acknowledge(0, 4, RENEW)
    share.now = share.partition.next_deadline
    update = share.expire().update
    assert update is not None
    assert (share.now, update.batches) == (30, (StateBatch(5, 9, 0, 1),))
    assert share.poll() == [(5, 9, 2)]
    share.now = 50
    share.expire()
    assert share.poll() == [(0, 4, 2)]


def test_a_group_may_forbid_renewals() -> None:
    share = Share(1, renew_acknowledge_enabled=False)
    share.poll()
    with pytest.raises(KafkaError) as refused:
        share.acknowledge(0, 0, RENEW)
    assert refused.value.code == ErrorCode.INVALID_RECORD_STATE


@pytest.mark.parametrize(("now", "next_poll"), [(10, []), (31, [(0, 4, 2)])])
def test_unstored_acknowledgements_are_held_until_the_lock_ends(
    now: float, next_poll: list[tuple[int, int, int]]
) -> None:
    share = Share(5)
    share.poll()
    change = share.begin(0, 4, ACCEPT)
    assert change.update is not None
    assert (change.update.start_offset, change.update.delivery_complete_count) == (0, 5)
    share.now = now
    assert share.expire().update is None
    share.partition.not_stored(change)
    share.expire()
    assert share.poll() == next_poll
    assert share.partition.start_offset == 0


def test_a_pending_write_is_not_visible() -> None:
    share = Share(5)
    share.poll()
    change = share.begin(0, 4, RELEASE)
    assert share.poll() == []
    share.partition.stored(change)
    assert share.poll() == [(0, 4, 2)]


def test_the_end_of_a_session_releases_what_its_member_holds() -> None:
    share = Share(10, 5)
    share.poll(5)
    share.poll(5, member="other")
    change = share.partition.release("m", share.settings)
    share.partition.stored(change)
    assert share.poll() == [(0, 4, 2)]


def test_records_in_flight_at_a_restart_are_delivered_as_new_ones() -> None:
    share = Share(12, 1, [StateBatch(0, 1, 2, 1), StateBatch(3, 3, 0, 1), StateBatch(8, 9, 3, 1)])
    assert share.partition.start_offset == 2
    assert share.poll() == [(2, 2, 1), (3, 3, 2), (4, 7, 1), (10, 11, 1)]


@pytest.mark.parametrize(
    "last",
    [
        pytest.param(StateBatch(2, 4, 0, 1), id="overlaps"),
        pytest.param(StateBatch(5, 4, 0, 1), id="ends before it begins"),
        pytest.param(StateBatch(4, 4, 5, 1), id="a state that does not exist"),
        pytest.param(StateBatch(4, 4, -1, 1), id="a negative state"),
    ],
)
def test_a_stored_state_that_is_not_valid_is_refused(last: StateBatch) -> None:
    with pytest.raises(KafkaError):
        Share(5, stored=[StateBatch(0, 3, 2, 1), last])


def test_records_that_the_log_lost_are_passed_over() -> None:
    share = Share(20, 5)
    share.poll()
    share.acknowledge(0, 19, RELEASE)
    share.log = share.log[2:]
    assert share.poll(5) == [(10, 19, 2)]
    assert share.partition.start_offset == 10


def test_the_start_follows_the_log_start() -> None:
    share = Share(20, 5)
    share.poll()
    change = share.begin(0, 12, ACCEPT)
    share.partition.follow_log_start(7)
    assert share.partition.start_offset == 7
    share.partition.stored(change)
    assert share.partition.start_offset == 13
    share.acknowledge(5, 19, ACCEPT)
    assert (share.partition.start_offset, share.partition.end_offset) == (20, 20)


def test_aborted_records_are_archived_and_the_others_handed_out() -> None:
    share = Share(12, 3)
    share.log[0], share.log[2] = share.log[0]._replace(is_aborted=True), share.log[2]._replace(is_aborted=True)
    assert share.poll() == [(3, 5, 1), (9, 11, 1)]
    assert share.partition.start_offset == 3


class Model:
    """The same by single records, without batches: what holds of any history."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.finished: set[int] = set()
        self.held: dict[int, tuple[str, float]] = {}
        self.count: dict[int, int] = {}

    def acquire(self, ranges: list[tuple[int, int, int]], member: str, deadline: float) -> None:
        for first, last, count in ranges:
            for offset in range(first, last + 1):
                assert offset not in self.finished
                assert offset not in self.held
                self.count[offset] = self.count.get(offset, 0) + 1
                assert self.count[offset] == count <= self.limit
                self.held[offset] = member, deadline

    def release(self, offset: int) -> None:
        del self.held[offset]
        if self.count[offset] >= self.limit:
            self.finished.add(offset)

    def finish(self, offset: int) -> None:
        del self.held[offset]
        self.finished.add(offset)

    def expire(self, now: float) -> None:
        for offset in [offset for offset, (_, deadline) in self.held.items() if deadline <= now]:
            self.release(offset)


def step(dice: random.Random, share: Share, model: Model) -> None:
    """Let something happen to both."""
    member = dice.choice("ab")
    mode = dice.choice(list(AcquireMode))
    mine = sorted(offset for offset, (holder, _) in model.held.items() if holder == member)
    what = dice.randrange(10)
    if what < 4:
        model.acquire(share.poll(dice.randint(1, 20), dice.randint(1, 20), mode, member), member, share.now + 30)
    elif what < 8 and mine:
        first = dice.choice(mine)
        last = first
        while last + 1 in mine and dice.random() < 0.8:
            last += 1
        types = [dice.choice([0, 1, 2, 2, 3]) for _ in range(first, last + 1)]
        change = share.begin(first, last, *types, member=member)
        if dice.random() < 0.2:
            share.partition.not_stored(change)
            return
        share.partition.stored(change)
        for offset, kind in zip(range(first, last + 1), types, strict=True):
            (model.release if kind == RELEASE else model.finish)(offset)
    elif what == 8:
        share.now += dice.choice([1, 10, 31])
        share.expire()
        model.expire(share.now)
    else:
        share.partition.stored(share.partition.release(member, share.settings))
        for offset in mine:
            model.release(offset)


@pytest.mark.parametrize("seed", range(40))
def test_every_record_is_delivered_until_it_is_finished(seed: int) -> None:
    dice = random.Random(seed)
    limit = dice.randint(2, 6)
    share = Share(200, dice.choice([1, 7, 20]), delivery_count_limit=limit, partition_max_record_locks=100)
    model = Model(limit)
    for _ in range(300):
        step(dice, share, model)
        front = min(set(range(201)) - model.finished)
        assert share.partition.start_offset == front
    while share.partition.start_offset < 200:
        share.now += 30
        share.expire()
        for first, last, _ in share.poll():
            share.acknowledge(first, last, ACCEPT)
    assert (share.partition.end_offset, share.partition.span) == (200, 0)
