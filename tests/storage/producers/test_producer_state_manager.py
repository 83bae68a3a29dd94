"""The producer rules, one by one."""

from typing import Any

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.files.txn_index import AbortedTxn
from barnabas.protocol.records.batch import SEQUENCE_MAX
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.storage.producers.producer_state_entry import SeenBatch
from barnabas.storage.producers.producer_state_manager import EXPIRY_GRACE_MS, ProducerStateManager
from barnabas.storage.refusals import AppendRefused
from barnabas.storage.steps import finish
from tests.support.records.producer_batches import PID, batch

DAY_MS = 86_400_000


def marker(*, commit: bool = True, epoch: int = 0, coordinator_epoch: int = 0, producer_id: int = PID) -> EndTxnMarker:
    return EndTxnMarker(commit, producer_id, epoch, coordinator_epoch, offset=0, timestamp=2000)


class Partition:
    """Producers with a log end, so that tests say what is appended and not where."""

    def __init__(self) -> None:
        self.producers = ProducerStateManager()
        self.end = 0

    def append(self, sequence: int, count: int = 1, *, from_client: bool = True, **fields: Any) -> SeenBatch | None:
        header = batch(sequence, count, offset=self.end, **fields)
        repeated = self.producers.check_batch(header, from_client=from_client)
        if repeated is None:
            self.producers.add_batch(header, seen_ms=0)
            self.end += count
        return repeated

    def refusal(self, sequence: int, count: int = 1, **fields: Any) -> ErrorCode:
        with pytest.raises(AppendRefused) as refused:
            self.append(sequence, count, **fields)
        return refused.value.code

    def mark(self, **fields: Any) -> AbortedTxn | None:
        end = marker(**fields)
        self.producers.check_marker(end)
        completed = self.producers.completed_by(end, self.end)
        aborted = self.producers.aborted_txn(completed) if completed and completed.aborted else None
        self.producers.add_marker(end, self.end, seen_ms=0)
        self.end += 1
        return aborted

    def restart(self) -> None:
        entries, end = self.producers.to_snapshot(), self.end
        self.producers = ProducerStateManager()
        finish(self.producers.restore(entries, end, seen_ms=0))


@pytest.fixture
def partition() -> Partition:
    return Partition()


Step = tuple[int, int, dict[str, Any]]


def step(sequence: int, count: int = 1, **fields: Any) -> Step:
    return sequence, count, fields


GAP, STALE = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.INVALID_PRODUCER_EPOCH
COORDINATORS: dict[str, Any] = {"from_client": False, "transactional": True}


@pytest.mark.parametrize(
    ("taken", "asked", "answer"),
    [
        pytest.param([step(0, 3), step(3, 2)], step(5), None, id="the next"),
        pytest.param([step(0, 3)], step(0, 2), GAP, id="a part of one that was taken"),
        pytest.param([step(0, 3)], step(1, 3), GAP, id="an overlap"),
        pytest.param([step(0)], step(2), GAP, id="a gap"),
        pytest.param([step(0, epoch=3)], step(1, epoch=2), STALE, id="an older epoch"),
        pytest.param([step(0)], step(1, epoch=1), GAP, id="a new epoch that does not begin at 0"),
        pytest.param([step(0)], step(0, epoch=1), None, id="a new epoch"),
        pytest.param([step(0), step(0, epoch=1)], step(0, epoch=1), SeenBatch(0, 0, 1, 1, 1000), id="again in it"),
        pytest.param([step(17, 3)], step(20), None, id="a producer that was not known may begin anywhere"),
        pytest.param([step(SEQUENCE_MAX - 1, 2)], step(5), GAP, id="a gap behind the largest"),
        pytest.param([step(SEQUENCE_MAX - 1, 2)], step(0, 4), None, id="0 behind the largest"),
        pytest.param([step(SEQUENCE_MAX, 3)], step(2), None, id="the next of one over the largest"),
        pytest.param(
            [step(SEQUENCE_MAX, 3)], step(SEQUENCE_MAX, 3), SeenBatch(SEQUENCE_MAX, 1, 0, 2, 1000), id="over it, again"
        ),
        pytest.param(
            [step(-1, epoch=2, **COORDINATORS)], step(-1, epoch=2, **COORDINATORS), None, id="without a sequence"
        ),
        pytest.param(
            [step(-1, epoch=2, **COORDINATORS)], step(-1, epoch=1, **COORDINATORS), STALE, id="without one, older"
        ),
    ],
)
def test_the_next_batch(
    partition: Partition, taken: list[Step], asked: Step, answer: SeenBatch | ErrorCode | None
) -> None:
    for sequence, count, fields in taken:
        assert partition.append(sequence, count, **fields) is None
    before = partition.producers.to_snapshot()
    sequence, count, fields = asked
    if isinstance(answer, ErrorCode):
        assert partition.refusal(sequence, count, **fields) is answer
        assert partition.producers.to_snapshot() == before, "a refusal leaves no trace"
    else:
        assert partition.append(sequence, count, **fields) == answer


