"""Reading a partition back: in slices, through transactions, and not at all when it is damaged."""

import pytest

from barnabas.broker.coordinator.group.classic.model import CommittedOffset, GroupConfig, OffsetCommitted
from barnabas.broker.coordinator.group.kinds import AnyRecord
from barnabas.broker.coordinator.group.machine import GroupMachine
from barnabas.broker.coordinator.group.records import encode
from barnabas.broker.coordinator.runtime.loading import SLICE_BYTES, Loader
from barnabas.broker.coordinator.runtime.placement import partition_for
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.control import end_txn_marker
from tests.support.worlds.group import GroupWorld, refusal
from tests.support.worlds.memory_topic import MemoryTopic
from tests.support.worlds.memory_topics import no_consumers

_PARTITION = partition_for("g", 50)
_NOW_MS = 1_700_000_000_000


def _entry(offset: int, topic: str = "t", group_id: str = "g") -> tuple[bytes, bytes | None]:
    return encode(OffsetCommitted(group_id, topic, 0, CommittedOffset(offset, -1, "", _NOW_MS)))


def _commit(offset: int, topic: str = "t", group_id: str = "g") -> NewRecord:
    key, value = _entry(offset, topic, group_id)
    return NewRecord(key, value, (), _NOW_MS)


def _transactional(topic: MemoryTopic, producer_id: int, *records: NewRecord) -> None:
    topic.append_batch(_PARTITION, build_batch(records, producer_id=producer_id, producer_epoch=0, transactional=True))


def _marker(topic: MemoryTopic, producer_id: int, *, commit: bool) -> None:
    topic.append_batch(_PARTITION, end_txn_marker(commit, producer_id, 0, 0, _NOW_MS))


def _loaded(topic: MemoryTopic) -> GroupMachine:
    machine = GroupMachine(GroupConfig(), no_consumers())
    loader = Loader[AnyRecord](topic, _PARTITION, machine)
    while not loader.step():
        pass
    return machine


def _offset(machine: GroupMachine, topic: str = "t") -> int | None:
    committed = machine.durable.committed("g", topic, 0)
    return None if committed is None else committed.offset


def _long_log() -> MemoryTopic:
    topic = MemoryTopic()
    topic.exists = True
    for offset in range(3 * SLICE_BYTES // 100):
        topic.append(_PARTITION, [_entry(offset), _entry(offset, "u")], _NOW_MS)
    return topic


def test_a_short_log_is_ready_for_the_request_that_asks_first() -> None:
    with GroupWorld() as world:
        world.commit([("t", 0, 5)])
        world.crash()
        assert world.committed() == {("t", 0): 5}


def test_while_a_long_log_loads_requests_are_put_off_and_heartbeats_are_not() -> None:
    topic = _long_log()
    with GroupWorld(topic=topic) as world:
        assert refusal(lambda: world.committed()) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert refusal(lambda: world.coordinator.groups()) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert world.heartbeat("m", 1) is ErrorCode.NONE
        world.turns()
        last = 3 * SLICE_BYTES // 100 - 1
        assert world.committed() == {("t", 0): last, ("u", 0): last}
        assert world.heartbeat("m", 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_marker_waits_until_its_partition_is_loaded_and_is_refused_where_it_never_will_be() -> None:
    topic = _long_log()
    with GroupWorld(topic=topic) as world:
        assert refusal(lambda: world.marker(7, is_commit=True)) is ErrorCode.NOT_LEADER_OR_FOLLOWER
        world.turns()
        world.marker(7, is_commit=True)
    damaged = MemoryTopic()
    damaged.exists = True
    damaged.append(_PARTITION, [(b"\x00\x01\x00\x05g", b"")], _NOW_MS)
    with GroupWorld(topic=damaged) as world:
        assert refusal(lambda: world.marker(7, is_commit=True)) is ErrorCode.KAFKA_STORAGE_ERROR
        assert damaged.batches_count == 1


def test_looking_for_the_coordinator_begins_the_loading() -> None:
    with GroupWorld(topic=_long_log()) as world:
        world.coordinator.prepare("g")
        world.turns()
        assert world.committed()[("t", 0)] > 0


def test_a_damaged_log_is_not_served_and_not_written_to() -> None:
    topic = MemoryTopic()
    topic.exists = True
    topic.append(_PARTITION, [(b"\x00\x01\x00\x05g", b"")], _NOW_MS)
    with GroupWorld(topic=topic) as world:
        assert refusal(lambda: world.committed()) is ErrorCode.NOT_COORDINATOR
        assert refusal(lambda: world.commit([("t", 0, 1)])) is ErrorCode.NOT_COORDINATOR
        assert topic.batches_count == 1
        assert world.commit([("t", 0, 1)], group_id="elsewhere") == (ErrorCode.NONE,)


@pytest.mark.parametrize(("commit", "expected"), [(True, 2), (False, 1)])
def test_an_offset_in_a_transaction_counts_from_its_marker_on(commit: bool, expected: int) -> None:
    topic = MemoryTopic()
    topic.append(_PARTITION, [_entry(1)], _NOW_MS)
    _transactional(topic, 7, _commit(2))
    open_machine = _loaded(topic)
    assert _offset(open_machine) == 1
    assert set(open_machine.durable.unstable("g")) == {("t", 0)}
    _marker(topic, 7, commit=commit)
    machine = _loaded(topic)
    assert _offset(machine) == expected
    assert not machine.durable.unstable("g")


def test_a_later_plain_commit_outlives_the_transaction() -> None:
    topic = MemoryTopic()
    _transactional(topic, 7, _commit(2), _commit(20, "u"))
    topic.append(_PARTITION, [_entry(3)], _NOW_MS)
    _marker(topic, 7, commit=True)
    machine = _loaded(topic)
    assert (_offset(machine), _offset(machine, "u")) == (3, 20)


def test_of_two_transactions_the_younger_record_wins_whichever_ends_first() -> None:
    topic = MemoryTopic()
    _transactional(topic, 7, _commit(2))
    _transactional(topic, 8, _commit(3))
    _marker(topic, 8, commit=True)
    _marker(topic, 7, commit=True)
    assert _offset(_loaded(topic)) == 3


def test_a_deletion_reaches_into_open_transactions() -> None:
    topic = MemoryTopic()
    _transactional(topic, 7, _commit(2))
    topic.append(_PARTITION, [(_commit(0).key or b"", None)], _NOW_MS)
    _marker(topic, 7, commit=True)
    assert _offset(_loaded(topic)) is None


def test_offsets_of_a_topic_that_was_deleted_and_created_anew_are_dropped_at_loading() -> None:
    with GroupWorld() as world:
        world.commit([("t", 0, 5), ("u", 0, 6)])
        world.crash()
        world.topic_ids["t"] = b"\x09" * 16
        assert world.committed() == {("u", 0): 6}
