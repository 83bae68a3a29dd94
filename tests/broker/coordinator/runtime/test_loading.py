"""Reading a partition back: in slices, through transactions, and not at all when it is damaged."""

from barnabas.broker.coordinator.group.decisions.classic.model import CommittedOffset, OffsetCommitted
from barnabas.broker.coordinator.group.decisions.records import encode
from barnabas.broker.coordinator.runtime.loading import SLICE_BYTES
from barnabas.broker.coordinator.runtime.partition_for import partition_for
from barnabas.protocol.errors import ErrorCode
from tests.support.worlds.broker import code_of
from tests.support.worlds.group import GroupWorld
from tests.support.worlds.memory_topic import MemoryTopic

_PARTITION = partition_for("g", 50)
_NOW_MS = 1_700_000_000_000


def _entry(offset: int, topic: str = "t") -> tuple[bytes, bytes | None]:
    return encode(OffsetCommitted("g", topic, 0, CommittedOffset(offset, -1, "", _NOW_MS)))


def _long_log() -> MemoryTopic:
    topic = MemoryTopic()
    topic.exists = True
    for offset in range(3 * SLICE_BYTES // 100):
        topic.append(_PARTITION, [_entry(offset), _entry(offset, "u")], _NOW_MS)
    return topic


def test_while_a_long_log_loads_requests_are_put_off_and_heartbeats_are_not() -> None:
    topic = _long_log()
    with GroupWorld(topic=topic) as world:
        assert code_of(lambda: world.committed()) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert code_of(lambda: world.coordinator.groups()) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert world.heartbeat("m", 1) is ErrorCode.NONE
        world.turns()
        last = 3 * SLICE_BYTES // 100 - 1
        assert world.committed() == {("t", 0): last, ("u", 0): last}
        assert world.heartbeat("m", 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_marker_waits_until_its_partition_is_loaded_and_is_refused_where_it_never_will_be() -> None:
    topic = _long_log()
    with GroupWorld(topic=topic) as world:
        assert code_of(lambda: world.marker(7, is_commit=True)) is ErrorCode.NOT_LEADER_OR_FOLLOWER
        world.turns()
        world.marker(7, is_commit=True)
    damaged = MemoryTopic()
    damaged.exists = True
    damaged.append(_PARTITION, [(b"\x00\x01\x00\x05g", b"")], _NOW_MS)
    with GroupWorld(topic=damaged) as world:
        assert code_of(lambda: world.marker(7, is_commit=True)) is ErrorCode.KAFKA_STORAGE_ERROR
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
        assert code_of(lambda: world.committed()) is ErrorCode.NOT_COORDINATOR
        assert code_of(lambda: world.commit([("t", 0, 1)])) is ErrorCode.NOT_COORDINATOR
        assert topic.batches_count == 1
        assert world.commit([("t", 0, 1)], group_id="elsewhere") == (ErrorCode.NONE,)
