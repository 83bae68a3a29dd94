"""The producer rules against a model that remembers everything and thinks slowly, over restarts too."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.records.batch import SEQUENCE_MAX, BatchHeader, increment_sequence
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.storage.producers.open_transactions import CompletedTxn
from barnabas.storage.producers.producer_state_entry import WINDOW_BATCHES
from barnabas.storage.producers.producer_state_manager import ProducerStateManager
from barnabas.storage.refusals import AppendRefused
from barnabas.storage.steps import finish
from tests.support.records.producer_batches import batch


class Model:
    """Remembers every batch and marker of every producer; decides by looking through them."""

    def __init__(self) -> None:
        self.history: list[tuple[str, BatchHeader | EndTxnMarker, int]] = []
        self.end = 0

    def of(self, producer_id: int) -> Iterator[tuple[str, BatchHeader | EndTxnMarker, int]]:
        return (event for event in self.history if event[1].producer_id == producer_id)

    def epoch(self, producer_id: int) -> int:
        return max((event.producer_epoch for _, event, _ in self.of(producer_id)), default=-1)

    def batches(self, producer_id: int) -> list[tuple[BatchHeader, int]]:
        epoch = self.epoch(producer_id)
        return [
            (event, offset)
            for _, event, offset in self.of(producer_id)
            if isinstance(event, BatchHeader) and event.producer_epoch == epoch
        ]

    def open_since(self, producer_id: int) -> int | None:
        since = None
        for kind, event, offset in self.of(producer_id):
            if kind == "marker":
                since = None
            elif since is None and isinstance(event, BatchHeader) and event.is_transactional:
                since = offset
        return since

    def answer(self, header: BatchHeader) -> int | ErrorCode | None:
        """The original offset of a duplicate, an error code, or None to append."""
        epoch, batches = self.epoch(header.producer_id), self.batches(header.producer_id)
        if header.producer_epoch == epoch:
            for seen, offset in batches[-WINDOW_BATCHES:]:
                if (seen.base_sequence, seen.records_count) == (header.base_sequence, header.records_count):
                    return offset
        if header.producer_epoch < epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if epoch != -1:
            expected = 0
            if header.producer_epoch == epoch and batches:
                last = batches[-1][0]
                expected = (last.base_sequence + last.records_count) % (SEQUENCE_MAX + 1)
            if header.base_sequence != expected:
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if self.open_since(header.producer_id) is not None and not header.is_transactional:
            return ErrorCode.INVALID_TXN_STATE
        return None

    def first_unstable_offset(self) -> int | None:
        opened = [self.open_since(producer_id) for producer_id in {event[1].producer_id for event in self.history}]
        return min((offset for offset in opened if offset is not None), default=None)


steps = st.one_of(
    st.tuples(
        st.just("batch"),
        st.integers(1, 2),  # producer id
        st.integers(0, 1),  # epoch
        st.sampled_from(["next", "next", "next", "repeat", "gap", "zero"]),
        st.integers(1, 3),  # records, or how far back a repeat goes
        st.booleans(),  # transactional
    ),
    st.tuples(st.just("marker"), st.integers(1, 2), st.integers(0, 1), st.booleans()),
    st.tuples(st.just("restart")),
)


@given(st.lists(steps, max_size=40), st.sampled_from([0, SEQUENCE_MAX - 5]))
@settings(max_examples=300, derandomize=True, deadline=None)
def test_the_rules_agree_with_a_model_that_remembers_everything(
    script: list[tuple[str, int, int, str, int, bool]], first_sequence: int
) -> None:
    """Over restarts too: a snapshot, and the batch headers of the log when a retry asks for them."""
    model, producers = Model(), ProducerStateManager()
    for step in script:
        if step[0] == "restart":
            entries = producers.to_snapshot()
            producers = ProducerStateManager()
            finish(producers.restore(entries, model.end, seen_ms=0))
        elif step[0] == "marker":
            _mark(model, producers, EndTxnMarker(bool(step[3]), step[1], step[2], 0, model.end, 2000))
        else:
            _append(model, producers, _header(model, step, first_sequence))
        producers.high_watermark_moved(model.end)
        assert producers.first_unstable_offset == model.first_unstable_offset()


def _header(model: Model, step: tuple[str, int, int, str, int, bool], first_sequence: int) -> BatchHeader:
    _, producer_id, epoch, how, number, transactional = step
    sequence, count = first_sequence, number
    batches = model.batches(producer_id)
    if batches and how != "zero":
        last = batches[-1][0]
        sequence = increment_sequence(last.last_sequence, 1)
        if how == "gap":
            sequence = increment_sequence(sequence, number)
        elif how == "repeat":
            back = batches[max(0, len(batches) - 2 * number)][0]
            sequence, count = back.base_sequence, back.records_count
    elif how == "zero":
        sequence = 0
    return batch(sequence, count, offset=model.end, epoch=epoch, producer_id=producer_id, transactional=transactional)


def _append(model: Model, producers: ProducerStateManager, header: BatchHeader) -> None:
    if producers.seen_from and producers.wants_older(header):
        below = [
            event
            for _, event, offset in model.history
            if isinstance(event, BatchHeader) and offset < producers.seen_from
        ]
        producers.add_older(below, from_offset=0)
    expected = model.answer(header)
    answer: int | ErrorCode | None
    try:
        repeated = producers.check_batch(header, from_client=True)
        answer = repeated.first_offset if repeated else None
    except AppendRefused as refused:
        answer = refused.code
    assert answer == expected
    if answer is None:
        producers.add_batch(header, seen_ms=0)
        model.history.append(("batch", header, model.end))
        model.end += header.records_count


def _mark(model: Model, producers: ProducerStateManager, end: EndTxnMarker) -> None:
    if end.producer_epoch < model.epoch(end.producer_id):
        with pytest.raises(AppendRefused, match="INVALID_PRODUCER_EPOCH"):
            producers.check_marker(end)
        return
    producers.check_marker(end)
    open_since = model.open_since(end.producer_id)
    completed = producers.completed_by(end, model.end)
    assert completed == (
        None if open_since is None else CompletedTxn(end.producer_id, open_since, model.end, aborted=not end.commit)
    )
    producers.add_marker(end, model.end, seen_ms=0)
    model.history.append(("marker", end, model.end))
    model.end += 1
