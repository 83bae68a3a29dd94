"""Topics, logs and producers as the read model has them, while a broker runs and after it stopped."""

import pytest

from barnabas.broker.insight.inspection import logs
from barnabas.broker.insight.inspection.topics import every_topic, topic_name
from barnabas.protocol.errors import ErrorCode
from barnabas.storage.errors import StorageError
from barnabas.storage.producers.producer_state_entry import ProducerState
from tests.support.files.memory_files import MemoryFiles
from tests.support.inspected_broker import Inspected
from tests.support.worlds.broker import code_of


def described(world: Inspected, partition: int = 0) -> logs.LogSummary:
    found = logs.summary(world.services, "t", partition)
    assert found is not None
    return found


async def test_topics_have_their_partitions_and_say_whose_they_are() -> None:
    world = Inspected()
    catalogue = world.services.catalogue
    catalogue.create_topic("t", 3)
    catalogue.create_internal_topic("__consumer_offsets")
    assert every_topic(world.services) == [("t", 3, range(3), False), ("__consumer_offsets", 2, range(2), True)]
    assert topic_name(world.services, "t") == "t"
    assert topic_name(world.services, catalogue.topics["t"].topic_id) == "t"
    assert topic_name(world.services, "gone") is None
    assert topic_name(world.services, bytes(16)) is None


async def test_an_open_log_is_described_with_what_transactions_hold_back() -> None:
    world = Inspected(topics={"t": 1})
    world.append("t", b"a", b"b")
    await world.begin("x", ("t", 0))
    start, end, size, segments, held_back = described(world)
    assert (start, end, segments, held_back) == (0, 3, 1, 1)
    assert size > 0
    assert logs.ends(world.services, "t", 0) == (3, 2)


async def test_a_log_at_rest_is_described_by_the_last_clean_stop_and_not_opened() -> None:
    files = MemoryFiles(0)
    first = Inspected(files, topics={"t": 2})
    first.append("t", b"a", b"b")
    size = described(first).size
    await first.close()

    second = Inspected(files)
    assert described(second) == (0, 2, size, 1, None)
    assert described(second, 1) == (0, 0, 0, 0, None)
    assert logs.ends(second.services, "t", 0) == (2, None)
    assert not second.services.partitions.is_open("t", 0)
    second.files.crash("everything")

    third = Inspected(files)
    assert logs.summary(third.services, "t", 0) is None
    assert logs.ends(third.services, "t", 0) is None
    log = third.services.partitions.get_if_written("t", 0)
    assert log is not None
    assert logs.ends(third.services, "t", 0) == (2, 2)


async def test_a_missing_partition_has_no_ends_and_no_log() -> None:
    world = Inspected(topics={"t": 1})
    assert logs.ends(world.services, "t", 1) is None
    assert logs.ends(world.services, "nope", 0) is None
    assert code_of(lambda: world.services.partitions.get_if_written("t", 1)) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def remembered(world: Inspected) -> list[ProducerState]:
    log = world.services.partitions.get_if_written("t", 0)
    return [] if log is None else log.producers_state()


async def test_looking_makes_no_directory() -> None:
    world = Inspected(topics={"t": 1})
    assert world.services.partitions.get_if_written("t", 0) is None
    assert remembered(world) == []
    assert world.services.partitions.directory.partitions == frozenset()
    world.append("t", b"a")
    assert world.services.partitions.get_if_written("t", 0) is world.services.partitions.get("t", 0)


async def test_a_partition_remembers_idempotent_and_transactional_producers() -> None:
    world = Inspected(topics={"t": 1})
    world.append("t", b"a", b"b", producer=(50, 0, 0))
    world.append("t", b"c", producer=(51, 3, 0), transactional=True)
    now_ms = world.clock.now_ms()
    assert remembered(world) == [(50, 0, 1, now_ms, -1, -1), (51, 3, 0, now_ms, -1, 2)]


async def test_appends_are_counted_by_partition_and_survive_its_deletion() -> None:
    world = Inspected()
    for topic in ("t", "u"):
        world.services.catalogue.create_topic(topic, 2)
        for partition in range(2):
            world.append(topic, b"a", partition=partition)
    size = len(world.batch(b"a"))
    assert list(logs.appended(world.services)) == [(topic, 1, size) for topic in ("t", "t", "u", "u")]
    world.services.catalogue.delete_topics(["t"])
    assert list(logs.appended(world.services)) == [("u", 1, size)] * 2
    assert logs.appended_before(world.services) == (2, 2 * size)


async def test_logs_that_request_more_replicas_than_there_are_are_counted() -> None:
    world = Inspected(topics={"t": 1})
    world.services.catalogue.create_topic("strict")
    world.services.partitions.get("t", 0)
    world.demand_replicas("strict", 2)
    assert logs.below_min_insync_replicas(world.services) == 1


async def test_a_directory_that_failed_gives_the_reason_and_answers_no_more() -> None:
    world = Inspected(topics={"t": 2})
    world.append("t", b"a")
    assert logs.offline_reason(world.services) is None
    world.services.partitions.directory.root.disk.go_offline("it broke")
    assert "it broke" in (logs.offline_reason(world.services) or "")
    with pytest.raises(StorageError):
        logs.summary(world.services, "t", 1)
    world.abandon()
