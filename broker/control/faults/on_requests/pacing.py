"""An answer that is sent at a limited rate: one piece at a time, and a wait in between.

A piece is sent only while the peer takes what was written before, so no more of the answer is in memory than
before. When the fault is disarmed, the rest is sent at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from typing import TYPE_CHECKING

from barnabas.broker.api.deferred_response import Answer, CloseConnection, DeferredResponse
from barnabas.broker.control.faults.armed import Armed
from barnabas.broker.control.faults.held_requests import BlockedRequest, HoldReason
from barnabas.broker.control.faults.on_requests.frames import parts_of
from barnabas.broker.network.pending_send import PendingSend
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from barnabas.broker.api.frame_handler import RequestConnection

TICK_MS = 50
PIECE_BYTES_MAX = 1 << 20


def paced(armed: Armed, about: BlockedRequest, bytes_per_s: int, client: RequestConnection, answer: Answer) -> Answer:
    """Send the answer in pieces."""
    if answer is None:
        return None
    assert not isinstance(answer, DeferredResponse)
    return _Paced(armed, about, bytes_per_s, client, answer).go_on()


class _Paced:
    def __init__(
        self,
        armed: Armed,
        about: BlockedRequest,
        bytes_per_s: int,
        client: RequestConnection,
        answer: bytearray | Sequence[Sized],
    ) -> None:
        self._armed = armed
        self._about = about
        self._client = client
        piece_bytes = min(PIECE_BYTES_MAX, max(1, bytes_per_s * TICK_MS // 1000))
        self._wait_ms = piece_bytes * 1000 / bytes_per_s
        self._pieces = _pieces(parts_of(answer), piece_bytes)
        self._next: bytearray | None = next(self._pieces, None)

    def go_on(self) -> Answer:
        """Wait, then send a piece; the last piece is returned as the answer."""
        held = self._armed.hold(HoldReason.THROTTLED, self._about, self._wait_ms)
        return DeferredResponse(held, self._send, may_be_given_up=True)

    def _send(self, _: object) -> Answer:
        if self._armed.is_armed and not self._client.is_writable:
            return self.go_on()
        try:
            piece, self._next = self._next, next(self._pieces, None)
            if not self._armed.is_armed:
                rest = bytearray(piece or b"")
                while self._next is not None:
                    rest += self._next
                    self._next = next(self._pieces, None)
                return rest
        except (EOFError, StorageError) as error:
            raise CloseConnection(f"the rest of an answer could not be read: {error}") from error
        if self._next is None:
            return piece
        if piece is not None:
            self._client.write(piece)
        return self.go_on()


def _pieces(parts: Sequence[Sized], size: int) -> Iterator[bytearray]:
    """Yield its bytes in pieces of this size. Raises EOFError, StorageError."""
    outgoing, left = PendingSend(parts), sum(map(len, parts))
    while left:
        piece = bytearray(min(size, left))
        left -= outgoing.fill(memoryview(piece))
        yield piece
