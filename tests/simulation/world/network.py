"""The simulated network: connections whose bytes take their time, arrive in pieces, and may be cut anywhere.

A connection is two pipes. What is sent into one arrives in the order it was sent, in pieces that chance cuts; other
connections' bytes may overtake it. A cut ends both: what is on its way by then arrives in part, and then each end hears
that the connection is lost. A process that dies takes its end with it: the other hears of it, after what was sent.
A client's end may also vanish: the broker is told nothing then, or only when it sends something.

Invariant: a dead process sends nothing and hears nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from barnabas.broker.network.bound_sockets import BoundAddress
from tests.simulation.world.process import Process
from tests.simulation.world.transport import SimulatedTransport
from tests.simulation.world.world import World

_CRUMBS_MAX = 200  # the rest of a message arrives at once
_STALL_US_MAX = 800_000


@dataclass(frozen=True, slots=True)
class Ending:
    """How a connection ends at a message."""

    arrives: bool
    """Whether the message still arrives."""
    vanishes: bool
    is_silent: bool
    """Whether nobody is left, where it vanishes, who answers that there is no such connection."""


@dataclass(frozen=True, slots=True)
class Weather:
    """What the network is like. Times in microseconds; the others are probabilities for each message sent."""

    latency_us: tuple[int, int] = (50, 800)
    slow: float = 0.0
    slow_us: int = 300_000
    split: float = 0.1
    cut: float = 0.0
    close: float = 0.0
    """The connection is closed before the message, or right behind it."""
    vanish: float = 0.0
    """The client's end is gone without a word, before the message or behind it."""
    stall: float = 0.0
    """The client does not read for a while: the broker's socket takes only a part of the answer."""
    crumbs: float = 0.0
    """The message arrives byte by byte."""


class SimulatedSocket:
    """What a broker listens on: an address."""

    def __init__(self, host: str, port: int) -> None:
        self._address = host, port

    def getsockname(self) -> tuple[str, int]:
        return self._address

    def close(self) -> None:
        pass


class Network:
    """All addresses that are listened on, and all connections. `weather` may change at any time."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.weather = Weather()
        self.cuts = 0
        self._dice = world.dice("network")
        self._rare_dice = world.dice("network that is worse")
        self._transports: dict[int, SimulatedTransport] = {}
        self._descriptors = iter(range(1_000, 1 << 30))
        self._listening: dict[int, tuple[Process, Callable[[], Any]]] = {}
        self._ports = iter(range(20_000, 1 << 30))

    def of(self, process: Process) -> NetworkOfProcess:
        """The network as one process's broker sees it."""
        return NetworkOfProcess(self, process)

    def listen(self, process: Process, port: int, connection: Callable[[], Any]) -> None:
        self._listening[port] = process, connection
        process.when_dead.append(lambda: self._stop_listening(process, port))

    def close(self, process: Process, port: int) -> None:
        self._stop_listening(process, port)

    def _stop_listening(self, process: Process, port: int) -> None:
        if port in self._listening and self._listening[port][0] is process:
            del self._listening[port]

    async def connect(self, process: Process, port: int, when_lost: Callable[[], None]) -> End:
        """A connection of a client's process; its end of it. ConnectionRefusedError."""
        answered: asyncio.Future[End | None] = process.loop.create_future()
        self.world.later(self.latency_us(), lambda: self._accept(process, port, when_lost, answered))
        end = await answered
        if end is None:
            raise ConnectionRefusedError(f"nobody listens on {port}")
        return end

    def _accept(
        self, client: Process, port: int, when_lost: Callable[[], None], answered: asyncio.Future[End | None]
    ) -> None:
        if client.is_dead:
            return
        process, make = self._listening.get(port, (None, None))
        if process is None or make is None or process.is_dead:
            client.loop.call_soon(_answer, answered, None)
            return
        near, far = End(self, client), End(self, process)
        near.other, far.other = far, near
        near.when_lost, near.is_client = when_lost, True
        names = {"peername": ("10.0.0.1", next(self._ports)), "sockname": ("10.0.0.2", port)}
        transport = SimulatedTransport(far, make, names, next(self._descriptors))
        self._transports[transport.descriptor] = transport
        far.when_over = lambda: self._transports.pop(transport.descriptor, None)
        process.loop.call_soon(transport.begin)
        client.loop.call_soon(_answer, answered, near)

    def latency_us(self) -> int:
        weather, dice = self.weather, self._dice
        found = dice.randint(*weather.latency_us)
        return found + dice.randrange(weather.slow_us) if dice.random() < weather.slow else found

    def pieces(self, data: bytes) -> list[bytes]:
        """The same bytes, as they arrive."""
        if self._happens(self.weather.crumbs):
            first, last = data[:_CRUMBS_MAX], data[_CRUMBS_MAX:]
            return [bytes([each]) for each in first] + ([last] if last else [])
        if len(data) < 2 or self._dice.random() >= self.weather.split:
            return [data]
        at = self._dice.randrange(1, len(data))
        return [data[:at], data[at:]]

    def is_cut(self) -> bool:
        """Whether what is sent now is cut off on its way."""
        found = self._dice.random() < self.weather.cut
        self.cuts += found
        return found

    def _happens(self, probability: float) -> bool:
        """With dice that nobody throws where it never does."""
        return probability > 0 and self._rare_dice.random() < probability

    def end_of_connection(self) -> Ending | None:
        """Whether the connection ends at what is sent now, and how."""
        weather, dice = self.weather, self._rare_dice
        closes = self._happens(weather.close)
        if not closes and not self._happens(weather.vanish):
            return None
        return Ending(dice.random() < 0.5, vanishes=not closes, is_silent=dice.random() < 0.5)

    def stall_of(self, size: int) -> tuple[int, int] | None:
        """How many bytes of so many the broker's socket takes, and for how many microseconds it takes no more."""
        if not self._happens(self.weather.stall):
            return None
        return self._rare_dice.randrange(size), self._rare_dice.randrange(1, _STALL_US_MAX)

    def send(self, descriptor: int, data: bytes | bytearray | memoryview) -> int:
        """As `os.write` on a socket: how many bytes it takes. BlockingIOError where it takes none now."""
        return self._transports[descriptor].take(data)

    def part_of(self, data: bytes) -> bytes:
        """What arrives of what was cut off."""
        return data[: self._dice.randrange(1, len(data) + 1)]


