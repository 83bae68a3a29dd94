"""The events of requests that set or delete where a share group begins in a partition.

A state is begun in the same way for such a request and for the first member of a group, so the share coordinator cannot
report it. The states of one request are stored in many turns of the event loop: each is reported in its own, with the
request as its cause.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.runtime.events import Events, kinds


class ShareResets:
    """Reports the partitions of one request, once the state of each is stored."""

    def __init__(self, events: Events, group_id: str) -> None:
        """Create it while the request is the cause of events."""
        self._events = events
        self._group_id = group_id
        self._cause = events.cause

    def stored(self, topic: str, partition: int, start_offset: int | None, done: Future[None]) -> None:
        """Report a partition, unless its state could not be stored. `start_offset`: None if it was deleted."""
        if done.cancelled() or done.exception() is not None:
            return
        before, self._events.cause = self._events.cause, self._cause
        facts = {"group": self._group_id, "topic": topic, "partition": partition, "start_offset": start_offset}
        self._events.emit(kinds.SHARE_RESET, facts)
        self._events.cause = before
