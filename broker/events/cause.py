"""What leads to events: a request, or a timer of a group. Plain values."""

from __future__ import annotations

from typing import Any, NamedTuple


class RequestCause(NamedTuple):
    """A request, while it is served. number: counts requests from when somebody began to listen.

    asked: what the request itself says, of the names that requests have in common: transactional_id, group,
    producer_id, producer_epoch, member_id.
    """

    number: int
    api: str
    version: int
    client_id: str | None
    peer: str
    correlation_id: int
    node: int
    asked: dict[str, Any]

    def facts(self) -> dict[str, Any]:
        """As the trace has it."""
        named = {
            "request": self.number,
            "api": self.api,
            "client_id": self.client_id,
            "peer": self.peer,
            "correlation_id": self.correlation_id,
            "node": self.node,
        }
        return named | self.asked


class TimerCause(NamedTuple):
    """A timer of a group or a transactional id, whose time came."""

    timer: str
    entity: str
    member_id: str = ""

    def facts(self) -> dict[str, Any]:
        """As the trace has it."""
        return {"timer": self.timer} | ({"member_id": self.member_id} if self.member_id else {})


Cause = RequestCause | TimerCause
