"""AlterReplicaLogDirs with one data directory: what is in it, what is not, and directories there are not."""

from collections.abc import AsyncIterator

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from barnabas.protocol.registry import ApiKey
from tests.support.worlds.broker import BrokerWorld, settle

E = ErrorCode
OWN, NOWHERE = "/data", "/nowhere"
KEY = ApiKey.ALTER_REPLICA_LOG_DIRS
VERSIONS = range(KEY.min_version, KEY.max_version + 1)
LONGEST_THAT_CAN_MOVE = 213  # with a partition of one digit


@pytest.fixture
async def world() -> AsyncIterator[BrokerWorld]:
    world = BrokerWorld()
    world.services.catalogue.create_topic("t", 3)
    yield world
    await world.close()


async def move(
    world: BrokerWorld, *wishes: tuple[str, dict[str, list[int]]], version: int | None = None
) -> dict[str, dict[int, ErrorCode]]:
    dirs = [
        AlterReplicaLogDir(
            path=path, topics=[AlterReplicaLogDirTopic(name=name, partitions=row) for name, row in topics.items()]
        )
        for path, topics in wishes
    ]
    peer = world.connect()
    peer.ask(AlterReplicaLogDirsRequest(dirs=dirs), version)
    await settle()
    return {
        each.topic_name: {row.partition_index: E(row.error_code) for row in each.partitions}
        for each in peer.answer().results
    }


@pytest.mark.parametrize("version", VERSIONS)
async def test_each_partition_is_in_the_one_directory_already(world: BrokerWorld, version: int) -> None:
    assert await move(world, (OWN, {"t": [0, 2, 0]}), version=version) == {"t": {0: E.NONE, 2: E.NONE}}
    assert world.services.partitions.directory.members[0].logs == {}, "nothing was opened for it"


async def test_what_is_not_there_is_unknown(world: BrokerWorld) -> None:
    unknown = E.UNKNOWN_TOPIC_OR_PARTITION
    found = await move(world, (OWN, {"t": [3, -1], "nobody": [0], "__cluster_metadata": [0]}))
    assert found == {"t": {3: unknown, -1: unknown}, "nobody": {0: unknown}, "__cluster_metadata": {0: unknown}}


@pytest.mark.parametrize("path", [NOWHERE, "", ".", "data", "/data/", "/data/../data"])
async def test_a_directory_is_known_by_its_absolute_path(world: BrokerWorld, path: str) -> None:
    found = await move(world, (path, {"t": [0], "nobody": [0]}))
    assert found == {"t": {0: E.LOG_DIR_NOT_FOUND}, "nobody": {0: E.LOG_DIR_NOT_FOUND}}


async def test_of_a_partition_named_several_times_the_last_counts(world: BrokerWorld) -> None:
    assert await move(world, (NOWHERE, {"t": [0]}), (OWN, {"t": [0, 1]})) == {"t": {0: E.NONE, 1: E.NONE}}
    found = await move(world, (OWN, {"t": [0, 1]}), (NOWHERE, {"t": [0]}))
    assert found == {"t": {0: E.LOG_DIR_NOT_FOUND, 1: E.NONE}}


async def test_a_name_needs_room_for_what_a_move_appends(world: BrokerWorld) -> None:
    name = "x" * LONGEST_THAT_CAN_MOVE
    assert await move(world, (OWN, {name: [0, 10], f"{name}x": [0]})) == {
        name: {0: E.UNKNOWN_TOPIC_OR_PARTITION, 10: E.INVALID_TOPIC_EXCEPTION},
        f"{name}x": {0: E.INVALID_TOPIC_EXCEPTION},
    }
    assert await move(world, (NOWHERE, {f"{name}x": [0]})) == {f"{name}x": {0: E.INVALID_TOPIC_EXCEPTION}}


async def test_nothing_asked_for_is_nothing_answered(world: BrokerWorld) -> None:
    assert await move(world) == {}
    assert await move(world, (OWN, {"t": []}), (NOWHERE, {})) == {}


async def test_a_directory_that_went_offline_says_so(world: BrokerWorld) -> None:
    disk = world.services.partitions.directory.root.disk
    disk.go_offline("a sync failed")
    found = await move(world, (OWN, {"t": [0], "nobody": [0]}), (NOWHERE, {"t": [1]}))
    disk.offline_reason = None  # so that the broker can be stopped
    assert found == {"t": {0: E.KAFKA_STORAGE_ERROR, 1: E.LOG_DIR_NOT_FOUND}, "nobody": {0: E.KAFKA_STORAGE_ERROR}}
