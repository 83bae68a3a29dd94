# compiled: mypyc
"""The sending half of one connection: the responses that are not with the kernel yet.

Knows the transport, and neither requests nor the connection: its owner decides what to send, and passes on from the
loop whether the peer reads.

Theory of operation: while nothing waits in the transport, bytes are given to the socket itself. The bytes that the
kernel does not take go to the transport, whose high-water mark is 0: it calls `pause_writing` at once, and nothing more
is sent until they have gone. A large response is `outgoing`: it is written in pieces, each made when the one before is
with the kernel, in a buffer that is used again.

Invariants: responses leave in the order in which they are given; at most one piece of a response is in memory, and as
long as a byte of it is unsent, its whole buffer is counted in the memory that all connections share, and not used
again; after `lost` nothing is held.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from barnabas.broker.network.descriptor import descriptor_of
from barnabas.broker.network.pending_send import PendingSend

if TYPE_CHECKING:
    from barnabas.broker.network.descriptor import Send
    from barnabas.broker.network.memory_limits import SendMemory


class Sender:
    """The sending half of one connection."""

    __slots__ = (
        "_descriptor",
        "_last_buffer_bytes",
        "_memory",
        "_send",
        "_transport",
        "_unread_bytes",
        "_unsent_piece",
        "held",
        "is_writable",
        "outgoing",
    )

    def __init__(self, memory: SendMemory, send: Send) -> None:
        """Send nothing before `begin`. send: to a socket past its transport."""
        self.held: bytearray | None = None
        """A response that leaves at the end of this turn."""
        self.outgoing: PendingSend | None = None
        """The response that is being sent in pieces."""
        self.is_writable = True
        """Whether the peer reads what is written."""
        self._memory = memory
        self._send = send
        self._transport: asyncio.Transport = None  # type: ignore[assignment]  # because `begin` comes first
        self._descriptor = -1
        self._last_buffer_bytes = 0
        self._unread_bytes = 0
        self._unsent_piece: bytearray | None = None
        """The buffer of a piece that the transport still reads."""

    @property
    def is_busy(self) -> bool:
        """Whether something is not with the kernel yet."""
        return not self.is_writable or self.outgoing is not None or self.held is not None

    def begin(self, transport: asyncio.Transport) -> None:
        """Send through the transport from now on."""
        transport.set_write_buffer_limits(high=0)
        self._transport = transport
        self._descriptor = descriptor_of(transport)

    def write(self, data: bytes | bytearray | memoryview, buffer_bytes: int = 0) -> None:
        """Write to the socket if nothing waits in the transport, which gets the rest and meets the same errors.

        buffer_bytes: the size of the buffer that the data are in, if it is larger.
        """
        rest = data
        if self._descriptor >= 0 and not self._transport.get_write_buffer_size():
            try:
                sent = self._send(self._descriptor, data)
            except OSError:
                sent = 0
            if sent == len(data):
                return
            rest = memoryview(data)[sent:]
        self._last_buffer_bytes = buffer_bytes or len(data)
        self._transport.write(rest)

    def write_held(self) -> bool:
        """Write the held response; return whether there was one."""
        held, self.held = self.held, None
        if held is None:
            return False
        self.write(held)
        return True

    def write_pieces(self) -> None:
        """Write more of the outgoing response, while the kernel takes it. Raises like `PendingSend.fill`."""
        outgoing = self.outgoing
        assert outgoing is not None
        while self.is_writable and not outgoing.is_empty:
            buffer = self._memory.take_buffer()
            piece = memoryview(buffer)
            size = outgoing.fill(piece)
            self.write(piece[:size], len(buffer))
            if self._transport.get_write_buffer_size():
                self._unsent_piece = buffer
            else:
                self._memory.give_back(buffer)
        if outgoing.is_empty:
            self.outgoing = None

    # --- from the event loop ---------------------------------------------------------------------------------------

    def pause(self) -> None:
        """Stop writing: the kernel did not take all, since the peer does not read."""
        self.is_writable = False
        self._note_unread(self._last_buffer_bytes)

    def resume(self) -> None:
        """Continue writing: all is with the kernel."""
        self.is_writable = True
        self._note_unread(0)
        piece, self._unsent_piece = self._unsent_piece, None
        if piece is not None:
            self._memory.give_back(piece)

    def lost(self) -> None:
        """Release the transport, which is closed."""
        self.held = None
        self.outgoing = None
        self._unsent_piece = None  # the transport may still refer to it
        self._note_unread(0)
        self._descriptor = -1  # the number may soon be another connection's
        self._transport = None  # type: ignore[assignment]  # because nothing is sent from here on

    def _note_unread(self, size: int) -> None:
        self._memory.unread_bytes += size - self._unread_bytes
        self._unread_bytes = size

    # --- the end ---------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close after what was written, or at once when the peer does not read."""
        self.outgoing = None
        if self.is_writable:
            self._transport.close()
        else:
            self._transport.abort()

    def abort(self) -> None:
        """Close at once."""
        self.held = None
        if self._transport is not None:
            self._transport.abort()
