"""Where partitions are, and the file it is kept in: written once for a request, and a disk that does not take it."""

import errno
from collections.abc import AsyncIterator

import pytest

from barnabas.broker.metadata.cluster.topology_file import FILE_NAME, read
from barnabas.broker.metadata.image.topic_changes import NewPartitions, NewTopic
from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from tests.broker.metadata.cluster.test_moving import places, reassign, switch
from tests.broker.metadata.cluster.test_three_nodes import ask, create, metadata, produced
from tests.support.files.memory_files import is_lived_to_its_end
from tests.support.worlds.broker import BrokerWorld


@pytest.fixture
async def world() -> AsyncIterator[BrokerWorld]:
    world = BrokerWorld(nodes=3)
    await create(world, "t", assignments=[[1, 2, 3], [2, 3, 1], [3, 1, 2]])
    yield world
    world.files.heal()
    await world.close()


def times_written(world: BrokerWorld) -> int:
    return sum(call.name == "rename" and FILE_NAME in call.path for call in world.files.calls)


def let_it_fail(world: BrokerWorld) -> None:
    world.files.fail("any", errno.ENOSPC, path=FILE_NAME)


async def test_the_file_is_written_once_for_the_topics_of_a_request(world: BrokerWorld) -> None:
    catalogue = world.services.catalogue
    before = times_written(world)
    catalogue.create_topics([NewTopic(f"many-{number}", 1, 3) for number in range(20)])
    assert times_written(world) == before + 1
    catalogue.create_partitions([NewPartitions(f"many-{number}", 2) for number in range(20)])
    assert times_written(world) == before + 2
    catalogue.create_topics([NewTopic("t", 1, 3)])
    assert times_written(world) == before + 2, "none was created"


@pytest.mark.parametrize("path", [FILE_NAME, "__cluster_metadata-0"])
async def test_topics_and_partitions_that_cannot_be_kept_are_not_created(world: BrokerWorld, path: str) -> None:
    catalogue, found = world.services.catalogue, places(await metadata(world))
    world.files.fail("pwrite", errno.ENOSPC, path=path)
    assert (await create(world, "a", 1, 3)).error_code == E.KAFKA_STORAGE_ERROR
    with pytest.raises(KafkaError, match="The change could not be stored"):
        catalogue.create_partitions([NewPartitions("t", 4)])
    assert list(catalogue.topics) == ["t"]
    assert places(await metadata(world)) == found
    world.files.heal()
    await create(world, "c", 1, 3)
    world.abandon()
    kept = read(Directory(Disk(world.files, "/data"), "/data"))
    assert [len(placements) for placements in kept.topics.values()] == [3, 1]
    again = BrokerWorld(files=world.files, nodes=3)
    assert [places(await metadata(again, name=name)) for name in ("t", "c")] == [found, [(1, [1, 2, 3])]]


async def test_whenever_the_power_is_cut_a_topic_has_the_replicas_it_was_created_with() -> None:
    found: list[list[list[int]]] = []
    is_cut = True
    while is_cut:
        world = BrokerWorld(nodes=3)
        await create(world, "t", 1, 2)
        world.files.cut_power_at(world.files.changes_made + len(found))
        life = (world.services.catalogue.create_topics([NewTopic("a", 2, 3)]) for _ in range(1))
        is_cut = not is_lived_to_its_end(life)
        world.files.crash("nothing")
        world.abandon()
        again = BrokerWorld(files=world.files, nodes=3)
        topics = {each.name: each for each in (await ask(again, 1, MetadataRequest(topics=None))).topics}
        found.append([each.replica_nodes for each in topics["a"].partitions] if "a" in topics else [])
        again.abandon()
    placed = [[1, 2, 3], [2, 3, 1]]
    assert found == [[]] * found.count([]) + [placed] * found.count(placed)
    assert min(found.count([]), found.count(placed)) > 0


async def test_leaders_stay_where_a_change_cannot_be_kept(world: BrokerWorld) -> None:
    assert (await produced(world, 2, 1)).base_offset == 0
    let_it_fail(world)
    assert (await switch(world, 2, "true")).error_code != E.NONE
    assert await reassign(world, {("t", 1): [3, 1]}) != [E.NONE]
    found = (await metadata(world))[1]
    assert (found.leader_id, found.isr_nodes) == (2, [2, 3, 1])
    assert world.services.partitions.get("t", 1).leader_epoch == found.leader_epoch, "it rose, for nobody knows better"
    assert (await produced(world, 2, 1)).base_offset == 1
    assert (await produced(world, 3, 1)).error_code == E.NOT_LEADER_OR_FOLLOWER
    world.files.heal()
    assert (await switch(world, 2, "true")).error_code == E.NONE
    assert (await metadata(world))[1].leader_id == 3
    assert (await produced(world, 3, 1)).base_offset == 2


# --- other nodes than before -----------------------------------------------------------------------------------------


async def test_all_nodes_run_where_only_stopped_ones_are_left(world: BrokerWorld) -> None:
    await create(world, "u", assignments=[[1], [2]])
    for node in (1, 2):
        await switch(world, node, "true", asked=3)
    assert places(await metadata(world, 3, name="u")) == [(-1, [1]), (-1, [2])]
    await world.close()
    two = BrokerWorld(files=world.files, nodes=2)
    await two.broker.start()
    assert places(await metadata(two, name="u")) == [(1, [1]), (2, [2])]
    assert [leader for leader, _ in places(await metadata(two, 2))] == [1, 2, 1]
    await two.close()
    again = BrokerWorld(files=world.files, nodes=3)
    assert again.broker.shared_storage.nodes.stopped == set()  # type: ignore[union-attr]  # it has three nodes


# --- new partitions while nodes are stopped --------------------------------------------------------------------------


async def test_an_assignment_to_stopped_nodes_alone_is_refused(world: BrokerWorld) -> None:
    await switch(world, 2, "true")
    await switch(world, 3, "true")
    says = (
        "All brokers specified in the manual partition assignment for partition {} are fenced or in controlled "
        "shutdown."
    )
    refused = await create(world, "u", assignments=[[1, 2], [2, 3]])
    assert (refused.error_code, refused.error_message) == (E.INVALID_REPLICA_ASSIGNMENT, says.format(1))
    assert (await create(world, "u", assignments=[[2, 1], [1, 3]])).error_code == E.NONE
    (refusal,) = world.services.catalogue.create_partitions([NewPartitions("u", 4, [[1, 2], [2, 3]])])
    assert refusal is not None
    assert (refusal.code, refusal.message) == (E.INVALID_REPLICA_ASSIGNMENT, says.format(3))
    await switch(world, 3, "false")
    assert (await create(world, "v", assignments=[[3], [1]])).error_code == E.NONE


async def test_every_new_partition_has_a_leader(world: BrokerWorld) -> None:
    await switch(world, 2, "true")
    await create(world, "u", 6, 3)
    found = await metadata(world, name="u")
    assert sorted(each.leader_id for each in found) == [1, 1, 1, 3, 3, 3]
    assert all(each.replica_nodes[0] == each.leader_id and each.replica_nodes[2] == 2 for each in found)
