"""Groups as the read model has them, and their lag for readers of either isolation level."""

from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupState
from barnabas.broker.insight.inspection.groups import Committed, begin_loading, loaded_groups
from barnabas.broker.insight.inspection.lag import lag
from tests.support.files.memory_files import MemoryFiles
from tests.support.inspected_broker import Inspected


async def test_without_the_topic_there_are_none_and_no_coordinator_is_built() -> None:
    world = Inspected()
    begin_loading(world.services)
    assert loaded_groups(world.services) == []
    assert world.services.deferred_groups.built is None


async def test_groups_come_by_id_with_what_they_committed_by_partition() -> None:
    world = Inspected()
    for topic in ("b", "a"):
        world.services.catalogue.create_topic(topic, 2)
    await world.commit("second", "b", 3, 4)
    await world.commit("first", "b", 1)
    await world.commit("second", "a", 5)
    first, second = loaded_groups(world.services)
    assert (first.group_id, second.group_id) == ("first", "second")
    assert first.summary() == (ClassicGroupState.EMPTY, 0)
    assert list(second.committed()) == [("a", 0, 5), ("b", 0, 3), ("b", 1, 4)]


async def test_a_group_that_is_gone_when_its_turn_comes_is_none() -> None:
    world = Inspected(topics={"t": 1})
    await world.commit("g", "t", 1)
    (group,) = loaded_groups(world.services)
    world.services.groups.delete_group("g")
    assert group.summary() is None
    assert list(group.committed()) == []


async def test_groups_of_the_last_run_are_there_once_they_are_loaded() -> None:
    files = MemoryFiles(0)
    first = Inspected(files, topics={"t": 1})
    await first.commit("g", "t", 1)
    await first.close()
    second = Inspected(files)
    assert loaded_groups(second.services) == []
    begin_loading(second.services)
    second.clock.advance(0)
    assert [group.group_id for group in loaded_groups(second.services)] == ["g"]


async def test_an_open_transaction_keeps_readers_of_committed_records_nearer() -> None:
    world = Inspected(topics={"t": 1})
    world.append("t", b"a", b"b", b"c")
    await world.begin("x", ("t", 0))
    assert lag(world.services, Committed("t", 0, 1)) == (3, 2)


async def test_a_group_beyond_the_last_stable_offset_or_the_end_has_no_committed_lag() -> None:
    world = Inspected(topics={"t": 1})
    await world.begin("x", ("t", 0))
    assert lag(world.services, Committed("t", 0, 1)) == (0, 0)
    assert lag(world.services, Committed("t", 0, 4)) == (-3, 0)


async def test_lag_is_known_of_a_log_at_rest_and_unknown_after_a_kill_and_of_what_is_gone() -> None:
    files = MemoryFiles(0)
    first = Inspected(files, topics={"t": 1})
    first.append("t", b"a", b"b")
    await first.close()
    second = Inspected(files)
    assert lag(second.services, Committed("t", 0, 1)) == (1, 1)
    assert lag(second.services, Committed("t", 7, 1)) is None
    files.crash("everything")
    assert lag(Inspected(files).services, Committed("t", 0, 1)) is None


async def test_the_last_stable_offset_is_known_once_the_log_is_open() -> None:
    files = MemoryFiles(0)
    first = Inspected(files, topics={"t": 1})
    first.append("t", b"a", b"b", b"c")
    await first.begin("x", ("t", 0))
    await first.close()
    second = Inspected(files)
    assert lag(second.services, Committed("t", 0, 1)) == (3, 3)
    second.services.partitions.get("t", 0)
    assert lag(second.services, Committed("t", 0, 1)) == (3, 2)
