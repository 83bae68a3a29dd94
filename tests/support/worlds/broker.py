"""A whole broker without sockets, disk or time: real parts, on files in memory and a clock that stands still.

Needs a running event loop, since futures do; use it in async tests. `await settle()` lets everything happen that is
due now.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any, ClassVar

from barnabas.broker.api.dispatch import Dispatcher
from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.listeners.listeners import Listener
from barnabas.broker.control.time_control.movable_clock import MovableClock
from barnabas.broker.coordinator.group.decisions.classic.model import CommitRequest, OffsetToCommit
from barnabas.broker.coordinator.runtime.outcome import TransactionProducer
from barnabas.broker.metadata.catalogue import Catalogue
from barnabas.broker.metadata.cluster.node_view import NodeView
from barnabas.broker.network.bound_sockets import BoundAddress
from barnabas.broker.network.connection import Connection
from barnabas.broker.network.network import Network
from barnabas.broker.runtime.clock import Stopwatch
from barnabas.broker.server.broker import Broker
from barnabas.broker.server.data_directories import open_directory
from barnabas.broker.server.environment import Environment
from barnabas.broker.server.restored_clock import in_its_time
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.headers import encode_request_header, parse_response_header
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.registry import ApiKey, request_codec, response_codec
from barnabas.protocol.security.listener_protocols import PLAINTEXT
from tests.support.files.memory_files import MemoryFiles
from tests.support.virtual_clock import VirtualClock
from tests.support.worlds.memory_network import MemoryNetwork
from tests.support.worlds.memory_transport import MemoryTransport

_SIZE = Struct(">i")
_TURNS = 20
_PATIENCE = 100
ANSWER_TIMEOUT_S = 30


async def settle() -> None:
    """Let the loop run until everything that was scheduled, and what that scheduled, is done."""
    for _ in range(_TURNS):
        await turn()


async def turn() -> None:
    """Let the loop turn once."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    loop.call_soon(over.set_result, None)
    await over


async def until(is_so: Callable[[], object]) -> None:
    """Let the loop turn until something is so. TimeoutError if it does not come to that."""
    async with asyncio.timeout(ANSWER_TIMEOUT_S):
        while not is_so():
            await turn()


