"""The cost of groups in one process: memory per member and per committed offset, and the time to load an offset.

Part of `scripts/bench --micro`. Memory is what Python reports as allocated (tracemalloc), so it does not depend on
other processes; time is processor time.
"""

import gc
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

from barnabas.broker.coordinator.group.decisions.classic.model import (
    CommittedOffset,
    GroupConfig,
    GroupRecord,
    OffsetCommitted,
)
from barnabas.broker.coordinator.group.decisions.group_machine import GroupMachine
from barnabas.broker.coordinator.group.decisions.group_types import AnyRecord
from barnabas.broker.coordinator.group.decisions.records import encode
from barnabas.broker.coordinator.runtime.loading import Loader
from barnabas.broker.coordinator.runtime.outcome import TransactionProducer
from barnabas.broker.coordinator.runtime.shard import AppendPosition
from barnabas.protocol.records.builder import NewRecord, build_batch
from tests.support.worlds.group import GroupWorld
from tests.support.worlds.memory_topic import MemoryTopic
from tests.support.worlds.memory_topics import no_consumers

GROUPS, MEMBERS = 50, 20
OFFSETS = 100_000
BATCH = 1_000
NOW_MS = 1_700_000_000_000
_SUBSCRIPTION = bytes.fromhex("000100000001000574") + b"opic" + bytes(10)
_ASSIGNMENT = 40


class _ForgetfulTopic(MemoryTopic):
    """Accepts every record and stores none: the log is not measured."""

    def append(
        self,
        partition: int,
        records: Sequence[tuple[bytes, bytes | None]],
        now_ms: int,
        producer: TransactionProducer | None = None,
    ) -> AppendPosition:
        return AppendPosition(0, None)


class _Log:
    """One partition's log, a batch a slice."""

    def __init__(self, batches: list[bytes]) -> None:
        self._batches = batches

    def extent(self, partition: int) -> tuple[int, int]:
        return 0, len(self._batches) * BATCH

    def read(self, partition: int, offset: int, max_bytes: int) -> bytes:
        return self._batches[offset // BATCH]


def _settle(world: GroupWorld) -> None:
    """Make stable groups of consumers that support two protocols each, as most do."""
    protocols = (("range", _SUBSCRIPTION), ("cooperative-sticky", _SUBSCRIPTION + bytes(4)))
    for number in range(GROUPS):
        group_id = f"group-{number}"
        ids = [world.join(group_id, client="consumer").member_id for _ in range(MEMBERS)]
        joins = [world.join(group_id, member_id, client="consumer", protocols=protocols) for member_id in ids]
        world.advance(0)
        leader_id = joins[0].result().leader_id
        shares = [(member_id, bytes(_ASSIGNMENT) + member_id[-4:].encode()) for member_id in ids]
        for member_id in ids:
            world.sync(member_id, 1, shares if member_id == leader_id else (), group_id=group_id)
        world.settle()


def _allocated(build: Callable[[], Any]) -> int:
    """Return the bytes that the result or the changes of `build` keep allocated."""
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    result = build()
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del result
    return after - before


def _offsets_log(groups: int) -> _Log:
    """Return a log of OFFSETS commits, shared by so many groups."""
    each = OFFSETS // groups
    records: list[GroupRecord] = [
        OffsetCommitted(
            f"a-group-{number // each}",
            "a-topic",
            number % each,
            CommittedOffset(1_000_000 + number, 5, "", NOW_MS + number // each, topic_id=b"\x01" * 16),
        )
        for number in range(OFFSETS)
    ]
    batches = []
    for start in range(0, OFFSETS, BATCH):
        rows = [NewRecord(*encode(record), (), NOW_MS) for record in records[start : start + BATCH]]
        batches.append(bytes(build_batch(rows, base_offset=start)))
    return _Log(batches)


def _load(log: _Log) -> GroupMachine:
    machine = GroupMachine(GroupConfig(), no_consumers())
    loader = Loader[AnyRecord](log, 0, machine)
    while not loader.step():
        pass
    return machine


def main() -> None:
    with GroupWorld(topic=_ForgetfulTopic()) as world:
        members = _allocated(lambda: _settle(world)) / (GROUPS * MEMBERS)
    print(f"{members:.0f} B per idle member ({MEMBERS} in a group, two protocols, {_ASSIGNMENT} B assigned)")
    for groups in (100, OFFSETS):
        log = _offsets_log(groups)
        started = time.process_time()
        _load(log)
        spent_us = (time.process_time() - started) / OFFSETS * 1e6
        held = _allocated(lambda log=log: _load(log)) / OFFSETS  # type: ignore[misc]  # because of the default
        print(f"{held:.0f} B per committed offset, {spent_us:.1f} us to load it ({OFFSETS // groups} in a group)")


if __name__ == "__main__":
    main()
