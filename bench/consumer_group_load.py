"""Load from members of one group of the consumer protocol (KIP-848), in a process of its own: prints one line of JSON.

Raw connections on one event loop, one a member. A member asks again as soon as it is answered until the group has
settled: every member has the same epoch, and every partition exactly one owner. A consumer would wait for its
heartbeat interval in between; without that wait the coordinator is measured.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from typing import Any

import uvloop

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.headers import encode_request_header
from barnabas.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.protocol.registry import ApiKey, request_codec, response_codec
from bench.group_load import Connection, connect, find, pause
from bench.measure import blast, cpu_seconds

VERSION = 1
OFFSETS_VERSION = 7
"""A coordinator that is loading answers a request for offsets with an error: measuring begins after that."""
REBALANCE_TIMEOUT_MS = 60_000
BEATING = 100
"""Members that send heartbeats at full speed, each on a connection."""
BETWEEN_ASSIGNMENTS_S = 1.1
"""Kafka 4.4 computes no assignment earlier than 1 s after the last one (group.consumer.assignment.interval.ms)."""
LEAVE, JOIN = -1, 0


class Member:
    """A member of the group, and the partitions that are assigned to it."""

    def __init__(self, connection: Connection, group: str) -> None:
        self.connection, self.group = connection, group
        self.member_id = urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        self.epoch = JOIN
        self.owned: list[TopicPartitions] = []
        self._is_reported = True

    async def join(self, topic: str) -> None:
        self.epoch, self.owned = JOIN, []
        await self._beat(rebalance_timeout_ms=REBALANCE_TIMEOUT_MS, subscribed_topic_names=[topic], topic_partitions=[])

    async def leave(self) -> None:
        self.epoch = LEAVE
        await self._beat()
        self.owned = []

    async def beat(self) -> None:
        """Send a heartbeat; after an assignment, report the owned partitions once."""
        if self._is_reported:
            await self._beat()
        else:
            self._is_reported = True
            await self._beat(topic_partitions=self.owned)

    async def _beat(self, **fields: Any) -> None:
        answer = await self.connection.ask_until_ready(self.request(**fields), VERSION)
        if answer.error_code:
            raise SystemExit(f"an answer with {ErrorCode(answer.error_code).name}: {answer.error_message}")
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.owned, self._is_reported = answer.assignment.topic_partitions, False

    def request(self, **fields: Any) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest(
            group_id=self.group, member_id=self.member_id, member_epoch=self.epoch, **fields
        )


class Group:
    """The members of one group that share the partitions of one topic."""

    def __init__(self, members: list[Member], topic: str, partitions: int) -> None:
        self.members, self.topic, self.partitions = members, topic, partitions

    async def settle(self, after_epoch: int) -> float:
        """Send heartbeats until the group has settled with a newer epoch than `after_epoch`; return when that was seen.

        Requests that are in flight by then are still answered before it returns.
        """
        settled: list[float] = []
        await asyncio.gather(*(self._ask(member, after_epoch, settled) for member in self.members))
        return settled[0]

    async def _ask(self, member: Member, after_epoch: int, settled: list[float]) -> None:
        while not settled:
            await member.beat()
            if not settled and self._is_settled(after_epoch):
                settled.append(time.perf_counter())

    def _is_settled(self, after_epoch: int) -> bool:
        epoch = self.members[0].epoch
        if epoch <= after_epoch or any(member.epoch != epoch for member in self.members):
            return False
        owned = [
            (topic.topic_id, partition)
            for member in self.members
            for topic in member.owned
            for partition in topic.partitions
        ]
        return len(owned) == self.partitions == len(set(owned))


async def consumer_group(options: argparse.Namespace) -> dict[str, Any]:
    """Run G5: members join, one after the other leaves and returns, and all send heartbeats."""
    connections = [await connect(options.port) for _ in range(options.members)]
    name = f"bench-{time.time_ns()}"
    await find(connections[0], name)
    await connections[0].ask_until_ready(OffsetFetchRequest(group_id=name), OFFSETS_VERSION)
    group = Group([Member(connection, name) for connection in connections], options.topic, options.partitions)
    joined = time.perf_counter()
    await asyncio.gather(*(member.join(options.topic) for member in group.members))
    joined = await group.settle(JOIN) - joined
    left_ms = [await _one_leaves_and_returns(group) * 1000 for _ in range(options.rounds)]
    return {
        "assignment_ms": statistics.median(left_ms),
        "slowest_ms": max(left_ms),
        "join_ms": joined * 1000,
        **_heartbeats(options, group),
    }


async def _one_leaves_and_returns(group: Group) -> float:
    """Return the seconds from a member's leaving until the others own its partitions. Then it joins again."""
    await pause(BETWEEN_ASSIGNMENTS_S)
    epoch = group.members[0].epoch
    leaver = group.members.pop()
    started = time.perf_counter()
    await leaver.leave()
    took = await group.settle(epoch) - started
    await pause(BETWEEN_ASSIGNMENTS_S)
    epoch = group.members[0].epoch
    await leaver.join(group.topic)
    group.members.append(leaver)
    await group.settle(epoch)
    return took


def _heartbeats(options: argparse.Namespace, group: Group) -> dict[str, Any]:
    """Measure how many heartbeats without news are answered in a second, and the broker's cost of each."""
    request = request_codec(ApiKey.CONSUMER_GROUP_HEARTBEAT, VERSION)
    response = response_codec(ApiKey.CONSUMER_GROUP_HEARTBEAT, VERSION)
    header = encode_request_header(ApiKey.CONSUMER_GROUP_HEARTBEAT, VERSION, 0, "blast")
    with tempfile.NamedTemporaryFile(suffix=".frames") as file:
        for member in group.members[:BEATING]:
            answer = ConsumerGroupHeartbeatResponse(
                error_code=0, member_id=member.member_id, member_epoch=member.epoch, heartbeat_interval_ms=5_000
            )
            tags_of_the_header = b"\0"
            file.write(_sized(header + request.encode(member.request())))
            file.write(_sized(tags_of_the_header + response.encode(answer)))
        file.flush()
        spent = cpu_seconds(options.pid)
        figures = blast(
            "repeat", options.port, options.topic, connections=BEATING, seconds=options.seconds, frames=file.name
        )
    spent = cpu_seconds(options.pid) - spent
    return {
        "heartbeats_per_second": figures["per_second"],
        "cpu_us_per_heartbeat": spent / figures["requests"] * 1e6,
    }


def _sized(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--pid", type=int, required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--partitions", type=int, required=True)
    parser.add_argument("--members", type=int, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    print(json.dumps(uvloop.run(consumer_group(parser.parse_args()))))


if __name__ == "__main__":
    main()
