"""Everything a broker takes of its machine is a parameter, and of the two kinds of time each has its own use."""

import itertools
import random
from typing import Any, cast

import pytest

from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.listeners.listeners import Listener
from barnabas.broker.coordinator.group.decisions.classic.model import CommitRequest, OffsetToCommit
from barnabas.broker.coordinator.runtime import loading
from barnabas.broker.network.bound_sockets import BoundAddress
from barnabas.broker.runtime.clock import Stopwatch
from barnabas.broker.server.environment import Environment
from barnabas.broker.server.start import start_broker
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.sync_group import SyncGroupRequest
from barnabas.protocol.security.listener_protocols import PLAINTEXT
from tests.support.files.memory_files import MemoryFiles
from tests.support.virtual_clock import VirtualClock
from tests.support.worlds.broker import BrokerWorld, Peer, settle
from tests.support.worlds.memory_network import MemoryNetwork
from tests.support.worlds.transactional_broker import TransactionalBroker

E = ErrorCode
MINUTE_MS = 60_000


def quick() -> Stopwatch:
    """An hour goes by between any two looks at it: no turn does more than it has to."""
    return map(float, itertools.count(0, 3600)).__next__


async def test_a_broker_starts_serves_and_stops_on_what_it_is_given() -> None:
    network, files, clock = MemoryNetwork(), MemoryFiles(0), VirtualClock()
    given = Environment(
        clock=clock,
        machine_clock=clock,
        stopwatch=lambda: 0.0,
        files=files,
        network=network,
        random=random.Random(0).randbytes,
    )
    address = Listener(PLAINTEXT, "127.0.0.1", 9092, PLAINTEXT)
    bound = BoundAddress(address, address, [cast("Any", "a socket")])
    broker = await start_broker(BrokerConfig({"log.dirs": "/data"}), [bound], descriptor_limit=1000, environment=given)
    (listening,) = network.listening
    peer = Peer(listening.connect())
    peer.ask(MetadataRequest(topics=None))
    assert [each.port for each in peer.answer().brokers] == [9092]
    assert clock.pending_timers() > 0
    await broker.stop()
    assert listening.is_closed
    assert files.calls[-1].path.startswith("/data")


# --- what goes by the machine's clock --------------------------------------------------------------------------------


async def test_peers_are_swept_by_the_machines_clock_while_the_other_stands_still() -> None:
    world = BrokerWorld({"connections.max.idle.ms": "60000"}, machine_clock=VirtualClock())
    world.listener.watch_idle()
    peer = world.connect()
    await settle()
    await world.advance(10 * MINUTE_MS)
    assert not peer.is_closed
    world.machine_clock.advance(2 * MINUTE_MS)
    await settle()
    assert peer.is_closed


async def test_a_transaction_times_out_by_the_clock_and_not_by_the_machines() -> None:
    world = TransactionalBroker(machine_clock=VirtualClock())
    producer = await world.producer()
    await producer.send(b"open")
    world.broker.machine_clock.advance(60 * MINUTE_MS)
    await settle()
    assert world.txn().state.name == "ONGOING"
    await world.advance(2 * MINUTE_MS)
    assert world.txn().state.name == "COMPLETE_ABORT"


# --- on a clock that stands still ------------------------------------------------------------------------------------


async def test_transactions_are_written_ended_and_read_while_the_clock_stands_still() -> None:
    world = TransactionalBroker()
    producer = await world.producer()
    for partition in range(3):
        await producer.send(b"v%d" % partition, partition)
    began_ms = world.broker.clock.now_ms()
    assert (await producer.end(commit=True)).error is E.NONE
    assert [world.read(partition) for partition in range(3)] == [[b"v0"], [b"v1"], [b"v2"]]
    await producer.send(b"open", 0)
    assert world.broker.clock.now_ms() == began_ms
    assert world.read() == [b"v0"]

    await world.advance(2 * MINUTE_MS)
    assert world.txn().state.name == "COMPLETE_ABORT"
    assert world.log().last_stable_offset == world.log().high_watermark


async def test_markers_of_many_partitions_are_written_turn_by_turn_while_the_clock_stands_still() -> None:
    partitions, slow, is_slow = range(30), quick(), False
    world = TransactionalBroker(stopwatch=lambda: slow() if is_slow else 0.0)
    world.broker.services.catalogue.create_topic("many", len(partitions))
    producer = await world.producer()
    for partition in partitions:
        await producer.send(b"v", partition, topic="many")
    began_ms, is_slow = world.broker.clock.now_ms(), True
    assert (await producer.end(commit=True)).error is E.NONE
    assert world.txn().state.name == "PREPARE_COMMIT", "not in one turn"
    await settle()
    await settle()
    assert world.txn().state.name == "COMPLETE_COMMIT"
    assert [world.read(partition, topic="many") for partition in partitions] == [[b"v"]] * len(partitions)
    assert world.broker.clock.now_ms() == began_ms


async def test_a_group_is_loaded_while_the_clock_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "SLICE_BYTES", 1)
    world = BrokerWorld()
    _commit(world, *range(10))
    await world.close()
    world = BrokerWorld(files=world.files)
    world.services.groups.prepare("g")
    await settle()
    (committed,) = world.services.groups.fetch_offsets("g").offsets["t"].values()
    assert committed.offset == 9


def _commit(world: BrokerWorld, *offsets: int) -> None:
    topic = world.services.catalogue.topics.get("t") or world.services.catalogue.create_topic("t")
    for offset in offsets:
        wanted = (OffsetToCommit("t", topic.topic_id, 0, offset, -1, ""),)
        world.services.groups.commit_offsets(
            CommitRequest("g", -1, "", None, wanted), missing_group=E.GROUP_ID_NOT_FOUND
        )


# --- and then it is moved --------------------------------------------------------------------------------------------


async def test_a_group_lives_on_the_clock_alone() -> None:
    world = BrokerWorld({"group.initial.rebalance.delay.ms": "3000"})
    peer = world.connect()
    await peer.put(_join())
    member_id = peer.answer().member_id
    await peer.put(_join(member_id))
    assert peer.answers() == []
    await world.advance(3000)
    joined = peer.answer()
    assert (joined.error_code, joined.member_id) == (E.NONE, member_id)
    peer.ask(
        SyncGroupRequest(
            group_id="g",
            generation_id=1,
            member_id=member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[],
        )
    )
    await settle()
    assert peer.answer().error_code == E.NONE
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id=member_id)
    for advance_ms, expected in ((0, E.NONE), (9_999, E.NONE), (10_001, E.UNKNOWN_MEMBER_ID)):
        world.clock.advance(advance_ms)
        await peer.put(beat)
        assert peer.answer().error_code == expected


def _join(member_id: str = "") -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id="g",
        member_id=member_id,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"m")],
    )


async def test_retention_happens_when_the_clock_is_moved() -> None:
    world = BrokerWorld({"log.retention.check.interval.ms": str(MINUTE_MS)})
    world.services.catalogue.create_topic("t", 1, {"retention.ms": str(10 * MINUTE_MS), "segment.ms": str(MINUTE_MS)})
    await world.broker.start()
    partitions = world.services.partitions
    for _ in range(3):
        partitions.append("t", 0, bytearray(world.batch(b"v")))
        await world.advance(2 * MINUTE_MS)
    log = partitions.get("t", 0)
    assert log.log_start_offset == 0
    await world.advance(20 * MINUTE_MS)
    assert log.log_start_offset > 0
