"""A member in the streams protocol (KIP-1071), as a thread of a Kafka Streams application, with state or without.

Its topology is one subtopology that reads one topic, so its tasks are the partitions of that topic; each has standby
tasks where it has state. As in the consumer protocol, everything is said and told in heartbeats, bit by bit.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)
from tests.simulation.clients.errors import TRY_AGAIN
from tests.simulation.clients.members.identity import NO_MEMBER_EPOCH
from tests.simulation.clients.members.member import BACKOFF_S, REBALANCE_MS, Member
from tests.simulation.clients.wire import Disconnected
from tests.simulation.history.groups import Owned
from tests.simulation.history.history import TopicPartition

_SUBTOPOLOGY = "0"
_LOSES_ALL = frozenset({E.UNKNOWN_MEMBER_ID, E.FENCED_MEMBER_EPOCH, E.UNRELEASED_INSTANCE_ID, E.FENCED_INSTANCE_ID})
_LEAVES, _LEAVES_FOR_A_WHILE = -1, -2


class StreamsMember(Member):
    """Says which tasks it has when that has changed, and everything after an answer that was lost."""

    version_of_commit = 9
    version_of_offset_fetch = 9
    standbys: frozenset[int] = frozenset()
    """The partitions of its standby tasks."""
    _told: tuple[set[TopicPartition], frozenset[int]] | None = None
    """The tasks that it has reported; None: it does not know whether that was heard."""

    async def _join(self) -> None:
        if not self.member_id:
            self.member_id = f"{self._client}-{self._dice.randrange(1 << 40):x}"
        self._told = None
        await self._say(0)

    async def _beat(self) -> None:
        await self._say(self.epoch)

    async def _say(self, epoch: int) -> None:
        is_first, owned, standbys = epoch == 0, set(self.owned), self.standbys
        is_said = is_first or self._told != (owned, standbys)
        request = StreamsGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=epoch,
            endpoint_information_epoch=0,
            instance_id=self._instance_id,
            rebalance_timeout_ms=REBALANCE_MS if is_first else -1,
            topology=self._topology() if is_first else None,
            active_tasks=_tasks(partition for _, partition in owned) if is_said else None,
            standby_tasks=_tasks(standbys) if is_said else None,
            warmup_tasks=[] if is_said else None,
            process_id=f"process of {self._client}" if is_first else None,
        )
        asked_us = self._world.now_us
        answer = await self._wire.ask(request, 1)
        code = E(answer.error_code)
        if code is E.NONE:
            self._told = owned, standbys
            await self._follow(answer, asked_us)
        elif code in _LOSES_ALL:
            self._lose_all()
            await asyncio.sleep(BACKOFF_S)
        else:
            assert code in TRY_AGAIN, f"{self._client} of {self.group}: {code.name}"
            self._told = None
            await asyncio.sleep(BACKOFF_S)

    def _topology(self) -> Topology:
        changelog = TopicInfo(
            name=f"{self.group}-store-changelog", partitions=0, replication_factor=-1, topic_configs=[]
        )
        subtopology = Subtopology(
            subtopology_id=_SUBTOPOLOGY,
            source_topics=[self._topic],
            source_topic_regex=[],
            state_changelog_topics=[changelog] if self._history.standbys else [],
            repartition_sink_topics=[],
            repartition_source_topics=[],
            copartition_groups=[],
        )
        return Topology(epoch=0, subtopologies=[subtopology])

    async def _follow(self, answer: Any, asked_us: int) -> None:
        share = set(self.owned)
        if answer.active_tasks is not None:
            share = {(self._topic, number) for each in answer.active_tasks for number in each.partitions}
        if not share >= self.owned and self._dice.random() < 0.7:
            await self.commit()
        if answer.standby_tasks is not None:
            self.standbys = frozenset(number for each in answer.standby_tasks for number in each.partitions)
        self._own(answer.member_epoch, share, asked_us)

    def look_at_share(self, asked_us: int | None = None) -> Owned:
        share = super().look_at_share(asked_us)
        share.standbys = tuple(sorted(self.standbys))
        return share

    def _lose_all(self) -> None:
        self.standbys = frozenset()
        super()._lose_all()

    def _note_lost(self) -> None:
        self._told = None

    async def leave(self) -> None:
        if self.epoch != NO_MEMBER_EPOCH:
            epoch = _LEAVES if self._instance_id is None else _LEAVES_FOR_A_WHILE
            request = StreamsGroupHeartbeatRequest(
                group_id=self.group,
                member_id=self.member_id,
                member_epoch=epoch,
                endpoint_information_epoch=0,
                instance_id=self._instance_id,
            )
            with suppress(Disconnected):  # then it is dead to the group once its session is over
                await self._wire.ask(request, 1)
        self.die()


def _tasks(partitions: Iterable[int]) -> list[TaskIds]:
    numbers = sorted(partitions)
    return [TaskIds(subtopology_id=_SUBTOPOLOGY, partitions=numbers)] if numbers else []
