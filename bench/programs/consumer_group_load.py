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
from collections.abc import Callable
from functools import partial
from typing import Any, cast

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
from bench.peers.measure import blast, cpu_seconds
from bench.programs.group_load import connect, find, pause

VERSION = 1
OFFSETS_VERSION = 7
"""A coordinator that is loading answers a request for offsets with an error: measuring begins after that."""
REBALANCE_TIMEOUT_MS = 60_000
REQUEST = request_codec(ApiKey.CONSUMER_GROUP_HEARTBEAT, VERSION)
RESPONSE = response_codec(ApiKey.CONSUMER_GROUP_HEARTBEAT, VERSION)
HEADER = encode_request_header(ApiKey.CONSUMER_GROUP_HEARTBEAT, VERSION, 0, "blast")
_SIZE_BYTES = 4
ANSWER_AT = _SIZE_BYTES + 4 + 1
"""Where the answer begins in a frame: after its size, its correlation id and the tags of its header."""
BEATING = 100
"""Members that send heartbeats at full speed, each on a connection."""
BETWEEN_ASSIGNMENTS_S = 1.1
"""Kafka 4.4 computes no assignment earlier than 1 s after the last one (group.consumer.assignment.interval.ms)."""
LEAVE, JOIN = -1, 0


class Membership:
    """The state of a member: its id, its epoch, and the partitions that are assigned to it."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.member_id = urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        self.epoch = JOIN
        self.owned: list[TopicPartitions] = []
        self.is_reported = True
        """Whether the group knows that this member has its partitions."""

    def joining(self, topic: str) -> ConsumerGroupHeartbeatRequest:
        self.epoch, self.owned = JOIN, []
        return self.request(
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS, subscribed_topic_names=[topic], topic_partitions=[]
        )

    def leaving(self) -> ConsumerGroupHeartbeatRequest:
        self.epoch, self.owned = LEAVE, []
        return self.request()

    def beating(self) -> ConsumerGroupHeartbeatRequest:
        """Return a heartbeat: the first after an assignment reports the owned partitions."""
        if self.is_reported:
            return self.request()
        self.is_reported = True
        return self.request(topic_partitions=self.owned)

    def take(self, answer: ConsumerGroupHeartbeatResponse) -> None:
        if answer.error_code:
            raise SystemExit(f"an answer with {ErrorCode(answer.error_code).name}: {answer.error_message}")
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.owned, self.is_reported = answer.assignment.topic_partitions, False

    def request(self, **fields: Any) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest(
            group_id=self.group, member_id=self.member_id, member_epoch=self.epoch, **fields
        )


class Member(asyncio.Protocol):
    """A member of the group on a connection of its own.

    It costs little beside the broker: a heartbeat is encoded again only after news, and an answer is decoded only if it
    differs from the last one.
    """

    def __init__(self, group: str, when_answered: "Callable[[Member], None]") -> None:
        self.state = Membership(group)
        self.has_news = False
        """Whether its last answer was another than the one before."""
        self._when_answered = when_answered
        self._received, self._known = bytearray(), bytearray()
        self._again = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    def ask(self, request: ConsumerGroupHeartbeatRequest) -> None:
        """Send a request; `when_answered` is called after its answer."""
        self._transport.write(_sized(HEADER + REQUEST.encode(request)))

    def beat(self) -> None:
        """Send a heartbeat."""
        if not self.state.is_reported:
            self.ask(self.state.beating())
            return
        self._again = self._again or _sized(HEADER + REQUEST.encode(self.state.beating()))
        self._transport.write(self._again)

    def data_received(self, data: bytes) -> None:
        received = self._received
        received += data
        if len(received) < _SIZE_BYTES or len(received) < _SIZE_BYTES + int.from_bytes(received[:_SIZE_BYTES], "big"):
            return
        self.has_news = received != self._known
        if self.has_news:
            self.state.take(RESPONSE.decode(received, ANSWER_AT)[0])
            self._again = b""
        self._known, self._received = received, bytearray()
        self._when_answered(self)


class Group:
    """The members of one group that share the partitions of one topic."""

    def __init__(self, topic: str, partitions: int) -> None:
        self.members: list[Member] = []
        self.topic, self.partitions = topic, partitions
        self._after_epoch = JOIN
        self._settled_at = 0.0
        self._in_flight = 0
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def settle(self, after_epoch: int, begin: Callable[[], None]) -> float:
        """Send heartbeats after `begin`, until the group has settled with a newer epoch than `after_epoch`.

        `begin` sends one request of each member that is not to send a heartbeat first. Returns the seconds until the
        group was seen to have settled. Requests that are in flight by then are still answered before it returns.
        """
        self._after_epoch, self._settled_at, self._in_flight = after_epoch, 0.0, 0
        self._over = asyncio.get_running_loop().create_future()
        began = time.perf_counter()
        begin()
        await self._over
        return self._settled_at - began

    def send(self, send: Callable[[], None]) -> None:
        """Send a request of a member."""
        self._in_flight += 1
        send()

    def answered(self, member: Member) -> None:
        """Have the member ask again, unless the group has settled."""
        self._in_flight -= 1
        if not self._settled_at and member.has_news and self._is_settled():
            self._settled_at = time.perf_counter()
        if not self._settled_at and member.state.epoch != LEAVE:
            self.send(member.beat)
        elif not self._in_flight:
            self._over.set_result(None)

    def _is_settled(self) -> bool:
        epoch = self.members[0].state.epoch
        if epoch <= self._after_epoch or any(member.state.epoch != epoch for member in reversed(self.members)):
            return False
        owned = [
            (topic.topic_id, partition)
            for member in self.members
            for topic in member.state.owned
            for partition in topic.partitions
        ]
        return len(owned) == self.partitions == len(set(owned))


async def consumer_group(options: argparse.Namespace) -> dict[str, Any]:
    """Run G5: members join, one after the other leaves and returns, and all send heartbeats."""
    name = f"bench-{time.time_ns()}"
    finding = await connect(options.port)
    await find(finding, name)
    await finding.ask_until_ready(OffsetFetchRequest(group_id=name), OFFSETS_VERSION)
    group, loop = Group(options.topic, options.partitions), asyncio.get_running_loop()
    for _ in range(options.members):
        make = partial(Member, name, group.answered)
        group.members.append((await loop.create_connection(make, "127.0.0.1", options.port))[1])
    joined = await group.settle(JOIN, lambda: _all_join(group))
    left_ms = [await _one_leaves_and_returns(group) * 1000 for _ in range(options.rounds)]
    return {
        "assignment_ms": statistics.median(left_ms),
        "slowest_ms": max(left_ms),
        "join_ms": joined * 1000,
        **_heartbeats(options, group),
    }


def _all_join(group: Group) -> None:
    for member in group.members:
        group.send(partial(member.ask, member.state.joining(group.topic)))


async def _one_leaves_and_returns(group: Group) -> float:
    """Return the seconds from a member's leaving until the others own its partitions. Then it joins again.

    The others send heartbeats from the moment on at which it leaves.
    """
    await pause(BETWEEN_ASSIGNMENTS_S)
    epoch = group.members[0].state.epoch
    leaver = group.members.pop()

    def leave() -> None:
        group.send(partial(leaver.ask, leaver.state.leaving()))
        _all_beat(group)

    def return_() -> None:
        _all_beat(group)
        group.send(partial(leaver.ask, leaver.state.joining(group.topic)))
        group.members.append(leaver)

    took = await group.settle(epoch, leave)
    await pause(BETWEEN_ASSIGNMENTS_S)
    await group.settle(group.members[0].state.epoch, return_)
    return took


def _all_beat(group: Group) -> None:
    for member in group.members:
        group.send(member.beat)


def _heartbeats(options: argparse.Namespace, group: Group) -> dict[str, Any]:
    """Measure how many heartbeats without news are answered in a second, and the broker's cost of each."""
    with tempfile.NamedTemporaryFile(suffix=".frames") as file:
        for member in group.members[:BEATING]:
            state = member.state
            answer = ConsumerGroupHeartbeatResponse(
                error_code=0, member_id=state.member_id, member_epoch=state.epoch, heartbeat_interval_ms=5_000
            )
            tags_of_the_header = b"\0"
            file.write(_sized(HEADER + REQUEST.encode(state.request())))
            file.write(_sized(tags_of_the_header + RESPONSE.encode(answer)))
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
