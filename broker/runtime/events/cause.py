# compiled: mypyc, as a traced broker runs it for each event
"""The causes of events: a request, or a timer of a group. Values."""

from __future__ import annotations

from typing import Any


class RequestCause:
    """A request, while it is served. number: counts requests from when the first listener was added.

    request_fields: fields of the request itself, with the names that requests have in common: transactional_id, group,
    producer_id, producer_epoch, member_id. principal: of the client, if it has authenticated.
    """

    __slots__ = (
        "api",
        "client_id",
        "correlation_id",
        "node",
        "number",
        "peer",
        "principal",
        "request_fields",
        "version",
    )

    def __init__(
        self,
        number: int,
        api: str,
        version: int,
        client_id: str | None,
        peer: str,
        correlation_id: int,
        node: int,
        request_fields: dict[str, Any],
        principal: str | None = None,
    ) -> None:
        self.number = number
        self.api = api
        self.version = version
        self.client_id = client_id
        self.peer = peer
        self.correlation_id = correlation_id
        self.node = node
        self.request_fields = request_fields
        self.principal = principal

    def facts(self) -> dict[str, Any]:
        """Return the facts in the form of the trace."""
        principal = {} if self.principal is None else {"principal": self.principal}
        return {
            "request": self.number,
            "api": self.api,
            "client_id": self.client_id,
            **principal,
            "peer": self.peer,
            "correlation_id": self.correlation_id,
            "node": self.node,
            **self.request_fields,
        }


class TimerCause:
    """A timer of a group or a transactional id that has expired."""

    __slots__ = ("entity", "member_id", "timer")

    def __init__(self, timer: str, entity: str, member_id: str = "") -> None:
        self.timer = timer
        self.entity = entity
        self.member_id = member_id

    def facts(self) -> dict[str, Any]:
        """Return the facts in the form of the trace."""
        return {"timer": self.timer, "member_id": self.member_id} if self.member_id else {"timer": self.timer}


Cause = RequestCause | TimerCause
