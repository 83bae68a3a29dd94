"""What is committed for a topic that is deleted goes with it, in bounded slices, whatever is committed meanwhile."""

from collections.abc import Collection, Iterator

import pytest

from barnabas.broker.coordinator.group import offset_cleanup
from barnabas.broker.coordinator.group.decisions import offset_removal
from barnabas.broker.coordinator.group.decisions.durable_groups import DurableGroups
from barnabas.broker.coordinator.group.decisions.offset_removal import Leaving
from barnabas.broker.coordinator.group.decisions.records import decode
from barnabas.broker.coordinator.group.offset_cleanup import LOOKED_AT_IN_A_TURN, REMOVED_IN_A_TURN, RETRY_MS
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.records.record import iter_records
from tests.support.worlds.group import GroupWorld
from tests.support.worlds.memory_topic import MemoryTopic

_NEXT_ID = b"\x03" * 16
_PARTITIONS = 100


@pytest.fixture
def world() -> Iterator[GroupWorld]:
    """With one partition of offsets."""
    with GroupWorld(topic=MemoryTopic(partitions=1)) as world:
        yield world


def _delete(world: GroupWorld, *topics: str) -> None:
    for topic in topics:
        del world.topic_ids[topic]
    for topic in topics:
        world.coordinator.on_topic_deleted(topic)


def _tombstones(world: GroupWorld) -> list[int]:
    """How many there are in each batch that has any."""
    counts = [
        sum(record.value is None for record in iter_records(batch))
        for partition in range(world.topic.create())
        for _, batch in world.topic.batches(partition)
    ]
    return [count for count in counts if count]


def _durable(world: GroupWorld) -> DurableGroups:
    (partition,) = world.coordinator.loaded()
    return partition.machine.durable


def _crash(world: GroupWorld) -> None:
    """kill -9, and the log is read again."""
    world.crash()
    world.coordinator.load_in_background([0])
    world.turns()


def test_a_deletion_looks_at_the_groups_of_the_topic_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def leaving(durable: DurableGroups, group_id: str, topic: str, staying: Collection[bytes]) -> Leaving:
        asked.append((group_id, topic))
        return offset_removal.leaving(durable, group_id, topic, staying)

    with GroupWorld() as world:
        for number in range(500):
            world.commit([("t", 0, 1)], group_id=f"group-{number}")
        world.commit([("u", 0, 1)], group_id="group-7")
        world.txn_commit(1, [("u", 0, 1)], group_id="other")
        monkeypatch.setattr(offset_cleanup, "leaving", leaving)
        _delete(world, "u")
        world.turns()
        assert sorted(asked) == [("group-7", "u"), ("other", "u")]


def test_a_turn_of_the_loop_deletes_so_many_offsets_and_no_more(world: GroupWorld) -> None:
    for number in range(30):
        world.commit([("t", partition, 1) for partition in range(_PARTITIONS)], group_id=f"group-{number}")
    world.commit([("t", partition, 1) for partition in range(REMOVED_IN_A_TURN + 1)], group_id="large")
    _delete(world, "t")
    assert _tombstones(world) == [REMOVED_IN_A_TURN]
    world.turns()
    assert sum(_tombstones(world)) == 30 * _PARTITIONS + REMOVED_IN_A_TURN + 1
    assert max(_tombstones(world)) == REMOVED_IN_A_TURN
    assert _durable(world).topics() == set()
    assert world.clock.pending_timers() == 1, "only the expiry of offsets is still to come"


def test_a_hundred_topics_go_in_as_few_batches_as_can_be(world: GroupWorld) -> None:
    topics = [f"topic-{number}" for number in range(100)]
    world.topic_ids |= {name: name.encode().ljust(16) for name in topics}
    for number in range(20):
        world.commit([(name, 0, 1) for name in topics], group_id=f"group-{number}")
    _delete(world, *topics)
    assert sum(_tombstones(world)) == 20, "the first topic's, at once"
    world.turns()
    assert _tombstones(world) == [20, *[REMOVED_IN_A_TURN] * 3, 480]


