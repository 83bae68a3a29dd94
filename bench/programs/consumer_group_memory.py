"""The memory of members of groups of the consumer protocol, in a process of its own: prints one line of JSON.

Groups of a thousand members over as many partitions, all on one connection, so that connections are not counted. The
first group is not counted either: with it the broker comes to hold what it holds for any number of them.
"""

import argparse
import json
import time

import uvloop

from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from bench.peers.measure import held_mb
from bench.programs.consumer_group_load import OFFSETS_VERSION, VERSION, Membership
from bench.programs.group_load import connect, find, pause

COUNTED_GROUPS, MEMBERS = 5, 1_000
UNTIL_ASSIGNED_S = 1.1
"""Kafka 4.4 computes no assignment earlier than 1 s after the last one (group.consumer.assignment.interval.ms)."""
BEATS = 3
"""The answers to a member: its assignment; the acknowledgement that it has it; nothing new."""


async def _fill(port: int, topic: str) -> None:
    connection = await connect(port)
    name = f"held-{time.time_ns()}"
    await find(connection, name)
    await connection.ask_until_ready(OffsetFetchRequest(group_id=name), OFFSETS_VERSION)
    members = [Membership(name) for _ in range(MEMBERS)]
    for member in members:
        member.take(await connection.ask_until_ready(member.joining(topic), VERSION))
    await pause(UNTIL_ASSIGNED_S)
    for _ in range(BEATS):
        for member in members:
            member.take(await connection.ask_until_ready(member.beating(), VERSION))
    assert all(member.owned for member in members), "there are members without a partition"


async def _measure(options: argparse.Namespace) -> dict[str, float]:
    await _fill(options.port, options.topic)
    before_mb = held_mb(options.pid)
    for _ in range(COUNTED_GROUPS):
        await _fill(options.port, options.topic)
    return {"kb_per_member": (held_mb(options.pid) - before_mb) * 1024 / (COUNTED_GROUPS * MEMBERS)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--pid", type=int, required=True)
    parser.add_argument("--topic", required=True)
    print(json.dumps(uvloop.run(_measure(parser.parse_args()))))


if __name__ == "__main__":
    main()
