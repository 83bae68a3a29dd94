"""Batches that were refused for now: none of their producer's later ones becomes its first in the partition."""

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.records.batch import SEQUENCE_MAX
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.storage.producers import refused_batches
from barnabas.storage.producers.producer_state_manager import ProducerStateManager
from barnabas.storage.producers.refused_batches import RefusedBatches
from barnabas.storage.refusals import AppendRefused
from tests.support.records.producer_batches import PID, batch

DAY_MS = 86_400_000


@pytest.fixture
def producers() -> ProducerStateManager:
    return ProducerStateManager()


def is_taken(producers: ProducerStateManager, sequence: int, *, epoch: int = 0, transactional: bool = False) -> bool:
    """Whether the partition would append the batch; it does not."""
    try:
        repeated = producers.check_batch(batch(sequence, epoch=epoch, transactional=transactional), from_client=True)
    except AppendRefused as refused:
        if refused.code is not ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            raise
        return False
    return repeated is None


@pytest.mark.parametrize("transactional", [False, True])
def test_none_is_taken_above_the_lowest_that_was_refused(producers: ProducerStateManager, transactional: bool) -> None:
    for sequence in (5, 3, 7):
        producers.add_refused(batch(sequence), DAY_MS)
    taken = [sequence for sequence in range(10) if is_taken(producers, sequence, transactional=transactional)]
    assert taken == [0, 1, 2, 3]
    assert producers.check_batch(batch(9, producer_id=PID + 1), from_client=True) is None


def test_sequences_wrap(producers: ProducerStateManager) -> None:
    producers.add_refused(batch(1), DAY_MS)
    producers.add_refused(batch(SEQUENCE_MAX - 1), DAY_MS)
    assert is_taken(producers, SEQUENCE_MAX - 1)
    assert not is_taken(producers, SEQUENCE_MAX)
    assert not is_taken(producers, 0)


def test_the_latest_epoch_counts(producers: ProducerStateManager) -> None:
    producers.add_refused(batch(5, epoch=0), DAY_MS)
    producers.add_refused(batch(8, epoch=1), DAY_MS)
    producers.add_refused(batch(2, epoch=0), DAY_MS)
    assert not is_taken(producers, 9, epoch=1)
    assert is_taken(producers, 8, epoch=1)
    assert is_taken(producers, 9, epoch=0)


def test_once_a_producer_is_known_its_window_alone_decides(producers: ProducerStateManager) -> None:
    producers.add_refused(batch(5), 3 * DAY_MS)
    producers.add_batch(batch(5), 0)
    producers.add_refused(batch(6), 3 * DAY_MS)
    assert producers.expire(3 * DAY_MS, DAY_MS) == [PID], "it is not known any more"
    assert is_taken(producers, 9)


def test_after_a_marker_a_producer_is_known(producers: ProducerStateManager) -> None:
    producers.add_refused(batch(5), 2 * DAY_MS)
    producers.add_marker(EndTxnMarker(True, PID, 0, 0, offset=0, timestamp=0), 0, seen_ms=0)
    assert producers.expire(2 * DAY_MS, DAY_MS) == [PID], "it is not known any more"
    assert is_taken(producers, 9)


def test_a_refusal_is_dropped_as_producers_are(producers: ProducerStateManager) -> None:
    producers.add_refused(batch(5), 0)
    producers.add_refused(batch(6), 1)
    producers.expire(DAY_MS, DAY_MS)
    assert not is_taken(producers, 6)
    producers.expire(DAY_MS + 1, DAY_MS)
    assert is_taken(producers, 6)


def test_a_batch_without_producer_id_or_sequence_is_not_noted() -> None:
    refused = RefusedBatches()
    refused.add(batch(0, producer_id=-1), 0)
    refused.add(batch(-1), 0)
    assert len(refused) == 0


def test_of_too_many_producers_the_one_refused_longest_ago_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refused_batches, "PRODUCERS_MAX", 2)
    refused = RefusedBatches()
    for producer_id in (1, 2, 1, 3):
        refused.add(batch(0, producer_id=producer_id), 0)
    assert [header.producer_id for header, _ in refused] == [1, 3]
