"""The share coordinator over a real log: epochs, snapshots and updates, and what remains after a restart."""

from typing import Any

import pytest

from barnabas.broker.coordinator.share.decisions.model import ShareRecord, SnapshotWritten, UpdateWritten
from barnabas.broker.coordinator.share.decisions.records import decode
from barnabas.broker.coordinator.share.share_coordinator import ShareCoordinator
from barnabas.broker.partitions.share.persister import (
    NOT_STARTED,
    UNKNOWN_COUNT,
    SharePartitionKey,
    ShareStateSummary,
    ShareStateUpdate,
    StateBatch,
    StoredShareState,
)
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.record import iter_records
from tests.support.worlds.broker import BrokerWorld, code_of
from tests.support.worlds.share_states import STATE_TOPIC, change, share_key, share_world

INTERVAL_MS = 300_000
UPDATES_PER_SNAPSHOT = "share.coordinator.snapshot.update.records.per.snapshot"


def written(world: BrokerWorld) -> list[ShareRecord]:
    """The records in the log, in order."""
    log = world.services.partitions.get(STATE_TOPIC, 0)
    data = memoryview(log.read_own(log.log_start_offset, 1 << 20))
    batches = [data[position : position + header.size_in_bytes] for position, header in iter_batches(data)]
    found = [decode(record.key, record.value) for batch in batches for record in iter_records(batch)]
    return [record for record in found if record is not None]


def kinds(world: BrokerWorld) -> str:
    """S for each snapshot, u for each update, x for each tombstone."""
    return "".join(
        "u" if isinstance(record, UpdateWritten) else "x" if record.state is None else "S" for record in written(world)
    )


def first(world: BrokerWorld) -> SnapshotWritten:
    record = written(world)[0]
    assert isinstance(record, SnapshotWritten)
    return record


def begun(
    state_epoch: int, start_offset: int, settings: dict[str, str] | None = None
) -> tuple[BrokerWorld, ShareCoordinator, SharePartitionKey]:
    """A broker, its share coordinator, and the key of a state that begins so."""
    world = share_world(settings)
    shares, key = world.services.shares, share_key(world)
    shares.initialize(key, state_epoch, start_offset)
    return world, shares, key


async def test_the_topic_of_the_states_has_kafkas_settings() -> None:
    world = share_world({"share.coordinator.state.topic.num.partitions": "50"})
    assert STATE_TOPIC not in world.services.catalogue.topics
    await world.services.persister.initialize(share_key(world), 1, NOT_STARTED)
    topic = world.services.catalogue.topics[STATE_TOPIC]
    assert len(topic.partitions) == 50
    assert topic.is_internal
    assert topic.configs == {
        "compression.type": "producer",
        "cleanup.policy": "delete",
        "retention.ms": "-1",
        "min.insync.replicas": "1",
        "segment.bytes": "104857600",
    }


async def test_a_state_begins_with_a_snapshot() -> None:
    world, shares, key = begun(2, NOT_STARTED)
    state = first(world).state
    assert state is not None
    now_ms = world.services.clock.now_ms()
    assert state == (0, 2, 0, NOT_STARTED, UNKNOWN_COUNT, (), now_ms, now_ms)
    assert shares.read(key, 0) == StoredShareState(2, NOT_STARTED, ())
    assert kinds(world) == "S", "a read by the first leader writes nothing"


async def test_a_state_that_begins_at_an_offset_has_a_count() -> None:
    world = share_world()
    world.services.shares.initialize(share_key(world), 1, 7)
    assert world.services.shares.summarize(share_key(world)) == ShareStateSummary(1, 0, 7, 0)


async def test_changes_are_merged() -> None:
    world, shares, key = begun(1, NOT_STARTED)
    shares.write(key, change((0, 4, 2, 1), (5, 9, 0, 1), complete=5))
    shares.write(key, change((5, 9, 2, 2), start_offset=5, complete=5))
    assert shares.read(key, 0) == StoredShareState(1, 5, (StateBatch(5, 9, 2, 2),))
    assert shares.summarize(key) == ShareStateSummary(1, 0, 5, 5)
    assert kinds(world) == "Suu"


