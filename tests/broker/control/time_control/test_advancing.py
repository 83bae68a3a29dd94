"""A whole broker whose clock is moved: when `advance` returns, all that fell due is done, and nothing is waited for."""

import asyncio

import pytest

from barnabas.broker.control.time_control.movable_clock import TIMES_IN_A_MOVE, ClockRefused, MovableClock
from barnabas.broker.control.time_control.settling import Settling
from barnabas.broker.control.time_control.time_control import TimeControl
from barnabas.broker.coordinator.group.decisions.classic.model import CommitRequest, OffsetToCommit
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup
from barnabas.broker.runtime.scheduler import Work, WorkClass
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.records.builder import build_batch
from tests.support.requests import fetch
from tests.support.worlds.broker import BrokerWorld, settle
from tests.support.worlds.transactional_broker import TransactionalBroker

E = ErrorCode
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


def control_of(world: BrokerWorld) -> TimeControl:
    return world.broker.time_control.get()


def impatient(world: BrokerWorld) -> TimeControl:
    """One that gives a move up after 50 ms."""
    clock, services, broker = world.environment.clock, world.services, world.broker
    settling = Settling(asyncio.get_running_loop(), services, broker._housekeeping, broker.flush, patience_s=0.05)
    assert isinstance(clock, MovableClock)
    return TimeControl(clock, settling, broker._directory.root, broker.events)


def long_poll(topic_id: bytes) -> FetchRequest:
    """What consumers ask, over and over, with their default settings."""
    return fetch(topic="", topic_id=topic_id, wait_ms=500)


async def test_a_transaction_is_aborted_when_its_time_is_over_and_readers_go_on() -> None:
    world = TransactionalBroker(movable=True)
    control = control_of(world.broker)
    control.freeze()
    producer = await world.producer(timeout_ms=15 * MINUTE_MS)
    await producer.send(b"open", 0)
    await producer.send(b"open", 1)
    await control.advance(14 * MINUTE_MS)
    assert world.txn().state.name == "ONGOING"
    await control.advance(2 * MINUTE_MS)
    assert world.txn().state.name == "COMPLETE_ABORT"
    assert [world.log(each).last_stable_offset for each in (0, 1)] == [2, 2]
    aborted_ms = world.txn().last_update_timestamp_ms
    assert control.state.now_ms - aborted_ms >= MINUTE_MS - 10_000, "at the time when it was due, not at the end"


async def test_markers_that_are_synced_are_on_the_disk_when_the_clock_has_moved() -> None:
    world = TransactionalBroker({"log.flush.interval.messages": "1"}, movable=True)
    producer = await world.producer()
    for partition in range(3):
        await producer.send(b"open", partition)
    await control_of(world.broker).advance(2 * MINUTE_MS)
    assert world.txn().state.name == "COMPLETE_ABORT"
    assert [world.log(each).last_stable_offset for each in range(3)] == [2, 2, 2]


async def test_ids_that_nobody_uses_are_gone_after_a_week() -> None:
    world = TransactionalBroker(movable=True)
    for number in range(300):
        await world.producer(f"idle-{number}")
    control = control_of(world.broker)
    await control.advance(6 * DAY_MS)
    assert len(world.coordinator.transactions()) == 300
    await control.advance(DAY_MS + 2 * HOUR_MS)
    assert world.coordinator.transactions() == []


async def test_records_go_when_their_retention_is_over_and_their_files_with_them() -> None:
    world = BrokerWorld(movable=True)
    world.services.catalogue.create_topic("t", 1, {"segment.bytes": "1048576"})
    await world.broker.start()
    for _ in range(3):
        world.append("t", bytes(600_000))
    log = world.services.partitions.get("t", 0)
    control = control_of(world)
    await control.advance(6 * DAY_MS)
    assert (log.log_start_offset, log.log_end_offset) == (0, 3)
    await control.advance(2 * DAY_MS)
    assert (log.log_start_offset, log.log_end_offset) == (3, 3)
    assert not [name for name in world.files.peek_names("/data/t-0") if name.endswith(".deleted")]


async def test_a_partition_that_was_not_used_is_opened_for_its_retention() -> None:
    world = BrokerWorld(movable=True, topics={"t": 1})
    world.append("t", b"old")
    await world.close()
    world = BrokerWorld(files=world.files, movable=True)
    await world.broker.start()
    await control_of(world).advance(8 * DAY_MS)
    assert world.services.partitions.get("t", 0).log_start_offset == 1


