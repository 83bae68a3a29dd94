"""The events of a demo, in their order: one line of JSON each, for the report.

Written from several threads.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from barnabas.client.clock import SystemClientClock


class Notes:
    """The demo's log of events. Times are seconds since its beginning."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a")
        self._lock = threading.Lock()
        self.clock = SystemClientClock()
        self._began = self.clock.monotonic()
        self.began_ms = self.clock.now_ms()
        self.write("began", began_ms=self.began_ms)

    def now_s(self) -> float:
        """Return the seconds since the beginning."""
        return self.clock.monotonic() - self._began

    def write(self, event: str, **facts: Any) -> None:
        """Write an event."""
        note = {"event": event, "at_s": round(self.now_s(), 3), **facts}
        with self._lock:
            self._file.write(json.dumps(note) + "\n")
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
