"""Whom a shard has tell what happens, where somebody listens: what is in `broker/coordinator/events/`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from barnabas.broker.coordinator.runtime.outcome import Outcome
from barnabas.broker.runtime.events.events import Events


class Teller(Protocol):
    """Tells what decisions are and what comes of them, where somebody listens (`broker/coordinator/events/`)."""

    def seen(self, entity_id: str, outcome: Outcome[Any, Any]) -> Any:
        """Before anything of the decision has happened: what `happened` has to know of how it was."""

    def writing(self, entity_id: str, records: Sequence[Any]) -> None:
        """They are about to be appended."""

    def written(self, entity_id: str, records: Sequence[Any], partition: int, offset: int) -> None:
        """They were appended and replayed."""

    def happened(self, entity_id: str, seen: Any, outcome: Outcome[Any, Any]) -> None:
        """It is a fact now."""


class Telling(NamedTuple):
    """Where a shard tells what happens, and who puts it in words: made for its machine once somebody listens."""

    events: Events
    teller: Callable[[Any, Events], Teller]
