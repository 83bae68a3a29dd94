"""Lookups of answers in the history: the client of a transactional id, and the refusals of its requests.

The only module of `why` that knows the names of events and of their facts (broker/runtime/events/kinds.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from barnabas.broker.insight.why.rules.producer import RecordedEvent
from barnabas.broker.insight.why.sources.history_source import Happened, HistorySource
from barnabas.broker.runtime.events import kinds

# Several events may report one request; the first kind has the most detail.
_REFUSED = (kinds.TRANSACTION_REFUSED.name, kinds.PRODUCE_REFUSED.name, kinds.REQUEST_ANSWERED.name)
_BEGUN = (kinds.TRANSACTION_BEGUN.name, kinds.PRODUCER_ID_GIVEN.name)
_FENCED, _TIMED_OUT = kinds.PRODUCER_FENCED.name, kinds.TRANSACTION_TIMED_OUT.name
_EXPIRED = kinds.TRANSACTIONAL_ID_EXPIRED.name
_KINDS = (*_REFUSED, *_BEGUN, _FENCED, _TIMED_OUT, _EXPIRED)
_REFUSALS = (
    "PRODUCER_FENCED",
    "INVALID_PRODUCER_EPOCH",
    "INVALID_PRODUCER_ID_MAPPING",
    "INVALID_TXN_STATE",
    "TRANSACTION_ABORTABLE",
    "OUT_OF_ORDER_SEQUENCE_NUMBER",
    "INVALID_TRANSACTION_TIMEOUT",
)
"""Errors that a producer does not overcome by a retry."""
BY_ANOTHER = "another producer begins"
"""The reason why a producer was fenced, in the words of broker/coordinator/events/transactions.py."""


class TransactionPast:
    """The recorded history of one transactional id."""

    def __init__(self, ring: HistorySource, transactional_id: str, now_ms: int) -> None:
        self._events: Sequence[Happened] = ring.of(transactional_id, _KINDS)
        self._now_ms = now_ms

    def client_of(self, producer_id: int, producer_epoch: int) -> RecordedEvent | None:
        """Return the client of a producer's transaction: the one that began it, else the one given the id and epoch."""
        mine = {"producer_id": producer_id, "producer_epoch": producer_epoch}
        return self._last(_BEGUN[:1], **mine) or self._last(_BEGUN[1:], **mine)

    def refused(self) -> RecordedEvent | None:
        """Return the last refused request of the id whose error the producer cannot retry."""
        refused = [each for each in self._events if each.kind in _REFUSED and each.facts.get("error") in _REFUSALS]
        if not refused:
            return None
        request = refused[0].cause.get("request")
        best = min(
            (each for each in refused if each.cause.get("request") == request),
            key=lambda each: _REFUSED.index(each.kind),
        )
        return self._recorded(best)

    def fenced(self, refused: RecordedEvent | None) -> RecordedEvent | None:
        """Return the last InitProducerId by which another producer fenced the one that was refused."""
        facts: dict[str, Any] = {"why": BY_ANOTHER}
        if refused is not None and refused.producer_epoch is not None:
            facts |= {"producer_id": refused.producer_id, "producer_epoch": refused.producer_epoch}
        return self._last((_FENCED,), **facts)

    def timed_out(self) -> RecordedEvent | None:
        """Return the last abort of a transaction of the id for its timeout."""
        return self._last((_TIMED_OUT,))

    def expired(self) -> RecordedEvent | None:
        """Return the last removal of the id for expiration."""
        return self._last((_EXPIRED,))

    def _last(self, names: Sequence[str], **facts: Any) -> RecordedEvent | None:
        for event in self._events:
            if event.kind in names and all(event.facts.get(name) == value for name, value in facts.items()):
                return self._recorded(event)
        return None

    def _recorded(self, event: Happened) -> RecordedEvent:
        facts, cause = event.facts, event.cause
        is_fence = event.kind == _FENCED
        values = facts if is_fence else {**facts, **cause}  # the values in the request, not those of the coordinator
        return RecordedEvent(
            at_ms=event.at_ms,
            ago_ms=self._now_ms - event.at_ms,
            request=cause.get("api"),
            error=facts.get("error"),
            why=facts.get("why") if facts.get("error") else None,
            client_id=cause.get("client_id"),
            peer=cause.get("peer"),
            producer_id=values.get("producer_id"),
            producer_epoch=facts.get("new_producer_epoch") if is_fence else values.get("producer_epoch"),
            epoch_before=facts.get("producer_epoch") if is_fence else None,
        )
