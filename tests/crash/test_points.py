"""The broker is crashed at every named step, and started again on the same data: nothing acknowledged is lost.

One story crosses all steps: topics, groups of both protocols, segments that roll, syncs, transactions that are
committed and aborted, a share group with a dead-letter queue. For each step a broker of its own is killed there by a
fault, in its own process, and the story goes on over its death: a transaction is whole or absent, in one Fetch over its
partitions and in its group's offset, and no record comes again to a share group that accepted or rejected it.
"""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas import Barnabas
from barnabas.broker.runtime.events import KINDS
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from barnabas.protocol.records.builder import build_batch
from tests.support.fuzz.socket_client import SocketClient
from tests.support.stories.share_program import DEAD_LETTERS, REJECTED, ShareProgram
from tests.support.stories.transaction_program import TransactionProgram

E = ErrorCode
PARTITIONS = 3
SEGMENT_BYTES = 1 << 20
LARGE = bytes(400_000)
LARGE_COUNT = 4
SETTINGS = {
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
    "log.flush.interval.messages": 1,
    "group.initial.rebalance.delay.ms": 0,
    "share.coordinator.state.topic.num.partitions": 1,
}
STORY_TIMEOUT_S = 60
_AGAIN = {E.COORDINATOR_LOAD_IN_PROGRESS, E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR, E.NOT_LEADER_OR_FOLLOWER}


class Reborn:
    """A broker that is started again whenever a fault has crashed it, and a connection to it."""

    def __init__(self, broker: Barnabas) -> None:
        self._broker = broker
        self._client = SocketClient(broker.port)
        self.deaths = 0

    async def ask(self, request: Request, version: int) -> Any:
        """The answer; ConnectionError when the broker died over the request."""
        try:
            return await self._client.ask(request, version)
        except asyncio.IncompleteReadError as cut:
            raise ConnectionResetError("the broker is gone") from cut

    async def ask_until_answered(self, request: Request, version: int) -> Any:
        """The answer of this broker, or of the next."""
        while True:
            try:
                return await self.ask(request, version)
            except ConnectionError:
                await self.boot()

    async def boot(self) -> None:
        await self._client.close()
        await asyncio.to_thread(self._broker.faults.wait_crashed)
        self.deaths += 1
        await asyncio.to_thread(self._broker.start)
        self._client = SocketClient(self._broker.port)

    async def advance(self, delay_ms: float) -> None:
        """Let time pass: the broker's own turns."""
        await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=delay_ms / 1000)

    async def close(self) -> None:
        await self._client.close()

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


class Story:
    """What crosses every step."""

    def __init__(self, broker: Reborn) -> None:
        self.broker = broker
        self.program = TransactionProgram(broker, 2, PARTITIONS)
        self.worker = ShareProgram(broker)

    async def tell(self) -> None:
        await self._create(*self.program.topics, *self.worker.topics, _rolled())
        await self._write_until_it_rolls()
        await self._form_a_classic_group()
        await self._form_a_consumer_group()
        await self.worker.live()
        await self.program.init()
        for commit in (True, False, True):
            self.program.begin()
            await self.program.send(*range(PARTITIONS))
            await self.program.send_offset(len(self.program.transactions))
            await self.program.end(commit=commit)
        await self.program.init()  # waits for what is on its way
        await self.program.check()
        await self.program.check_nothing_hangs()

    async def _create(self, *topics: CreatableTopic) -> None:
        for topic in topics:
            answer = await self.broker.ask_until_answered(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7)
            assert answer.topics[0].error_code in (E.NONE, E.TOPIC_ALREADY_EXISTS)
            wanted = MetadataRequest(topics=[MetadataRequestTopic(name=topic.name)], allow_auto_topic_creation=False)
            there = (await self.broker.ask_until_answered(wanted, 9)).topics[0]
            assert len(there.partitions) == topic.num_partitions, "a topic is whole or absent"

    async def _write_until_it_rolls(self) -> None:
        """Of an idempotent producer, so that what is sent again is there once."""
        for sequence in range(LARGE_COUNT):
            batch = build_batch(
                [(None, b"%d " % sequence + LARGE, (), self.broker.now_ms())],
                producer_id=77,
                producer_epoch=0,
                base_sequence=sequence,
            )
            data = PartitionProduceData(index=0, records=bytes(batch))
            topics = [TopicProduceData(name="rolled", partition_data=[data])]
            request = ProduceRequest(transactional_id=None, acks=-1, timeout_ms=1000, topic_data=topics)
            await self._until_taken(request, 11, lambda answer: answer.responses[0].partition_responses[0].error_code)

    async def _until_taken(self, request: Request, version: int, code_of: Any) -> Any:
        while True:
            answer = await self.broker.ask_until_answered(request, version)
            code = code_of(answer)
            if code not in _AGAIN:
                assert code in (E.NONE, E.DUPLICATE_SEQUENCE_NUMBER), ErrorCode(code)
                return answer
            await self.broker.advance(10)

    async def _form_a_classic_group(self) -> None:
        """One member joins and is given its assignment; it joins anew where the broker has forgotten it."""
        while True:
            joined = await self._until_joined()
            assignments = [SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"all")]
            request = SyncGroupRequest(
                group_id="classic",
                generation_id=joined.generation_id,
                member_id=joined.member_id,
                assignments=assignments,
            )
            answer = await self.broker.ask_until_answered(request, 3)
            if answer.error_code == E.NONE:
                assert answer.assignment == b"all"
                return
            assert answer.error_code in (E.UNKNOWN_MEMBER_ID, E.REBALANCE_IN_PROGRESS, *_AGAIN), answer

    async def _until_joined(self) -> Any:
        protocols = [JoinGroupRequestProtocol(name="range", metadata=b"m")]
        while True:
            request = JoinGroupRequest(
                group_id="classic",
                session_timeout_ms=30_000,
                rebalance_timeout_ms=1_000,
                member_id="",
                protocol_type="consumer",
                protocols=protocols,
            )
            answer = await self.broker.ask_until_answered(request, 3)
            if answer.error_code == E.NONE:
                return answer
            assert answer.error_code in _AGAIN, answer
            await self.broker.advance(10)

    async def _form_a_consumer_group(self) -> None:
        """One member of the new protocol joins, and has every partition."""
        request = ConsumerGroupHeartbeatRequest(
            group_id="consumer",
            member_id="m",
            member_epoch=0,
            rebalance_timeout_ms=1_000,
            subscribed_topic_names=["tx-out"],
            topic_partitions=[],
        )
        answer = await self._until_taken(request, 1, lambda answer: answer.error_code)
        assert answer.member_epoch > 0
        assert [topic.partitions for topic in answer.assignment.topic_partitions] == [[0, 1, 2]]


