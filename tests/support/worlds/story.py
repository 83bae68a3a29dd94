"""A whole broker that somebody listens to, and a client that asks it one thing after another."""

from typing import Any

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.support.worlds.broker import BrokerWorld, settle
from tests.support.worlds.told import Asking, Told

MINUTE_MS = 60_000
WEEK_MS = 8 * 24 * 60 * MINUTE_MS


class Story:
    """A broker with the topics `t` (3 partitions) and `u` (1), somebody who listens, and a client."""

    def __init__(self, settings: dict[str, str] | None = None, **more: Any) -> None:
        self.world = BrokerWorld(settings, **more)
        for name, partitions in (("t", 3), ("u", 1)):
            self.world.services.catalogue.create_topic(name, partitions)
        self.told = Told(self.world.broker.events)
        self.client = Asking(self.world)

    async def close(self) -> None:
        await self.world.close()
        self.told.stop()

    async def init(self, transactional_id: str | None = "x", **fields: Any) -> Any:
        fields = {"transaction_timeout_ms": MINUTE_MS, **fields}
        return await self.client.ask(InitProducerIdRequest(transactional_id=transactional_id, **fields), 4)

    async def add(self, producer: Any, *topics: tuple[str, list[int]]) -> Any:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="x",
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.producer_epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=name, partitions=each) for name, each in topics],
        )
        return await self.client.ask(request, 3)

    async def end(self, producer: Any, committed: bool = True, version: int = 4) -> ErrorCode:
        who = {"producer_id": producer.producer_id, "producer_epoch": producer.producer_epoch}
        answer = await self.client.ask(EndTxnRequest(transactional_id="x", committed=committed, **who), version)
        return ErrorCode(answer.error_code)

    async def join(self, member_id: str, group: str = "g", session_timeout_ms: int = 10_000) -> Any:
        protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
        request = JoinGroupRequest(
            group_id=group,
            member_id=member_id,
            protocol_type="consumer",
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=MINUTE_MS,
            protocols=protocols,
        )
        self.client.peer.ask(request, 3)
        await settle()
        self.world.clock.advance(1)
        await settle()
        return self.client.peer.answer()

    async def sync(self, joined: Any, group: str = "g") -> Any:
        assignments = [SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"all")]
        ids = {"group_id": group, "member_id": joined.member_id, "generation_id": joined.generation_id}
        return await self.client.ask(SyncGroupRequest(assignments=assignments, **ids), 3)

    async def consumer_heartbeat(self, member_epoch: int, member_id: str = "m", **fields: Any) -> Any:
        request = ConsumerGroupHeartbeatRequest(group_id="c", member_id=member_id, member_epoch=member_epoch, **fields)
        return await self.client.ask(request, 1)
