"""A whole broker with a listener of its events, and a client that sends one request after another."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from tests.support.requests import add_partitions, end_txn, join_group, sync_group
from tests.support.worlds.broker import BrokerWorld, settle
from tests.support.worlds.told import Asking, Told

MINUTE_MS = 60_000
WEEK_MS = 8 * 24 * 60 * MINUTE_MS


class Story:
    """A broker with the topics `t` (3 partitions) and `u` (1), a listener of its events, and a client."""

    def __init__(
        self, settings: dict[str, str] | None = None, make: Callable[..., BrokerWorld] = BrokerWorld, **more: Any
    ) -> None:
        self.world = make(settings, **more)
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
        return await self.client.ask(add_partitions("x", (producer.producer_id, producer.producer_epoch), *topics), 3)

    async def end(self, producer: Any, committed: bool = True, version: int = 4) -> ErrorCode:
        who = producer.producer_id, producer.producer_epoch
        answer = await self.client.ask(end_txn("x", who, committed), version)
        return ErrorCode(answer.error_code)

    async def join(self, member_id: str, group: str = "g", session_timeout_ms: int = 10_000) -> Any:
        self.client.peer.ask(join_group(group, member_id, session_timeout_ms=session_timeout_ms), 3)
        await settle()
        self.world.clock.advance(1)
        await settle()
        return self.client.peer.answer()

    async def sync(self, joined: Any, group: str = "g") -> Any:
        request = sync_group(group, joined.generation_id, joined.member_id, {joined.member_id: b"all"})
        return await self.client.ask(request, 3)

    async def consumer_heartbeat(self, member_epoch: int, member_id: str = "m", **fields: Any) -> Any:
        if member_epoch == 0:
            fields = {
                "subscribed_topic_names": ["t"],
                "rebalance_timeout_ms": MINUTE_MS,
                "topic_partitions": [],
                **fields,
            }
        request = ConsumerGroupHeartbeatRequest(group_id="c", member_id=member_id, member_epoch=member_epoch, **fields)
        return await self.client.ask(request, 1)


class Stories(list[Callable[[], Awaitable[Told]]]):
    """Those of a module; each plays on its own broker, and returns its events."""

    def about(self, *how: Any, **more: Any) -> Callable[[Callable[[Story], Awaitable[None]]], None]:
        """Note a story about a broker made with these arguments."""

        def note(play: Callable[[Story], Awaitable[None]]) -> None:
            @wraps(play)
            async def tell() -> Told:
                story = Story(*how, **more)
                await play(story)
                await story.close()
                return story.told

            self.append(tell)

        return note
