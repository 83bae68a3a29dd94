"""Who uses the schema registry; nobody if the plan has none."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from tests.simulation.cast.clients import Clients
from tests.simulation.clients.registrar import Registrar
from tests.simulation.clients.rest import Rest
from tests.simulation.history.history import History
from tests.simulation.plans.plan import Plan
from tests.simulation.workload.schemas import registering
from tests.simulation.world.machine import REGISTRY_PORT
from tests.simulation.world.process import Process
from tests.simulation.world.world import World

_SUBJECTS = "ab"


class SchemaCast:
    """Clients with subjects of their own, so that each knows what is there."""

    def __init__(self, world: World, clients: Clients, history: History, plan: Plan) -> None:
        self._world, self._clients, self._history, self._plan = world, clients, history.schemas, plan

    def start(self, is_over: Callable[[], bool]) -> Iterator[asyncio.Task[Any]]:
        for number in range(self._plan.registrars):
            process = Process(self._world, f"c{number}")
            subjects = [f"s{number}{letter}" for letter in _SUBJECTS]
            dice = self._world.dice(process.name)
            yield process.run(registering(self._registrar(process), subjects, dice, is_over))

    async def read_all(self, process: Process) -> None:
        """What is in the registry when all is over; into the history."""
        registrar = self._registrar(process)
        for schema_id in sorted({each.schema_id for each in self._history.registrations}):
            await registrar.look_at_id(schema_id)
        for subject in sorted({each.subject for each in self._history.registrations}):
            await registrar.look_at(subject)

    def _registrar(self, process: Process) -> Registrar:
        rest = Rest(self._clients.network, process, REGISTRY_PORT)
        dice = self._world.dice(f"backoff of {process.name} at the registry")
        return Registrar(self._world, rest, self._history, process.name, dice)
