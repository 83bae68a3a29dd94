"""Load from members of groups, one program a workload, each run in a process of its own: prints one line of JSON.

Raw connections on one event loop: a member is a connection with its state. It sends the requests of a consumer,
without a consumer's pauses, so that the coordinator is measured.
"""

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Iterable
from typing import Any, cast

import uvloop

from barnabas.protocol.codec.schema import Request
from barnabas.protocol.connection.client import ClientConnection, ConnectionBroken, ResponseReceived
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from bench.peers.measure import cpu_seconds, held_mb
from bench.programs.rdkafka import percentile

FIND, JOIN, SYNC, HEARTBEAT, COMMIT, FETCH = 2, 5, 3, 3, 7, 7
SESSION_MS = 60_000
METADATA = bytes.fromhex("0001 00000001 0005") + b"topic" + bytes.fromhex("ffffffff 00000000")
ASSIGNMENT = METADATA[:9] + b"topic" + bytes.fromhex("00000001 00000000 ffffffff")
AGAIN = {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR}


class Connection(asyncio.Protocol):
    """A connection whose requests are answered in their order."""

    def __init__(self) -> None:
        self._wire = ClientConnection("bench")
        self._waiting: list[asyncio.Future[Any]] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    def data_received(self, data: bytes) -> None:
        for event in self._wire.receive(data):
            if isinstance(event, ConnectionBroken):
                raise SystemExit(event.reason)
            assert isinstance(event, ResponseReceived)
            self._waiting.pop(0).set_result(event.response)

    def ask(self, request: Request, version: int) -> Awaitable[Any]:
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(answered)
        self._transport.writelines(self._wire.send(request, version)[1])
        return answered

    async def ask_until_ready(self, request: Request, version: int) -> Any:
        """Retry while the coordinator is being loaded or created."""
        while True:
            answer = await self.ask(request, version)
            if answer.error_code not in AGAIN:
                return answer
            await pause(0.005)


async def pause(delay_s: float) -> None:
    """Wait; a member's pace is part of what is measured."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    loop.call_later(delay_s, over.set_result, None)
    await over


async def connect(port: int) -> Connection:
    _, connection = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
    return connection


async def find(connection: Connection, group: str) -> None:
    """Find the group's coordinator, as clients do first: that creates the topic it needs."""
    await connection.ask_until_ready(FindCoordinatorRequest(key=group), FIND)


class Member:
    """A consumer in a group."""

    def __init__(self, connection: Connection, group: str) -> None:
        self.connection, self.group = connection, group
        self.member_id, self.generation_id = "", -1
        self.others: list[str] = []
        """All members, if this one is the leader."""

    async def join(self) -> None:
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=SESSION_MS,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=METADATA)],
        )
        answer = await self.connection.ask_until_ready(request, JOIN)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = request.member_id = answer.member_id
            answer = await self.connection.ask(request, JOIN)
        _check(answer.error_code)
        self.member_id, self.generation_id = answer.member_id, answer.generation_id
        self.others = [member.member_id for member in answer.members]

    async def sync(self) -> ErrorCode:
        request = SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generation_id,
            member_id=self.member_id,
            assignments=[SyncGroupRequestAssignment(member_id=each, assignment=ASSIGNMENT) for each in self.others],
        )
        return ErrorCode((await self.connection.ask(request, SYNC)).error_code)

    async def heartbeat(self) -> ErrorCode:
        request = HeartbeatRequest(group_id=self.group, generation_id=self.generation_id, member_id=self.member_id)
        return ErrorCode((await self.connection.ask(request, HEARTBEAT)).error_code)

    async def settle(self, size: int, settled: asyncio.Event) -> None:
        """Join repeatedly, until the group has `size` members and all have their assignment."""
        while not settled.is_set():
            await self.join()
            if await self.sync() is not ErrorCode.NONE:
                continue
            if len(self.others) == size:
                settled.set()
            while not settled.is_set() and await self.heartbeat() is ErrorCode.NONE:
                await pause(0.2)


def _check(code: int) -> None:
    if code:
        raise SystemExit(f"an answer with {ErrorCode(code).name}")


async def _groups(connections: list[Connection], size: int) -> list[Member]:
    """Return members of settled groups of `size`, one on each connection."""
    members = []
    for chunk in _chunks(len(connections), size):
        name = f"bench-{time.time_ns()}"
        group = [Member(connections[number], name) for number in chunk]
        await find(group[0].connection, name)
        settled = asyncio.Event()
        await asyncio.gather(*(member.settle(len(group), settled) for member in group))
        members += group
    return members


