"""What all starts of all queries have in common, and how the sink is set up in them."""

from dataclasses import dataclass

from pyspark_barnabas.sink.settings import SinkSettings
from tests.simulation.history.history import History, TopicPartition
from tests.simulation.plans.sink import SinkPlan
from tests.simulation.spark.python_process import PythonProcess, Reached
from tests.simulation.world.network import Network
from tests.simulation.world.process import Process
from tests.simulation.world.world import World

PREFIX = "shop"
_REQUEST_MS = 2_000
_PATIENCE_MS = 15_000
_BATCH_BYTES = 200  # so that a task has several batches of records


@dataclass(frozen=True, slots=True)
class Surroundings:
    """partitions: those that rows go to, all of one topic."""

    world: World
    network: Network
    history: History
    plan: SinkPlan
    partitions: list[TopicPartition]

    @property
    def topic(self) -> str:
        return self.partitions[0][0]

    @property
    def tasks(self) -> int:
        """How many tasks a batch has: in atomic mode each has partitions of its own."""
        return min(self.plan.tasks, len(self.partitions)) if self.plan.is_atomic else self.plan.tasks

    def partitions_of(self, task: int) -> list[int]:
        """To which partitions a task writes: in atomic mode no two of them to the same one."""
        numbers = [number for _, number in self.partitions]
        return numbers[task :: self.tasks] if self.plan.is_atomic else numbers

    def new_process(self, name: str) -> PythonProcess:
        return PythonProcess(Process(self.world, name), self.network)

    def settings(self, process: PythonProcess, *, calm: bool) -> SinkSettings:
        """As a process has them, from which the sink takes its client. calm: it is patient."""
        return SinkSettings(
            Reached("10.0.0.2:9092", process.process.name, _REQUEST_MS, process=process),
            topic=self.topic,
            prefix=PREFIX,
            transaction_timeout_ms=self.plan.timeout_ms,
            batch_bytes=_BATCH_BYTES,
            delivery_timeout_ms=_PATIENCE_MS if calm else self.plan.delivery_ms,
            is_atomic=self.plan.is_atomic,
        )
