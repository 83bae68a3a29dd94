"""Imports the modules that the first client will need while no client waits: one API at a time, with pauses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.api.api_table import API_TABLE

if TYPE_CHECKING:
    from barnabas.broker.api.dispatch import Dispatcher
    from barnabas.broker.runtime.clock import Clock

_PAUSE_MS = 20
_PRELOADED = ("api_versions", "metadata", "produce", "fetch", "init_producer_id", "list_offsets", "find_coordinator")


def preload(dispatcher: Dispatcher, clock: Clock) -> None:
    """Start the imports, which run later. `clock` is the machine's."""
    rows = [row for row in API_TABLE if row.handler in _PRELOADED]

    def preload_first() -> None:
        dispatcher.preload(rows.pop(0))
        if rows:
            clock.call_later(_PAUSE_MS, preload_first)

    clock.call_later(_PAUSE_MS, preload_first)