def _answer(future: asyncio.Future[End | None], end: End | None) -> None:
    if not future.done():
        future.set_result(end)


class NetworkOfProcess:
    """A `barnabas.broker.network.network.Network`."""

    def __init__(self, network: Network, process: Process) -> None:
        self._network, self._process = network, process
        self.send = network.send

    async def listen(
        self, sock: Any, connection: Callable[[], asyncio.BaseProtocol], *, backlog: int
    ) -> NetworkListening:
        port = sock.getsockname()[1]
        self._network.listen(self._process, port, connection)
        return NetworkListening(lambda: self._network.close(self._process, port))

    def bind_again(self, given_back: Sequence[BoundAddress]) -> list[BoundAddress]:
        return list(given_back)

    def default_gateways(self) -> set[str]:
        return set()


class NetworkListening:
    """An address that is listened on."""

    def __init__(self, close: Callable[[], None]) -> None:
        self.close = close


class End:
    """One end of a connection."""

    def __init__(self, network: Network, process: Process) -> None:
        self.network, self.process = network, process
        self.other: End
        self.is_lost = False
        self.is_client = False
        self.is_alone = False
        """The other end is gone, and this one is not told."""
        self.stays_alone = False
        """Not even when it sends something."""
        self.reads_again_us = 0
        """Until when the other end did not read, the last time it did not."""
        self.when_over: Callable[[], object] = lambda: None
        self.when_received: Callable[[bytes], None] = lambda data: None
        self.when_lost: Callable[[], None] = lambda: None
        self.arrives_us = 0
        """When what was sent last arrives: nothing of this end's overtakes it."""
        process.when_dead.append(self._process_died)

    def send(self, data: bytes) -> None:
        """Send bytes to the other end."""
        if self.is_lost or self.process.is_dead:
            return
        if self.is_alone:
            if not self.stays_alone:
                self.network.world.later(self.network.latency_us(), self._lose)
            return
        ending = self.network.end_of_connection()
        if ending is not None:
            if ending.arrives:
                self._arrive(data)
            self._end_as(ending)
            return
        if self.network.is_cut():
            self._arrive(self.network.part_of(data))
            self.cut()
            return
        for piece in self.network.pieces(data):
            self._arrive(piece)

    def _end_as(self, ending: Ending) -> None:
        self.network.cuts += 1
        if ending.vanishes:
            (self if self.is_client else self.other)._vanish(ending.is_silent)
        else:
            self.close()

    def _vanish(self, is_silent: bool) -> None:
        """Only the process whose end this is knows that the connection is no more."""
        if not self.is_lost:
            self.is_lost = True
            self.other.is_alone, self.other.stays_alone = True, is_silent
            self.process.loop.call_soon(self.when_lost)

    def hold_up(self, delay_us: int) -> None:
        """What is sent from now on arrives no earlier than that."""
        self.arrives_us = max(self.arrives_us, self.network.world.now_us + delay_us)

    def close(self) -> None:
        """Close the connection, after what was sent."""
        if not self.is_lost:
            self.is_lost = True
            if not self.process.is_dead:
                self.process.loop.call_soon(self.when_lost)
            self._at_other(self.other._lose)

    def cut(self) -> None:
        """The network fails: both ends hear of it."""
        self.close()

    def _process_died(self) -> None:
        self.when_over()
        if not self.is_lost:
            self.is_lost = True
            self._at_other(self.other._lose)

    def _lose(self) -> None:
        if not self.is_lost:
            self.is_lost = True
            self.process.loop.call_soon(self.when_lost)

    def _arrive(self, data: bytes) -> None:
        self._at_other(lambda: self.other._soon(data))

    def _soon(self, data: bytes) -> None:
        self.process.loop.call_soon(self._receive, data)

    def _receive(self, data: bytes) -> None:
        if not self.is_lost:
            self.when_received(data)

    def _at_other(self, callback: Callable[[], None]) -> None:
        """Something that reaches the other end, behind what is on its way already."""
        world, other = self.network.world, self.other
        self.arrives_us = max(self.arrives_us, world.now_us + self.network.latency_us())

        def arrive() -> None:
            if not other.process.is_dead:
                callback()

        world.later(self.arrives_us - world.now_us, arrive)
