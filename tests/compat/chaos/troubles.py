"""What happens to the brokers of a group while its members come and go."""

import random
from collections.abc import Callable, Sequence

from barnabas import Barnabas
from tests.support.processes.server import Server

NODES = (1, 2, 3)
OFFSETS_TOPIC, SHARE_STATE_TOPIC = "__consumer_offsets", "__share_group_state"


class OneBroker:
    """It is killed, and started again."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def happen(self, dice: random.Random) -> str:
        self._server.kill()
        self._server.start()
        return "killed the broker"

    def end(self) -> None:
        """There is nothing to put right."""


class ThreeNodes:
    """All are killed at once, and started again; leaders and the group's coordinator move; nodes stop and start.

    Each of it happens before anything happens again.
    """

    def __init__(
        self, broker: Barnabas, topic: str, partitions: int, coordinated: Sequence[str] = (OFFSETS_TOPIC,)
    ) -> None:
        """`coordinated`: the topics of one partition each whose leaders are the group's coordinators."""
        self._broker, self._topic, self._partitions = broker, topic, partitions
        self._coordinated = coordinated
        self._running = set(NODES)
        self._next: list[Callable[[random.Random], str]] = []

    def happen(self, dice: random.Random) -> str:
        if not self._next:
            self._next = [self._kill, self._move_coordinator, self._move_leader, self._switch_node, self._switch_node]
            dice.shuffle(self._next)
        return self._next.pop()(dice)

    def end(self) -> None:
        """Every node runs again."""
        for node in sorted(set(NODES) - self._running):
            self._broker.start_node(node)

    def _kill(self, dice: random.Random) -> str:
        self._broker.kill()
        self._broker.start()
        return "killed the nodes"

    def _move_coordinator(self, dice: random.Random) -> str:
        return self._move(dice.choice(self._coordinated), 0, dice)

    def _move_leader(self, dice: random.Random) -> str:
        return self._move(self._topic, dice.randrange(self._partitions), dice)

    def _move(self, topic: str, partition: int, dice: random.Random) -> str:
        elsewhere = sorted(self._running - {self._broker.leader(topic, partition)})
        node = dice.choice(elsewhere)
        self._broker.move_leader(topic, partition, node)
        return f"moved {topic}-{partition} to node {node}"

    def _switch_node(self, dice: random.Random) -> str:
        return self._stop_node(dice) if len(self._running) == len(NODES) else self._start_node()

    def _stop_node(self, dice: random.Random) -> str:
        node = dice.choice(sorted(self._running))
        self._broker.stop_node(node)
        self._running.discard(node)
        return f"stopped node {node}"

    def _start_node(self) -> str:
        (node,) = set(NODES) - self._running
        self._broker.start_node(node)
        self._running.add(node)
        return f"started node {node}"