async def test_a_log_is_compacted() -> None:
    world = BrokerWorld(movable=True)
    configs = {"cleanup.policy": "compact", "segment.ms": "1000", "min.cleanable.dirty.ratio": "0.01"}
    world.services.catalogue.create_topic("t", 1, configs)
    await world.broker.start()
    control = control_of(world)
    for number in range(10):
        record = (b"key", b"%d" % number, (), world.services.clock.now_ms())
        world.services.partitions.append("t", 0, bytearray(build_batch([record])))
        await control.advance(2000)
    await control.advance(MINUTE_MS)
    cleaned = world.services.partitions.get("t", 0).read(0, 1 << 20, committed=True, force_first_batch=True)
    assert cleaned.read_all()[:8] != bytes(8), "the first that is left is not the first that was written"


async def test_a_member_that_sends_no_heartbeats_is_gone() -> None:
    world = BrokerWorld(movable=True, topics={"t": 2})
    control = control_of(world)
    peer = world.connect()

    async def beat(epoch: int, **fields: object) -> ErrorCode:
        peer.ask(ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=epoch, **fields))  # type: ignore[arg-type]  # because fields are any
        await settle()
        code: ErrorCode = peer.answer().error_code
        return code

    assert await beat(0, rebalance_timeout_ms=60_000, subscribed_topic_names=["t"], topic_partitions=[]) == E.NONE
    await control.advance(44_000)
    (epoch,) = members(world)
    assert await beat(epoch) == E.NONE
    await control.advance(46_000)
    assert members(world) == []
    assert await beat(epoch) == E.UNKNOWN_MEMBER_ID


def members(world: BrokerWorld) -> list[int]:
    """The epochs of the members of the one group."""
    (group,) = world.services.groups.groups()
    assert isinstance(group, ConsumerGroup)
    return [each.member_epoch for each in group.members.values()]


async def test_a_fetch_that_waits_for_records_is_answered_at_its_time() -> None:
    world = BrokerWorld(movable=True)
    topic_id = world.services.catalogue.create_topic("t", 1).topic_id
    control = control_of(world)
    control.freeze()
    peer = world.connect()
    await peer.put(long_poll(topic_id))
    await world.advance(HOUR_MS)
    assert peer.answers() == []
    await control.advance(499)
    assert peer.answers() == []
    await control.advance(1)
    assert peer.answer().error_code == E.NONE


async def test_offsets_of_a_group_that_is_gone_expire() -> None:
    world = BrokerWorld(movable=True)
    topic = world.services.catalogue.create_topic("t", 1)
    wanted = (OffsetToCommit("t", topic.topic_id, 0, 5, -1, ""),)
    commit = CommitRequest("g", -1, "", None, wanted)
    world.services.groups.commit_offsets(commit, missing_group=E.GROUP_ID_NOT_FOUND)
    control = control_of(world)
    await control.advance(6 * DAY_MS)
    assert world.services.groups.fetch_offsets("g").offsets
    await control.advance(2 * DAY_MS)
    assert not world.services.groups.fetch_offsets("g").offsets


async def test_records_are_stamped_with_the_time_that_clients_are_told() -> None:
    world = BrokerWorld({"log.message.timestamp.type": "LogAppendTime"}, movable=True, topics={"t": 1})
    control = control_of(world)
    control.freeze()
    state = await control.advance(DAY_MS)
    found = world.services.partitions.append("t", 0, bytearray(world.batch(b"v")))
    assert found.log_append_time_ms == state.now_ms == world.clock.now_ms() + DAY_MS


# --- how it ends -----------------------------------------------------------------------------------------------------