async def rebalance(options: argparse.Namespace) -> dict[str, Any]:
    """Run G2: from the leader's JoinGroup to the last member's assignment, all rejoining as soon as they may."""
    members = await _groups([await connect(options.port) for _ in range(options.members)], options.members)
    leader = next(member for member in members if member.others)
    followers = [member for member in members if member is not leader]
    took_ms = []
    for _ in range(options.rounds):
        started = time.perf_counter()
        leading = asyncio.ensure_future(leader.join())
        while await followers[0].heartbeat() is ErrorCode.NONE:
            pass
        await asyncio.gather(leading, *(member.join() for member in followers))
        codes = await asyncio.gather(*(member.sync() for member in members))
        took_ms.append((time.perf_counter() - started) * 1000)
        _check(max(codes))
    return {"rebalance_ms": statistics.median(took_ms), "slowest_ms": max(took_ms), "members": len(members)}


async def idle(options: argparse.Namespace) -> dict[str, Any]:
    """Run G4: the cost of members that only send heartbeats, every 3 s each."""
    connections = [await connect(options.port) for _ in range(options.members)]
    await asyncio.gather(*(find(connection, "any-group") for connection in connections))
    before_mb = held_mb(options.pid)
    members = await _groups(connections, 50)
    await asyncio.gather(*(member.heartbeat() for member in members))
    after_mb = held_mb(options.pid)
    latencies: list[float] = []

    async def beat(number: int, member: Member) -> None:
        await pause(3 * number / len(members))
        stop = time.perf_counter() + options.seconds
        while (sent_at := time.perf_counter()) < stop:
            _check(await member.heartbeat())
            latencies.append((time.perf_counter() - sent_at) * 1e6)
            await pause(max(0.0, sent_at + 3 - time.perf_counter()))

    spent, started = cpu_seconds(options.pid), time.perf_counter()
    await asyncio.gather(*(beat(number, member) for number, member in enumerate(members)))
    elapsed = time.perf_counter() - started
    spent = cpu_seconds(options.pid) - spent
    return {
        "cpu_ms_per_s": spent / elapsed * 1000,
        "cpu_us_per_heartbeat": spent / len(latencies) * 1e6,
        "p99_us": percentile(latencies, 0.99),
        "kb_per_member": (after_mb - before_mb) * 1024 / len(members),
    }


def _chunks(count: int, size: int) -> Iterable[range]:
    return (range(start, min(start + size, count)) for start in range(0, count, size))


async def fill(options: argparse.Namespace) -> dict[str, Any]:
    """Run G3, first half: each of `groups` groups commits offset 7 + n in partition n of the topic's `partitions`."""
    connection = await connect(options.port)
    for number in range(options.groups):
        await find(connection, f"group-{number}")
        for chunk in _chunks(options.partitions, 1_000):
            partitions = [
                OffsetCommitRequestPartition(
                    partition_index=index, committed_offset=7 + index, committed_leader_epoch=-1, committed_metadata=""
                )
                for index in chunk
            ]
            topics = [OffsetCommitRequestTopic(name=options.topic, partitions=partitions)]
            request = OffsetCommitRequest(group_id=f"group-{number}", member_id="", topics=topics)
            while True:
                answer = await connection.ask(request, COMMIT)
                codes = {partition.error_code for topic in answer.topics for partition in topic.partitions}
                if not codes & AGAIN:
                    break
                await pause(0.05)
            _check(max(codes))
    return {"offsets": options.groups * options.partitions}


async def reload(options: argparse.Namespace) -> dict[str, Any]:
    """Run G3, second half: from the first request to the last right answer of every group, on a new broker process."""
    connection = await connect(options.port)
    topic = OffsetFetchRequestTopic(name=options.topic, partition_indexes=[*range(options.partitions)])
    started = time.perf_counter()
    first = 0.0
    for number in range(options.groups):
        request = OffsetFetchRequest(group_id=f"group-{number}", topics=[topic])
        answer = await connection.ask_until_ready(request, FETCH)
        first = first or time.perf_counter() - started
        found = [partition.committed_offset for topic in answer.topics for partition in topic.partitions]
        if found != [7 + index for index in range(options.partitions)]:
            raise SystemExit(f"group-{number} has other offsets than it committed")
    return {"first_answer_ms": first * 1000, "all_answers_ms": (time.perf_counter() - started) * 1000}


PROGRAMS = {"rebalance": rebalance, "idle": idle, "fill": fill, "reload": reload}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=sorted(PROGRAMS))
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--pid", type=int, default=0)
    parser.add_argument("--topic", default="topic")
    parser.add_argument("--members", type=int, default=500)
    parser.add_argument("--groups", type=int, default=100)
    parser.add_argument("--partitions", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    print(json.dumps(uvloop.run(PROGRAMS[options.program](options))))


if __name__ == "__main__":
    main()
