"""The Spark sink of a run: its cluster, who reads rows and ledger together, and what is there at the end."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from barnabas.protocol.messages.list_transactions import ListTransactionsRequest
from tests.simulation.cast.clients import Clients
from tests.simulation.history.history import History, TopicPartition
from tests.simulation.plans.plan import Plan
from tests.simulation.spark.checkpoint import SOURCE
from tests.simulation.spark.cluster import Cluster
from tests.simulation.spark.surroundings import PREFIX, Surroundings
from tests.simulation.workload.transactions import reading
from tests.simulation.world.network import Network
from tests.simulation.world.process import Process
from tests.simulation.world.world import World


class SinkCast:
    """Nobody if the plan has no sink."""

    def __init__(
        self,
        world: World,
        network: Network,
        clients: Clients,
        history: History,
        plan: Plan,
        partitions: list[TopicPartition],
    ) -> None:
        self._world, self._network, self._clients, self._history = world, network, clients, history
        self._plan, self._partitions = plan, partitions
        self._cluster: Cluster | None = None

    @property
    def is_there(self) -> bool:
        return self._plan.sinks > 0

    def start(self, is_over: Callable[[], bool]) -> Iterator[asyncio.Task[Any]]:
        if not self.is_there:
            return
        around = Surroundings(self._world, self._network, self._history, self._plan.sink, self._partitions)
        self._cluster = Cluster(around)
        process = Process(self._world, "sr")
        reader = self._clients.reader(process, [*self._partitions, self._ledger], is_committed=True)
        yield self._cluster.start(is_over)
        yield process.run(reading(reader, self._world.dice(process.name), is_over))

    @property
    def _ledger(self) -> TopicPartition:
        return self._history.sink.ledger_topic, 0

    async def read_all(self, process: Process) -> None:
        """The ledger, the source's offset, and what is open; into the history."""
        if not self.is_there:
            return
        sink = self._history.sink
        reader = self._clients.reader(process, [self._ledger], is_committed=True)
        for poll in await reader.read_to_end():
            sink.ledger += poll.records
            sink.ledger_ends = poll.last_stable_offset, poll.high_watermark
        sink.offset = (await reader.read_offset(PREFIX, SOURCE)).offset
        request = ListTransactionsRequest(
            state_filters=["Ongoing", "PrepareCommit", "PrepareAbort"],
            producer_id_filters=[],
            duration_filter=-1,
            transactional_id_pattern=None,
        )
        answer = await self._clients.wire(process).ask(request, 1)
        sink.left_open += sorted(
            each.transactional_id
            for each in answer.transaction_states
            if each.transactional_id.startswith(f"{PREFIX}.")
        )

    def end(self) -> None:
        """Nothing of it lives on, whatever became of the run."""
        if self._cluster is not None:
            self._cluster.kill_all()
