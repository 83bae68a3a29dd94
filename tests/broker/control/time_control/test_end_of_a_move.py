"""What is looked for only every so often is looked for at the end of a move, too: a move by a timeout is enough."""

from barnabas.protocol.records.builder import build_batch
from tests.support.worlds.broker import BrokerWorld
from tests.support.worlds.transactional_broker import TransactionalBroker

MINUTE_MS = 60_000


async def test_a_move_by_a_timeout_is_enough_whenever_transactions_were_looked_at_last() -> None:
    world = TransactionalBroker(movable=True)
    control = world.broker.broker.time_control.get()
    control.freeze()
    for after_ms in (3, 9_990, 12_345):
        await control.advance(after_ms)
        producer = await world.producer(timeout_ms=MINUTE_MS)
        await producer.send(b"open", 0)
        await control.advance(MINUTE_MS)
        assert world.txn().state.name == "ONGOING"
        await control.advance(1)
        assert world.txn().state.name == "COMPLETE_ABORT"
        assert world.log(0).last_stable_offset == world.log(0).high_watermark


async def test_a_move_by_a_retention_time_is_enough_whenever_records_were_looked_at_last() -> None:
    world = BrokerWorld(movable=True)
    world.services.catalogue.create_topic("t", 1, {"retention.ms": "60000"})
    await world.broker.start()
    control = world.broker.time_control.get()
    await control.at(world.services.clock.now_ms() + 2 * MINUTE_MS)
    record = (b"key", b"value", (), world.services.clock.now_ms())
    world.services.partitions.append("t", 0, bytearray(build_batch([record])))
    await control.advance(59_000)
    assert world.services.partitions.get("t", 0).log_start_offset == 0
    await control.advance(2_000)
    assert world.services.partitions.get("t", 0).log_start_offset == 1
