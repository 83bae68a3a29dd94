"""Random lives of a group: joins, leaves, silence, crashes, full disks, lost connections, transactions, in any order.

Whatever happens: a partition has one owner per generation; a commit that was acknowledged is there until another one
is, in a transaction from its end on; replaying the log gives the state that is live; and when everybody is silent for
long, nobody is left waiting.
"""

import asyncio
import copy
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.coordinator.group.decisions.classic.draft import as_stored
from barnabas.broker.coordinator.group.decisions.classic.model import Group, GroupConfig, JoinReply, SyncReply
from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupState
from barnabas.broker.coordinator.group.decisions.group_machine import GroupMachine
from barnabas.broker.coordinator.group.decisions.group_types import AnyRecord
from barnabas.broker.coordinator.runtime.loading import Loader
from barnabas.broker.coordinator.runtime.partition_for import partition_for
from barnabas.protocol.errors import ErrorCode, KafkaError
from tests.support.worlds.group import GroupWorld, reply_of
from tests.support.worlds.memory_topics import no_consumers

_PARTITION = partition_for("g", 50)
_TOPIC_PARTITIONS = 4
_PROTOCOLS = ((("range", b"r"), ("sticky", b"s")), (("sticky", b"s"), ("range", b"r2")))


class _Client:
    """A consumer that may do anything at any time, with what it remembers."""

    def __init__(self, name: str, instance: str | None) -> None:
        self.name = name
        self.instance = instance
        self.member_id = ""
        self.generation_id = -1
        self.leads: tuple[str, ...] = ()
        self.next = "join"
        """What a client in its right mind would do now."""


class _Transactions:
    """What has to be true of two producers' transactions: (partition -> (order of the commit, offset)) for each."""

    def __init__(self) -> None:
        self._clock = 0
        self._committed_at: dict[tuple[str, int], int] = {}
        self._open: dict[int, dict[tuple[str, int], tuple[int, int]]] = {0: {}, 1: {}}
        self.held: dict[int, tuple[bool, dict[tuple[str, int], tuple[int, int]]]] = {}

    def committed(self, *partition: Any) -> None:
        self._clock += 1
        self._committed_at[partition] = self._clock

    def waits(self, producer_id: int, partition: tuple[str, int], offset: int) -> None:
        self._clock += 1
        self._open[producer_id][partition] = self._clock, offset

    def end(self, producer_id: int, *, is_commit: bool) -> dict[tuple[str, int], int]:
        """What is committed by that."""
        offsets, self._open[producer_id] = self._open[producer_id], {}
        return self._shown(offsets, is_commit)

    def _shown(self, offsets: dict[tuple[str, int], tuple[int, int]], is_commit: bool) -> dict[tuple[str, int], int]:
        counting = {
            partition: (order, offset)
            for partition, (order, offset) in offsets.items()
            if is_commit and order > self._committed_at.get(partition, 0)
        }
        self._committed_at |= {partition: order for partition, (order, _) in counting.items()}
        return {partition: offset for partition, (_, offset) in counting.items()}

    def hold(self, producer_id: int, *, is_commit: bool) -> None:
        self.held[producer_id] = is_commit, self._open[producer_id]
        self._open[producer_id] = {}

    def release(self, producer_id: int) -> dict[tuple[str, int], int]:
        is_commit, offsets = self.held.pop(producer_id)
        return self._shown(offsets, is_commit)

    def unstable(self) -> set[tuple[str, int]]:
        held = [offsets for _, offsets in self.held.values()]
        return {partition for offsets in (*self._open.values(), *held) for partition in offsets}


