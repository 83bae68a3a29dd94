"""Who takes part: each client in a process of its own, made from the plan."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tests.simulation.cast.clients import Clients
from tests.simulation.cast.groups import GroupCast
from tests.simulation.cast.logs import LogCast
from tests.simulation.cast.schemas import SchemaCast
from tests.simulation.cast.shares import ShareCast
from tests.simulation.cast.sink import SinkCast
from tests.simulation.cast.topics import TopicCast
from tests.simulation.clients.reader import Reader
from tests.simulation.clients.stock.skipping import SkippingProducer
from tests.simulation.clients.wire import Wire
from tests.simulation.history.history import History, OffsetRead, Poll, TopicPartition
from tests.simulation.plans.plan import Plan
from tests.simulation.secured.cast import SecuredCast
from tests.simulation.workload.habits import Habits
from tests.simulation.workload.read_writers import read_writing
from tests.simulation.workload.script import scripted
from tests.simulation.workload.transactions import INPUT, idempotent, reading, transactional
from tests.simulation.workload.visitors import sending_half, waiting_for_more
from tests.simulation.world.machine import PORT, Machine
from tests.simulation.world.network import Network
from tests.simulation.world.process import Process
from tests.simulation.world.world import World

OUTPUT = "output"


class Cast:
    """The clients of one run."""

    def __init__(self, world: World, network: Network, machine: Machine, history: History, plan: Plan) -> None:
        self._world, self._history, self._plan = world, history, plan
        self._clients = Clients(world, network, machine, history, plan)
        self._partitions: list[TopicPartition] = [(OUTPUT, number) for number in range(plan.partitions)]
        self._topics = TopicCast(world, self._clients, history, plan)
        self._logs = LogCast(world, self._clients, history, plan)
        self.groups = GroupCast(world, self._clients, history, plan)
        self._shares = ShareCast(world, self._clients, history, plan, OUTPUT)
        self._followers: list[tuple[Process, Reader]] = []
        self._secured = SecuredCast(world, self._clients, history, plan)
        self._schemas = SchemaCast(world, self._clients, history, plan)
        self._sink = SinkCast(world, network, self._clients, history, plan, self._partitions)

    @property
    def wires(self) -> list[Wire]:
        """What the clients speak through."""
        return self._clients.wires

    def start(self, is_over: Callable[[], bool], is_settled: Callable[[], bool]) -> list[asyncio.Task[Any]]:
        """Let all of them begin; they finish what they are at, each, when it is over, and groups when they settled."""
        return [
            *self._transactional(is_over),
            *self._idempotent(is_over),
            *self._readers(is_over),
            *self._read_writers(is_over),
            *self._topics.start(is_over),
            *self._operator(is_over),
            *self._logs.start(is_over),
            *self.groups.start(is_over, is_settled),
            *self._shares.start(is_over),
            *self._sink.start(is_over),
            *self._secured.start(is_over),
            *self._schemas.start(is_over),
        ]

    def _transactional(self, is_over: Callable[[], bool]) -> Iterator[asyncio.Task[Any]]:
        plan = self._plan
        names = [(f"t{number}", f"tx{number}") for number in range(plan.transactional)]
        names += [(f"z{number}", f"tx{number}") for number in range(plan.zombies)]
        for name, transactional_id in names:
            process = Process(self._world, name)
            producer = self._clients.producer(process, transactional_id)
            group, dice = group_of(transactional_id), self._world.dice(name)
            if plan.is_scripted:
                yield process.run(scripted(producer, self._partitions, group, plan.timeout_ms))
                continue
            habits = Habits(plan, self._partitions, self._world.dice(f"habits of {name}"))
            program = transactional(producer, plan, self._partitions, group, dice, habits, is_over)
            yield process.run(program)

    def _idempotent(self, is_over: Callable[[], bool]) -> Iterator[asyncio.Task[Any]]:
        for number in range(self._plan.idempotent):
            process = Process(self._world, f"i{number}")
            producer, dice = self._clients.producer(process, None), self._world.dice(process.name)
            yield process.run(idempotent(producer, self._partitions, dice, is_over))
        for number in range(self._plan.producing.skippers):
            process = Process(self._world, f"s{number}")
            skipper = self._clients.producer(process, None, kind=SkippingProducer)
            dice = self._world.dice(process.name)
            yield process.run(idempotent(skipper, self._partitions, dice, is_over))

    def _readers(self, is_over: Callable[[], bool]) -> Iterator[asyncio.Task[Any]]:
        for number in range(self._plan.readers):
            process = Process(self._world, f"r{number}")
            reader = self._clients.reader(process, self._partitions, is_committed=number % 2 == 0)
            yield process.run(reading(reader, self._world.dice(process.name), is_over))
            self._followers.append((process, reader))

    def _read_writers(self, is_over: Callable[[], bool]) -> Iterator[asyncio.Task[Any]]:
        for number in range(self._plan.read_writers):
            process = Process(self._world, f"b{number}")
            producer = self._clients.producer(process, f"both{number}")
            reader = self._clients.reader(process, self._partitions, is_committed=True)
            dice = self._world.dice(process.name)
            yield process.run(read_writing(producer, reader, self._partitions, dice, is_over))

    def _operator(self, is_over: Callable[[], bool]) -> Iterator[asyncio.Task[Any]]:
        if self._plan.machine.nodes == 1:
            return
        process = Process(self._world, "operator")
        yield process.run(self._clients.operator(process, self._shares.moved).run(is_over))

    def catch_up(self) -> list[asyncio.Task[None]]:
        """The readers that followed all the time, and a share group, read on to the end, from where they are."""
        return [*(process.run(reader.catch_up()) for process, reader in self._followers), *self._shares.drain()]

    def read_letters(self) -> asyncio.Task[None]:
        """What a share group could not use, when all is read; into the history."""
        process = Process(self._world, "letters")
        return process.run(self._shares.read_letters(process))

    def visit(self) -> None:
        """Some come who will die in the middle of what they ask for."""
        ends = {poll.at: poll.high_watermark for poll in self._history.final}
        for at in self._partitions:
            process = Process(self._world, f"visitor {at[1]}")
            reader = self._clients.reader(process, [], is_committed=False)
            reader.go_to(at, ends[at])
            process.run(waiting_for_more(reader))
        self._secured.visit()
        process = Process(self._world, "visitor")
        process.run(sending_half(self._clients.network, process, PORT))

    def create_topics(self) -> asyncio.Task[None]:
        """Before the others begin."""
        process = Process(self._world, "admin")
        return process.run(self._create_topics(process))

    async def _create_topics(self, process: Process) -> None:
        counts: dict[str, int] = {}
        for name, _ in [*self._partitions, INPUT, *self.groups.inputs, *self.groups.outputs, *self._secured.partitions]:
            counts[name] = counts.get(name, 0) + 1
        topics = [
            CreatableTopic(
                name=name, num_partitions=count, replication_factor=self._plan.machine.nodes, assignments=[], configs=[]
            )
            for name, count in counts.items()
        ]
        topics += [*self._logs.topics(), *self._shares.topics()]
        answer = await self._clients.wire(process).ask(CreateTopicsRequest(topics=topics, timeout_ms=10_000), 7)
        assert {topic.error_code for topic in answer.topics} == {ErrorCode.NONE}, answer
        await self._shares.configure(process)

    def read_all(self) -> asyncio.Task[None]:
        """What readers of both kinds see when all is over, and the groups' offsets; into the history."""
        process = Process(self._world, "final")
        return process.run(self._read_all(process))

    async def _read_all(self, process: Process) -> None:
        polls: list[Poll] = []
        offsets: list[OffsetRead] = []
        partitions = [*self._partitions, *self._logs.partitions, *self.groups.inputs, *self.groups.outputs]
        for is_committed in (True, False):
            reader = self._clients.reader(process, partitions, is_committed=is_committed)
            polls += await reader.read_to_end()
        polls += await self._topics.read_all(process)
        await self._topics.read_configs(process)
        for number in range(self._plan.transactional):
            offsets.append(await reader.read_offset(group_of(f"tx{number}"), INPUT))
        self._history.final, self._history.final_offsets = polls, offsets
        await self.groups.read_offsets(process)
        await self._sink.read_all(process)
        await self._secured.look(process)
        await self._schemas.read_all(process)

    def end(self) -> None:
        """Nobody has a thread any more, whatever became of the run."""
        self._sink.end()


def group_of(transactional_id: str) -> str:
    """The group whose offsets the producers with this id commit."""
    return f"group-{transactional_id}"
