"""Stopping a loop between two rounds: the first SIGINT or SIGTERM requests it, a second SIGINT interrupts at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class StopSignals:
    """A context in which `is_set` says whether a signal has arrived; in another thread than the main one none does."""

    def __init__(self) -> None:
        self.is_set = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is not threading.main_thread():
            return self
        for which in (signal.SIGINT, signal.SIGTERM):
            self._before[which] = signal.signal(which, self._stop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for which, handler in self._before.items():
            signal.signal(which, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self.is_set and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.is_set = True
