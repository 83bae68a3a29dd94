"""Server-sent events as /control/trace sends them: from the bytes of an answer to events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any


def events_in(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield each event as it arrives; {"lost": number} for missed ones. Comments are skipped."""
    kind, data = "", ""
    for line in lines:
        name, _, value = line.decode("utf-8").rstrip("\r\n").partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            data += value
        elif not name and not value:
            if data:
                event: dict[str, Any] = json.loads(data)
                yield {"lost": event["count"]} if kind == "lost" else event
            kind, data = "", ""
