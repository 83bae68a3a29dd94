"""Who writes and reads logs of which something goes: a compacted topic, and one of which retention deletes."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from barnabas.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig
from tests.simulation.cast.clients import Clients
from tests.simulation.history.history import History, TopicPartition
from tests.simulation.history.logs import Promise
from tests.simulation.plans.plan import Plan
from tests.simulation.workload.logs import keeping, scanning
from tests.simulation.workload.transactions import reading
from tests.simulation.world.process import Process
from tests.simulation.world.world import World

COMPACTED, AGEING = "compacted", "ageing"
_KEYS = 4


class LogCast:
    """Of the topics that the plan has; nobody if it has none."""

    def __init__(self, world: World, clients: Clients, history: History, plan: Plan) -> None:
        self._world, self._clients, self._history, self._plan = world, clients, history, plan
        writers = {COMPACTED: (plan.compacted, plan.compaction), AGEING: (plan.ageing, plan.retention)}
        self._configs = {topic: dict(configs) for topic, (count, configs) in writers.items() if count}
        self._writers = {topic: writers[topic][0] for topic in self._configs}
        self.partitions: list[TopicPartition] = [(topic, 0) for topic in self._configs]
        history.promises = {topic: _promise(configs) for topic, configs in self._configs.items()}

    def topics(self) -> list[CreatableTopic]:
        """To be created before anybody begins."""
        return [
            CreatableTopic(
                name=topic,
                num_partitions=1,
                replication_factor=1,
                assignments=[],
                configs=[CreatableTopicConfig(name=name, value=value) for name, value in configs.items()],
            )
            for topic, configs in self._configs.items()
        ]

    def start(self, is_over: Callable[[], bool]) -> Iterator[asyncio.Task[Any]]:
        for topic, count in self._writers.items():
            for number in range(count):
                yield self._write(topic, number, is_over)
            yield from (self._read(topic, is_over), self._scan(topic, is_over))

    def _write(self, topic: str, number: int, is_over: Callable[[], bool]) -> asyncio.Task[Any]:
        """Every second one writes outside of transactions."""
        process = Process(self._world, f"{topic[0]}w{number}")
        is_transactional = number % 2 == 0
        producer = self._clients.producer(process, f"{topic}{number}" if is_transactional else None)
        keys = [f"{number}.{key}".encode() for key in range(_KEYS)] if topic == COMPACTED else []
        dice = self._world.dice(process.name)
        return process.run(keeping(producer, (topic, 0), keys, dice, is_over, is_transactional=is_transactional))

    def _read(self, topic: str, is_over: Callable[[], bool]) -> asyncio.Task[Any]:
        process = Process(self._world, f"{topic[0]}r")
        dice = self._world.dice(process.name)
        reader = self._clients.reader(process, [(topic, 0)], is_committed=dice.random() < 0.7)
        return process.run(reading(reader, dice, is_over))

    def _scan(self, topic: str, is_over: Callable[[], bool]) -> asyncio.Task[Any]:
        process = Process(self._world, f"{topic[0]}s")
        wire = self._clients.wire(process)

        def new_reader(is_committed: bool) -> Any:
            return self._clients.reader(process, [(topic, 0)], is_committed=is_committed, wire=wire)

        return process.run(scanning(new_reader, (topic, 0), self._world.dice(process.name), is_over))


def _promise(configs: dict[str, str]) -> Promise:
    policy = configs["cleanup.policy"]
    retention_ms = int(configs["retention.ms"]) if "retention.ms" in configs else -1
    is_by_age_alone = "delete" in policy and int(configs.get("retention.bytes", "-1")) < 0
    return Promise(
        is_compacted="compact" in policy,
        delete_retention_ms=int(configs.get("delete.retention.ms", "0")),
        retention_ms=retention_ms if is_by_age_alone and retention_ms >= 0 else None,
    )
