"""A member of a group as the stock consumers are, but for the protocol: `classic_member.py`, `consumer_member.py`.

It does one thing at a time: a heartbeat, then what is next. A member that is late with it is one whose program is slow.
Its positions are those of its reader; where it has none, it asks for the committed offset first.
"""

import asyncio
import random
from abc import ABC, abstractmethod
from typing import Any

from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.messages import offset_commit, offset_fetch
from tests.simulation.clients.errors import TRY_AGAIN
from tests.simulation.clients.members.identity import NO_MEMBER_EPOCH, Identity
from tests.simulation.clients.reader import Reader
from tests.simulation.clients.wire import Disconnected, Wire
from tests.simulation.history.groups import Commit, Owned
from tests.simulation.history.history import History, OffsetRead, Outcome, Poll, TopicPartition
from tests.simulation.world.world import World

BACKOFF_S = 0.05
SESSION_MS = 2_000
REBALANCE_MS = 2_000


class Member(ABC):
    """One member, over several lives. `partitions`: how many its topic has."""

    version_of_commit: int
    version_of_offset_fetch: int

    def __init__(
        self,
        world: World,
        wire: Wire,
        reader: Reader,
        history: History,
        client: str,
        group: str,
        topic: str,
        partitions: int,
        instance_id: str | None,
        dice: random.Random,
        *,
        commits: bool,
    ) -> None:
        """commits: whether it commits its offsets itself, outside of transactions."""
        self._world, self._wire, self._history, self._client = world, wire, history, client
        self.reader, self.group, self._topic, self._partitions = reader, group, topic, partitions
        self._instance_id, self._dice = instance_id, dice
        self._reads = history.group_reads if commits else history.offset_reads
        self._commits = commits
        self.member_id, self.epoch = "", NO_MEMBER_EPOCH
        self.owned: set[TopicPartition] = set()
        self._share: Owned | None = None

    @property
    def identity(self) -> Identity:
        return Identity(self.member_id, self.epoch, self._instance_id)

    async def stay(self) -> None:
        """A heartbeat; or it joins, if it is no member yet or any more. Some errors are for the next time."""
        try:
            await (self._join() if self.epoch == NO_MEMBER_EPOCH else self._beat())
        except Disconnected:
            self._note_lost()
            await asyncio.sleep(BACKOFF_S)

    @abstractmethod
    async def _join(self) -> None: ...

    @abstractmethod
    async def _beat(self) -> None: ...

    @abstractmethod
    def _note_lost(self) -> None:
        """An answer is missing: what it said is not known."""

    @abstractmethod
    async def leave(self) -> None:
        """As one does that is closed. Nobody waits for the answer."""

    def die(self) -> None:
        """Be gone without a word; who comes back is somebody else."""
        self._wire.close()
        self.member_id = ""
        self._lose_all()

    def look_at_share(self, asked_us: int | None = None) -> Owned:
        """What it owns now; it asked for it then."""
        numbers = tuple(sorted(partition for _, partition in self.owned))
        who = self._instance_id or self.member_id or self._client
        now_us = self._world.now_us
        return Owned(
            self._client, self.group, who, self.epoch, numbers, now_us if asked_us is None else asked_us, now_us
        )

    # --- its share -------------------------------------------------------------------------------------------------

    def _own(self, epoch: int, partitions: set[TopicPartition], asked_us: int) -> None:
        """What it was told by the answer to what it asked then."""
        is_news = epoch != self.epoch or partitions != self.owned
        for at in self.owned - partitions:
            self.reader.drop(at)
        self.epoch, self.owned = epoch, partitions
        if is_news:
            self._end_share(asked_us, is_lost=False)
            self._share = self.look_at_share(asked_us)
            self._history.owned.append(self._share)

    def _end_share(self, ended_us: int, *, is_lost: bool) -> None:
        if self._share is not None:
            self._share.ended_us, self._share.is_lost = ended_us, is_lost
        self._share = None

    def _lose_all(self) -> None:
        """It is no member any more."""
        for at in self.owned:
            self.reader.drop(at)
        self.epoch, self.owned = NO_MEMBER_EPOCH, set()
        self._end_share(self._world.now_us, is_lost=True)

    # --- records and offsets ---------------------------------------------------------------------------------------

    async def poll(self, wait_ms: int) -> list[Poll]:
        """What comes next in the partitions that it owns."""
        await self._find_positions()
        if not self.reader.has_any:
            return []
        await self.reader.poll(wait_ms=wait_ms)
        return [poll for poll in self.reader.latest if poll.next_offset > poll.from_offset]

    def go_back(self) -> None:
        """To what is committed: what was read was not processed."""
        for at in self.owned:
            self.reader.drop(at)

    async def _find_positions(self) -> None:
        """Ask for committed offsets, where there is no position. Some may have to wait for the next time."""
        missing = sorted(at for at in self.owned if not self.reader.has(at))
        if not missing:
            return
        numbers = [partition for _, partition in missing]
        asked = offset_fetch.OffsetFetchRequestGroup(
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=self.epoch,
            topics=[offset_fetch.OffsetFetchRequestTopics(name=self._topic, partition_indexes=numbers)],
        )
        began_us = self._world.now_us
        try:
            request = offset_fetch.OffsetFetchRequest(groups=[asked], require_stable=True)
            told = (await self._wire.ask(request, self.version_of_offset_fetch)).groups[0]
        except Disconnected:
            return
        for partition in told.topics[0].partitions if told.error_code == E.NONE else ():
            if partition.error_code == E.NONE:
                at, offset = (self._topic, partition.partition_index), partition.committed_offset
                self._reads.append(OffsetRead(self._client, self.group, at, began_us, self._world.now_us, offset))
                self.reader.go_to(at, max(0, offset))

    async def commit(self) -> None:
        """Its positions; who is no member any more is refused."""
        offsets = {at: offset for at in sorted(self.owned) if (offset := self.reader.position_of(at)) is not None}
        if not offsets or not self._commits:
            return
        began_us = self._world.now_us
        commits = [
            Commit(self._client, self.group, self.epoch, at, offset, began_us, Outcome.UNKNOWN)
            for at, offset in offsets.items()
        ]
        self._history.commits += commits
        request = self._commit_request(offsets)
        tries = 0
        while True:
            tries += 1
            try:
                answer = await self._wire.ask(request, self.version_of_commit)
            except Disconnected:
                await asyncio.sleep(BACKOFF_S)
                continue
            codes = {part.partition_index: E(part.error_code) for part in answer.topics[0].partitions}
            if not TRY_AGAIN.intersection(codes.values()):
                break
            await asyncio.sleep(BACKOFF_S)
        for commit in commits:
            code = codes[commit.at[1]]
            commit.ended_us = self._world.now_us
            commit.error = "" if code is E.NONE else code.name
            commit.outcome = Outcome.OK if code is E.NONE else Outcome.FAILED if tries == 1 else Outcome.UNKNOWN

    def _commit_request(self, offsets: dict[TopicPartition, int]) -> Any:
        partitions = [
            offset_commit.OffsetCommitRequestPartition(
                partition_index=at[1], committed_offset=offset, committed_metadata=""
            )
            for at, offset in offsets.items()
        ]
        return offset_commit.OffsetCommitRequest(
            group_id=self.group,
            generation_id_or_member_epoch=self.epoch,
            member_id=self.member_id,
            group_instance_id=self._instance_id,
            topics=[offset_commit.OffsetCommitRequestTopic(name=self._topic, partitions=partitions)],
        )
