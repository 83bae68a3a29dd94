"""Our own client in the simulated world: the network and the clock of a thread that blocks.

What the client does is its own, from the choice of a version to the bytes: it is given these two, and knows no more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from barnabas.client.client import Client
from tests.simulation.world.blocking import BlockingThread
from tests.simulation.world.machine import PORT
from tests.simulation.world.network import End, Network
from tests.simulation.world.world import BEGINNING_MS


def client(network: Network, thread: BlockingThread, *, timeout_ms: int, requests: Requests) -> Client:
    """A client of the broker, for code that runs in this thread."""
    return Client(
        f"10.0.0.2:{PORT}",
        client_id=thread.process.name,
        timeout_ms=timeout_ms,
        clock=BlockingClock(thread),
        network=BlockingNetwork(network, thread, requests),
    )


def nothing(end: End, data: bytes) -> None:
    """What befalls a thread at most of its requests."""


class Requests:
    """What befalls a thread at its requests: nothing, unless somebody has it otherwise."""

    def __init__(self) -> None:
        self.before: Callable[[End, bytes], None] = nothing
        self.after: Callable[[End, bytes], None] = nothing


def api_of(request: bytes) -> int:
    """Which API a request is of, by its bytes with their length in front."""
    return int.from_bytes(request[4:6])


class BlockingClock:
    """A `barnabas.client.clock.ClientClock`."""

    def __init__(self, thread: BlockingThread) -> None:
        self._thread = thread

    def now_ms(self) -> int:
        return BEGINNING_MS + self._thread.process.world.now_ms()

    def monotonic(self) -> float:
        return self._thread.process.world.now_s()

    def sleep(self, seconds: float) -> None:
        self._thread.wait(asyncio.sleep(seconds))


class BlockingNetwork:
    """A `barnabas.client.network.ClientNetwork`."""

    def __init__(self, network: Network, thread: BlockingThread, requests: Requests) -> None:
        self._network, self._thread, self._requests = network, thread, requests

    def connect(self, address: tuple[str, int], timeout_s: float) -> BlockingSocket:
        return self._thread.wait(self._connect(address[1], timeout_s))

    async def _connect(self, port: int, timeout_s: float) -> BlockingSocket:
        found = BlockingSocket(self._thread, self._requests)
        async with asyncio.timeout(timeout_s):
            found.begin(await self._network.connect(self._thread.process, port, found.when_lost))
        return found

    def wait(self, sockets: Iterable[BlockingSocket], timeout_s: float) -> bool:
        watched = list(sockets)
        if any(each.is_readable for each in watched):
            return True
        if timeout_s <= 0:
            return False
        return self._thread.wait(_any_readable(watched, timeout_s))


class BlockingSocket:
    """A `barnabas.client.network.Socket`."""

    def __init__(self, thread: BlockingThread, requests: Requests) -> None:
        self._thread, self._requests = thread, requests
        self._received = bytearray()
        self._is_lost = False
        self._timeout_s = 0.0
        self._end: End
        self.when_readable: Callable[[], None] = lambda: None

    def begin(self, end: End) -> None:
        self._end = end
        end.when_received = self._take

    def _take(self, data: bytes) -> None:
        self._received += data
        self.when_readable()

    def when_lost(self) -> None:
        self._is_lost = True
        self.when_readable()

    @property
    def is_readable(self) -> bool:
        return bool(self._received) or self._is_lost

    def settimeout(self, value: float) -> None:
        self._timeout_s = value

    def sendall(self, data: bytes) -> None:
        """Others have their turn before: so the process may die between any two of its requests."""
        self._thread.wait(asyncio.sleep(0))
        self._requests.before(self._end, data)
        if self._is_lost:
            raise BrokenPipeError("the connection is lost")
        self._end.send(data)
        self._requests.after(self._end, data)

    def recv_into(self, buffer: memoryview) -> int:
        if not self.is_readable and not self._thread.wait(_any_readable([self], self._timeout_s)):
            raise TimeoutError
        found = self._received[: len(buffer)]
        del self._received[: len(found)]
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        if not self._is_lost:
            self._is_lost = True
            self._end.close()


async def _any_readable(sockets: list[BlockingSocket], timeout_s: float) -> bool:
    """Whether one of them is, before that."""
    woken = asyncio.Event()
    for each in sockets:
        each.when_readable = woken.set
        if each.is_readable:
            return True
    try:
        async with asyncio.timeout(timeout_s):
            await woken.wait()
    except TimeoutError:
        return False
    return True
