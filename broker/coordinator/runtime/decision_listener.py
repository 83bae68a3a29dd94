"""The interface by which a shard notifies listeners: implemented in `broker/coordinator/events/`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from barnabas.broker.coordinator.runtime.outcome import Outcome
from barnabas.broker.runtime.events.events import Events


class DecisionListener(Protocol):
    """Notifies listeners of decisions and their results (`broker/coordinator/events/`)."""

    def seen(self, entity_id: str, outcome: Outcome[Any, Any]) -> Any:
        """Return the state before a decision that `happened` needs; called before any of it has happened."""

    def writing(self, entity_id: str, records: Sequence[Any]) -> None:
        """Notify that the records are about to be appended."""

    def written(self, entity_id: str, records: Sequence[Any], partition: int, offset: int) -> None:
        """Notify that the records were appended and replayed."""

    def happened(self, entity_id: str, seen: Any, outcome: Outcome[Any, Any]) -> None:
        """Notify that the decision is carried out."""


class ListenerFactory(NamedTuple):
    """The events to notify, and the factory of the machine's listener: called once there is a listener."""

    events: Events
    create: Callable[[Any, Events], DecisionListener]