class BrokerWorld:
    """The broker, and what surrounds it. One that a test leaves open is closed for it (tests/broker/conftest.py)."""

    opened: ClassVar[list[BrokerWorld] | None] = None  # by the test, where its caller closes them

    def __init__(
        self,
        settings: dict[str, str] | None = None,
        files: MemoryFiles | None = None,
        stopwatch: Stopwatch = lambda: 0.0,
        network: Network | None = None,
        cluster: Callable[[int, Catalogue], NodeView] = NodeView,
        nodes: int = 1,
        helper_processes_max: int = 0,
        machine_clock: VirtualClock | None = None,
        movable: bool = False,
        topics: Mapping[str, int] | None = None,
    ) -> None:
        """`stopwatch`: by the default one no turn ever takes long.

        `network`: if it is not to be `self.network`, which is in memory. `cluster`: as Broker's. `nodes`: how many are
        in this process, on ports from 9092 on. `machine_clock`: unless it is the same as `self.clock`. `movable`:
        whether the clock that clients see is one over `self.clock` which `broker.time_control` moves. `topics`:
        to be created, and how many partitions each has.
        """
        self.is_closed = False
        self.clock = VirtualClock()
        self.machine_clock = machine_clock or self.clock
        self.files = files or MemoryFiles(0)
        self.config = BrokerConfig({"log.dirs": "/data", **(settings or {})})
        self.dice = random.Random(0)
        self.network = MemoryNetwork()
        self.environment = Environment(
            clock=MovableClock(self.clock) if movable else self.clock,
            machine_clock=self.machine_clock,
            stopwatch=stopwatch,
            files=self.files,
            network=network or self.network,
            random=self.dice.randbytes,
            helper_processes_max=helper_processes_max,
        )
        directory = open_directory(self.config, self.files, self.dice.randbytes, 1000)
        addresses = [Listener(PLAINTEXT, "127.0.0.1", 9092 + number, PLAINTEXT) for number in range(nodes)]
        bound = [[BoundAddress(address, address, [])] for address in addresses]
        self.broker = Broker(
            self.config,
            directory,
            in_its_time(self.environment, directory.root),
            asyncio.get_running_loop(),
            bound[0],
            cluster=cluster,
            others=bound[1:],
        )
        self.services = self.broker.services
        self.dispatcher = Dispatcher(self.services)
        for name, partitions in (topics or {}).items():
            self.services.catalogue.create_topic(name, partitions)
        self._boot = self._boots_of_files()
        if BrokerWorld.opened is not None:
            BrokerWorld.opened.append(self)

    @property
    def listener(self) -> Any:
        return self.broker.listener

    def connect_to(self, node_id: int) -> Peer:
        """A new connection to one of several nodes."""
        (member,) = (member for member in self.broker.members if member.node_id == node_id)
        return Peer(MemoryTransport(Connection(member.listener, Dispatcher(member.services)), 1 << 30))

    def connect(self, kernel_bytes: int = 1 << 30) -> Peer:
        """A new connection."""
        return Peer(MemoryTransport(Connection(self.broker.listener, self.dispatcher), kernel_bytes))

    def asking(self, request: Request, version: int | None = None) -> Peer:
        """A new connection with a request."""
        peer = self.connect()
        peer.ask(request, version)
        return peer

    async def ask(self, request: Request, version: int | None = None) -> Any:
        """The answer to this request on a new connection."""
        return await self.connect().answer_to(request, version)

    async def advance(self, delay_ms: float) -> None:
        """Move the clock ahead, and run what is due."""
        self.clock.advance(delay_ms)
        await self.settle()

    async def settle(self) -> None:
        """Let what was begun come to its end, removals in a thread, too, unless a test holds the thread."""
        for _ in range(_PATIENCE):
            await settle()
            housekeeping = self.broker._housekeeping
            if not (housekeeping.removals.is_in_thread or housekeeping.is_in_thread):
                return

    def append(self, topic: str, *values: bytes, partition: int = 0, **producer: Any) -> int:
        """A batch, as a producer would have it; its base offset."""
        batch = bytearray(self.batch(*values, **producer))
        return self.services.partitions.append(topic, partition, batch).base_offset

    def batch(self, *values: bytes, producer: tuple[int, int, int] | None = None, transactional: bool = False) -> bytes:
        """A batch as a producer sends it; `producer` is (id, epoch, base sequence)."""
        producer_id, producer_epoch, base_sequence = producer or (-1, -1, -1)
        return bytes(
            build_batch(
                [NewRecord(None, value, (), self.services.clock.now_ms()) for value in values],
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                base_sequence=base_sequence,
                transactional=transactional,
            )
        )

    def commit_offset(
        self,
        offset: int,
        group: str = "g",
        topic: str = "t",
        partition: int = 0,
        producer: TransactionProducer | None = None,
    ) -> Any:
        """Commit the offset of a group without members, in the transaction of `producer` if one is given."""
        topic_id = self.services.catalogue.topics[topic].topic_id
        request = CommitRequest(group, -1, "", None, (OffsetToCommit(topic, topic_id, partition, offset, -1, ""),))
        missing, groups = ErrorCode.GROUP_ID_NOT_FOUND, self.services.groups
        if producer is None:
            return groups.commit_offsets(request, missing_group=missing)
        return groups.commit_offsets_in_transaction(request, producer, missing_group=missing)

    def committed(self, group: str = "g", topic: str = "t") -> dict[int, int]:
        """The group's offsets, by partition."""
        found = self.services.groups.fetch_offsets(group).offsets.get(topic, {})
        return {partition: each.offset for partition, each in found.items()}

    async def close(self) -> None:
        """A clean stop; nothing if there was one."""
        if not self.is_closed:
            self.is_closed = True
            await self.broker.stop()

    def abandon(self) -> None:
        """Be killed."""
        self.is_closed = True
        self.broker.abandon()

    @classmethod
    async def close_all(cls) -> None:
        """Close those of `opened` that were neither closed nor killed, the last one first."""
        worlds, cls.opened = cls.opened or [], None
        for world in reversed(worlds):
            if world._boots_of_files() == world._boot:
                await world.close()

    def _boots_of_files(self) -> int:
        """How often the disk in memory crashed; a real one, which few tests give, does not."""
        return getattr(self.files, "boots", 0)


