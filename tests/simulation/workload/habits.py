"""What producers of some plans do: transactions that are too long, and leaving for good in the middle of one."""

import asyncio
import random

from tests.simulation.clients.producer import Producer
from tests.simulation.history.history import TopicPartition
from tests.simulation.plans.plan import Plan

_PAUSE = 0.9  # of the timeout, between two partitions that are added


class Gone(Exception):
    """The producer has left, and does not come back."""


class Habits:
    """Of one producer, with dice of its own: who has none of them goes on as ever."""

    def __init__(self, plan: Plan, at: list[TopicPartition], dice: random.Random) -> None:
        self._plan, self._at, self._dice = plan, at, dice
        self._is_long = False

    def begin(self, chosen: list[TopicPartition]) -> list[TopicPartition]:
        """Where a transaction writes at first: one that is to be long leaves the other partitions for later."""
        self._is_long = self._dice.random() < self._plan.producing.long
        return chosen[:1] if self._is_long else chosen

    async def follow(self, producer: Producer, written: list[TopicPartition]) -> None:
        """In a transaction that has written to these partitions. Gone; Fenced, Unusable as of any write."""
        if self._dice.random() < self._plan.producing.vanish:
            producer.leave()
            raise Gone
        if self._is_long:
            await self._take_long(producer, [at for at in self._at if at not in written] or written)

    async def _take_long(self, producer: Producer, others: list[TopicPartition]) -> None:
        """Write to one partition after the other, and be late with each, but never so late as the timeout."""
        for at in others[:2]:
            await asyncio.sleep(_PAUSE * self._plan.timeout_ms / 1000)
            await producer.send(at, 1)
        await asyncio.sleep(_PAUSE * self._plan.timeout_ms / 1000)
