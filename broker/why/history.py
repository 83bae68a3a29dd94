"""What answers take from the history of what happened: whose a transactional id is, and what was refused to it.

The one place of `why` that knows the names of events and of their facts.
"""

from __future__ import annotations

from barnabas.broker.why.ring import Happened, Ring
from barnabas.broker.why.rules.producer import Told


class History:
    """The history of one broker, as far as there is one."""

    def __init__(self, ring: Ring) -> None:
        self._ring = ring

    @property
    def is_kept(self) -> bool:
        """Whether what happened is remembered."""
        return self._ring.is_kept

    def initialised(self, transactional_id: str, now_ms: int) -> Told | None:
        """The last InitProducerId of the id that was granted."""
        return _told(self._ring.last(["producer.id_given"], transactional_id=transactional_id), now_ms)

    def began(self, transactional_id: str, producer_id: int, producer_epoch: int, now_ms: int) -> Told | None:
        """The request that began the last transaction of a producer: whose it is."""
        facts = {"transactional_id": transactional_id, "producer_id": producer_id, "producer_epoch": producer_epoch}
        return _told(self._ring.last(["transaction.begun"], **facts), now_ms)

    def refused(self, transactional_id: str, now_ms: int) -> Told | None:
        """The last request of the id that was refused."""
        return _told(self._ring.last(["transaction.refused"], transactional_id=transactional_id), now_ms)

    def timed_out(self, transactional_id: str, now_ms: int) -> Told | None:
        """The last time that a transaction of the id was aborted for its timeout."""
        return _told(self._ring.last(["transaction.timed_out"], transactional_id=transactional_id), now_ms)

    def held_at(self, transactional_id: str) -> str | None:
        """The step at which a test holds a transaction of the id up."""
        held = self._ring.last([_HELD, _RELEASED], transactional_id=transactional_id)
        return None if held is None or held.kind != _HELD else held.facts.get("step")


_HELD, _RELEASED = "fault.held", "fault.released"


def _told(event: Happened | None, now_ms: int) -> Told | None:
    if event is None:
        return None
    facts, cause = event.facts, event.cause
    return Told(
        at_ms=event.at_ms,
        ago_ms=now_ms - event.at_ms,
        request=cause.get("api"),
        error=facts.get("error"),
        client_id=cause.get("client_id"),
        peer=cause.get("peer"),
        producer_id=facts.get("producer_id"),
        producer_epoch=facts.get("producer_epoch"),
        epoch_before=facts.get("previous_producer_epoch"),
    )
