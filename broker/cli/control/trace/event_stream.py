"""Server-sent events as /control/trace sends them: bytes of an answer in, events out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any


def events_in(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Each event as it comes; {"lost": number} for those that were missed. Comments are passed over."""
    kind, data = "", ""
    for line in lines:
        name, _, value = line.decode("utf-8").rstrip("\r\n").partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            data += value
        elif not name and not value:
            if data:
                told: dict[str, Any] = json.loads(data)
                yield {"lost": told["count"]} if kind == "lost" else told
            kind, data = "", ""
