"""The simulated network: connections whose bytes take their time, arrive in pieces, and may be cut anywhere.

A connection is two pipes. What is sent into one arrives in the order it was sent, in pieces that chance cuts; other
connections' bytes may overtake it. A cut ends both: what is on its way by then arrives in part, and then each end hears
that the connection is lost. A process that dies takes its end with it: the other hears of it, after what was sent.

Invariant: a dead process sends nothing and hears nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from barnabas.broker.net.bound import BoundAddress
from tests.simulation.world.process import Process
from tests.simulation.world.world import World


@dataclass(frozen=True, slots=True)
class Weather:
    """What the network is like. Times in microseconds; the others are probabilities for each message sent."""

    latency_us: tuple[int, int] = (50, 800)
    slow: float = 0.0
    slow_us: int = 300_000
    split: float = 0.1
    cut: float = 0.0


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
        near.when_lost = when_lost
        transport = SimulatedTransport(far, make, ("10.0.0.1", next(self._ports)), ("10.0.0.2", port))
        process.loop.call_soon(transport.begin)
        client.loop.call_soon(_answer, answered, near)

    def latency_us(self) -> int:
        weather, dice = self.weather, self._dice
        found = dice.randint(*weather.latency_us)
        return found + dice.randrange(weather.slow_us) if dice.random() < weather.slow else found

    def pieces(self, data: bytes) -> list[bytes]:
        """The same bytes, as they arrive."""
        if len(data) < 2 or self._dice.random() >= self.weather.split:
            return [data]
        at = self._dice.randrange(1, len(data))
        return [data[:at], data[at:]]

    def is_cut(self) -> bool:
        """Whether what is sent now is cut off on its way."""
        found = self._dice.random() < self.weather.cut
        self.cuts += found
        return found

    def part_of(self, data: bytes) -> bytes:
        """What arrives of what was cut off."""
        return data[: self._dice.randrange(1, len(data) + 1)]


def _answer(future: asyncio.Future[End | None], end: End | None) -> None:
    if not future.done():
        future.set_result(end)


class NetworkOfProcess:
    """A `barnabas.broker.net.network.Network`."""

    def __init__(self, network: Network, process: Process) -> None:
        self._network, self._process = network, process

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
        self.when_received: Callable[[bytes], None] = lambda data: None
        self.when_lost: Callable[[], None] = lambda: None
        self.arrives_us = 0
        """When what was sent last arrives: nothing of this end's overtakes it."""
        process.when_dead.append(self._process_died)

    def send(self, data: bytes) -> None:
        """Send bytes to the other end."""
        if self.is_lost or self.process.is_dead:
            return
        if self.network.is_cut():
            self._arrive(self.network.part_of(data))
            self.cut()
            return
        for piece in self.network.pieces(data):
            self._arrive(piece)

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


class SimulatedTransport(asyncio.Transport):
    """The broker's end as asyncio shows it to a protocol."""

    def __init__(self, end: End, make: Callable[[], Any], peername: tuple[str, int], sockname: tuple[str, int]) -> None:
        super().__init__()
        self._end = end
        self._make = make
        self._protocol: Any = None
        self._names = {"peername": peername, "sockname": sockname}
        self._unread: deque[bytes] = deque()
        self._is_reading = True
        self._is_closing = False
        end.when_received, end.when_lost = self._received, self._lost

    def begin(self) -> None:
        """In the process's loop: the connection is accepted."""
        self._protocol = self._make()
        self._protocol.connection_made(self)
        self._deliver()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._names.get(name, default)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._end.send(bytes(data))

    def writelines(self, list_of_data: Any) -> None:
        self._end.send(b"".join(list_of_data))

    def is_reading(self) -> bool:
        return self._is_reading

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        self._is_reading = True
        self._end.process.loop.call_soon(self._deliver)

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        self._is_closing = True
        self._is_reading = False
        self._end.close()

    def abort(self) -> None:
        self.close()

    def _received(self, data: bytes) -> None:
        self._unread.append(data)
        self._deliver()

    def _deliver(self) -> None:
        if self._protocol is None:
            return
        while self._unread and self._is_reading and not self._is_closing:
            data = self._unread.popleft()
            buffer = memoryview(self._protocol.get_buffer(-1))
            size = min(len(buffer), len(data))
            assert size > 0, "asked to receive into an empty buffer"
            buffer[:size] = data[:size]
            if size < len(data):
                self._unread.appendleft(data[size:])
            del buffer
            self._protocol.buffer_updated(size)

    def _lost(self) -> None:
        self._is_closing = True
        protocol, self._protocol = self._protocol, None
        if protocol is not None:
            protocol.connection_lost(None)
