"""One partition of a stock producer: records that wait, that are on their way, and that are to be sent again.

Bookkeeping only: who may be sent when, and what an answer means, is the producers' business.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from typing import Any

from tests.simulation.history.history import Send


class Lane:
    """`fresh` were never sent and have no sequence; `retrying` and `flying` have one, lowest first."""

    def __init__(self, producer: tuple[int, int]) -> None:
        self.producer = producer
        self.next_sequence = 0
        self.last_acked = -1
        self.unresolved: int | None = None
        """The sequence behind one that was given up after it was sent again: whether that is there is not known."""
        self.is_draining = False
        self.backoff_until_us = 0
        self.fresh: deque[Send] = deque()
        self.retrying: list[Send] = []
        self.flying: list[Send] = []
        self.news: asyncio.Queue[tuple[Send, Any, int]] = asyncio.Queue()
        """What was sent, its answer, None for a connection that was lost, and by which port it came."""

    @property
    def is_empty(self) -> bool:
        return not (self.fresh or self.retrying or self.flying)

    def tracked(self) -> Iterator[Send]:
        """What has a sequence and is not done, lowest first."""
        yield from sorted([*self.retrying, *self.flying], key=_sequence)

    def number(self, send: Send) -> None:
        """Give it the next sequence."""
        send.producer, send.sequence = self.producer, self.next_sequence
        self.next_sequence += 1

    def try_again(self, send: Send) -> None:
        """It is to be sent again, in the order of sequences."""
        self.retrying.append(send)
        self.retrying.sort(key=_sequence)

    def begin_again(self, producer: tuple[int, int]) -> None:
        """Another epoch: what is not done is numbered from 0 on."""
        self.producer, self.next_sequence, self.last_acked, self.unresolved = producer, 0, -1, None
        for send in list(self.tracked()):
            self.number(send)

    def close_gap(self, failed: Send) -> None:
        """What was refused has left its sequence to the one behind it."""
        self.next_sequence -= 1
        for send in self.tracked():
            if send.sequence > failed.sequence:
                send.sequence -= 1

    def drop(self, send: Send) -> None:
        """It is done, or given up."""
        for held in (self.fresh, self.retrying, self.flying):
            if send in held:
                held.remove(send)


def _sequence(send: Send) -> int:
    return send.sequence
