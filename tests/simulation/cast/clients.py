"""Making clients: each in a process, with a connection of its own, as the plan has them."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.simulation.clients.admin import Admin
from tests.simulation.clients.producer import Producer
from tests.simulation.clients.reader import Reader
from tests.simulation.clients.routed_wire import RoutedWire
from tests.simulation.clients.topic_reader import TopicReader
from tests.simulation.clients.wire import Wire
from tests.simulation.history.history import History, TopicPartition
from tests.simulation.plans.plan import Plan
from tests.simulation.workload.nodes import Operator
from tests.simulation.world.machine import PORT, Machine
from tests.simulation.world.network import Network
from tests.simulation.world.process import Process
from tests.simulation.world.world import World


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

    def wire(self, process: Process) -> Wire:
        """To the one node, or to all of them."""
        told = self.history.unanswered.append
        wires = [
            Wire(self.network, process, PORT + number, client_id=process.name, when_unanswered=told)
            for number in range(self.plan.machine.nodes)
        ]
        wire = wires[0] if len(wires) == 1 else RoutedWire(wires)
        self.wires.append(wire)
        return wire

    def producer(self, process: Process, transactional_id: str | None, *, protocol: int | None = None) -> Producer:
        return Producer(
            self.world,
            self.wire(process),
            self.history,
            process.name,
            transactional_id=transactional_id,
            protocol=protocol or self.plan.protocol,
            timeout_ms=self.plan.timeout_ms,
            in_flight=self.plan.in_flight,
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

    def operator(self, process: Process) -> Operator:
        dice = self.world.dice(process.name)
        return Operator(self.world, self.wire(process), self.history, self.plan.machine.nodes, dice)

    def admin(self, process: Process) -> Admin:
        dice = self.world.dice(f"admin of {process.name}")
        return Admin(self.world, self.machine, self.wire(process), self.history, process.name, dice)
