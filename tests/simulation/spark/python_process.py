"""A Python process of Spark's, in which the sink's own code runs: a worker with its tasks, or the one that commits.

What the sink keeps for its thread (clients, the ledger it has read, ids it made) lives as long as this one's thread.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from barnabas.client.client import Client
from pyspark_barnabas.connection import ConnectionSettings
from tests.simulation.clients.blocking import Requests, client
from tests.simulation.world.blocking import BlockingThread
from tests.simulation.world.network import Network
from tests.simulation.world.process import Process

T = TypeVar("T")

_REQUESTS_MAX = 30
_FROZEN_S = (0.3, 1.5, 4.0)


class PythonProcess:
    """`is_frozen`: it stands still for a while, and does not know it."""

    def __init__(self, process: Process, network: Network) -> None:
        self.process = process
        self.is_frozen = False
        self.when_frozen: Callable[[], None] = lambda: None
        self._network = network
        self._requests = Requests()
        self._thread = BlockingThread(process)

    def client(self, timeout_ms: int) -> Client:
        return client(self._network, self._thread, timeout_ms=timeout_ms, requests=self._requests)

    async def call(self, job: Callable[[], T]) -> T:
        """Run code that blocks in it."""
        return await self._thread.call(job)

    def begin_anew(self) -> None:
        """Have a new thread, which has nothing of what the old one kept."""
        self._thread.end()
        self._thread = BlockingThread(self.process)

    def sleep(self, seconds: float) -> None:
        """For code that runs in it: let time go by."""
        self._thread.wait(asyncio.sleep(seconds))

    # --- what befalls it -------------------------------------------------------------------------------------------

    def strike(self, dice: random.Random) -> None:
        """At one of its next requests it dies, before it is sent or after, or stands still before."""
        count = dice.randrange(_REQUESTS_MAX)
        what = dice.choice([self._die_before, self._die_after, self._freeze_before])
        frozen_s = dice.choice(_FROZEN_S)

        def countdown() -> None:
            nonlocal count
            count -= 1
            if count < 0:
                self.spare()
                what(frozen_s)

        self._requests.before = countdown

    def spare(self) -> None:
        """Nothing befalls it."""
        self._requests.before = self._requests.after = _nothing

    def _die_before(self, _: float) -> None:
        self._thread.die()

    def _die_after(self, _: float) -> None:
        self._requests.after = self._thread.die

    def _freeze_before(self, seconds: float) -> None:
        self.is_frozen = True
        self.when_frozen()
        self.sleep(seconds)
        self.is_frozen = False


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Reached(ConnectionSettings):
    """How the sink reaches the broker from a process: it asks its settings for a client."""

    process: PythonProcess | None = None

    def client(self) -> Client:
        assert self.process is not None
        return self.process.client(self.request_timeout_ms)
