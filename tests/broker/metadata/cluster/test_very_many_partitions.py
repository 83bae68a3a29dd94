"""Three nodes that have very many partitions: no turn of the loop takes long, whatever becomes of some or all of them.

Measured is the processor time of this thread; a slow moment of the machine is none of the broker's.
"""

import asyncio
import errno
import gc
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import inf
from time import thread_time

import pytest

from barnabas.broker.metadata.catalogue import NewTopic
from barnabas.broker.metadata.cluster.node_switching import PARTITIONS_IN_A_TURN
from barnabas.broker.metadata.cluster.topology_file import FILE_NAME
from barnabas.broker.metadata.image.topic_changes import NewPartitions
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.protocol.registry import ApiKey
from barnabas.storage.errors import StorageError
from tests.broker.metadata.cluster.test_moving import switch
from tests.support.turn_limit import turn_limit_ms
from tests.support.worlds.broker import BrokerWorld, request_frame, turn

TRIES = 8
MANY = 10_000


@pytest.fixture(autouse=True)
def no_collection() -> Iterator[None]:
    """How long that takes is told elsewhere: test_garbage_collection.py."""
    gc.disable()
    yield
    gc.enable()


def with_many(topics: int, count: int = MANY) -> BrokerWorld:
    world = BrokerWorld(nodes=3, stopwatch=thread_time)
    world.services.catalogue.create_topics([NewTopic(f"t-{number}", count // topics, 3) for number in range(topics)])
    return world


async def longest_turn_ms(begin: Callable[[], object], is_over: Callable[[], object]) -> float:
    longest = 0.0
    while not longest or not is_over():
        begun = thread_time()
        if not longest:
            begin()
        await turn()
        longest = max(longest, thread_time() - begun)
    return longest * 1000


def large_requests(topics: Iterable[str], numbers: range) -> dict[str, Request]:
    every = [TopicPartitions(topic=name, partitions=list(numbers)) for name in topics]

    def electing(asked: list[TopicPartitions] | None) -> Request:
        return ElectLeadersRequest(election_type=0, topic_partitions=asked, timeout_ms=60_000)

    def moving(replicas: list[int]) -> Request:
        partitions = [ReassignablePartition(partition_index=number, replicas=replicas) for number in numbers]
        moved = [ReassignableTopic(name=each.topic, partitions=partitions) for each in every]
        return AlterPartitionReassignmentsRequest(timeout_ms=60_000, topics=moved)

    return {
        "elect each": electing(every),
        "move to one": moving([1]),
        "move to three": moving([2, 3, 1]),
        "elect all": electing(None),
    }


@pytest.mark.parametrize("topics", [1, MANY])
async def test_no_turn_is_long(topics: int) -> None:
    world = with_many(topics)
    assert world.broker.shared_storage is not None
    catalogue, nodes, upkeep = world.services.catalogue, world.broker.shared_storage.nodes, world.services.upkeep
    peer, names, took_ms = world.connect_to(1), iter("abc"), dict[str, float]()
    begin: dict[str, Callable[[], object]] = {
        "one more topic": lambda: catalogue.create_topics([NewTopic(next(names), 1, 3)]),
        "stop": lambda: nodes.have_stopped({2}.union),
        "start": lambda: nodes.have_stopped(lambda _: set()),
    }
    requests = large_requests(catalogue.topics, range(MANY // topics))
    frames = {
        what: request_frame(request, ApiKey(request.__schema__.key or 0).max_version)
        for what, request in requests.items()
    }
    for _ in range(TRIES):
        took = {what: await longest_turn_ms(each, lambda: upkeep.are_over) for what, each in begin.items()}
        for what, frame in frames.items():
            took[what] = await longest_turn_ms(partial(peer.transport.send, frame), peer.frames)
        took_ms = {what: min(ms, took_ms.get(what, inf)) for what, ms in took.items()}
        limit_ms = turn_limit_ms()
        if max(took_ms.values()) < limit_ms:
            break  # else perhaps a slow moment
    world.abandon()
    assert {what: ms for what, ms in took_ms.items() if ms > limit_ms} == {}


# --- between the turns -----------------------------------------------------------------------------------------------


SOME = 3 * PARTITIONS_IN_A_TURN


class Stopping:
    """Three nodes, the second of which is leaving: others have taken over the first of its partitions."""

    def __init__(self, topics: int = 3) -> None:
        self.world = with_many(topics, SOME)
        assert self.world.broker.shared_storage is not None
        self.nodes = self.world.broker.shared_storage.nodes
        self.begin()

    def begin(self) -> None:
        under_way = self.nodes.have_stopped({2}.union)
        assert under_way is not None
        self.stop = under_way

    def out_of_sync(self, node: int) -> int:
        return sum(node not in each.isr for _, each in self.nodes.every())


async def test_a_node_that_is_leaving_runs_and_gets_nothing_more() -> None:
    it = Stopping()
    nodes, catalogue = it.nodes, it.world.services.catalogue
    assert (it.out_of_sync(2), nodes.running, nodes.stopped) == (PARTITIONS_IN_A_TURN, [1, 2, 3], set())
    catalogue.create_topics([NewTopic("new", 6, 3)])
    catalogue.create_partitions([NewPartitions("t-0", SOME)])
    catalogue.delete_topics(["t-1"])
    key = next(key for key, each in nodes.every() if each.preferred == 2 != each.leader)
    (refusal,) = nodes.elect([key], preferred=True).values()
    assert refusal is not None
    assert refusal.code == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    nodes.reassign({("new", 0): [2, 3]})
    assert nodes.of("new", 0) == ((2, 3), (3,), 3)
    with pytest.raises(KafkaError, match="Node 2 is stopped"):
        nodes.lead(key, 2)
    await it.stop
    assert nodes.stopped == {2}
    assert it.out_of_sync(2) == len(list(nodes.every()))
    assert {each.leader for _, each in nodes.every()} == {1, 3}


async def test_node_changes_are_serialized() -> None:
    it = Stopping()
    more, back = it.nodes.have_stopped({3}.union), it.nodes.have_stopped(lambda stopped: set(stopped) - {2})
    assert more is not None
    assert back is not None
    assert it.nodes.leaving == {2}
    await it.stop
    assert it.nodes.stopped == {2}
    await more
    assert (3 in it.nodes.stopped, back.done()) == (True, False)
    await back
    assert (it.nodes.stopped, it.out_of_sync(2), it.out_of_sync(3)) == ({3}, 0, SOME)


@pytest.mark.parametrize("then", ["stop", "start", "restart"])
async def test_a_stop_that_fails_half_way_is_taken_up_again(then: str) -> None:
    it = Stopping()
    it.world.files.fail("pwrite", errno.ENOSPC, path=FILE_NAME)
    with pytest.raises(StorageError):
        await it.stop
    assert (it.nodes.stopped, it.nodes.leaving, it.nodes.available) == (set(), set(), [1, 2, 3])
    assert it.out_of_sync(2) == PARTITIONS_IN_A_TURN
    it.world.files.heal()
    if then == "stop":
        it.begin()
        await it.stop
    elif then == "start":
        back = it.nodes.have_stopped(lambda _: set())
        assert back is not None
        await back
    nodes = it.nodes
    if then == "restart":
        it.world.abandon()
        together = BrokerWorld(files=it.world.files, nodes=3).broker.shared_storage
        assert together is not None
        nodes = together.nodes
    assert nodes.stopped == ({2} if then == "stop" else set())
    assert {2 in each.isr for _, each in nodes.every()} == {then != "stop"}


async def test_a_start_that_fails_half_way_is_taken_up_again() -> None:
    it = Stopping()
    await it.stop
    started: list[int] = []
    it.nodes.on_starting = started.append
    back = it.nodes.have_stopped(lambda _: set())
    it.world.files.fail("pwrite", errno.ENOSPC, path=FILE_NAME)
    with pytest.raises(StorageError):
        await back  # type: ignore[misc]  # there is more than one turn's
    assert (it.nodes.stopped, it.out_of_sync(2)) == (set(), SOME - PARTITIONS_IN_A_TURN)
    it.world.files.heal()
    await it.nodes.have_stopped(lambda _: set())  # type: ignore[misc]  # as above
    assert (it.out_of_sync(2), started) == (0, [2])


async def test_a_broker_that_stops_meanwhile_leaves_the_node_running() -> None:
    it = Stopping()
    await it.world.close()
    with pytest.raises(asyncio.CancelledError):
        await it.stop
    together = BrokerWorld(files=it.world.files, nodes=3).broker.shared_storage
    assert together is not None
    assert (together.nodes.stopped, {each.isr == each.replicas for _, each in together.nodes.every()}) == (
        set(),
        {True},
    )


async def test_a_client_is_answered_once_the_node_has_stopped_or_why_it_has_not() -> None:
    world = with_many(1, SOME)
    assert world.broker.shared_storage is not None
    result = await switch(world, 2, "true")
    assert (result.error_code, world.broker.shared_storage.nodes.stopped) == (ErrorCode.NONE, {2})
    world.files.fail("pwrite", errno.ENOSPC, path=FILE_NAME, skip=1)
    assert (await switch(world, 3, "true")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    world.files.heal()
    assert (await switch(world, "1,3", "true")).error_code == ErrorCode.INVALID_REQUEST
