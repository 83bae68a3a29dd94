"""A transactional id's changes as a line in time: the meaning and position of each. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from barnabas.broker.coordinator.transaction.decisions.model import TransactionMetadata
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.broker.http.console import formatting
from barnabas.broker.http.console.queries.transactions import TransactionChange

WIDTH = 1000
_STATE = TransactionState
_SPAN_KINDS = {_STATE.ONGOING: "open", _STATE.PREPARE_COMMIT: "prepared", _STATE.PREPARE_ABORT: "prepared"}
_MARK_KINDS = {_STATE.COMPLETE_COMMIT: "committed", _STATE.COMPLETE_ABORT: "aborted"}
_SPAN_WIDTH_MIN = 3.0
FENCE, TIMEOUT = "fence", "timeout"
"""Kinds of events besides those of states."""


class TimelineEvent(NamedTuple):
    """One change, as a sentence. kind: its colour."""

    offset: int
    timestamp_ms: int
    kind: str
    sentence: str
    producer: str


class TimelineSpan(NamedTuple):
    """A state with a duration. x and width: of WIDTH."""

    kind: str
    x: float
    width: float
    sentence: str


class TimelineMark(NamedTuple):
    """The time of a completed change."""

    kind: str
    x: float
    sentence: str


class Timeline(NamedTuple):
    """The drawing. begin_ms and end_ms: the range that WIDTH covers."""

    begin_ms: int
    end_ms: int
    spans: list[TimelineSpan]
    marks: list[TimelineMark]
    events: list[TimelineEvent]
    """The newest first."""


def timeline(changes: Sequence[TransactionChange], now_ms: int) -> Timeline | None:
    """Draw the timeline; return None if there are no changes."""
    if not changes:
        return None
    is_open = changes[-1].txn is not None and changes[-1].txn.state.is_open
    begin_ms = changes[0].timestamp_ms
    end_ms = max(begin_ms + 1, changes[-1].timestamp_ms, now_ms if is_open else 0)
    scale = WIDTH / (end_ms - begin_ms)
    spans, marks = [], []
    events = [_event(before, change) for before, change in zip([None, *changes], changes, strict=False)]
    for (change, until_ms), event in zip(_with_ends(changes, end_ms), events, strict=True):
        x = (change.timestamp_ms - begin_ms) * scale
        lasted = formatting.duration(max(0, until_ms - change.timestamp_ms))
        is_span = change.txn is not None and change.txn.state in _SPAN_KINDS
        if change.txn is not None and is_span:
            width = max(_SPAN_WIDTH_MIN, (until_ms - change.timestamp_ms) * scale)
            sentence = f"{change.txn.state.value}, {lasted}"
            spans.append(TimelineSpan(_kind(change.txn), round(min(x, WIDTH - width), 1), round(width, 1), sentence))
        if not is_span or event.kind == TIMEOUT:
            marks.append(
                TimelineMark(event.kind, round(x, 1), f"{event.sentence} {formatting.moment(change.timestamp_ms)}")
            )
    return Timeline(begin_ms, end_ms, spans, marks, events[::-1])


def _with_ends(changes: Sequence[TransactionChange], end_ms: int) -> Iterator[tuple[TransactionChange, int]]:
    ends = [change.timestamp_ms for change in changes[1:]]
    return zip(changes, [*ends, end_ms], strict=True)


def _kind(txn: TransactionMetadata | None) -> str:
    if txn is None:
        return "gone"
    return _SPAN_KINDS.get(txn.state) or _MARK_KINDS.get(txn.state) or "empty"


def _event(before: TransactionChange | None, change: TransactionChange) -> TimelineEvent:
    txn, was = change.txn, before and before.txn
    producer = "" if txn is None else f"{txn.producer_id}, epoch {txn.producer_epoch}"
    kind = FENCE if _fences(was, txn) else TIMEOUT if _is_timeout(was, txn) else _kind(txn)
    return TimelineEvent(change.offset, change.timestamp_ms, kind, _sentence(was, txn), producer)


def _fences(before: TransactionMetadata | None, txn: TransactionMetadata | None) -> bool:
    return before is not None and txn is not None and txn.state is TransactionState.EMPTY


def _is_timeout(before: TransactionMetadata | None, txn: TransactionMetadata | None) -> bool:
    if before is None or txn is None or txn.state is not TransactionState.PREPARE_ABORT:
        return False
    lasted_ms = txn.last_update_timestamp_ms - txn.start_timestamp_ms
    return before.state is TransactionState.ONGOING and lasted_ms >= txn.timeout_ms


def _sentence(before: TransactionMetadata | None, txn: TransactionMetadata | None) -> str:
    """Describe a change, as far as its record and the one before it show."""
    if txn is None:
        return "The id expired: it was not used for transactional.id.expiration.ms."
    places = formatting.counted(len(txn.partitions), "partition")
    match txn.state:
        case TransactionState.EMPTY:
            return _initialised(before, txn)
        case TransactionState.ONGOING:
            if before is not None and before.state is TransactionState.ONGOING:
                return f"Partitions were added: {places} now."
            return f"The transaction began, with {places}."
        case TransactionState.PREPARE_COMMIT:
            return f"The commit was decided. Markers go to {places}."
        case TransactionState.PREPARE_ABORT:
            return f"{_why_aborted(before, txn)} Markers go to {places}."
        case TransactionState.COMPLETE_COMMIT:
            return "Committed: every partition has its marker."
        case TransactionState.COMPLETE_ABORT:
            return "Aborted: every partition has its marker."
    return str(txn.state.value)


def _initialised(before: TransactionMetadata | None, txn: TransactionMetadata) -> str:
    if before is None:
        return f"A producer started (InitProducerId): producer {txn.producer_id}, epoch {txn.producer_epoch}."
    return (
        f"A producer started again (InitProducerId): producer {txn.producer_id}, epoch {txn.producer_epoch}, "
        f"and fences {before.producer_id}, epoch {before.producer_epoch}."
    )


def _why_aborted(before: TransactionMetadata | None, txn: TransactionMetadata) -> str:
    if _is_timeout(before, txn):
        return f"The abort was decided: its timeout of {formatting.duration(txn.timeout_ms)} was over."
    return "The abort was decided."
