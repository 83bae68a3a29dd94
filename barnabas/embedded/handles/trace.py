"""The latest events in an embedded broker, for its owner."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from barnabas.embedded.answers import TracedEvent

LIMIT = 1_000


class Trace:
    """The events that the broker has stored since its last start."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask

    def __repr__(self) -> str:
        return "<the trace of a Barnabas>"

    def events(
        self,
        *,
        kind: str | Iterable[str] = (),
        transactional_id: str | None = None,
        group: str | None = None,
        topic: str | None = None,
        partition: int | None = None,
        client_id: str | None = None,
        producer_id: int | None = None,
        limit: int = LIMIT,
    ) -> list[TracedEvent]:
        """Return the last `limit` events about all that is given, the oldest first. BarnabasError for an unknown kind.

        kind: names, or their beginnings: `"transaction"`, `["producer.fenced", "group"]`.
        """
        about = {
            "transactional_id": transactional_id,
            "group": group,
            "topic": topic,
            "partition": partition,
            "client_id": client_id,
            "producer_id": producer_id,
        }
        conditions = {name: [str(value)] for name, value in about.items() if value is not None}
        conditions["kind"] = [kind] if isinstance(kind, str) else list(kind)
        return [TracedEvent(*each) for each in self._ask("trace", conditions, limit)]