async def test_a_move_ends_with_a_sentence_where_something_goes_on_for_too_long(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = BrokerWorld(movable=True)
    services, control = world.services, impatient(world)
    endless: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def begin() -> None:
        def work() -> Work[None]:
            yield endless

        services.upkeep.in_slices(work, WorkClass())

    services.clock.call_later(MINUTE_MS, begin)
    with pytest.raises(
        ClockRefused, match=r"and no further: logs are cleaned, recovered or looked through for more than"
    ):
        await control.advance(HOUR_MS)
    assert control.state[:2] == ("running", world.clock.now_ms() + MINUTE_MS)
    assert "clock not advanced to the end" in caplog.text
    endless.set_result(None)


async def test_clients_that_never_leave_a_part_without_work_do_not_hold_a_move_up() -> None:
    world = TransactionalBroker({"log.flush.interval.messages": "1"}, movable=True)
    services, has_moved = world.broker.services, False
    log = world.log(2)
    syncs = rounds = 0

    def again(_: object = None) -> None:
        nonlocal syncs
        if not has_moved:
            syncs += 1
            services.partitions.append("t", 2, bytearray(world.broker.batch(b"v")))
            world.broker.broker.flush.synced(log, log.log_end_offset).add_done_callback(again)

    def work() -> Work[None]:
        nonlocal rounds
        yield services.upkeep.next_turn()
        rounds += 1
        if not has_moved:
            services.upkeep.in_slices(work, WorkClass(under_way_max=10))

    producer = await world.producer()
    await producer.send(b"open")
    again()
    services.upkeep.in_slices(work, WorkClass(under_way_max=10))
    await control_of(world.broker).advance(2 * MINUTE_MS)
    has_moved = True
    assert world.txn().state.name == "COMPLETE_ABORT"
    assert syncs > 1
    assert rounds > 1
    await settle()


async def test_consumers_that_ask_again_at_once_do_not_make_a_move_long() -> None:
    world = BrokerWorld(movable=True)
    topic_id = world.services.catalogue.create_topic("t", 1).topic_id
    await world.broker.start()
    has_moved, answers = False, [0] * 3

    async def consume(number: int) -> None:
        peer = world.connect()
        while not has_moved:
            peer.ask(long_poll(topic_id))
            while not has_moved and not (found := peer.answers()):
                await world.services.upkeep.next_turn()
            answers[number] += len(found)

    consumers = [asyncio.ensure_future(consume(number)) for number in range(len(answers))]
    await world.services.upkeep.next_turn()
    state = await control_of(world).advance(DAY_MS)
    has_moved = True
    await asyncio.gather(*consumers)
    assert state.ahead_ms == DAY_MS
    assert all(1 < count <= 2 * TIMES_IN_A_MOVE for count in answers)


async def test_consumers_are_answered_where_a_move_is_given_up() -> None:
    world = BrokerWorld(movable=True)
    topic_id = world.services.catalogue.create_topic("t", 1).topic_id
    services, control = world.services, impatient(world)
    peer, endless = world.connect(), asyncio.get_running_loop().create_future()

    def begin() -> None:
        def work() -> Work[None]:
            yield endless

        peer.ask(long_poll(topic_id))
        services.upkeep.in_slices(work, WorkClass())

    services.clock.call_later(MINUTE_MS, begin)
    with pytest.raises(ClockRefused):
        await control.advance(DAY_MS)
    await settle()
    assert peer.answer().error_code == E.NONE
    endless.set_result(None)


async def test_a_stop_ends_a_move() -> None:
    world = BrokerWorld(movable=True)
    await world.broker.start()
    control = control_of(world)
    moving = asyncio.ensure_future(control.advance(365 * DAY_MS))
    await world.services.upkeep.next_turn()
    assert control.state.state == "advancing"
    await world.close()
    with pytest.raises(ClockRefused, match="the broker stops"):
        await moving
    with pytest.raises(ClockRefused, match="the broker stops"):
        control.freeze()


async def test_each_change_is_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    world = BrokerWorld(movable=True)
    control = control_of(world)
    with caplog.at_level("INFO", "barnabas.control"):
        control.freeze()
        await control.advance(MINUTE_MS)
        control.run()
        await control.at(world.services.clock.now_ms() + MINUTE_MS)
    said = [record.getMessage() for record in caplog.records if record.name == "barnabas.control"]
    assert [each.partition(" now=")[0] for each in said] == [
        "clock frozen",
        "clock advanced by_ms=60000",
        "clock runs",
        "clock frozen",
    ]
    assert said[-1].endswith("now=2023-11-14T22:15:20.000Z ahead_ms=120000")


async def test_the_clock_of_a_broker_that_nobody_may_move_is_the_machines() -> None:
    world = BrokerWorld()
    with pytest.raises(ClockRefused, match="this broker uses the machine's clock"):
        control_of(world)


# --- after a restart -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_after_a_restart_the_clock_runs_as_far_ahead_as_it_was(how: str) -> None:
    world = BrokerWorld(movable=True)
    control = control_of(world)
    control.freeze()
    await control.advance(DAY_MS)
    if how == "stop":
        await world.close()
    else:
        world.files.crash("nothing")
    for movable in (True, False):  # whether it may be moved then or not
        after = BrokerWorld(files=world.files, movable=movable)
        assert after.services.clock.now_ms() == after.clock.now_ms() + DAY_MS
        after.clock.advance(5)
        assert after.services.clock.now_ms() == after.clock.now_ms() + DAY_MS
        await after.close()


async def test_a_clock_that_is_killed_on_its_way_was_never_ahead_of_what_is_noted() -> None:
    world = BrokerWorld(movable=True)
    await world.broker.start()
    moving = asyncio.ensure_future(control_of(world).advance(DAY_MS))
    await settle()
    shown_ms = world.services.clock.now_ms()
    world.files.crash("nothing")
    after = BrokerWorld(files=world.files)
    assert after.services.clock.now_ms() >= shown_ms
    moving.cancel()


async def test_a_clock_that_the_machine_has_caught_up_with_is_the_machines_again() -> None:
    world = BrokerWorld(movable=True)
    control = control_of(world)
    control.freeze()
    await control.advance(MINUTE_MS)
    world.clock.advance(HOUR_MS)
    assert control.state.ahead_ms == MINUTE_MS - HOUR_MS
    await world.close()
    after = BrokerWorld(files=world.files)
    assert after.services.clock is after.clock
