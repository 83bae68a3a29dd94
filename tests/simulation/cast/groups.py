"""Who takes part in groups: one group that commits by itself, one that consumes, processes and produces, and who feeds
them.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from tests.simulation.cast.clients import Clients
from tests.simulation.clients.members.classic import ClassicMember
from tests.simulation.clients.members.consumer import ConsumerMember
from tests.simulation.clients.members.member import Member
from tests.simulation.clients.members.streams import StreamsMember
from tests.simulation.history.history import History, TopicPartition
from tests.simulation.plans.plan import Plan
from tests.simulation.plans.queue import STREAMS
from tests.simulation.workload.groups import membering, processing
from tests.simulation.workload.transactions import idempotent
from tests.simulation.world.process import Process
from tests.simulation.world.world import World

WORK, DONE = "work", "done"
PLAIN, LOOP = "plain", "loop"


class GroupCast:
    """The members of the two groups; nobody if the plan has none."""

    def __init__(self, world: World, clients: Clients, history: History, plan: Plan) -> None:
        self._world, self._clients, self._history, self._plan = world, clients, history, plan
        self.is_there = plan.members + plan.processors > 0
        self.inputs: list[TopicPartition] = [(WORK, number) for number in range(plan.inputs)] if self.is_there else []
        self.outputs: list[TopicPartition] = [(DONE, 0)] if self.is_there else []
        history.inputs = len(self.inputs)
        history.standbys = plan.queue.standbys if plan.group_protocol == STREAMS else 0

    def start(self, is_calm: Callable[[], bool], is_over: Callable[[], bool]) -> Iterator[asyncio.Task[Any]]:
        if not self.is_there:
            return
        yield self._feeder(is_calm)
        for number in range(self._plan.members):
            process = Process(self._world, f"m{number}")
            member, dice = self._member(process, PLAIN, number), self._world.dice(process.name)
            yield process.run(membering(member, self._history, dice, is_calm, is_over))
        for number in range(self._plan.processors):
            process = Process(self._world, f"p{number}")
            member, dice = self._member(process, LOOP, number), self._world.dice(process.name)
            producer = self._clients.producer(process, f"loop{number}")
            program = processing(member, producer, self.outputs, self._history, dice, is_calm, is_over)
            yield process.run(program)

    def _feeder(self, is_over: Callable[[], bool]) -> asyncio.Task[Any]:
        process = Process(self._world, "w")
        producer, dice = self._clients.producer(process, None), self._world.dice(process.name)
        return process.run(idempotent(producer, self.inputs, dice, is_over, most=2, pauses_s=(0.05, 0.3, 1.0)))

    def _member(self, process: Process, group: str, number: int) -> Member:
        kinds: dict[str, type[Member]]
        kinds = {"classic": ClassicMember, "consumer": ConsumerMember, STREAMS: StreamsMember}
        kind = kinds.get(self._plan.group_protocol)
        if kind is None:
            kind = (ClassicMember, ConsumerMember)[number % 2]
        return kind(
            self._world,
            self._clients.wire(process),
            self._clients.reader(process, [], is_committed=True),
            self._history,
            process.name,
            group,
            WORK,
            self._plan.inputs,
            f"{group}-{number}" if self._plan.static_members else None,
            self._world.dice(f"member {process.name}"),
            commits=group == PLAIN,
        )

    async def read_offsets(self, process: Process) -> None:
        """Where the groups are at the end; into the history."""
        reader = self._clients.reader(process, [], is_committed=True)
        for at in self.inputs:
            if self._plan.members:
                self._history.group_reads.append(await reader.read_offset(PLAIN, at))
            if self._plan.processors:
                read = await reader.read_offset(LOOP, at)
                self._history.final_offsets.append(read)
                self._history.loop_offsets[at] = max(0, read.offset)
