"""The demo's output on the terminal: lines for events, and one line of progress that is updated."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from pipeline.demo.notes import Notes

_EVERY_S = 5.0


class Screen:
    """Writes to stdout. On a terminal the line of progress is overwritten; elsewhere it appears every five seconds."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._is_terminal = sys.stdout.isatty()
        self._shown_s = -_EVERY_S

    def say(self, text: str) -> None:
        """Print an event."""
        clear = "\r\033[K" if self._is_terminal else ""
        print(f"{clear}{self._notes.now_s():6.1f} s  {text}", flush=True)

    def show(self, orders: Mapping[str, int], lag: Mapping[str, int]) -> None:
        """Print the progress."""
        now = self._notes.now_s()
        if now - self._shown_s < (0.2 if self._is_terminal else _EVERY_S):
            return
        self._shown_s = now
        counts = f"{orders.get('committed', 0):,} orders committed, {orders.get('aborted', 0):,} aborted"
        behind = ", ".join(f"{name} {count:,} behind" for name, count in lag.items())
        text = f"{now:6.1f} s  {counts}; {behind}"
        if self._is_terminal:
            print(f"\r\033[K{text}", end="", flush=True)
        else:
            print(text, flush=True)
