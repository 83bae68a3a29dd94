"""What moves leaders and coordinators of several nodes, and stops and starts nodes, one step after the other.

The steps follow in one order, so that few of them have everything; the dice say which partition and which node. They
are made with Kafka's own requests (AlterPartitionReassignments, ElectLeaders); nodes are stopped and started as
`barnabas nodes` does it.
"""

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Self

from barnabas.broker.cli.nodes import led_by
from barnabas.client.admin.nodes import elect_preferred, reassign, start_node, stop_node
from barnabas.client.admin.topics import list_topics
from barnabas.client.client import GROUP, TRANSACTION, Client

OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"


class Moves:
    """Moves over the nodes at `address`, for the partitions of `topics`, and of the coordinators' topics.

    All nodes run at the end of the block. `done` lists the steps, for a test's failure.
    """

    def __init__(self, address: str, topics: Sequence[str], *, seed: int = 7) -> None:
        self._client = Client(address)
        self._topics = topics
        self._dice = random.Random(seed)
        self._stopped: int | None = None
        self._steps: itertools.cycle[Callable[[], None]] = itertools.cycle(
            (
                self.coordinate_elsewhere,
                self.lead_elsewhere,
                self.stop,
                self.coordinate_elsewhere,
                self.start,
                self.elect,
            )
        )
        self.done: list[str] = []
        for kind in (GROUP, TRANSACTION):  # which makes the coordinators' topics
            self._client.find_coordinator(kind, "anybody", self._client.deadline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._stopped is not None:
                self.start()
        finally:
            self._client.close()

    def make(self) -> None:
        """The next step."""
        next(self._steps)()

    def lead_elsewhere(self) -> None:
        """Have another node lead a partition of one of the topics."""
        topic = self._dice.choice(self._topics)
        self._move(topic, self._dice.randrange(self._partitions(topic)))

    def coordinate_elsewhere(self) -> None:
        """Have another node coordinate all groups, and another one all transactions, where there are any."""
        for topic in (OFFSETS, TRANSACTIONS):
            for number in range(self._partitions(topic)):
                self._move(topic, number)

    def stop(self) -> None:
        """Stop a node: what it leads goes to others."""
        self._stopped = self._dice.choice(self._running())
        stop_node(self._client, self._stopped)
        self.done.append(f"stopped {self._stopped}")

    def start(self) -> None:
        """Start the node that is stopped."""
        assert self._stopped is not None
        start_node(self._client, self._stopped)
        self.done.append(f"started {self._stopped}")
        self._stopped = None

    def elect(self) -> None:
        """Have the first replicas lead again."""
        places = [(topic.name, number) for topic in list_topics(self._client) for number in topic.partitions]
        elect_preferred(self._client, places)
        self.done.append("elected")

    def _move(self, topic: str, number: int) -> None:
        (info,) = (each.partitions[number] for each in list_topics(self._client) if each.name == topic)
        node = self._dice.choice([each for each in self._running() if each != info.leader_id])
        reassign(self._client, {(topic, number): led_by(node, info)})
        elect_preferred(self._client, [(topic, number)])
        self.done.append(f"{topic}-{number} from {info.leader_id} to {node}")

    def _partitions(self, topic: str) -> int:
        return sum(len(each.partitions) for each in list_topics(self._client) if each.name == topic)

    def _running(self) -> list[int]:
        list_topics(self._client)
        return sorted(self._client.cluster.brokers)
