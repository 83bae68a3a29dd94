"""The members of a share group, which reads what the producers of the run write."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig
from tests.simulation.cast.clients import Clients
from tests.simulation.clients.members.share import QueueMember
from tests.simulation.clients.share_admin import ShareAdmin
from tests.simulation.history.history import History
from tests.simulation.history.shares import SharePromise
from tests.simulation.plans.plan import Plan
from tests.simulation.workload.shares import OpeningHours, draining, resetting, sharing
from tests.simulation.world.process import Process
from tests.simulation.world.world import World
from tests.support.requests import alter_config

GROUP, LETTERS = "queue", "dlq.queue"
_STATES = "__share_group_state"
_GROUP_CONFIG, _SET = 32, 0  # the kind of resource, and what is done with the setting


class ShareCast:
    """No members if the plan has none."""

    def __init__(self, world: World, clients: Clients, history: History, plan: Plan, topic: str) -> None:
        self._world, self._clients, self._history = world, clients, history
        self._sharers, self._plan, self._topic = plan.sharers, plan.queue, topic
        self._nodes, self._partitions = plan.machine.nodes, plan.partitions
        self._hours = OpeningHours()
        self._members: list[tuple[Process, QueueMember]] = []
        if self._sharers:
            history.shares.promise = SharePromise(
                topic, self._plan.is_committed, self._plan.delivery_count_limit, self._plan.has_dead_letters
            )

    @property
    def _has_letters(self) -> bool:
        return self._sharers > 0 and self._plan.has_dead_letters

    @property
    def moved(self) -> frozenset[str]:
        """The topics whose leaders matter to the group."""
        return frozenset({self._topic, _STATES} if self._sharers else ())

    def topics(self) -> list[CreatableTopic]:
        """The topic of the dead letters."""
        if not self._has_letters:
            return []
        configs = [CreatableTopicConfig(name="errors.deadletterqueue.group.enable", value="true")]
        return [
            CreatableTopic(
                name=LETTERS, num_partitions=1, replication_factor=self._nodes, assignments=[], configs=configs
            )
        ]

    async def configure(self, process: Process) -> None:
        """The group reads from the beginning, in its isolation level; its dead letters are copies."""
        if not self._sharers:
            return
        wire = self._clients.wire(process)
        level = "read_committed" if self._plan.is_committed else "read_uncommitted"
        settings = {"share.auto.offset.reset": "earliest", "share.isolation.level": level}
        if self._has_letters:
            settings |= {
                "errors.deadletterqueue.topic.name": LETTERS,
                "errors.deadletterqueue.copy.record.enable": "true",
            }
        for name, value in settings.items():
            answer = await wire.ask(alter_config(_GROUP_CONFIG, GROUP, name, value, _SET), 1)
            assert answer.responses[0].error_code == ErrorCode.NONE, answer

    def start(self, is_over: Callable[[], bool]) -> Iterator[asyncio.Task[Any]]:
        for number in range(self._sharers):
            process = Process(self._world, f"q{number}")
            member = QueueMember(
                self._world,
                self._clients.machine,
                self._clients.wire(process),
                self._history,
                process.name,
                GROUP,
                self._topic,
                self._world.dice(f"member {process.name}"),
            )
            self._members.append((process, member))
            dice = self._world.dice(process.name)
            yield process.run(sharing(member, self._hours, self._plan.lock_ms, dice, is_over))
        for number in range(self._plan.resetters if self._sharers else 0):
            process = Process(self._world, f"resetter {number}")
            admin = ShareAdmin(self._world, self._clients.wire(process), self._history, GROUP, self._topic)
            dice = self._world.dice(process.name)
            yield process.run(resetting(admin, self._history, self._partitions, self._hours, dice, is_over))

    def drain(self) -> list[asyncio.Task[None]]:
        """What is left is accepted."""
        now_s = self._world.now_s
        return [process.run(draining(member, self._plan.lock_ms, now_s)) for process, member in self._members]

    async def read_letters(self, process: Process) -> None:
        """All dead letters, into the history."""
        if self._has_letters:
            reader = self._clients.reader(process, [(LETTERS, 0)], is_committed=False)
            polls = await reader.read_to_end()
            self._history.shares.dead_letters = [value for poll in polls for _, value in poll.records]
