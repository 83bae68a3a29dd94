"""Whatever members of both protocols do: no partition has two readers, replay says the same, and all is read at last.

A classic member of a consumer group says what it has when it joins again; in a classic group, whose leader shares out
everything anew, it gives up all before it joins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.broker.coordinator.group.decisions.classic.model import Group, JoinReply, SyncReply
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup
from barnabas.broker.coordinator.group.decisions.consumer.model import (
    ConsumerConfig,
    HeartbeatReply,
    HeartbeatRequest,
    MigrationPolicy,
)
from barnabas.broker.coordinator.group.decisions.group_types import AnyGroup
from barnabas.broker.coordinator.runtime.partition_for import partition_for
from barnabas.client.consume.assignors import assigned_partitions, encode_assignment
from barnabas.protocol.errors import ErrorCode, KafkaError
from tests.support.clients.classic_members import subscription
from tests.support.worlds.group import GroupWorld, reply_of

Place = tuple[str, int]
TOPIC, PARTITIONS = "t", 5
_PLACES = {(TOPIC, number) for number in range(PARTITIONS)}
_STEPS, _MEMBERS, _TURNS_TO_REST = 60, 4, 300
_FORGOTTEN = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.FENCED_INSTANCE_ID)


class _Classic:
    """A member of the classic protocol as it sees itself; each turn is the next request of it."""

    def __init__(self, life: _Life, name: str, instance: str | None) -> None:
        self._life = life
        self._name = name
        self.instance = instance
        self._waiting: asyncio.Future[Any] | None = None
        self._assigns: dict[str, list[Place]] | None = None
        self._has_synced = False
        self.was_removed = False  # since it last was told what it has, and does not know it
        self.member_id = ""
        self.generation = -1
        self.uses: set[Place] = set()

    def turn(self) -> None:
        if self._waiting is not None:
            if self._waiting.done():
                done, self._waiting = self._waiting, None
                self._answered(done.result() if done.exception() is None else None)
        elif self.generation < 0:
            self._ask(self._join)
        elif not self._has_synced:
            self._ask(self._sync)
        else:
            self._ask(lambda: self._life.world.heartbeat(self.member_id, self.generation, instance=self.instance))

    def leave(self) -> None:
        self.uses = set()
        if self.member_id and self._waiting is None:
            self._life.world.leave((self.member_id, self.instance))

    def _ask(self, call: Any) -> None:
        try:
            answer = call()
        except KafkaError as error:
            answer = error.code
        if isinstance(answer, asyncio.Future) and not answer.done():
            self._waiting = answer
        else:
            self._answered(reply_of(answer))

    def _join(self) -> Any:
        if not isinstance(self._life.group(), ConsumerGroup):
            self.uses = set()
        protocols = [("range", subscription([TOPIC], self.uses))]
        return self._life.world.join(
            member_id=self.member_id, instance=self.instance, client=self._name, protocols=protocols
        )

    def _sync(self) -> Any:
        given = [(member_id, encode_assignment(places)) for member_id, places in (self._assigns or {}).items()]
        return self._life.world.sync(self.member_id, self.generation, given, instance=self.instance)

    def _answered(self, reply: Any) -> None:
        code = reply if isinstance(reply, ErrorCode) else ErrorCode.UNKNOWN_MEMBER_ID if reply is None else reply.error
        if code is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = reply.member_id
        elif code is not ErrorCode.NONE:
            self.generation = -1
            if code in _FORGOTTEN:
                self.member_id, self.uses = "", set()
        elif isinstance(reply, JoinReply):
            self.member_id, self.generation, self._has_synced = reply.member_id, reply.generation_id, False
            self._assigns = None
            if reply.leader_id == self.member_id:
                ids = [each.member_id for each in reply.members]
                self._assigns = {each: sorted(_PLACES)[at :: len(ids)] for at, each in enumerate(ids)}
        elif isinstance(reply, SyncReply):
            self._has_synced, self.was_removed = True, False
            self.uses = {*assigned_partitions(reply.assignment)}


class _Consumer:
    """A member of the consumer protocol as it sees itself."""

    def __init__(self, life: _Life, name: str, instance: str | None) -> None:
        self._life = life
        self.instance = instance
        self.member_id = name
        self.generation = 0
        self.uses: set[Place] = set()
        self._told: set[Place] = set()

    def turn(self) -> None:
        self.uses = set(self._told)
        is_joining = self.generation == 0
        topic_id = self._life.world.topics.ids[TOPIC]
        request = HeartbeatRequest(
            "g",
            self.member_id,
            self.generation,
            self.instance,
            rebalance_timeout_ms=30_000 if is_joining else -1,
            topic_names=(TOPIC,) if is_joining else None,
            owned={} if is_joining else {topic_id: frozenset(number for _, number in self.uses)},
        )
        try:
            reply: HeartbeatReply = reply_of(self._life.world.coordinator.consumer.heartbeat(request))
        except KafkaError:
            self.generation, self.uses, self._told = 0, set(), set()
            return
        self.generation = reply.member_epoch
        if reply.assignment is not None:
            self._told = {(TOPIC, number) for numbers in reply.assignment.values() for number in numbers}
            self.uses |= self._told

    def leave(self) -> None:
        self.uses = set()
        try:
            self._life.world.coordinator.consumer.heartbeat(HeartbeatRequest("g", self.member_id, -1, self.instance))
        except KafkaError:
            return  # it is not in the group, or the group is no longer one of consumers


class _Life:
    """A group and its members."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        policy = self.random.choice([MigrationPolicy.UPGRADE, MigrationPolicy.DOWNGRADE, MigrationPolicy.BIDIRECTIONAL])
        interval_ms = self.random.choice([0, 1_000])
        config = ConsumerConfig(assignment_interval_ms=interval_ms, migration_policy=policy)
        self.world = GroupWorld(consumer_config=config)
        self.world.topics.make(TOPIC, PARTITIONS)
        self.members: list[_Classic | _Consumer] = []

    def live(self) -> None:
        for _ in range(_STEPS):
            self.random.choice([self.come, self.turn, self.turn, self.turn, self.turn, self.go, self.pass_time])()
            self.world.settle()
            self.check()
            self.crash()
        self.come_to_rest()

    def come(self) -> None:
        if len(self.members) < _MEMBERS:
            name = f"m{self.random.randrange(10**9)}"
            instance = self.random.choice([None, None, f"i{self.random.randrange(3)}"])
            is_classic = self.random.random() < 0.5
            self.members.append(_Classic(self, name, instance) if is_classic else _Consumer(self, name, instance))

    def turn(self) -> None:
        if self.members:
            self.random.choice(self.members).turn()

    def go(self) -> None:
        if self.members and self.random.random() < 0.4:
            gone = self.members.pop(self.random.randrange(len(self.members)))
            if self.random.random() < 0.8:
                gone.leave()

    def pass_time(self) -> None:
        self.world.advance(self.random.choice([10, 1_000, 5_000, 61_000]))

    def group(self) -> AnyGroup | None:
        machine = next(iter(self._machines()), None)
        return None if machine is None else machine.group("g")

    def _machines(self) -> Iterator[Any]:
        index = partition_for("g", 50)
        return (each.machine for each in self.world.coordinator.loaded() if each.index == index)

    def check(self) -> None:
        group = self.group()
        if group is None:
            return
        used = self.read()
        assert len(used) == len(set(used)), "two members read one partition"

    def crash(self) -> None:
        group = self.group()
        if isinstance(group, ConsumerGroup) and self.random.random() < 0.1:
            self.world.crash()
            assert self.world.coordinator.consumer.describe("g") == group, "replay builds what was there"

    def read(self) -> list[Place]:
        """What is read, by those that are members."""
        group = self.group()
        if group is None:
            return []
        return sorted(place for each in self.members if self._is_current(group, each) for place in each.uses)

    def _is_current(self, group: AnyGroup, member: _Classic | _Consumer) -> bool:
        """Whether the member, if it asked now, would be taken for what it says it is."""
        if isinstance(member, _Classic):
            member.was_removed |= member.member_id not in group.members
            if member.was_removed:
                return False
        if isinstance(group, ConsumerGroup):
            found = group.members.get(member.member_id)
            return found is not None and found.member_epoch == member.generation > 0
        assert isinstance(group, Group)
        return member.member_id in group.members and member.generation == group.generation_id

    def come_to_rest(self) -> None:
        kept = self.members
        if self.random.random() < 0.5:
            kept = [member for member in self.members if isinstance(member, _Classic)] or self.members
        self.members = [*{member.instance or id(member): member for member in kept}.values()]
        for _ in range(_TURNS_TO_REST):
            for member in self.members:
                member.turn()
                self.world.settle()
            self.world.advance(1_500)
            self.check()
            if not self.members or self.read() == sorted(_PLACES):
                break
        else:
            raise AssertionError(f"not all is read: {[(type(each), each.uses) for each in self.members]}")


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_no_life_of_a_group_of_both_protocols_breaks_its_promises(seed: int) -> None:
    life = _Life(seed)
    with life.world:
        life.live()