class _Life:
    """A group, its clients, and what must be true of them."""

    def __init__(self, world: GroupWorld) -> None:
        self.world = world
        self.clients = [_Client("a", None), _Client("b", None), _Client("c", "C"), _Client("d", "D")]
        self.waiting: list[tuple[_Client, asyncio.Future[Any]]] = []
        self.owners: dict[tuple[int, int], str] = {}
        self.acknowledged: dict[tuple[str, int], int] = {}
        self.transactions = _Transactions()
        self.refusals: set[ErrorCode] = set()
        self.witnesses: list[tuple[Group, Group]] = []

    def play(self, step: tuple[str, int, int]) -> None:
        verb, who, number = step
        client = self.clients[who]
        try:
            getattr(self, "_" + verb)(client, number)
        except KafkaError as error:
            self.refusals.add(error.code)
        self.world.settle()
        self._hear()
        self._check()

    # What clients and the world do

    def _go(self, client: _Client, number: int) -> None:
        """The client goes on as a real one would."""
        if all(waiting is not client for waiting, _ in self.waiting):
            getattr(self, "_" + client.next)(client, number)

    def _restart(self, client: _Client, number: int) -> None:
        client.member_id = ""
        client.next = "join"

    def _join(self, client: _Client, number: int) -> None:
        self._ask(
            client,
            self.world.join(
                "g",
                client.member_id,
                instance=client.instance,
                client=client.name,
                protocols=_PROTOCOLS[number % 2],
                version=(9, 8, 3)[number % 3],
                rebalance_ms=20_000,
            ),
        )

    def _sync(self, client: _Client, number: int) -> None:
        shares: dict[str, list[int]] = {member_id: [] for member_id in client.leads}
        for partition in range(_TOPIC_PARTITIONS if shares else 0):
            shares[client.leads[(partition + number) % len(client.leads)]].append(partition)
        assignments = [(member_id, bytes(partitions)) for member_id, partitions in shares.items()]
        self._ask(
            client, self.world.sync(client.member_id, client.generation_id, assignments, instance=client.instance)
        )

    def _heartbeat(self, client: _Client, number: int) -> None:
        code = self.world.heartbeat(client.member_id, client.generation_id, instance=client.instance)
        if code is not ErrorCode.NONE:
            self._failed(client, code)
        else:
            client.next = "commit"

    def _failed(self, client: _Client, code: ErrorCode) -> None:
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            client.member_id = ""
        client.next = "join"

    def _leave(self, client: _Client, number: int) -> None:
        self.world.leave((client.member_id, client.instance))

    def _commit(self, client: _Client, number: int) -> None:
        codes = self.world.commit(
            [("t", number % 3, number)],
            member_id=client.member_id,
            generation_id=client.generation_id,
            instance=client.instance,
        )
        if codes == (ErrorCode.NONE,):
            self.acknowledged["t", number % 3] = number
            self.transactions.committed("t", number % 3)
        client.next = "heartbeat"

    def _txn_commit(self, client: _Client, number: int) -> None:
        codes = self.world.txn_commit(
            number % 2,
            [("t", number % 3, 1_000 + number)],
            member_id=client.member_id if number % 5 else "",
            generation_id=client.generation_id if number % 5 else -1,
            instance=client.instance if number % 5 else None,
        )
        if codes == (ErrorCode.NONE,):
            self.transactions.waits(number % 2, ("t", number % 3), 1_000 + number)

    def _end_transaction(self, client: _Client, number: int) -> None:
        self.world.marker(number % 2, is_commit=number % 3 > 0)
        self.acknowledged |= self.transactions.end(number % 2, is_commit=number % 3 > 0)

    def _hold_end(self, client: _Client, number: int) -> None:
        """A marker that is shown a little later, with anything in between."""
        if number % 2 not in self.transactions.held:
            self.world.marker(number % 2, is_commit=number % 3 > 0, hold=True)
            self.transactions.hold(number % 2, is_commit=number % 3 > 0)

    def _release_end(self, client: _Client, number: int) -> None:
        if number % 2 in self.transactions.held:
            is_commit = self.transactions.held[number % 2][0]
            self.world.release(number % 2, is_commit=is_commit)
            self.acknowledged |= self.transactions.release(number % 2)

    def _time(self, client: _Client, number: int) -> None:
        self.world.advance((0, 0, 1, 3_000, 9_999, 20_000)[number % 6])

    def _crash(self, client: _Client, number: int) -> None:
        self.waiting.clear()
        self.world.crash()
        for producer_id in list(self.transactions.held):
            self.acknowledged |= self.transactions.release(producer_id)

    def _disk(self, client: _Client, number: int) -> None:
        self.world.topic.refuse_with = ErrorCode.KAFKA_STORAGE_ERROR if number % 4 == 0 else None

    def _disconnect(self, client: _Client, number: int) -> None:
        for waiting, future in self.waiting:
            if waiting is client:
                future.cancel()

    # What clients hear

    def _ask(self, client: _Client, answered: Any) -> None:
        if isinstance(answered, asyncio.Future):
            self.waiting.append((client, answered))
        else:
            self._heard(client, answered)

    def _hear(self) -> None:
        waiting, self.waiting = self.waiting, []
        for client, future in waiting:
            if not future.done():
                self.waiting.append((client, future))
            elif future.cancelled():
                client.next = "join"
            elif isinstance(error := future.exception(), KafkaError):
                self._failed(client, error.code)
            else:
                self._heard(client, reply_of(future))

    def _heard(self, client: _Client, reply: JoinReply | SyncReply) -> None:
        if reply.error not in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self._failed(client, reply.error)
        elif isinstance(reply, JoinReply):
            client.member_id = reply.member_id
            client.generation_id = reply.generation_id
            client.leads = () if reply.skip_assignment else tuple(member.member_id for member in reply.members)
            client.next = "sync" if reply.error is ErrorCode.NONE else "join"
        else:
            client.next = "commit"
            for partition in reply.assignment:
                # The owner of a static member's place is the instance, whatever its member id.
                owner = client.instance or client.member_id
                assert self.owners.setdefault((client.generation_id, partition), owner) == owner

    # What must be true

    def _check(self) -> None:
        assert self.world.committed() == self.acknowledged
        assert self.world.unstable() == self.transactions.unstable()
        group = self.world.coordinator.describe("g")
        if group is None:
            return
        self._check_invariants(group)
        self._check_replay(group)
        self.witnesses.append((group, copy.deepcopy(group)))

    def _check_invariants(self, group: Group) -> None:
        members = group.members.keys()
        for ids in (group.joined, group.newcomers, group.parked_syncs, group.unsynced):
            assert ids <= members
        assert members.isdisjoint(group.pending)
        assert all(group.members[member_id].group_instance_id == name for name, member_id in group.instances.items())
        assert (group.leader_id in members) == bool(members)
        if group.state is not ClassicGroupState.PREPARING_REBALANCE:
            assert (group.state is ClassicGroupState.EMPTY) == (not members)
        counts: dict[str, int] = {}
        for member in group.members.values():
            for name, _ in member.protocols:
                counts[name] = counts.get(name, 0) + 1
        assert counts == group.protocol_counts

    def _check_replay(self, group: Group) -> None:
        machine = GroupMachine(self.world.config, no_consumers())
        loader = Loader[AnyRecord](self.world.topic, _PARTITION, machine)
        while not loader.step():
            pass
        live = next(partition for partition in self.world.coordinator.loaded() if partition.index == _PARTITION)
        if not self.transactions.held:  # what is held counts only once the log is read again
            assert machine.durable == live.machine.durable
        places = {("t", "g")} if live.machine.durable.offsets("g") or live.machine.durable.unstable("g") else set()
        durable = live.machine.durable
        assert {(topic, each) for topic in durable.topics() for each in durable.groups_of(topic)} == places
        if group.state is ClassicGroupState.STABLE:
            assert as_stored(group) == machine.durable.stored("g")

    def end(self) -> None:
        """Everybody falls silent: the group empties, and nobody is left waiting."""
        self.world.topic.refuse_with = None
        self.world.coordinator.describe("g")  # a restarted broker takes notice of a group when somebody asks
        self.world.advance(599_000)
        self._hear()
        group = self.world.coordinator.describe("g")
        assert group is None or (group.state is ClassicGroupState.EMPTY and not group.pending)
        assert not self.waiting
        while_the_disk_is_full = {ErrorCode.NOT_COORDINATOR, ErrorCode.KAFKA_STORAGE_ERROR}  # the latter for a marker
        assert self.refusals <= while_the_disk_is_full
        assert self.world.clock.pending_timers() == 1, "only the expiry of offsets is still to come"
        assert all(given == then for given, then in self.witnesses), "a decision changed the group it was given"


