"""Imports the modules that the first client will need while no client waits: a few at a time, with pauses."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from barnabas.broker.api.api_table import API_TABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from barnabas.broker.api.dispatch import Dispatcher
    from barnabas.broker.runtime.clock import Clock

_PAUSE_MS = 20
_PRELOADED = ("api_versions", "metadata", "produce", "fetch", "init_producer_id", "list_offsets", "find_coordinator")
_OPENING = ("barnabas.storage.recovery.log_loader", "barnabas.storage.log.cleaning.segment_replacement")
"""The modules that open a log, and that a start does not need: it opens none."""


def preload(dispatcher: Dispatcher, clock: Clock) -> None:
    """Start the imports, which run later. `clock` is the machine's."""
    steps: list[Callable[[], object]] = [partial(import_module, name) for name in _OPENING]
    steps += [partial(dispatcher.preload, row) for row in API_TABLE if row.handler in _PRELOADED]

    def preload_first() -> None:
        steps.pop(0)()
        if steps:
            clock.call_later(_PAUSE_MS, preload_first)

    clock.call_later(_PAUSE_MS, preload_first)
