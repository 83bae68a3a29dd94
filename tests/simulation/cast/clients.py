"""Making clients: each in a process, with a connection of its own, as the plan has them."""

from dataclasses import dataclass, field
from typing import Any

from tests.simulation.clients.admin import Admin
from tests.simulation.clients.producer import Producer
from tests.simulation.clients.reader import Reader
from tests.simulation.clients.routed_wire import RoutedWire
from tests.simulation.clients.stock.java import JavaProducer
from tests.simulation.clients.stock.librdkafka import LibrdkafkaProducer
from tests.simulation.clients.topic_reader import TopicReader
from tests.simulation.clients.wire import Wire
from tests.simulation.history.history import History, TopicPartition
from tests.simulation.plans.plan import Plan
from tests.simulation.plans.producing import JAVA, LIBRDKAFKA, PLAIN
from tests.simulation.secured.login import Login
from tests.simulation.secured.plan import CAST, password_of
from tests.simulation.workload.nodes import Operator
from tests.simulation.world.machine import PORT, Machine
from tests.simulation.world.network import Network
from tests.simulation.world.process import Process
from tests.simulation.world.world import World

KINDS: dict[str, type[Producer]] = {PLAIN: Producer, JAVA: JavaProducer, LIBRDKAFKA: LibrdkafkaProducer}


PATIENCE_MS = 3_000
_FORGETS = 0.2  # to log in again, before its session is over


def _tell_nobody(_: object) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Clients:
    """Of one run."""

    world: World
    network: Network
    machine: Machine
    history: History
    plan: Plan
    wires: list[Wire] = field(default_factory=list)
    """All that were made."""

    def wire(self, process: Process, *, timeout_ms: int = PATIENCE_MS) -> Wire:
        """To the one node, or to all of them. Who has less patience than others does not tell of what came too late."""
        told = self.history.unanswered.append if timeout_ms >= PATIENCE_MS else _tell_nobody
        each: dict[str, Any] = {"client_id": process.name, "when_unanswered": told, "timeout_ms": timeout_ms}
        ports = range(PORT, PORT + self.plan.machine.nodes)
        wires = [Wire(self.network, process, port, login=self._login(process, port), **each) for port in ports]
        wire = wires[0] if len(wires) == 1 else RoutedWire(wires)
        self.wires.append(wire)
        return wire

    def _login(self, process: Process, port: int) -> Login | None:
        """That of who takes part in all but security: as a user who may do everything."""
        if not self.plan.secured:
            return None
        dice = self.world.dice(f"login of {process.name} at {port}")
        return Login(
            self.world,
            self.history.security,
            process.name,
            CAST,
            lambda: password_of(CAST),
            is_forgetful=lambda: dice.random() < _FORGETS,
            dice=dice,
        )

    def wire_of(self, process: Process, login: Login | None) -> Wire:
        """To the first node, for who logs in otherwise, or not at all."""
        told = self.history.unanswered.append
        wire = Wire(self.network, process, PORT, client_id=process.name, when_unanswered=told, login=login)
        self.wires.append(wire)
        return wire

    def producer(
        self,
        process: Process,
        transactional_id: str | None,
        *,
        protocol: int | None = None,
        kind: type[Producer] | None = None,
    ) -> Producer:
        """As the plan has them; of another kind if one is given."""
        producing = self.plan.producing
        protocol = protocol or self.plan.protocol
        if kind is None:
            is_modelled = producing.stock != LIBRDKAFKA or (transactional_id is not None and protocol == 1)
            kind = KINDS[producing.stock] if is_modelled else Producer
        return kind(
            self.world,
            self.wire(process, timeout_ms=producing.request_ms),
            self.history,
            process.name,
            transactional_id=transactional_id,
            protocol=protocol,
            timeout_ms=self.plan.timeout_ms,
            in_flight=self.plan.in_flight,
            delivery_ms=producing.delivery_ms,
            dice=self.world.dice(f"backoff of {process.name}"),
        )

    def reader(
        self, process: Process, partitions: list[TopicPartition], *, is_committed: bool, wire: Wire | None = None
    ) -> Reader:
        shared = self.world, self.machine, wire or self.wire(process), self.history
        return Reader(*shared, process.name, partitions, is_committed=is_committed)

    def topic_reader(self, process: Process, *, is_committed: bool) -> TopicReader:
        shared = self.world, self.machine, self.wire(process), self.history
        return TopicReader(*shared, process.name, [], is_committed=is_committed)

    def operator(self, process: Process, favourites: frozenset[str]) -> Operator:
        dice = self.world.dice(process.name)
        return Operator(self.world, self.wire(process), self.history, self.plan.machine.nodes, dice, favourites)

    def admin(self, process: Process) -> Admin:
        dice = self.world.dice(f"admin of {process.name}")
        return Admin(self.world, self.machine, self.wire(process), self.history, process.name, dice)
