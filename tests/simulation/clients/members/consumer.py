"""A member in the consumer protocol (KIP-848): everything is said and told in heartbeats, bit by bit."""

import asyncio
from contextlib import suppress
from typing import Any

from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from tests.simulation.clients.errors import TRY_AGAIN
from tests.simulation.clients.looking import look
from tests.simulation.clients.members.identity import NO_MEMBER_EPOCH
from tests.simulation.clients.members.member import BACKOFF_S, REBALANCE_MS, Member
from tests.simulation.clients.wire import Disconnected
from tests.simulation.history.history import TopicPartition

_LOSES_ALL = frozenset({E.UNKNOWN_MEMBER_ID, E.FENCED_MEMBER_EPOCH, E.UNRELEASED_INSTANCE_ID, E.FENCED_INSTANCE_ID})
_LEAVES, _LEAVES_FOR_A_WHILE = -1, -2


class ConsumerMember(Member):
    """Says what it owns when that has changed, and everything after an answer that was lost."""

    version_of_commit = 9
    version_of_offset_fetch = 9
    _topic_id = b""
    _told: set[TopicPartition] | None = None
    """What it has said that it owns; None: it does not know whether it was heard."""

    async def _join(self) -> None:
        if not self._topic_id:
            view = await look(self._world, self._wire, self._history, self._client, self._topic)
            self._topic_id = bytes.fromhex(view.topic_id)
        if not self.member_id:
            self.member_id = f"{self._client}-{self._dice.randrange(1 << 40):x}"
        self._told = None
        await self._say(0)

    async def _beat(self) -> None:
        await self._say(self.epoch)

    async def _say(self, epoch: int) -> None:
        is_all, owned = self._told is None, set(self.owned)
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=epoch,
            instance_id=self._instance_id,
            rebalance_timeout_ms=REBALANCE_MS if is_all else -1,
            subscribed_topic_names=[self._topic] if is_all else None,
            topic_partitions=self._named(owned) if self._told != owned else None,
        )
        asked_us = self._world.now_us
        answer = await self._wire.ask(request, 1)
        code = E(answer.error_code)
        if code is E.NONE:
            self._told = owned
            await self._follow(answer, asked_us)
        elif code in _LOSES_ALL:
            self._lose_all()
            await asyncio.sleep(BACKOFF_S)
        else:
            assert code in TRY_AGAIN, f"{self._client} of {self.group}: {code.name}"
            self._told = None
            await asyncio.sleep(BACKOFF_S)

    async def _follow(self, answer: Any, asked_us: int) -> None:
        share = set(self.owned)
        if answer.assignment is not None:
            share = {(self._topic, n) for each in answer.assignment.topic_partitions for n in each.partitions}
        if not share >= self.owned and self._dice.random() < 0.7:
            await self.commit()
        self._own(answer.member_epoch, share, asked_us)

    def _named(self, owned: set[TopicPartition]) -> list[TopicPartitions]:
        numbers = sorted(partition for _, partition in owned)
        return [TopicPartitions(topic_id=self._topic_id, partitions=numbers)] if numbers else []

    def _note_lost(self) -> None:
        self._told = None

    async def leave(self) -> None:
        if self.epoch != NO_MEMBER_EPOCH:
            epoch = _LEAVES if self._instance_id is None else _LEAVES_FOR_A_WHILE
            request = ConsumerGroupHeartbeatRequest(
                group_id=self.group, member_id=self.member_id, member_epoch=epoch, instance_id=self._instance_id
            )
            with suppress(Disconnected):  # then it is dead to the group once its session is over
                await self._wire.ask(request, 1)
        self.die()