def code_of(call: Callable[[], object]) -> ErrorCode:
    """The code of the KafkaError that the call raises."""
    try:
        call()
    except KafkaError as error:
        return error.code
    raise AssertionError("the call was not refused")


def request_frame(request: Request, version: int, correlation_id: int = 1, client_id: str | None = "test") -> bytes:
    """A whole request frame, its size included."""
    key = request.__schema__.key
    assert key is not None
    payload = encode_request_header(key, version, correlation_id, client_id)
    payload += request_codec(key, version).encode(request)
    return _SIZE.pack(len(payload)) + payload


class Peer:
    """The other end of a connection."""

    def __init__(self, transport: MemoryTransport) -> None:
        self.transport = transport
        self._received = bytearray()
        self._asked: list[tuple[int, int]] = []

    @property
    def connection(self) -> Connection:
        assert isinstance(self.transport.protocol, Connection)
        return self.transport.protocol

    @property
    def is_closed(self) -> bool:
        return self.transport.is_lost

    def ask(self, request: Request, version: int | None = None, correlation_id: int = 1) -> None:
        """Send a request, by default in its newest version."""
        key = request.__schema__.key
        assert key is not None
        version = ApiKey(key).max_version if version is None else version
        self._asked.append((key, version))
        self.transport.send(request_frame(request, version, correlation_id))

    async def put(self, request: Request, version: int | None = None, correlation_id: int = 1) -> None:
        """Send a request, and let the broker do what it does now."""
        self.ask(request, version, correlation_id)
        await settle()

    async def answer_to(self, request: Request, version: int | None = None) -> Any:
        """The answer to a request, in however many turns and threads it is made."""
        await self.put(request, version)
        if not self.transport.written.is_set():
            await self.until_answered()
        return self.answer()

    async def until_answered(self) -> None:
        """Wait for the next response that is not here yet: work in a thread takes its time."""
        await asyncio.wait_for(self.transport.written.wait(), ANSWER_TIMEOUT_S)
        await settle()

    def frames(self) -> list[bytes]:
        """Every response frame that has come, without its size."""
        self._received += self.transport.read()
        self.transport.written.clear()
        frames = []
        while len(self._received) >= 4:
            (size,) = _SIZE.unpack_from(self._received)
            if len(self._received) < 4 + size:
                break
            frames.append(bytes(self._received[4 : 4 + size]))
            del self._received[: 4 + size]
        return frames

    def numbers(self) -> list[int]:
        """The correlation ids of the responses that have come."""
        return [int.from_bytes(frame[:4], "big") for frame in self.frames()]

    def answers(self) -> list[Any]:
        """The decoded responses that have come, in order."""
        found = []
        for frame in self.frames():
            key, version = self._asked.pop(0)
            _, position = parse_response_header(key, version, frame)
            message, end = response_codec(key, version).decode(frame, position)
            assert end == len(frame), "bytes behind the response"
            found.append(message)
        return found

    def answer(self) -> Any:
        """The one response that has come."""
        (message,) = self.answers()
        return message

    async def frames_to_come(self, count: int) -> list[bytes]:
        """So many response frames, each read as far as it has come, so that there is room for more."""
        frames: list[bytes] = []
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            while len(frames) < count:
                frames += self.frames()
                await settle()
        return frames

    async def answer_to_come(self) -> Any:
        """The one response, read as far as it has come, so that there is room for more."""
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            while not (answers := self.answers()):
                await settle()
        (message,) = answers
        return message
