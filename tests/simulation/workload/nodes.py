"""The program of who looks after several nodes: it stops and starts them, and moves what they lead."""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages import alter_partition_reassignments, elect_leaders
from tests.simulation.clients.wire import Disconnected, Wire
from tests.simulation.history.history import History
from tests.simulation.history.nodes import LeaderView
from tests.simulation.history.topics import Change
from tests.simulation.world.world import World
from tests.support.requests import alter_config, metadata

STOPPED = "barnabas.nodes.stopped"
_BROKER = 4  # the kind of resource that configs are of
_SET, _APPEND, _SUBTRACT = 0, 2, 3
_TIMEOUT_MS = 1_000
_AGAIN_S = 0.1


class Operator:
    """Of nodes 1 to `nodes`. What it did and what leaders it saw goes into the history."""

    def __init__(
        self,
        world: World,
        wire: Wire,
        history: History,
        nodes: int,
        dice: random.Random,
        favourites: frozenset[str] = frozenset(),
    ) -> None:
        """favourites: topics whose partitions move in every second case."""
        self._world, self._wire, self._history, self._dice = world, wire, history, dice
        self._nodes = list(range(1, nodes + 1))
        self._favourites = favourites
        self._partitions: list[tuple[str, int]] = []

    async def run(self, is_over: Callable[[], bool]) -> None:
        """Until it is over; then all nodes run."""
        while not is_over():
            with suppress(Disconnected):  # the broker was killed: the next turn asks again
                await self._look()
                await self._act()
                await self._look()
            await asyncio.sleep(self._dice.choice([0.05, 0.3, 1.5]))
        while True:
            with suppress(Disconnected):  # as above
                if await self._switch(_SET, ""):
                    return
            await asyncio.sleep(_AGAIN_S)

    async def _act(self) -> None:
        kind = self._dice.choice(["stop", "start", "start", "move", "move", "move", "elect"])
        node = self._dice.choice(self._nodes)
        if kind == "stop":
            await self._switch(_APPEND, str(node))
        elif kind == "start":
            await self._switch(_SUBTRACT, str(node))
        elif kind == "move":
            await self._move()
        else:
            request = elect_leaders.ElectLeadersRequest(election_type=0, topic_partitions=None, timeout_ms=_TIMEOUT_MS)
            await self._do("preferred leaders are elected", request, 2, lambda answer: answer.error_code)

    async def _switch(self, operation: int, value: str) -> bool:
        """Whether it was done."""
        request = alter_config(_BROKER, "", STOPPED, value, operation)
        word = {_SET: "are set to", _APPEND: "have one more:", _SUBTRACT: "have one less:"}[operation]
        text = f"stopped nodes {word} {value}"
        is_done = await self._do(text, request, 1, lambda answer: answer.responses[0].error_code)
        if is_done and operation != _APPEND and self._history.terms is not None:
            self._history.terms.boots_us.append(self._world.now_us)
        return is_done

    async def _move(self) -> None:
        favourites = [at for at in self._partitions if at[0] in self._favourites]
        are_favoured = bool(favourites) and self._dice.random() < 0.5
        topic, number = self._dice.choice(favourites if are_favoured else self._partitions)
        replicas = self._dice.sample(self._nodes, self._dice.randint(1, len(self._nodes)))
        partition = alter_partition_reassignments.ReassignablePartition(partition_index=number, replicas=replicas)
        wanted = alter_partition_reassignments.ReassignableTopic(name=topic, partitions=[partition])
        request = alter_partition_reassignments.AlterPartitionReassignmentsRequest(
            timeout_ms=_TIMEOUT_MS, topics=[wanted]
        )
        text = f"{topic}-{number} is put on {replicas}"
        await self._do(text, request, 0, lambda told: told.error_code or told.responses[0].partitions[0].error_code)

    async def _do(self, text: str, request: Request, version: int, code_of: Callable[[Any], int]) -> bool:
        change = Change("operator", text, self._world.now_us)
        self._history.changes.append(change)
        code = ErrorCode(code_of(await self._wire.ask(request, version)))
        change.result = code.name
        return code is ErrorCode.NONE

    async def _look(self) -> None:
        """Who leads what."""
        began_us = self._world.now_us
        answer = await self._wire.ask(metadata(), 12)
        ports = {broker.node_id: broker.port for broker in answer.brokers}
        topics = sorted(answer.topics, key=lambda topic: str(topic.name))
        self._partitions = [(topic.name, each.partition_index) for topic in topics for each in topic.partitions]
        for topic in topics:
            for each in topic.partitions:
                at, port = (topic.name, each.partition_index), ports.get(each.leader_id, 0)
                self._history.leaders.seen(LeaderView(at, port, each.leader_epoch, began_us, self._world.now_us))
