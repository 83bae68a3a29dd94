"""An admin client as the stock ones are: topics, their partitions, records and configs, over all that fails.

What is not answered is asked again, so a change may be made twice, and the first try may arrive long after the second:
even in the next life of a topic, where it goes by the topic's name. Only deletion goes by the topic's id.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Any

from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.messages import create_partitions, create_topics, delete_records, delete_topics, describe_configs
from tests.simulation.clients.errors import ADMIN_TRIES_AGAIN
from tests.simulation.clients.looking import look
from tests.simulation.clients.wire import Disconnected, Wire
from tests.simulation.history.history import History
from tests.simulation.history.topics import Change, ConfigView, RecordsDeleted, TopicLife
from tests.simulation.world.machine import Machine
from tests.simulation.world.world import World
from tests.support.requests import alter_config

_BACKOFF_S = 0.05
_TIMEOUT_MS = 1_000
_TOPIC = 2  # the kind of resource that configs are of


class Admin:
    """Does one thing after the other. AssertionError if it is told what cannot be."""

    def __init__(
        self, world: World, machine: Machine, wire: Wire, history: History, client: str, dice: random.Random
    ) -> None:
        self._world, self._machine, self._wire, self._history, self._client = world, machine, wire, history, client
        self._dice = dice
        self._has_lost_creations = False
        self.has_lost_alterations = False
        """Whether a change of configs may still arrive."""

    async def create(self, name: str, partitions: int, configs: dict[str, str]) -> TopicLife:
        """A new topic; or what an earlier try, that nobody has heard of again, has made by now."""
        life = TopicLife(self._client, name, self._world.now_us)
        self._history.lives.append(life)
        topic = create_topics.CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            assignments=[],
            configs=[create_topics.CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
        )
        request = create_topics.CreateTopicsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS)
        answer, tries = await self._until_answered(request, 7, lambda answer: answer.topics[0].error_code)
        self._has_lost_creations |= tries > 0
        told, code = answer.topics[0], E(answer.topics[0].error_code)
        if code is E.TOPIC_ALREADY_EXISTS and self._has_lost_creations:
            view = await look(self._world, self._wire, self._history, self._client, name)
            life.topic_id, partitions = view.topic_id, view.partitions
            self.has_lost_alterations = True
        else:
            assert code is E.NONE, f"CreateTopics of {name}: {code.name}"
            life.topic_id = bytes(told.topic_id).hex()
            life.configs.update(configs)
        life.created_us = self._world.now_us
        life.counts.append((self._world.now_us, partitions))
        return life

    async def delete(self, life: TopicLife) -> None:
        life.deleting_us = self._world.now_us
        state = delete_topics.DeleteTopicState(name=None, topic_id=bytes.fromhex(life.topic_id))
        request = delete_topics.DeleteTopicsRequest(topics=[state], timeout_ms=_TIMEOUT_MS)
        answer, tries = await self._until_answered(request, 6, lambda answer: answer.responses[0].error_code)
        code = E(answer.responses[0].error_code)
        assert code is E.NONE or (code is E.UNKNOWN_TOPIC_ID and tries > 0), f"DeleteTopics of {life.line()}: {code}"
        life.deleted_us = self._world.now_us

    async def add_partitions(self, life: TopicLife, count: int) -> None:
        """Up to so many."""
        change = self._begin(f"partitions of {life.full_name} become {count}")
        topic = create_partitions.CreatePartitionsTopic(name=life.name, count=count, assignments=None)
        request = create_partitions.CreatePartitionsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS, validate_only=False)
        answer, _ = await self._until_answered(request, 3, lambda answer: answer.results[0].error_code)
        change.result = E(answer.results[0].error_code).name
        if change.result in ("NONE", "INVALID_PARTITIONS"):  # it has as many already, by an earlier try
            life.counts.append((self._world.now_us, count))
        else:
            raise AssertionError(change.line())

    async def delete_records(self, life: TopicLife, partition: int, offset: int) -> None:
        """Below an offset; -1: all there are."""
        at = life.full_name, partition
        change = self._begin(f"records of {at[0]}-{partition} are deleted up to {offset}")
        wanted = delete_records.DeleteRecordsPartition(partition_index=partition, offset=offset)
        topic = delete_records.DeleteRecordsTopic(name=life.name, partitions=[wanted])
        request = delete_records.DeleteRecordsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS)
        answer, _ = await self._until_answered(request, 2, lambda answer: answer.topics[0].partitions[0].error_code)
        told = answer.topics[0].partitions[0]
        change.result = E(told.error_code).name
        assert told.error_code == E.NONE, change.line()
        assert told.low_watermark >= offset, f"{change.line()}: the log starts at {told.low_watermark}"
        now_us, boot = self._world.now_us, self._machine.boots
        deletion = RecordsDeleted(self._client, at, change.began_us, now_us, boot, told.low_watermark)
        self._history.deletions.append(deletion)

    async def alter(self, life: TopicLife, name: str, value: str) -> None:
        """Set one config."""
        change = self._begin(f"config of {life.full_name} {name}={value}")
        request = alter_config(_TOPIC, life.name, name, value)
        answer, tries = await self._until_answered(request, 1, lambda answer: answer.responses[0].error_code)
        self.has_lost_alterations |= tries > 0
        change.result = E(answer.responses[0].error_code).name
        assert change.result == "NONE", change.line()
        life.configs[name] = value

    async def describe(self, life: TopicLife) -> ConfigView:
        """What the configs are that were set."""
        began_us = self._world.now_us
        wanted = describe_configs.DescribeConfigsResource(
            resource_type=_TOPIC, resource_name=life.name, configuration_keys=list(life.configs)
        )
        request = describe_configs.DescribeConfigsRequest(resources=[wanted])
        answer, _ = await self._until_answered(request, 4, lambda answer: answer.results[0].error_code)
        values = {config.name: config.value for config in answer.results[0].configs}
        return ConfigView(self._client, life, began_us, values)

    def _begin(self, text: str) -> Change:
        change = Change(self._client, text, self._world.now_us)
        self._history.changes.append(change)
        return change

    async def _until_answered(self, request: Any, version: int, code_of: Callable[[Any], int]) -> tuple[Any, int]:
        """The answer that does not say "again", and how many tries may have been applied before."""
        lost = 0
        while True:
            try:
                answer = await self._wire.ask(request, version)
            except Disconnected:
                lost += 1
            else:
                if E(code_of(answer)) not in ADMIN_TRIES_AGAIN:
                    return answer, lost
                lost += 1
            await asyncio.sleep(_BACKOFF_S * self._dice.uniform(0.5, 2))
