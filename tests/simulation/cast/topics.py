"""Who owns topics and changes them, and who reads what these are."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from tests.simulation.cast.clients import Clients
from tests.simulation.clients.admin import Admin
from tests.simulation.history.history import History, Poll
from tests.simulation.plans.plan import Plan
from tests.simulation.workload.topics import administering, following
from tests.simulation.world.process import Process
from tests.simulation.world.world import World


class TopicCast:
    """The admins, each with a topic of its own; nobody if the plan has none."""

    def __init__(self, world: World, clients: Clients, history: History, plan: Plan) -> None:
        self._world, self._clients, self._history = world, clients, history
        self._names = [f"own{number}" for number in range(plan.admins)]
        self._owners: dict[str, Admin] = {}

    def start(self, is_over: Callable[[], bool]) -> Iterator[asyncio.Task[Any]]:
        for number, name in enumerate(self._names):
            process = Process(self._world, f"a{number}")
            admin, dice = self._clients.admin(process), self._world.dice(process.name)
            producer = self._clients.producer(process, f"admin{number}", protocol=2)
            yield process.run(administering(admin, producer, name, dice, is_over))
            self._owners[name] = admin
        if self._names:
            process = Process(self._world, "q")
            dice = self._world.dice(process.name)
            reader = self._clients.topic_reader(process, is_committed=dice.random() < 0.5)
            yield process.run(following(reader, self._names, dice, is_over))

    async def read_all(self, process: Process) -> list[Poll]:
        """What is in the topics that there are at the end."""
        found: list[Poll] = []
        for is_committed in (True, False) if self._names else ():
            reader = self._clients.topic_reader(process, is_committed=is_committed)
            await reader.follow(self._names)
            found += await reader.read_to_end()
        return found

    async def read_configs(self, process: Process) -> None:
        """Of the topics that are there, but where a change may have arrived late; into the history."""
        for name, life in {life.name: life for life in self._history.lives}.items():
            is_there = life.created_us is not None and life.deleting_us is None
            if is_there and not self._owners[name].has_lost_alterations:
                self._history.config_views.append(await self._clients.admin(process).describe(life))
