"""A broker in memory with faults: armed as JSON, for requests on a test's own connections."""

import asyncio
import json
from typing import Any

from barnabas.broker.api.frame_handler import Wrap
from barnabas.broker.control.faults.armed import Armed
from barnabas.broker.control.faults.faults import Faults
from barnabas.broker.control.faults.registry import FaultRegistry
from barnabas.broker.services import Services
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.support.virtual_clock import VirtualClock
from tests.support.worlds.broker import BrokerWorld, Peer, settle


class _Node:
    """The world's dispatcher, as faults meet it."""

    def __init__(self, world: BrokerWorld) -> None:
        self.services: Services = world.services
        self.node_id = world.services.node.node_id
        self.wraps: list[Wrap | None] = []
        self._world = world

    def intercept(self, wrap: Wrap | None) -> None:
        self.wraps.append(wrap)
        self._world.dispatcher.intercept(wrap)


class FaultyWorld:
    """world: the broker. clock: the machine's, which stands still."""

    def __init__(self) -> None:
        self.world = BrokerWorld({"transaction.state.log.num.partitions": "1"})
        self.clock: VirtualClock = self.world.machine_clock
        self.node = _Node(self.world)
        self.faults = Faults([self.node], asyncio.get_running_loop(), self.clock, self.world.broker.events)

    @property
    def registry(self) -> FaultRegistry:
        return self.faults.registry

    def arm(self, match: dict[str, Any], do: dict[str, Any], **more: Any) -> Armed:
        (armed,) = self.faults.arm_json(json.dumps({"match": match, "do": do, **more}))
        return armed

    def connect(self, kernel_bytes: int = 1 << 30) -> Peer:
        return self.world.connect(kernel_bytes)

    async def close(self) -> None:
        self.registry.close()
        await self.world.close()


def find(group: str = "g") -> FindCoordinatorRequest:
    """A request that is answered at once and changes nothing but for a topic."""
    return FindCoordinatorRequest(key_type=0, coordinator_keys=[group])


def produce(batches: dict[str, dict[int, bytes]], acks: int = -1) -> ProduceRequest:
    """Batches by topic and partition, to topics by name."""
    data = [
        TopicProduceData(
            name=name, partition_data=[PartitionProduceData(index=index, records=each) for index, each in parts.items()]
        )
        for name, parts in batches.items()
    ]
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=data)


async def asked(peer: Peer, request: Any, version: int | None = None) -> list[Any]:
    """The answers that come at once."""
    peer.ask(request, version)
    await settle()
    return peer.answers()