_WILD = ["join", "sync", "heartbeat", "commit", "leave", "restart", "crash", "disk", "disconnect"]
_WILD += ["txn_commit", "txn_commit", "end_transaction", "hold_end", "release_end"]
_VERBS = ["go"] * 24 + ["time"] * 5 + _WILD
_STEPS = st.lists(st.tuples(st.sampled_from(_VERBS), st.integers(0, 3), st.integers(0, 29)), min_size=20, max_size=80)


_CONFIGS = [GroupConfig(), GroupConfig(initial_rebalance_delay_ms=3_000, max_size=3)]


@given(_STEPS, st.sampled_from(_CONFIGS))
def test_no_life_of_a_group_breaks_its_promises(steps: list[tuple[str, int, int]], config: GroupConfig) -> None:
    with GroupWorld(config) as world:
        life = _Life(world)
        for step in steps:
            life.play(step)
        life.end()


@pytest.mark.parametrize("seed", range(40))
def test_no_long_life_does_either(seed: int) -> None:
    """Not for shrinking, but for depth: hundreds of steps of one life."""
    dice = random.Random(seed)
    with GroupWorld(dice.choice(_CONFIGS)) as world:
        life = _Life(world)
        for _ in range(dice.randrange(100, 300)):
            life.play((dice.choice(_VERBS), dice.randrange(4), dice.randrange(30)))
        life.end()
