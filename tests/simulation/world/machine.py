"""The machine that the broker runs on: it boots, is killed, loses its power, and boots again over what is left.

The broker is the real one, from its connections to its files. Each run is a process of its own.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.listeners.listeners import Listener
from barnabas.broker.metadata.log.metadata_log import CatalogueError
from barnabas.broker.network.bound_sockets import BoundAddress
from barnabas.broker.runtime.clock import SystemClock
from barnabas.broker.server.broker import Broker
from barnabas.broker.server.data_directories import open_directory
from barnabas.broker.server.environment import Environment
from barnabas.broker.server.restored_clock import in_its_time
from barnabas.protocol.security.listener_protocols import PLAINTEXT
from barnabas.storage.errors import StorageError
from tests.simulation.world.disk import Disk
from tests.simulation.world.network import Network, SimulatedSocket
from tests.simulation.world.process import Process
from tests.simulation.world.world import BEGINNING_MS, World

if TYPE_CHECKING:
    from tests.support.files.memory_files import Survival

PORT = 9092
REGISTRY_PORT = 8081
_DESCRIPTORS_MAX = 1000


@dataclass(frozen=True, slots=True)
class MachineSettings:
    """`broker`: Kafka's settings. The others are what its machine is like."""

    broker: dict[str, str] = field(default_factory=dict)
    survival: Survival = "everything"
    """What a death leaves of unsynced data: "everything" is a kill, the others are power cuts."""
    torn: bool = False
    nodes: int = 1
    """How many nodes its broker is."""
    slow_jobs: float = 0.0
    late_jobs: float = 0.0
    """How probable each is for a job of a thread: that it begins late, and that it is over long before it says so."""
    hasty_slices: float = 0.0
    """How probable it is that work in slices finds its turn over when it looks."""
    haste_s: float = 1.0
    """How long it has worked then, and so rests."""
    protocol: str = PLAINTEXT
    """Of its listener, which is named after it."""
    tick_s: float = 0.0
    """What each look at its stopwatch takes."""


class Machine:
    """`is_up`: whether a broker runs that lets clients in."""

    def __init__(
        self, world: World, network: Network, settings: MachineSettings, *, has_registry: bool = False
    ) -> None:
        """has_registry: whether its broker has a schema registry."""
        self.world = world
        self._has_registry = has_registry
        self.disk = Disk(world.seed, self.wall_ms)
        if settings.survival != "everything":
            self.disk.drop_failed_syncs()
        self.deaths = self.boots = 0
        self.boots_us: list[int] = []
        self.clock_offset_ms = 0
        self.is_quick = False
        """Whether nothing slows the threads of its processes any more."""
        self.process: Process | None = None
        self.broker: Broker | None = None
        self.is_up = False
        self._network = network
        self._settings = settings
        self._random = world.dice("ids")
        self._stopwatch = Stopwatch(world.dice("slices"), settings)

    def wall_ms(self) -> int:
        """What the machine's wall clock says."""
        return BEGINNING_MS + self.world.now_ms() + self.clock_offset_ms

    def be_quick(self) -> None:
        """Let the threads of its processes do what they are given, and say so, in time from now on."""
        self.is_quick = True
        if self.process is not None:
            self.process.be_quick()

    def boot(self) -> None:
        """A new run begins; it is up some time later."""
        assert self.process is None
        self.boots += 1
        self.boots_us.append(self.world.now_us)
        self.process = process = Process(self.world, f"broker {self.boots}", **self._slowness())
        process.when_dead.append(self._died)
        self.disk.when_cut = process.note_power_cut
        process.run(self._start_or_exit(process))

    def _slowness(self) -> dict[str, float]:
        if self.is_quick:
            return {}
        return {"slow_jobs": self._settings.slow_jobs, "late_jobs": self._settings.late_jobs}

    @property
    def is_offline(self) -> bool:
        """Whether a sync has failed: the broker uses its data directory no more until it is started again."""
        return self.broker is not None and self.is_up and self.broker.unready_reason() is not None

    async def _start_or_exit(self, process: Process) -> None:
        """A disk that fails ends a start, with a sentence for whoever looks; what was written stays written."""
        try:
            await self._start(process)
        except (StorageError, CatalogueError):
            self._has_exited = True
            process.loop.call_soon(process.note_power_cut)

    async def _start(self, process: Process) -> None:
        protocol = self._settings.protocol
        settings = BrokerConfig(
            {"log.dirs": "/data", "listeners": f"{protocol}://127.0.0.1:{PORT}", **self._settings.broker}
        )
        environment = Environment(
            clock=self._clock(process),
            machine_clock=self._clock(process),
            stopwatch=self._stopwatch.read,
            files=self.disk,
            network=self._network.of(process),
            random=self._random.randbytes,
        )
        directory = open_directory(settings, self.disk, self._random.randbytes, _DESCRIPTORS_MAX)
        first, *others = [_bound(protocol, PORT + number) for number in range(self._settings.nodes)]
        self.broker = Broker(
            settings,
            directory,
            in_its_time(environment, directory.root),
            asyncio.get_running_loop(),
            [first],
            others=[[each] for each in others],
        )
        await self.broker.start()
        if self._has_registry:
            socket: Any = SimulatedSocket("127.0.0.1", REGISTRY_PORT)
            await self.broker.open_registry([socket], secured=False)
        self.is_up = True

    def _clock(self, process: Process) -> SystemClock:
        return SystemClock(process.loop, monotonic=process.loop.time, wall_ms=self.wall_ms)

    def kill(self) -> None:
        """It dies at once."""
        if self.process is not None:
            self.process.kill()

    def die_at_change(self, changes: int) -> None:
        """It dies before the n-th change of the disk from now on."""
        self.disk.cut_power_at(self.disk.changes_made + changes)

    def stop(self) -> None:
        """A clean stop begins; the process ends with it."""
        assert self.process is not None
        self.process.run(self._stop(self.process))

    async def _stop(self, process: Process) -> None:
        assert self.broker is not None
        self.is_up = False
        try:
            await self.broker.stop()
            self._was_stopped = True
        except StorageError:  # it stops all the same, and leaves no marker
            self._has_exited = True
        self.disk.cut_power_at(None)
        process.loop.call_soon(process.note_power_cut)

    _was_stopped = _has_exited = False

    def _died(self) -> None:
        self.process, self.broker, self.is_up = None, None, False
        if self._was_stopped:
            self._was_stopped = False
            return
        self.deaths += 1
        survival: Survival = "everything" if self._has_exited else self._settings.survival
        self._has_exited = False
        self.disk.crash(survival, torn=self._settings.torn)


def _bound(protocol: str, port: int) -> BoundAddress:
    address = Listener(protocol, "127.0.0.1", port, protocol)
    sockets = [SimulatedSocket("127.0.0.1", port)]
    return BoundAddress(address, address, sockets)  # type: ignore[arg-type]  # because the network is simulated


class Stopwatch:
    """Of it work in slices sees that its turn is over, at any look, by chance; so slices end anywhere."""

    def __init__(self, dice: random.Random, settings: MachineSettings) -> None:
        self._dice, self._settings = dice, settings
        self._s = 0.0

    def read(self) -> float:
        settings = self._settings
        self._s += settings.tick_s
        if settings.hasty_slices and self._dice.random() < settings.hasty_slices:
            self._s += settings.haste_s
        return self._s
