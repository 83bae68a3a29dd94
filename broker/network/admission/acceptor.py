"""The listener as one connection needs it: what all its connections share, and the callbacks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from barnabas.broker.network.descriptor import Send
    from barnabas.broker.network.memory_limits import FrameMemory, SendMemory
    from barnabas.broker.network.response_batch import ResponseBatch


Accepted = TypeVar("Accepted", contravariant=True)
"""A connection."""


class Acceptor(Protocol[Accepted]):
    """Accepts connections."""

    loop: asyncio.AbstractEventLoop
    request_bytes_max: int
    frame_memory: FrameMemory
    strangers_memory: FrameMemory
    send_memory: SendMemory
    shared_buffer: memoryview
    send: Send
    turn: ResponseBatch

    def connection_opened(self, connection: Accepted) -> None:
        """Register an open connection."""

    def connection_refused(self, connection: Accepted, api: str | None, reason: str) -> None:
        """Register a connection that is about to be closed because of its peer."""

    def connection_failed(self, connection: Accepted, error: Exception) -> None:
        """Register a connection that is about to be closed because of an error in the broker."""

    def connection_closed(self, connection: Accepted) -> None:
        """Remove a closed connection."""