def test_each_of_the_last_five_batches_is_answered_with_its_first_offset(partition: Partition) -> None:
    for sequence in range(0, 14, 2):
        partition.append(sequence, 2, timestamp=1000 + sequence)
    for sequence in range(4, 14, 2):
        assert partition.append(sequence, 2) == SeenBatch(
            sequence, sequence + 1, sequence, sequence + 1, 1000 + sequence
        )
    assert partition.refusal(2, 2) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_an_open_transaction_refuses_batches_outside_it(partition: Partition) -> None:
    partition.append(0, transactional=True)
    assert partition.refusal(1) == ErrorCode.INVALID_TXN_STATE
    assert partition.append(1, transactional=True) is None
    partition.mark()
    assert partition.append(2) is None


def test_a_batch_begins_a_transaction_unless_one_of_its_epoch_is_open_or_a_later_epoch_was_seen(
    partition: Partition,
) -> None:
    def beginning() -> list[int]:
        return [epoch for epoch in range(4) if partition.producers.would_begin_transaction(PID, epoch)]

    assert beginning() == [0, 1, 2, 3]
    partition.append(0, epoch=1)
    assert beginning() == [1, 2, 3]
    partition.append(1, epoch=1, transactional=True)
    assert beginning() == [2, 3]
    partition.mark(epoch=2)
    assert beginning() == [2, 3]


def test_an_open_transaction_holds_the_first_unstable_offset_until_its_marker_is_below_the_high_watermark(
    partition: Partition,
) -> None:
    partition.append(0, 4, producer_id=1)
    partition.append(0, 2, producer_id=2, transactional=True)
    partition.append(0, 2, producer_id=3, transactional=True)
    assert partition.producers.first_unstable_offset == 4

    partition.mark(producer_id=2)
    assert partition.producers.first_unstable_offset == 4
    partition.producers.high_watermark_moved(8)
    assert partition.producers.first_unstable_offset == 4
    partition.producers.high_watermark_moved(9)

    assert partition.producers.first_unstable_offset == 6
    partition.mark(producer_id=3)
    partition.producers.high_watermark_moved(partition.end)
    assert partition.producers.first_unstable_offset is None


def test_an_aborted_transaction_is_indexed_with_the_start_of_the_oldest_other_open_one(partition: Partition) -> None:
    partition.append(0, producer_id=1, transactional=True)
    partition.append(0, producer_id=2, transactional=True)
    assert partition.mark(commit=False, producer_id=1) == AbortedTxn(1, 0, 2, 1)
    assert partition.mark(commit=False, producer_id=2) == AbortedTxn(2, 1, 3, 4)


def test_a_marker_without_a_transaction_completes_nothing_but_fences(partition: Partition) -> None:
    partition.append(0, epoch=0)
    assert partition.mark(commit=False, epoch=1) is None
    assert partition.refusal(1, epoch=0) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_marker_of_the_same_epoch_keeps_the_window_and_one_of_the_next_clears_it(partition: Partition) -> None:
    partition.append(0, 2, transactional=True)
    partition.mark(epoch=0)
    assert partition.append(0, 2, transactional=True) is not None
    partition.append(2, transactional=True)
    partition.mark(epoch=1)
    assert partition.refusal(3, epoch=1, transactional=True) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert partition.append(0, epoch=1, transactional=True) is None