def test_a_load_looks_at_so_many_offsets_in_a_turn(world: GroupWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = [0]  # in each turn of the loop
    expected = 50 * (_PARTITIONS + 1) + 2

    def leaving(durable: DurableGroups, group_id: str, topic: str, staying: Collection[bytes]) -> Leaving:
        found = offset_removal.leaving(durable, group_id, topic, staying)
        looked_at[-1] += found.looked_at
        return found

    def tick() -> None:
        looked_at.append(0)
        if sum(looked_at) < expected:
            world.loop.call_soon(tick)

    world.commit([("u", 0, 1)])
    for number in range(50):
        world.commit([("t", partition, 1) for partition in range(_PARTITIONS)], group_id=f"group-{number}")
    del world.topic_ids["u"]
    monkeypatch.setattr(offset_cleanup, "leaving", leaving)
    world.crash()
    world.coordinator.load_in_background([0])
    world.loop.call_soon(tick)
    world.turns()
    assert sum(looked_at) == expected
    assert _durable(world).topics() == {"t"}
    assert max(looked_at) <= LOOKED_AT_IN_A_TURN + _PARTITIONS


def test_removed_entries_are_not_visible(world: GroupWorld) -> None:
    world.commit([("t", partition, 1) for partition in range(2 * REMOVED_IN_A_TURN)] + [("u", 0, 2)])
    _delete(world, "t")
    assert world.committed() == {("u", 0): 2}
    world.topic_ids["t"] = _NEXT_ID
    assert world.committed() == {("u", 0): 2}
    world.turns()
    assert world.committed() == {("u", 0): 2}


def test_an_offset_committed_for_the_topic_made_again_stays(world: GroupWorld) -> None:
    world.commit([("t", partition, 1) for partition in range(2 * REMOVED_IN_A_TURN)])
    _delete(world, "t")
    world.topic_ids["t"] = _NEXT_ID
    everywhere = [("t", partition, 5) for partition in (0, 2 * REMOVED_IN_A_TURN - 1)]
    world.commit(everywhere)
    expected = {(topic, partition): offset for topic, partition, offset in everywhere}
    assert world.committed() == expected
    world.turns()
    assert world.committed() == expected
    _crash(world)
    assert world.committed() == expected


def test_an_offset_that_names_no_topic_goes_with_the_topic(world: GroupWorld) -> None:
    topic_id = world.topic_ids.pop("t")
    world.commit([("t", partition, 1) for partition in range(REMOVED_IN_A_TURN + 1)])  # as older brokers wrote it
    world.topic_ids["t"] = topic_id
    _delete(world, "t")
    world.topic_ids["t"] = _NEXT_ID
    assert world.committed() == {}
    world.turns()
    assert _durable(world).topics() == set()


@pytest.mark.parametrize("is_commit", [True, False])
def test_an_offset_in_a_transaction_for_the_topic_made_again_stays(world: GroupWorld, is_commit: bool) -> None:
    world.commit([("t", partition, 1) for partition in range(REMOVED_IN_A_TURN + 1)])
    _delete(world, "t")
    world.topic_ids["t"] = _NEXT_ID
    for partition in (0, REMOVED_IN_A_TURN):  # one was deleted already, the other has its turn now
        world.txn_commit(1, [("t", partition, 5)])
    world.advance(RETRY_MS)
    world.turns()
    assert world.committed() == {}
    world.marker(1, is_commit=is_commit)
    expected = {("t", partition): 5 for partition in (0, REMOVED_IN_A_TURN)} if is_commit else {}
    assert world.committed() == expected
    world.advance(RETRY_MS)
    world.turns()
    assert sum(len(each) for each in _durable(world).offsets("g").values()) == len(expected)
    assert world.clock.pending_timers() == 1, "only the expiry of offsets is still to come"
    _crash(world)
    assert world.committed() == expected


def test_an_offset_committed_beside_a_transaction_of_the_topic_before_stays(world: GroupWorld) -> None:
    world.txn_commit(1, [("t", partition, 1) for partition in range(REMOVED_IN_A_TURN + 1)])
    _delete(world, "t")
    world.topic_ids["t"] = _NEXT_ID
    both = [("t", partition, 5) for partition in (0, REMOVED_IN_A_TURN)]
    world.commit(both)
    world.turns()
    world.marker(1, is_commit=True)
    expected = {(topic, partition): offset for topic, partition, offset in both}
    assert world.committed() == expected
    world.advance(RETRY_MS)
    world.turns()
    _crash(world)
    assert world.committed() == expected


def test_an_append_refused_by_a_full_disk_is_retried(world: GroupWorld) -> None:
    world.commit([("t", partition, 1) for partition in range(2 * REMOVED_IN_A_TURN)])
    world.topic.refuse_with = ErrorCode.KAFKA_STORAGE_ERROR
    _delete(world, "t")
    world.turns()
    world.advance(3 * RETRY_MS)
    world.turns()
    assert world.committed() == {}
    world.topic.refuse_with = None
    world.advance(RETRY_MS)
    world.turns()
    assert _durable(world).topics() == set()


def test_a_tombstone_names_the_group_and_the_partition(world: GroupWorld) -> None:
    world.commit([("t", 3, 1)])
    _delete(world, "t")
    last = world.topic.records(0)[-1]
    assert decode(last.key, last.value) == ("g", "t", 3, None)
