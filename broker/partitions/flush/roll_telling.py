"""What happens to the segments of logs, in events."""

from __future__ import annotations

from barnabas.broker.runtime.events.events import Events
from barnabas.broker.runtime.events.kinds import SEGMENT_ROLLED, SEGMENT_ROLLING


class RollTelling:
    """Tells of rolls, of whatever log."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def tell(self, log: str, base_offset: int, is_over: bool) -> None:
        """As `Roller.when_rolls`."""
        if self._events.is_on:
            topic, _, partition = log.rpartition("-")
            facts = {"topic": topic, "partition": int(partition), "base_offset": base_offset}
            self._events.tell(SEGMENT_ROLLED if is_over else SEGMENT_ROLLING, facts)
