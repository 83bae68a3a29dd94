"""Who takes part: each client in a process of its own, made from the plan."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tests.simulation.clients.producer import Producer
from tests.simulation.clients.reader import Reader
from tests.simulation.clients.wire import Wire
from tests.simulation.history import History, OffsetRead, Poll, TopicPartition
from tests.simulation.swarm import Plan
from tests.simulation.workload import INPUT, idempotent, reading, transactional
from tests.simulation.world.machine import PORT, Machine
from tests.simulation.world.network import Network
from tests.simulation.world.process import Process
from tests.simulation.world.world import World

OUTPUT = "output"


class Cast:
    """The clients of one run."""

    def __init__(self, world: World, network: Network, machine: Machine, history: History, plan: Plan) -> None:
        self._world, self._network, self._machine = world, network, machine
        self._history, self._plan = history, plan
        self._partitions: list[TopicPartition] = [(OUTPUT, number) for number in range(plan.partitions)]

    def start(self, is_over: Callable[[], bool]) -> list[asyncio.Task[Any]]:
        """Let all of them begin; they finish what they are at, each, when it is over."""
        return [*self._transactional(is_over), *self._idempotent(is_over), *self._readers(is_over)]

    def _transactional(self, is_over: Callable[[], bool]) -> list[asyncio.Task[Any]]:
        plan = self._plan
        names = [(f"t{number}", f"tx{number}") for number in range(plan.transactional)]
        names += [(f"z{number}", f"tx{number}") for number in range(plan.zombies)]
        found = []
        for name, transactional_id in names:
            process = Process(self._world, name)
            producer = self._producer(process, transactional_id)
            group, dice = group_of(transactional_id), self._world.dice(name)
            found.append(process.run(transactional(producer, plan, self._partitions, group, dice, is_over)))
        return found

    def _idempotent(self, is_over: Callable[[], bool]) -> list[asyncio.Task[Any]]:
        found = []
        for number in range(self._plan.idempotent):
            process = Process(self._world, f"i{number}")
            dice = self._world.dice(process.name)
            found.append(process.run(idempotent(self._producer(process, None), self._partitions, dice, is_over)))
        return found

    def _readers(self, is_over: Callable[[], bool]) -> list[asyncio.Task[Any]]:
        found = []
        for number in range(self._plan.readers):
            process = Process(self._world, f"r{number}")
            reader = self._reader(process, is_committed=number % 2 == 0)
            found.append(process.run(reading(reader, self._world.dice(process.name), is_over)))
        return found

    def create_topics(self) -> asyncio.Task[None]:
        """Before the others begin."""
        process = Process(self._world, "admin")
        return process.run(self._create_topics(process))

    async def _create_topics(self, process: Process) -> None:
        topics = [
            CreatableTopic(name=name, num_partitions=count, replication_factor=1, assignments=[], configs=[])
            for name, count in ((OUTPUT, self._plan.partitions), (INPUT[0], 1))
        ]
        answer = await self._wire(process).ask(CreateTopicsRequest(topics=topics, timeout_ms=10_000), 7)
        assert {topic.error_code for topic in answer.topics} == {ErrorCode.NONE}, answer

    def read_all(self) -> asyncio.Task[None]:
        """What readers of both kinds see when all is over, and the groups' offsets; into the history."""
        process = Process(self._world, "final")
        return process.run(self._read_all(process))

    async def _read_all(self, process: Process) -> None:
        polls: list[Poll] = []
        offsets: list[OffsetRead] = []
        for is_committed in (True, False):
            reader = self._reader(process, is_committed=is_committed)
            polls += await reader.read_to_end()
        for number in range(self._plan.transactional):
            offsets.append(await reader.read_offset(group_of(f"tx{number}"), INPUT))
        self._history.final, self._history.final_offsets = polls, offsets

    def _wire(self, process: Process) -> Wire:
        return Wire(self._network, process, PORT, client_id=process.name)

    def _producer(self, process: Process, transactional_id: str | None) -> Producer:
        return Producer(
            self._world,
            self._wire(process),
            self._history,
            process.name,
            transactional_id=transactional_id,
            protocol=self._plan.protocol,
            timeout_ms=self._plan.timeout_ms,
            in_flight=self._plan.in_flight,
            dice=self._world.dice(f"backoff of {process.name}"),
        )

    def _reader(self, process: Process, *, is_committed: bool) -> Reader:
        shared = self._world, self._machine, self._wire(process), self._history
        return Reader(*shared, process.name, self._partitions, is_committed=is_committed)


def group_of(transactional_id: str) -> str:
    """The group whose offsets the producers with this id commit."""
    return f"group-{transactional_id}"