async def test_a_change_without_a_start_offset_leaves_the_one_before() -> None:
    _, shares, key = begun(1, 5)
    shares.write(key, change((5, 9, 2, 1), start_offset=NOT_STARTED))
    assert shares.read(key, 0) == StoredShareState(1, 5, (StateBatch(5, 9, 2, 1),))


@pytest.mark.parametrize("updates_per_snapshot", [500, 0])
async def test_a_late_change_moves_no_start_offset_back(updates_per_snapshot: int) -> None:
    _, shares, key = begun(1, 0, {UPDATES_PER_SNAPSHOT: str(updates_per_snapshot)})
    shares.write(key, change((10, 11, 2, 1), start_offset=10, complete=2))
    shares.write(key, change((4, 10, 0, 2), start_offset=4, complete=1))
    assert shares.read(key, 0) == StoredShareState(1, 10, (StateBatch(10, 10, 0, 2), StateBatch(11, 11, 2, 1)))
    assert shares.summarize(key) == ShareStateSummary(1, 0, 10, 2)
    shares.write(key, change(start_offset=10, complete=UNKNOWN_COUNT))
    assert shares.summarize(key) == ShareStateSummary(1, 0, 10, 2)


async def test_a_negative_epoch_is_refused() -> None:
    world, shares, key = begun(1, 0)
    assert code_of(lambda: shares.initialize(key, -1, 0)) is ErrorCode.INVALID_REQUEST
    assert code_of(lambda: shares.read(key, -1)) is ErrorCode.INVALID_REQUEST
    assert code_of(lambda: shares.write(key, change(leader_epoch=-1))) is ErrorCode.INVALID_REQUEST
    assert code_of(lambda: shares.write(key, change(state_epoch=-1))) is ErrorCode.INVALID_REQUEST
    assert kinds(world) == "S"


async def test_after_many_updates_comes_a_snapshot() -> None:
    world, shares, key = begun(1, 0, {UPDATES_PER_SNAPSHOT: "3"})
    for offset in range(9):
        shares.write(key, change((offset, offset, 2, 1)))
    assert kinds(world) == "SuuuSuuuSu"
    snapshots = [record.state for record in written(world) if isinstance(record, SnapshotWritten)]
    assert [state and (state.snapshot_epoch, state.batches) for state in snapshots] == [
        (0, ()),
        (1, (StateBatch(0, 3, 2, 1),)),
        (2, (StateBatch(0, 7, 2, 1),)),
    ]


async def test_a_new_leader_fences_the_earlier_ones() -> None:
    world, shares, key = begun(1, 0)
    shares.read(key, 4)
    assert kinds(world) == "Su"
    assert code_of(lambda: shares.read(key, 3)) is ErrorCode.FENCED_LEADER_EPOCH
    assert code_of(lambda: shares.write(key, change(leader_epoch=3))) is ErrorCode.FENCED_LEADER_EPOCH
    assert shares.read(key, 4) == StoredShareState(1, 0, ())
    shares.write(key, change((0, 0, 2, 1), leader_epoch=4))
    assert shares.summarize(key) == ShareStateSummary(1, 4, 0, 0)


async def test_a_state_that_began_anew_fences_changes_of_the_earlier_one() -> None:
    world, shares, key = begun(2, 0)
    shares.write(key, change((0, 4, 2, 1), state_epoch=2))
    shares.initialize(key, 5, 100)
    assert shares.read(key, 0) == StoredShareState(5, 100, ())
    assert code_of(lambda: shares.write(key, change(state_epoch=2))) is ErrorCode.FENCED_STATE_EPOCH
    assert code_of(lambda: shares.initialize(key, 4, 0)) is ErrorCode.FENCED_STATE_EPOCH
    state = [record for record in written(world) if isinstance(record, SnapshotWritten)][-1].state
    assert state is not None
    assert state.snapshot_epoch == 1


async def test_a_state_that_never_began_is_refused() -> None:
    world = share_world()
    shares, key = world.services.shares, share_key(world)
    assert code_of(lambda: shares.read(key, 0)) is ErrorCode.INVALID_REQUEST
    assert code_of(lambda: shares.write(key, change())) is ErrorCode.INVALID_REQUEST
    assert shares.summarize(key) == ShareStateSummary(0, 0, NOT_STARTED, UNKNOWN_COUNT)
    shares.delete(key)
    assert world.services.partitions.get(STATE_TOPIC, 0).log_end_offset == 0


