"""Peers that have connected and not yet shaken hands: so many at most, and each for so long.

Knows no TLS. A peer that is slow, or never says anything, keeps nobody out: where there are too many, the oldest goes.
A client that means it is through in milliseconds.

Invariant: whoever is here is closed within `HANDSHAKE_MS`, or has left before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from barnabas.broker.runtime.clock import Clock, Timer

HANDSHAKE_MS = 10_000
HANDSHAKES_MAX = 1_024


class Peer(Protocol):
    """One of them."""

    def give_up(self, reason: str) -> None:
        """Close it now. Calls `left`."""


class Handshakes:
    """Those of one node, the oldest first."""

    def __init__(self, clock: Clock, most: int = HANDSHAKES_MAX) -> None:
        """`most`: how many there may be."""
        self._clock = clock
        self._most = most
        self._deadlines: dict[Peer, float] = {}
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._deadlines)

    def entered(self, peer: Peer) -> None:
        """A peer has connected."""
        if len(self._deadlines) >= self._most:
            self.give_way(f"more than {self._most} TLS handshakes")
        self._deadlines[peer] = self._clock.monotonic() + HANDSHAKE_MS / 1000
        if self._timer is None:
            self._timer = self._clock.call_later(HANDSHAKE_MS, self._give_up_late)

    def give_way(self, reason: str) -> bool:
        """Make room: the oldest goes. Whether there was one."""
        oldest = next(iter(self._deadlines), None)
        if oldest is not None:
            oldest.give_up(f"{reason}, and this is the oldest that has not shaken hands")
        return oldest is not None

    def left(self, peer: Peer) -> None:
        """Its handshake is done, or it is gone."""
        self._deadlines.pop(peer, None)

    def close(self) -> None:
        """Give all of them up."""
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
