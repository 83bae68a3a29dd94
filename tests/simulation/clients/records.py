"""Records as they are written and read: each has a value of its own, by which it is found again.

A tombstone has no value; what would be it is in a header.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.world.world import BEGINNING_MS

if TYPE_CHECKING:
    from barnabas.protocol.records.record import BatchRecord
    from tests.simulation.history.history import Send

Stored = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...], int]
_NAME = "value"


def stored(send: Send) -> Stored:
    """Key, value, headers and timestamp."""
    timestamp_ms = BEGINNING_MS + send.began_us // 1000
    if send.is_tombstone:
        return send.key, None, ((_NAME, send.value),), timestamp_ms
    return send.key, send.value, (), timestamp_ms


def value_of(record: BatchRecord) -> bytes:
    """By what it is found again."""
    if record.value is not None:
        return bytes(record.value)
    return next((bytes(value or b"") for name, value in record.headers if name == _NAME), b"")