def _rolled() -> CreatableTopic:
    configs = [CreatableTopicConfig(name="segment.bytes", value=str(SEGMENT_BYTES))]
    return CreatableTopic(name="rolled", num_partitions=1, replication_factor=1, assignments=[], configs=configs)


@pytest.fixture
def broker() -> Iterator[Barnabas]:
    with Barnabas(config=SETTINGS) as broker:
        yield broker


STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")
DELIVERY_STATES = ("available", "acknowledged", "archiving", "archived")
CLOSER: dict[str, list[dict[str, Any]]] = {
    **{f"transaction.record_{when}": [{"state": state} for state in STATES] for when in ("writing", "written")},
    **{
        f"transaction.marker_{when}": [{"position": position} for position in range(1, PARTITIONS + 2)]
        for when in ("writing", "written")
    },
    **{
        f"group.{step}": [{"protocol": protocol} for protocol in ("classic", "consumer")]
        for step in ("rebalance_begun", "assignment_made", "rebalance_completed")
    },
    **{
        f"share.record_{when}": [{"delivery_states": state} for state in DELIVERY_STATES]
        for when in ("writing", "written")
    },
    "share.acknowledged": [{"type": kind} for kind in ("accept", "release", "reject")],
}
"""Where a step comes more than once in another place: each of them. The group's offsets are a partition, too."""
WRITTEN_AGAIN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("share.dead_letters_written", {}),
    ("share.record_writing", {"delivery_states": "archived"}),
)
"""Where a dead letter is written and its record not archived: the next start writes the letter again."""
GROUPS = [name for name in CLOSER if name.startswith("group.")]
IN_BOTH = pytest.mark.both_forms
PLACES = [
    pytest.param(
        kind.name,
        facts,
        id=" ".join([kind.name, *map(str, facts.values())]),
        marks=IN_BOTH if kind.name in GROUPS else (),
    )
    for kind in KINDS.values()
    if kind.may_crash
    for facts in CLOSER.get(kind.name, [{}])
]


@pytest.mark.parametrize(("point", "facts"), PLACES)
def test_a_broker_that_is_crashed_at_a_step_goes_on_as_if_it_had_not_been(
    broker: Barnabas, point: str, facts: dict[str, Any]
) -> None:
    async def live() -> int:
        reborn = Reborn(broker)
        async with asyncio.timeout(STORY_TIMEOUT_S):
            await Story(reborn).tell()
        await reborn.close()
        return reborn.deaths

    broker.faults.arm(name="crash", point=point, facts=facts, crash=True)
    assert asyncio.run(live()) == 1, "the story crosses the step"
    large = [record.value for record in broker.records("rolled")]
    assert [(value or b"")[:2] for value in large] == [b"%d " % sequence for sequence in range(LARGE_COUNT)]
    letters = [dict(record.headers)["__dlq.errors.offset"] for record in broker.records(DEAD_LETTERS)]
    assert set(letters) == {b"%d" % REJECTED}
    assert len(letters) == (2 if (point, facts) in WRITTEN_AGAIN else 1)
    assert f"fault=crash point={point}" in broker.logs
