"""The events of the share coordinator: a step before and after each record of `__share_group_state`."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable

from barnabas.broker.coordinator.share.decisions.model import ShareRecord, SnapshotWritten
from barnabas.broker.partitions.share.persister import DeliveryState
from barnabas.broker.runtime.events import EventKind, kinds
from barnabas.broker.runtime.events.events import Events


class ShareStateEvents:
    """The events of the share coordinator's records. A `ShareSteps`."""

    def __init__(self, events: Events, topic_name: Callable[[bytes], str]) -> None:
        """Create it. `topic_name`: returns the name of the topic with this id; the id in text if it is deleted."""
        self._events = events
        self._topic_name = topic_name

    @property
    def is_on(self) -> bool:
        """Implement `ShareSteps.is_on`."""
        return self._events.is_on

    def writing(self, record: ShareRecord) -> Future[None] | None:
        """Implement `ShareSteps.writing`."""
        held = self._emit(kinds.SHARE_WRITING, record)
        if held is None or not held.done():
            return held
        held.result()
        return None

    def written(self, record: ShareRecord) -> Future[None] | None:
        """Implement `ShareSteps.written`."""
        return self._emit(kinds.SHARE_WRITTEN, record)

    def _emit(self, kind: EventKind, record: ShareRecord) -> Future[None] | None:
        key = record.key
        facts = {"group": key.group_id, "topic": self._topic_name(key.topic_id), "partition": key.partition}
        return self._events.emit(kind, {**facts, "delivery_states": _delivery_states(record)})


def _delivery_states(record: ShareRecord) -> list[str]:
    """Return the states of the records that change, each once, in the order of Kafka's numbers."""
    if isinstance(record, SnapshotWritten):
        batches = () if record.state is None else record.state.batches
    else:
        batches = record.batches
    return [DeliveryState(number).name.lower() for number in sorted({each.delivery_state for each in batches})]
