"""Python's garbage collector in a process of the broker: objects that live long are not scanned again.

A full collection scans every object, which with thousands of open partitions stops the event loop for a tenth of a
second and more. The short-lived objects of a broker leave no cycles (`tests/broker/test_no_cycles.py`), so a collection
finds next to nothing. Here, the objects that survive a collection of the middle generation are frozen: moved to where
the collector does not scan them. So no collection scans more than some ten thousand objects.

A frozen object is freed like any other once nothing refers to it. Only cycles stay, should a library make some: for
them all objects are scanned at most once an hour, and then when the broker is idle; on a broker that is never idle,
once a day.

`GarbageCollection` is not for a process that runs other code than the broker: freezing affects all objects in it.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.broker.runtime.clock import Clock, Timer

FULL_EVERY_MS = 60 * 60_000
FULL_AT_LEAST_EVERY_MS = 24 * FULL_EVERY_MS
QUIET_MS = 10_000
_MIDDLE = 1


@contextmanager
def collections_paused() -> Iterator[None]:
    """Pause the collector while very many objects are made that stay: it would scan them again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class GarbageCollection:
    """The settings of the collector while a broker runs."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._timer: Timer | None = None
        self._waited_ms = 0
        self._young_collections = -1

    def start(self) -> None:
        """Take all present objects for long-lived. Costs microseconds."""
        gc.freeze()
        gc.callbacks.append(self._collected)
        self._wait()

    def stop(self) -> None:
        """Restore the collector."""
        gc.callbacks.remove(self._collected)
        gc.unfreeze()
        if self._timer is not None:
            self._timer.cancel()

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and info["generation"] == _MIDDLE:
            gc.freeze()  # its survivors: the younger generations are empty at this moment

    def _wait(self) -> None:
        self._waited_ms, self._young_collections = FULL_EVERY_MS, -1
        self._timer = self._clock.call_later(FULL_EVERY_MS, self._collect_if_quiet)

    def _collect_if_quiet(self) -> None:
        """Run a full collection if no client waits: without new objects, as the youngest generation's count shows."""
        so_far = gc.get_stats()[0]["collections"]
        if so_far == self._young_collections or self._waited_ms >= FULL_AT_LEAST_EVERY_MS:
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            self._wait()
            return
        self._young_collections = so_far
        self._waited_ms += QUIET_MS
        self._timer = self._clock.call_later(QUIET_MS, self._collect_if_quiet)