def test_a_marker_of_an_older_producer_or_coordinator_epoch_is_refused(partition: Partition) -> None:
    partition.mark(epoch=2, coordinator_epoch=7)
    with pytest.raises(AppendRefused) as refused:
        partition.mark(epoch=1, coordinator_epoch=8)
    assert refused.value.code == ErrorCode.INVALID_PRODUCER_EPOCH
    with pytest.raises(AppendRefused) as refused:
        partition.mark(epoch=2, coordinator_epoch=6)
    assert refused.value.code == ErrorCode.TRANSACTION_COORDINATOR_FENCED


def test_producers_expire_by_the_age_of_their_records_unless_in_a_transaction_or_just_seen() -> None:
    producers = ProducerStateManager()
    producers.add_batch(batch(0, producer_id=1, timestamp=0), seen_ms=0)
    producers.add_batch(batch(0, producer_id=2, timestamp=0, transactional=True), seen_ms=0)
    producers.add_batch(batch(0, producer_id=3, timestamp=0), seen_ms=DAY_MS)
    producers.add_batch(batch(0, producer_id=4, timestamp=1), seen_ms=0)
    assert producers.expire(DAY_MS, DAY_MS) == [1]
    assert producers.get(1) is None
    assert producers.expire(DAY_MS + EXPIRY_GRACE_MS, DAY_MS) == [3, 4]
    assert producers.get(2) is not None


def test_a_producer_seen_lately_is_kept_no_longer_than_requested() -> None:
    producers = ProducerStateManager()
    producers.add_batch(batch(0, producer_id=1, timestamp=0), seen_ms=DAY_MS)
    assert producers.expire(DAY_MS + 999, 1_000) == []
    assert producers.expire(DAY_MS + 1_000, 1_000) == [1]


def test_a_snapshot_brings_back_epochs_open_transactions_and_the_last_batch(partition: Partition) -> None:
    partition.append(0, 3, producer_id=1)
    partition.append(3, 2, producer_id=1)
    partition.append(0, producer_id=2, transactional=True, epoch=5)
    partition.mark(producer_id=3, epoch=9, coordinator_epoch=4)
    before = partition.producers.to_snapshot()
    partition.restart()
    assert partition.producers.to_snapshot() == before
    assert partition.append(3, 2, producer_id=1) == SeenBatch(3, 4, 3, 4, 1000)
    assert partition.producers.first_unstable_offset == 5
    assert partition.refusal(0, producer_id=3, epoch=8) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert partition.refusal(3, producer_id=2, epoch=5) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_after_a_restart_an_older_retry_requests_the_log_and_is_then_a_duplicate(partition: Partition) -> None:
    headers = []
    for number in range(8):
        headers.append(batch(number * 2, 2, offset=partition.end))
        partition.append(number * 2, 2)
    partition.restart()
    older = headers[4]
    assert partition.producers.wants_older(older)
    partition.producers.add_older(iter(headers), from_offset=0)
    for header in headers[3:]:
        assert partition.producers.check_batch(header, from_client=True) is not None
    assert partition.refusal(4, 2) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert not partition.producers.wants_older(headers[0])


def test_neither_a_gap_nor_another_epoch_requests_the_log(partition: Partition) -> None:
    partition.append(0, 2, epoch=1)
    partition.append(2, 2, epoch=1)
    partition.restart()
    assert not partition.producers.wants_older(batch(9, epoch=1))
    assert not partition.producers.wants_older(batch(4, epoch=1))
    assert not partition.producers.wants_older(batch(0, epoch=0))
    assert not partition.producers.wants_older(batch(0, producer_id=77))


def test_batches_of_an_older_epoch_in_the_log_do_not_come_back_into_the_window(partition: Partition) -> None:
    headers = [batch(0, offset=0, epoch=0), batch(0, offset=1, epoch=1), batch(1, offset=2, epoch=1)]
    for header in headers:
        partition.append(header.base_sequence, epoch=header.producer_epoch)
    partition.restart()
    partition.producers.add_older(iter(headers), from_offset=0)
    producer = partition.producers.get(PID)
    assert producer is not None
    assert [seen.first_offset for seen in producer.window] == [1, 2]
