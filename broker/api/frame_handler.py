"""The signatures of what serves one version of one API: from the frame to the answer, and from the request to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from barnabas.broker.api.deferred_response import Answer
from barnabas.broker.metadata.cluster.node_view import Node
from barnabas.broker.security.session.session import Session
from barnabas.broker.services import RequestContext

if TYPE_CHECKING:
    from barnabas.broker.clients.quotas.quota_managers import MeasuredRequest


class RequestConnection(Protocol):
    """The part of a connection that an entry uses."""

    client_host: str
    client_id: str | None
    client_id_raw: bytes
    is_closed: bool
    measured: MeasuredRequest | None
    """The request in flight, while the node has quotas; it serves one at a time."""
    peer: str
    session: Session

    @property
    def is_writable(self) -> bool:
        """Whether the peer reads what is written."""

    @property
    def node(self) -> Node | None: ...

    def write(self, data: bytes | bytearray) -> None:
        """Send a part of an answer whose last part is returned as the answer."""

    def admit(self, dispatch: Callable[[memoryview, RequestConnection], Answer]) -> None:
        """Mark the connection as authenticated: `dispatch` answers its requests from now on."""

    def finish(self) -> None:
        """Close it once the request in flight is answered."""


FrameHandler = Callable[[memoryview, int, int, RequestConnection], Answer]
"""(frame, position of the body, correlation id, client) -> answer"""

MessageHandler: TypeAlias = Callable[[Any, RequestContext], Any]
"""(request, context) -> response, or a future of it; Produce and Fetch have tuples in place of messages"""

Wrap: TypeAlias = Callable[[int, int, FrameHandler], FrameHandler]
"""(API key, version, entry) -> the entry to call in its place, or that entry itself"""
