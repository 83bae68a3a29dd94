"""A Python process of Spark's, in which the sink's own code runs: a worker with its tasks, or the one that commits.

What the sink keeps for its thread (clients, the ledger it has read, ids it made) lives as long as this one's thread.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from barnabas.client.client import Client
from barnabas.protocol.registry import ApiKey
from pyspark_barnabas.cluster.connection import ConnectionSettings
from tests.simulation.clients.blocking import Requests, api_of, client, nothing
from tests.simulation.world.blocking import BlockingThread
from tests.simulation.world.network import End, Network
from tests.simulation.world.process import Process

T = TypeVar("T")


class Lost(Exception):
    """The process that was to do it is dead."""


_REQUESTS_MAX = 30
_ENDS_MAX = 2
_STRUCK_AT = (None, ApiKey.END_TXN, ApiKey.END_TXN, ApiKey.LIST_TRANSACTIONS)  # None: any
_SECONDS = (0.3, 1.5, 4.0)


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

    async def run(self, job: Callable[[], T], asker: Process) -> T:
        """What code that blocks comes to in it, as the process that asks for it hears. Lost if this one dies."""
        if self.process.is_dead:
            raise Lost("its process is dead")
        told: asyncio.Future[T] = asker.loop.create_future()

        def tell(work: asyncio.Task[T] | None) -> None:
            delay_us = self._network.latency_us()
            asker.world.later(delay_us, lambda: _call_soon(asker.loop, told, work))

        def give_up() -> None:
            work.close()
            tell(None)

        work = self._thread.call(job)
        self.process.run(work).add_done_callback(tell)
        self.process.when_dead.append(give_up)
        return await told

    def sleep(self, seconds: float) -> None:
        """For code that runs in it: let time go by."""
        self._thread.wait(asyncio.sleep(seconds))

    # --- what befalls it -------------------------------------------------------------------------------------------

    def strike(self, dice: random.Random, *, commits: bool) -> None:
        """At one of its next requests it dies or stands still; of who commits, mostly at one that matters much."""
        wanted = dice.choice(_STRUCK_AT) if commits else None
        count = dice.randrange(_REQUESTS_MAX if wanted is None else _ENDS_MAX)
        what = dice.choice([self._die_before, self._die_after, self._die_behind, self._freeze_before])
        seconds = dice.choice(_SECONDS)

        def countdown(end: End, data: bytes) -> None:
            nonlocal count
            count -= wanted is None or wanted == api_of(data)
            if count < 0:
                self.spare()
                what(end, seconds)

        self._requests.before = countdown

    def spare(self) -> None:
        """Nothing befalls it."""
        self._requests.before, self._requests.after = nothing, nothing

    def _die_before(self, end: End, seconds: float) -> None:
        self._thread.die()

    def _die_after(self, end: End, seconds: float) -> None:
        self._requests.after = lambda end, data: self._thread.die()

    def _die_behind(self, end: End, seconds: float) -> None:
        """Its last request is under way for so long after its death."""
        end.hold_up(int(seconds * 1_000_000))
        self._die_after(end, seconds)

    def _freeze_before(self, end: End, seconds: float) -> None:
        self.is_frozen = True
        self.when_frozen()
        self.sleep(seconds)
        self.is_frozen = False


def _call_soon(loop: asyncio.AbstractEventLoop, told: asyncio.Future[T], work: asyncio.Task[T] | None) -> None:
    loop.call_soon(_tell, told, work)


def _tell(told: asyncio.Future[T], work: asyncio.Task[T] | None) -> None:
    if told.done():
        return
    error = Lost("its process died") if work is None else work.exception()
    if error is not None:
        told.set_exception(error)
    elif work is not None:
        told.set_result(work.result())


@dataclass(frozen=True, slots=True)
class Reached(ConnectionSettings):
    """How the sink reaches the broker from a process: it asks its settings for a client."""

    process: PythonProcess | None = None

    def client(self) -> Client:
        assert self.process is not None
        return self.process.client(self.request_timeout_ms)
