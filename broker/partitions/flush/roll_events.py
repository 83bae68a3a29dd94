"""Events about the segments of logs."""

from __future__ import annotations

from barnabas.broker.runtime.events.events import Events
from barnabas.broker.runtime.events.kinds import SEGMENT_ROLLED, SEGMENT_ROLLING


class RollEvents:
    """Emits events when a log rolls a segment."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def emit(self, log: str, base_offset: int, is_over: bool) -> None:
        """Emit the event. Has the signature of `Roller.when_rolls`."""
        if self._events.is_on:
            topic, _, partition = log.rpartition("-")
            facts = {"topic": topic, "partition": int(partition), "base_offset": base_offset}
            self._events.emit(SEGMENT_ROLLED if is_over else SEGMENT_ROLLING, facts)
