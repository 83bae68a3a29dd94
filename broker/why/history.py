"""What answers take from the history of what happened: whose a transactional id is, and what was refused to it.

The one place of `why` that knows the names of events and of their facts (broker/events/kinds.py).
"""

from __future__ import annotations

from typing import Any

from barnabas.broker.events import kinds
from barnabas.broker.why.ring import Happened, Ring
from barnabas.broker.why.rules.producer import Told
from barnabas.protocol.errors import ErrorCode

_REFUSALS = (
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.TRANSACTION_ABORTABLE,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.INVALID_TRANSACTION_TIMEOUT,
)
"""What a producer does not get over by asking again."""
BY_ANOTHER = "another producer begins"
"""Why a producer was fenced, in the words of broker/coordinator/telling/transactions.py."""


class History:
    """The history of one broker, as far as there is one."""

    def __init__(self, ring: Ring) -> None:
        self._ring = ring

    @property
    def is_kept(self) -> bool:
        """Whether what happened is remembered."""
        return self._ring.is_kept

    def client_of(self, transactional_id: str, producer_id: int, producer_epoch: int) -> Told | None:
        """Whose the transaction of a producer is: who began it, else who got the id and epoch."""
        facts = {"transactional_id": transactional_id, "producer_id": producer_id, "producer_epoch": producer_epoch}
        for kind in (kinds.TRANSACTION_BEGUN, kinds.PRODUCER_ID_GIVEN):
            found = self._ring.last([kind.name], **facts)
            if found is not None:
                return _told(found, 0)
        return None

    def fenced(self, transactional_id: str, refused: Told | None, now_ms: int) -> Told | None:
        """The last InitProducerId by which another producer took the id over from the one that was refused."""
        facts: dict[str, Any] = {"transactional_id": transactional_id, "why": BY_ANOTHER}
        if refused is not None and refused.producer_epoch is not None:
            facts |= {"producer_id": refused.producer_id, "producer_epoch": refused.producer_epoch}
        return _told(self._ring.last([kinds.PRODUCER_FENCED.name], **facts), now_ms)

    def refused(self, transactional_id: str, now_ms: int) -> Told | None:
        """The last request of the id that was refused, and that the producer does not get over."""
        last: Happened | None = None
        for kind in (kinds.TRANSACTION_REFUSED, kinds.PRODUCE_REFUSED, kinds.REQUEST_ANSWERED):
            for error in _REFUSALS:
                found = self._ring.last([kind.name], transactional_id=transactional_id, error=error.name)
                if found is not None and (last is None or found.at_ms > last.at_ms):
                    last = found
        return _told(last, now_ms)

    def timed_out(self, transactional_id: str, now_ms: int) -> Told | None:
        """The last time that a transaction of the id was aborted for its timeout."""
        found = self._ring.last([kinds.TRANSACTION_TIMED_OUT.name], transactional_id=transactional_id)
        return _told(found, now_ms)


def _told(event: Happened | None, now_ms: int) -> Told | None:
    if event is None:
        return None
    facts, cause = event.facts, event.cause
    is_fence = event.kind == kinds.PRODUCER_FENCED.name
    asked = facts if is_fence else {**facts, **cause}  # what a request says it has, not what the coordinator has
    return Told(
        at_ms=event.at_ms,
        ago_ms=now_ms - event.at_ms,
        request=cause.get("api"),
        error=facts.get("error"),
        why=facts.get("why") if facts.get("error") else None,
        client_id=cause.get("client_id"),
        peer=cause.get("peer"),
        producer_id=asked.get("producer_id"),
        producer_epoch=facts.get("new_producer_epoch") if is_fence else asked.get("producer_epoch"),
        epoch_before=facts.get("producer_epoch") if is_fence else None,
    )
