"""Processor time per request of a share group, inside one process: a part of `scripts/bench --micro`.

A poll is one ShareFetch. "Implicit" acknowledges its records with the next one; "explicit" sends a ShareAcknowledge,
with a type for each record, as Java's share consumer does. The client's codecs are part of each figure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from barnabas.protocol.acknowledge_type import AcknowledgeType
from barnabas.protocol.messages import share_acknowledge, share_fetch
from barnabas.protocol.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeStateData,
    PartitionData,
)
from barnabas.protocol.registry import ApiKey, response_codec
from bench.in_process.micro import RESPONSE_BODY, Bench, Case, Prepare, Sink, batch, measured, produce
from tests.support.worlds.broker import request_frame

GROUP, MEMBER = "share", "m" * 22
RECORDS_EACH, RECORDS_MAX, VALUE_BYTES = 160, 500, 100
_VERSION = 2
_INITIALIZE_VERSION = 0
_LOADING_MS = 500
_ACCEPT = int(AcknowledgeType.ACCEPT)
Acquired = dict[int, list[tuple[int, int]]]
"""The ranges that a response acquired, by partition."""


class _Member:
    """A member of a share group, on a connection of its own."""

    def __init__(self, bench: Bench, topic: str, partitions: int) -> None:
        self._bench = bench
        self._sink: Sink = bench.connect()
        self._topic = topic
        self._topic_id = bench.broker.catalogue.topics[topic].topic_id
        self._wanted: Sequence[int] = range(partitions)
        self._epoch = 0
        self._received: Any = None

    async def begin(self) -> None:
        """Begin the states of the partitions at their first record."""
        states = [PartitionData(partition=each, state_epoch=1, start_offset=0) for each in self._wanted]
        topics = [InitializeStateData(topic_id=self._topic_id, partitions=states)]
        await self._ask(
            request_frame(InitializeShareGroupStateRequest(group_id=GROUP, topics=topics), _INITIALIZE_VERSION)
        )

    async def poll(self, acquired: Acquired, *, max_wait_ms: int) -> Acquired:
        """Acknowledge these records, and fetch others."""
        return await self.polled(self.poll_request(acquired, max_wait_ms=max_wait_ms))

    async def polled(self, frame: bytes, then: bytes = b"") -> Acquired:
        """Return what a ShareFetch acquires. `then`: a request that is sent after it, by another client."""
        self._sink.last = []
        self._bench.send(frame, self._sink.connection)
        if then:
            while self._bench.broker.services.purgatory.parked_on(self._topic, 0) == 0:
                await self._bench.turn()
            await self._bench.turn()  # the acknowledgements are stored
            await self._bench.turn()
            self._bench.send(then)
        while not self._sink.last:
            await self._bench.turn()
        return self._decoded(ApiKey.SHARE_FETCH)

    def poll_request(self, acquired: Acquired, *, max_wait_ms: int) -> bytes:
        """Return the ShareFetch that acknowledges these records."""
        partitions = [
            share_fetch.FetchPartition(
                partition_index=each,
                acknowledgement_batches=[
                    share_fetch.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=[_ACCEPT])
                    for first, last in acquired.get(each, ())
                ],
            )
            for each in (*self._wanted, *acquired)
        ]
        self._wanted = ()
        request = share_fetch.ShareFetchRequest(
            group_id=GROUP,
            member_id=MEMBER,
            share_session_epoch=self._next_epoch(),
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_bytes=50 << 20,
            max_records=RECORDS_MAX,
            batch_size=RECORDS_MAX,
            topics=[share_fetch.FetchTopic(topic_id=self._topic_id, partitions=partitions)] if partitions else [],
            forgotten_topics_data=[],
        )
        return request_frame(request, _VERSION)

    async def acknowledge(self, acquired: Acquired) -> None:
        """Accept these records, a type for each as Java's explicit mode does."""
        partitions = [
            share_acknowledge.AcknowledgePartition(
                partition_index=each,
                acknowledgement_batches=[
                    share_acknowledge.AcknowledgementBatch(
                        first_offset=first, last_offset=last, acknowledge_types=[_ACCEPT] * (last - first + 1)
                    )
                    for first, last in ranges
                ],
            )
            for each, ranges in acquired.items()
        ]
        request = share_acknowledge.ShareAcknowledgeRequest(
            group_id=GROUP,
            member_id=MEMBER,
            share_session_epoch=self._next_epoch(),
            topics=[share_acknowledge.AcknowledgeTopic(topic_id=self._topic_id, partitions=partitions)],
        )
        await self._ask(request_frame(request, _VERSION))

    def _next_epoch(self) -> int:
        self._epoch += 1
        return self._epoch - 1

    async def _ask(self, frame: bytes) -> None:
        self._sink.last = []
        self._bench.send(frame, self._sink.connection)
        while not self._sink.last:
            await self._bench.turn()

    def _decoded(self, key: ApiKey) -> Acquired:
        data = b"".join(self._sink.last)
        response = response_codec(key, _VERSION).decode(data, RESPONSE_BODY)[0]
        assert response.error_code == 0, response
        return {
            each.partition_index: [(got.first_offset, got.last_offset) for got in each.acquired_records]
            for topic in response.responses
            for each in topic.partitions
            if each.acquired_records
        }


def work(*, partitions: int, records_each: int, is_explicit: bool) -> Callable[[Bench], Prepare]:
    """Accept a backlog: about 500 records a poll."""

    def make(bench: Bench) -> Prepare:
        topic = bench.topic(partitions)
        member: list[_Member] = []
        acquired: list[Acquired] = [{}]
        frame = produce(topic, batch(records_each, VALUE_BYTES), partitions)

        async def run(polls: int) -> None:
            if not member:
                member.append(_Member(bench, topic, partitions))
                await member[0].begin()
            for _ in range(polls):
                acquired.append(await member[0].poll(acquired.pop(), max_wait_ms=_LOADING_MS))
                assert acquired[0], "the backlog is over"
                if is_explicit:
                    await member[0].acknowledge(acquired.pop())
                    acquired.append({})

        def prepare(polls: int) -> Any:
            for _ in range(polls * (RECORDS_MAX + records_each) // (records_each * partitions) + 1):
                bench.send(frame)
            return run(polls)

        return prepare

    return make


def wait(bench: Bench) -> Prepare:
    """Wait for a record, and acknowledge it with the next ShareFetch, which waits for the next record."""
    topic = bench.topic()
    message = produce(topic, batch(1, VALUE_BYTES))
    members: list[_Member] = []
    acquired: list[Acquired] = [{}]

    async def run(records: int) -> None:
        if not members:
            members.append(_Member(bench, topic, 1))
            await members[0].begin()
        for _ in range(records):
            frame = members[0].poll_request(acquired.pop(), max_wait_ms=_LOADING_MS)
            acquired.append(await members[0].polled(frame, then=message))
            assert acquired[0], "the record did not come"

    return run


CASES = (
    Case(
        "ShareFetch of 500 records, 12 partitions",
        work(partitions=12, records_each=RECORDS_EACH, is_explicit=False),
        200,
    ),
    Case("the same, and a ShareAcknowledge", work(partitions=12, records_each=RECORDS_EACH, is_explicit=True), 200),
    Case("a record to a ShareFetch that waits", wait, 500),
    Case("ShareFetch of 500 batches of 1 record", work(partitions=1, records_each=1, is_explicit=False), 10),
)


def main() -> None:
    """Measure all cases."""
    measured(CASES)
