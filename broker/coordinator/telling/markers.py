"""What happens to the markers of a transaction, in events."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable
from typing import Any

from barnabas.broker.coordinator.transaction.model import TopicPartition
from barnabas.broker.events import kinds
from barnabas.broker.events.events import Events
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.records.control import EndTxnMarker

_GIVEN_UP = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.TRANSACTION_COORDINATOR_FENCED,
}
"""The partition is gone, or has fenced the coordinator: it needs no marker any more."""


def told(
    events: Events,
    name: str,
    marker: EndTxnMarker,
    where: TopicPartition,
    nth: int,
    write: Callable[[], Future[None] | None],
) -> Future[None] | None:
    """Write a marker, and tell of it before and after. What `write` raises, which is told, too."""
    place = {**_whose(name, marker), "topic": where[0], "partition": where[1]}
    step = {**place, "is_commit": marker.commit, "nth": nth}
    events.tell(kinds.MARKER_WRITING, step)
    try:
        synced = write()
    except KafkaError as refusal:
        facts = {"error": refusal.code.name, "is_tried_again": refusal.code not in _GIVEN_UP}
        events.tell(kinds.MARKER_REFUSED, {**place, **facts})
        raise
    events.tell(kinds.MARKER_WRITTEN, step)
    return synced


def tell_marked(events: Events, name: str, marker: EndTxnMarker) -> None:
    """Every partition has its marker."""
    events.tell(kinds.TRANSACTION_MARKED, {**_whose(name, marker), "is_commit": marker.commit})


def _whose(name: str, marker: EndTxnMarker) -> dict[str, Any]:
    return {
        "transactional_id": name,
        "producer_id": marker.producer_id,
        "producer_epoch": marker.producer_epoch,
    }