@pytest.mark.parametrize(("partition", "code"), [(2, 3), (-1, 42)])
async def test_a_partition_that_does_not_exist_is_refused(partition: int, code: int) -> None:
    world = share_world()
    shares, key = world.services.shares, share_key(world, partition=partition)
    assert code_of(lambda: shares.initialize(key, 1, 0)) == code
    assert code_of(lambda: shares.summarize(key)) == code
    assert code_of(lambda: shares.delete(key)) == code


@pytest.mark.parametrize("is_clean", [True, False])
async def test_states_survive_a_restart(is_clean: bool) -> None:
    world = share_world({UPDATES_PER_SNAPSHOT: "2"})
    keys = [share_key(world, group, partition) for group in ("g", "h") for partition in (0, 1)]
    for number, key in enumerate(keys):
        world.services.shares.initialize(key, 3, NOT_STARTED)
        world.services.shares.read(key, number)
        for offset in range(number + 1):
            change_of_it = change((offset, offset, 2, 1), state_epoch=3, leader_epoch=number, complete=offset)
            world.services.shares.write(key, change_of_it)
    world.services.shares.delete(keys[0])
    before = _everything(world)
    if is_clean:
        await world.close()
    else:
        world.abandon()
    after = BrokerWorld(dict(world.config.static), files=world.files)
    after.services.shares.prepare(keys[1].coordinator_key("AAAAAAAAAAAAAAAAAAAAAQ"))
    assert _everything(after) == before
    assert code_of(lambda: after.services.shares.read(keys[3], 2)) is ErrorCode.FENCED_LEADER_EPOCH


def _everything(world: BrokerWorld) -> Any:
    (partition,) = world.services.shares._partitions.loaded()
    return partition.machine.tracked


async def test_old_snapshots_are_written_again_and_the_log_is_deleted_before_them() -> None:
    world = share_world()
    shares, key, other = world.services.shares, share_key(world), share_key(world, "h")
    shares.initialize(key, 1, 0)
    shares.write(key, change((0, 4, 2, 1)))
    await world.advance(INTERVAL_MS - 1)
    shares.initialize(other, 1, 0)
    await world.advance(1)
    log = world.services.partitions.get(STATE_TOPIC, 0)
    assert (kinds(world), log.log_start_offset) == ("SS", 2)
    assert shares.read(key, 0) == StoredShareState(1, 0, (StateBatch(0, 4, 2, 1),))
    await world.advance(INTERVAL_MS)
    await world.advance(INTERVAL_MS)
    await world.advance(INTERVAL_MS)
    ends = log.log_end_offset
    await world.advance(INTERVAL_MS)
    assert log.log_end_offset == ends, "where all are repetitions, none is written"
    world.abandon()
    after = BrokerWorld(dict(world.config.static), files=world.files)
    assert after.services.shares.read(share_key(after), 0) == StoredShareState(1, 0, (StateBatch(0, 4, 2, 1),))


async def test_the_states_of_a_deleted_topic_are_deleted() -> None:
    world = share_world()
    shares, key = world.services.shares, share_key(world)
    world.services.catalogue.create_topic("u", 1)
    other = share_key(world, topic="u")
    shares.initialize(key, 1, 0)
    shares.initialize(other, 1, 0)
    world.services.catalogue.delete_topics(["t"])
    await world.settle()
    assert kinds(world) == "SSx"
    assert list(_everything(world)) == [other]


async def test_a_deleted_topic_of_the_states_is_made_again() -> None:
    world, shares, key = begun(1, 0)
    world.services.catalogue.delete_topics([STATE_TOPIC])
    await world.settle()
    assert shares.summarize(key) == ShareStateSummary(0, 0, NOT_STARTED, UNKNOWN_COUNT)
    shares.initialize(key, 1, 0)
    assert shares.summarize(key) == ShareStateSummary(1, 0, 0, 0)


async def test_a_closed_coordinator_refuses_requests() -> None:
    _, shares, key = begun(1, 0)
    shares.close()
    assert shares.is_closed
    assert code_of(lambda: shares.write(key, ShareStateUpdate(1, 0, 0, 0, ()))) is ErrorCode.COORDINATOR_NOT_AVAILABLE
