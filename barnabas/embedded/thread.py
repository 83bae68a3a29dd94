"""A broker in a thread of this process: only on request. Nothing of the broker is imported before that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.embedded.settings import Wire

if TYPE_CHECKING:
    from barnabas.embedded.running import Running


def begin(settings: Wire, home: str | None) -> Running:
    """Start a broker in a new thread, and return it once it can be used. Raises BarnabasError."""
    from barnabas.embedded.inside.thread import BrokerThread

    return BrokerThread(settings, home)
