"""Who takes part in security: an operator, users with a password and some rights, strangers, and who is throttled."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from typing import Any

from tests.simulation.cast.clients import Clients
from tests.simulation.clients.wire import Disconnected, Wire
from tests.simulation.history.history import History, TopicPartition
from tests.simulation.plans.plan import Plan
from tests.simulation.secured.login import PLAIN, SCRAM, Login
from tests.simulation.secured.operator import SecurityOperator
from tests.simulation.secured.plan import BUSY, BYTE_RATE, CAST, HEAVY, REQUEST_PERCENTAGE, password_of
from tests.simulation.secured.programs import TOPICS, asking, heavy_request, intruding, operating, password, using
from tests.simulation.world.process import Process
from tests.simulation.world.world import World

_FORGETS = 0.3
_VISITS = 8  # of requests, that take a throttled client far beyond its quota


class SecuredCast:
    """Of a plan that has security; nobody if it has none."""

    def __init__(self, world: World, clients: Clients, history: History, plan: Plan) -> None:
        self._world, self._clients, self._history, self._plan = world, clients, history.security, plan
        self._users = [f"u{number}" for number in range(plan.security.users)] if plan.secured else []
        self._throttled = [HEAVY, BUSY] if plan.secured and plan.security.throttled else []
        self.partitions: list[TopicPartition] = [(topic, 0) for topic in TOPICS] if plan.secured else []
        self._history.allows_if_no_acl = plan.security.allows_if_no_acl
        self._history.passwords = {user: password_of(user) for user in (CAST, HEAVY, BUSY)}
        self._history.rates = {HEAVY: BYTE_RATE, BUSY: REQUEST_PERCENTAGE / 100}

    def start(self, is_over: Callable[[], bool]) -> Iterator[asyncio.Task[Any]]:
        if not self._users:
            return
        world, history = self._world, self._history
        process = Process(world, "security")
        yield process.run(operating(self._operator(process), self._users, world.dice(process.name), is_over))
        for user in self._users:
            process = Process(world, f"client of {user}")
            wire, dice = self._wire(process, user, SCRAM), world.dice(process.name)
            yield process.run(asking(world, wire, history, process.name, dice, is_over))
        for number in range(self._plan.security.strangers):
            process = Process(world, f"stranger{number}")
            wire, dice = self._clients.wire_of(process, None), world.dice(process.name)
            yield process.run(intruding(world, wire, history, process.name, dice, is_over))
        for user in self._throttled:
            process = Process(world, user)
            operator, wire = self._operator(process), self._wire(process, user, PLAIN)
            yield process.run(using(world, wire, history, operator, is_over))

    def _operator(self, process: Process) -> SecurityOperator:
        dice = self._world.dice(f"operator of {process.name}")
        return SecurityOperator(self._world, self._clients.wire(process), self._history, dice)

    def _wire(self, process: Process, user: str, mechanism: str) -> Wire:
        dice = self._world.dice(f"login of {process.name}")
        mistakes = self._plan.security.mistakes

        def tell() -> str:
            if mechanism == PLAIN:
                return password_of(user)
            return "mistaken" if dice.random() < mistakes else password(user, dice.randint(0, 1))

        login = Login(
            self._world,
            self._history,
            process.name,
            user,
            tell,
            mechanism,
            is_forgetful=lambda: dice.random() < _FORGETS,
            dice=dice,
        )
        return self._clients.wire_of(process, login)

    async def look(self, process: Process) -> None:
        """At all that is set when everything is over, and at what is written."""
        if self._users:
            await self._operator(process).look()
            polls = await self._clients.reader(process, self.partitions, is_committed=False).read_to_end()
            self._history.written = {value for poll in polls for _, value in poll.records}

    def visit(self) -> None:
        """Some come who will die while the broker does not serve them for a while."""
        if not self._users:
            return
        process = Process(self._world, "mistaken visitor")
        login = Login(self._world, self._history, process.name, CAST, lambda: "mistaken")
        process.run(_unheard(self._clients.wire_of(process, login).connect()))
        if self._throttled and not self._plan.machine.late_jobs:  # who writes waits for the disk, and may still
            process = Process(self._world, "throttled visitor")
            wire = self._wire(process, HEAVY, PLAIN)
            for number in range(_VISITS):
                request, version, _ = heavy_request(-number)
                process.run(_unheard(wire.ask(request, version)))


async def _unheard(asking: Coroutine[Any, Any, object]) -> None:
    """Whatever becomes of it."""
    with suppress(Disconnected):  # the history has it
        await asking
