"""What docs/clock.md says of records that clients stamped, of the machine's side, and of several nodes."""

from barnabas.broker.control.time_control.time_control import TimeControl
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.records.builder import NewRecord, build_batch
from tests.support.worlds.broker import BrokerWorld, code_of, settle
from tests.support.worlds.transactional_broker import TransactionalBroker

E = ErrorCode
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def control_of(world: BrokerWorld) -> TimeControl:
    return world.broker.time_control.get()


def append(world: BrokerWorld, client_ms: int) -> None:
    """A record with a client's time."""
    batch = bytearray(build_batch([NewRecord(None, b"v", (), client_ms)]))
    world.services.partitions.append("t", 0, batch)


async def test_a_record_produced_after_a_move_is_as_old_as_the_clock_is_ahead() -> None:
    world = BrokerWorld({"log.retention.hours": "168"}, movable=True, topics={"t": 1})
    world.services.catalogue.create_topic("stamped", 1, {"message.timestamp.type": "LogAppendTime"})
    await world.broker.start()
    control = control_of(world)
    await control.advance(8 * DAY_MS)
    append(world, client_ms=world.clock.now_ms())
    world.append("stamped", b"v")
    await control.advance(HOUR_MS)
    assert world.services.partitions.get("t", 0).log_start_offset == 1
    assert world.services.partitions.get("stamped", 0).log_start_offset == 0


async def test_a_record_is_refused_that_is_too_old_for_the_clock() -> None:
    world = BrokerWorld(movable=True)
    world.services.catalogue.create_topic("t", 1, {"message.timestamp.before.max.ms": str(DAY_MS)})
    control = control_of(world)
    await control.advance(DAY_MS)
    append(world, client_ms=world.clock.now_ms())
    await control.advance(1)
    assert code_of(lambda: append(world, client_ms=world.clock.now_ms())) is E.INVALID_TIMESTAMP


async def test_while_the_clock_stands_clients_may_be_ahead_of_it_for_an_hour_and_their_records_are_kept() -> None:
    world = BrokerWorld(movable=True, topics={"t": 1})
    await world.broker.start()
    control = control_of(world)
    control.freeze()
    append(world, client_ms=world.clock.now_ms() + HOUR_MS)
    assert code_of(lambda: append(world, client_ms=world.clock.now_ms() + HOUR_MS + 1)) is E.INVALID_TIMESTAMP
    await control.advance(7 * DAY_MS)
    assert world.services.partitions.get("t", 0).log_start_offset == 0
    await control.advance(2 * HOUR_MS)
    assert world.services.partitions.get("t", 0).log_start_offset == 1


async def test_idle_connections_are_closed_by_the_machines_time() -> None:
    world = BrokerWorld({"connections.max.idle.ms": "60000"}, movable=True)
    world.listener.watch_idle()
    peer = world.connect()
    control = control_of(world)
    control.freeze()
    await control.advance(DAY_MS)
    assert not peer.is_closed
    await world.advance(120_000)
    assert peer.is_closed


async def test_the_clock_moves_for_all_nodes() -> None:
    world = BrokerWorld(nodes=3, movable=True)
    control = control_of(world)
    control.freeze()
    await control.advance(DAY_MS)
    assert {node.clock.now_ms() for node in world.services.every_node} == {world.clock.now_ms() + DAY_MS}


async def test_a_transaction_is_aborted_at_its_minute_in_a_move_of_a_week() -> None:
    world = TransactionalBroker(movable=True)
    begin_ms = world.broker.services.clock.now_ms()
    producer = await world.producer(timeout_ms=60_000)
    await producer.send(b"open")
    await control_of(world.broker).advance(6 * DAY_MS)
    assert world.txn().state.name == "COMPLETE_ABORT"
    assert 60_000 <= world.txn().last_update_timestamp_ms - begin_ms <= 80_000


async def test_a_member_of_a_classic_group_joins_once_the_delay_is_over_by_the_clock() -> None:
    from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol

    world = BrokerWorld({"group.initial.rebalance.delay.ms": "3000"}, movable=True)
    control = control_of(world)
    control.freeze()
    peer = world.connect()
    joining = {
        "group_id": "g",
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "protocol_type": "consumer",
        "protocols": [JoinGroupRequestProtocol(name="range", metadata=b"m")],
    }
    peer.ask(JoinGroupRequest(member_id="", **joining))  # type: ignore[arg-type]  # because these are of several types
    await settle()
    member_id = peer.answer().member_id
    peer.ask(JoinGroupRequest(member_id=member_id, **joining))  # type: ignore[arg-type]  # as above
    await settle()
    await world.advance(HOUR_MS)
    assert peer.answers() == []
    await control.advance(3000)
    assert peer.answer().error_code == E.NONE
    await control.advance(11_000)
    (group,) = world.services.groups.groups()
    assert group.group_id == "g"
    assert not group.members
