"""Connected peers that have not finished their TLS handshake: a limited number, each for a limited time.

Knows no TLS. A peer that is slow, or never sends anything, keeps no other peer out: where there are too many, the
oldest is closed. A real client needs milliseconds.

Invariant: each peer in here is closed within `HANDSHAKE_MS`, or has left before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from barnabas.broker.runtime.clock import Clock, Timer

HANDSHAKE_MS = 10_000
HANDSHAKES_MAX = 1_024


class Peer(Protocol):
    """A peer without a finished handshake."""

    def give_up(self, reason: str) -> None:
        """Close it now. Calls `left`."""


class Handshakes:
    """The peers of one node, the oldest first."""

    def __init__(self, clock: Clock, most: int = HANDSHAKES_MAX) -> None:
        """Start without peers. `most`: how many there may be."""
        self._clock = clock
        self._most = most
        self._deadlines: dict[Peer, float] = {}
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._deadlines)

    def entered(self, peer: Peer) -> None:
        """Add a peer that has connected."""
        if len(self._deadlines) >= self._most:
            self.give_way(f"more than {self._most} TLS handshakes")
        self._deadlines[peer] = self._clock.monotonic() + HANDSHAKE_MS / 1000
        if self._timer is None:
            self._timer = self._clock.call_later(HANDSHAKE_MS, self._give_up_late)

    def give_way(self, reason: str) -> bool:
        """Make room by closing the oldest; return whether there was one."""
        oldest = next(iter(self._deadlines), None)
        if oldest is not None:
            oldest.give_up(f"{reason}, and this is the oldest unfinished handshake")
        return oldest is not None

    def left(self, peer: Peer) -> None:
        """Remove a peer: its handshake is done, or it is closed."""
        self._deadlines.pop(peer, None)

    def close(self) -> None:
        """Close all of them."""
        if self._timer is not None:
            self._timer.cancel()
        for peer in list(self._deadlines):
            peer.give_up("the broker stops")

    def _give_up_late(self) -> None:
        self._timer = None
        now = self._clock.monotonic()
        for peer, deadline in list(self._deadlines.items()):
            if deadline > now:
                self._timer = self._clock.call_later((deadline - now) * 1000, self._give_up_late)
                return
            peer.give_up(f"no TLS handshake within {HANDSHAKE_MS} ms")
