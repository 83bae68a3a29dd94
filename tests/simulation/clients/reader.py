"""A reader as a stock consumer with assigned partitions is: fetches from where it is, skips what was aborted.

It reads all its partitions in each Fetch, so that what one answer shows is of one moment.
"""

import asyncio
from typing import Any

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages import fetch, list_offsets, offset_fetch
from barnabas.protocol.records.record import iter_records
from tests.simulation.clients.records import value_of
from tests.simulation.clients.wire import Disconnected, Wire
from tests.simulation.history.history import History, OffsetRead, Poll, TopicPartition
from tests.simulation.history.logs import scan_of
from tests.simulation.world.machine import Machine
from tests.simulation.world.world import World
from tests.support.clients.answers import taken_batches

_BACKOFF_S = 0.05
_BYTES_MAX = 1 << 20
_IDLE_POLLS = 3
_START = -2  # the timestamp that asks for the first offset


class Reader:
    """Reads partitions of topics from their beginning on."""

    version = 12

    def __init__(
        self,
        world: World,
        machine: Machine,
        wire: Wire,
        history: History,
        client: str,
        partitions: list[TopicPartition],
        *,
        is_committed: bool,
        max_bytes: int = _BYTES_MAX,
    ) -> None:
        self._world, self._machine, self._wire, self._history = world, machine, wire, history
        self._client, self._is_committed, self._max_bytes = client, is_committed, max_bytes
        self._positions = dict.fromkeys(partitions, 0)
        self._ends: dict[TopicPartition, tuple[int, int, int]] = {}
        self._moved: set[TopicPartition] = set()
        self._fetches = 0
        self._names: dict[str, str] = {}
        self.latest: list[Poll] = []
        """What the last Fetch that was answered showed."""

    async def poll(self, *, wait_ms: int) -> bool:
        """One Fetch of each node that leads any of them; whether there was anything new. Nothing if not answered."""
        self.latest = []
        is_news = False
        for partitions in (await self._wire.by_node(self._positions)).values():
            is_news |= await self._fetch([at for at in partitions if at in self._positions], wait_ms)
        return is_news

    async def _fetch(self, partitions: list[TopicPartition], wait_ms: int) -> bool:
        began_us = self._world.now_us
        boot = self._machine.boots + (self._machine.process is None)  # if none runs, the next one answers
        try:
            answer = await self._wire.ask(self._request(partitions, wait_ms), self.version, wait_ms=wait_ms)
        except Disconnected:
            await asyncio.sleep(_BACKOFF_S)
            return False
        self._fetches += 1
        parts = [
            ((self._name(topic), part.partition_index), part) for topic in answer.responses for part in topic.partitions
        ]
        polls = [self._poll(at, part, began_us, boot) for at, part in parts if not part.error_code]
        errors = {at: part.error_code for at, part in parts if part.error_code}
        if answer.error_code or errors:
            await self._get_over(errors)
            await asyncio.sleep(_BACKOFF_S)
        self.latest += polls
        self._history.polls += [poll for poll in polls if self._is_news(poll)]
        return any(poll.next_offset > poll.from_offset for poll in polls)

    @property
    def has_any(self) -> bool:
        """Whether there is anything that it reads."""
        return bool(self._positions)

    def has(self, at: TopicPartition) -> bool:
        return at in self._positions

    def position_of(self, at: TopicPartition) -> int | None:
        """What it reads next."""
        return self._positions.get(at)

    def go_to(self, at: TopicPartition, offset: int) -> None:
        """Read this partition, too, from there on."""
        self._positions[at] = offset
        self._moved.add(at)

    def drop(self, at: TopicPartition) -> None:
        """Read it no longer."""
        self._positions.pop(at, None)

    async def read_to_end(self) -> list[Poll]:
        """Everything from the beginning up to where readers of this kind get now; the polls are not in the history."""
        found: list[Poll] = []
        kept, self._history.polls = self._history.polls, []
        ended: set[TopicPartition] = set()
        self._positions = dict.fromkeys(self._positions, 0)
        while ended != set(self._positions):
            self._ends.clear()
            await self.poll(wait_ms=0)
            for poll in self._history.polls:
                end = poll.last_stable_offset if self._is_committed else poll.high_watermark
                if poll.next_offset >= end:
                    ended.add(poll.at)
            found += self._history.polls
            self._history.polls = []
        self._history.polls = kept
        return found

    async def catch_up(self) -> None:
        """Read on from where it is, up to the end; or until there has been nothing for a while."""
        idle = 0
        while idle < _IDLE_POLLS:
            idle = 0 if await self.poll(wait_ms=100) else idle + 1
        self._history.caught_up.add(self._client)

    async def scan(self, at: TopicPartition) -> None:
        """One partition from its start up to where it ended when this began; into the history, but if it is empty."""
        self._positions = {at: 0}
        self._moved.add(at)
        end: int | None = None
        polls: list[Poll] = []
        while end is None or self._positions[at] < end:
            await self.poll(wait_ms=0)
            polls += self.latest
            if end is None and polls:
                end = polls[0].last_stable_offset if self._is_committed else polls[0].high_watermark
        if polls:
            self._history.scans.append(scan_of(polls))

    async def read_offset(self, group: str, at: TopicPartition) -> OffsetRead:
        """A group's committed offset, asked for until it is told."""
        topics = [offset_fetch.OffsetFetchRequestTopics(name=at[0], partition_indexes=[at[1]])]
        request = offset_fetch.OffsetFetchRequest(
            groups=[offset_fetch.OffsetFetchRequestGroup(group_id=group, topics=topics)], require_stable=True
        )
        began_us = self._world.now_us
        while True:
            try:
                answer = (await self._wire.ask(request, 9)).groups[0]
            except Disconnected:
                answer = None
            if answer is not None and not answer.error_code:
                partition = answer.topics[0].partitions[0]
                if not partition.error_code:
                    offset = partition.committed_offset
                    return OffsetRead(self._client, group, at, began_us, self._world.now_us, offset)
            await asyncio.sleep(_BACKOFF_S)

    def _is_news(self, poll: Poll) -> bool:
        ends = poll.log_start_offset, poll.last_stable_offset, poll.high_watermark
        is_news = poll.next_offset > poll.from_offset or self._ends.get(poll.at) != ends
        self._ends[poll.at] = ends
        if is_news:
            self._moved.discard(poll.at)
        return is_news

    def _request(self, partitions: list[TopicPartition], wait_ms: int) -> fetch.FetchRequest:
        topics: dict[str, list[fetch.FetchPartition]] = {}
        for topic, partition in partitions:
            position = self._positions[topic, partition]
            asked = fetch.FetchPartition(
                partition=partition, fetch_offset=position, partition_max_bytes=self._max_bytes
            )
            topics.setdefault(topic, []).append(asked)
        return fetch.FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=self._max_bytes,
            isolation_level=int(self._is_committed),
            topics=[self._topic(topic, partitions) for topic, partitions in topics.items()],
        )

    def _topic(self, name: str, partitions: list[fetch.FetchPartition]) -> fetch.FetchTopic:
        return fetch.FetchTopic(topic=name, partitions=partitions)

    def _name(self, topic: Any) -> str:
        return str(topic.topic)

    async def _get_over(self, errors: dict[TopicPartition, int]) -> None:
        """Where the records asked for are deleted, go on with the first that is there."""
        for (topic, partition), code in errors.items():
            if code != ErrorCode.OFFSET_OUT_OF_RANGE:
                continue
            asked = list_offsets.ListOffsetsPartition(partition_index=partition, timestamp=_START)
            wanted = list_offsets.ListOffsetsTopic(name=topic.partition("#")[0], partitions=[asked])
            try:
                answer = await self._wire.ask(list_offsets.ListOffsetsRequest(replica_id=-1, topics=[wanted]), 7)
            except Disconnected:
                return
            told = answer.topics[0].partitions[0]
            if told.error_code == ErrorCode.NONE:
                self._positions[topic, partition] = told.offset

    def _poll(self, at: TopicPartition, partition: Any, began_us: int, boot: int) -> Poll:
        from_offset = self._positions[at]
        records, self._positions[at] = _records(partition, from_offset)
        return Poll(
            client=self._client,
            is_committed=self._is_committed,
            at=at,
            began_us=began_us,
            ended_us=self._world.now_us,
            boot=boot,
            fetch=self._fetches,
            from_offset=from_offset,
            next_offset=self._positions[at],
            records=records,
            log_start_offset=partition.log_start_offset,
            last_stable_offset=partition.last_stable_offset,
            high_watermark=partition.high_watermark,
            is_moved=at in self._moved,
        )


def _records(partition: Any, position: int) -> tuple[list[tuple[int, bytes]], int]:
    """Offsets and values that a consumer gives to its program, and from which offset on it reads next."""
    found: list[tuple[int, bytes]] = []
    for header, batch in taken_batches(partition):
        if batch is not None:
            found += [(record.offset, value_of(record)) for record in iter_records(batch) if record.offset >= position]
        position = max(position, header.last_offset + 1)
    return found, position
