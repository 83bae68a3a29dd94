"""AlterReplicaLogDirs with one data directory: what is in it, what is not, and directories there are not."""

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from barnabas.protocol.registry import ApiKey
from tests.support.worlds.broker import BrokerWorld

E = ErrorCode
OWN, NOWHERE = "/data", "/nowhere"
KEY = ApiKey.ALTER_REPLICA_LOG_DIRS
VERSIONS = range(KEY.min_version, KEY.max_version + 1)


async def move(
    world: BrokerWorld, *wishes: tuple[str, dict[str, list[int]]], version: int | None = None
) -> dict[str, dict[int, ErrorCode]]:
    dirs = [
        AlterReplicaLogDir(
            path=path, topics=[AlterReplicaLogDirTopic(name=name, partitions=row) for name, row in topics.items()]
        )
        for path, topics in wishes
    ]
    answer = await world.ask(AlterReplicaLogDirsRequest(dirs=dirs), version)
    return {
        each.topic_name: {row.partition_index: E(row.error_code) for row in each.partitions} for each in answer.results
    }


@pytest.mark.parametrize("version", VERSIONS)
async def test_each_partition_is_in_the_one_directory_already(world: BrokerWorld, version: int) -> None:
    assert await move(world, (OWN, {"t": [0, 2, 0]}), version=version) == {"t": {0: E.NONE, 2: E.NONE}}
    assert world.services.partitions.directory.members[0].logs == {}, "nothing was opened for it"


@pytest.mark.parametrize("path", [NOWHERE, "", ".", "data", "/data/", "/data/../data"])
async def test_a_directory_is_known_by_its_absolute_path(world: BrokerWorld, path: str) -> None:
    found = await move(world, (path, {"t": [0], "nobody": [0]}))
    assert found == {"t": {0: E.LOG_DIR_NOT_FOUND}, "nobody": {0: E.LOG_DIR_NOT_FOUND}}


async def test_a_directory_that_went_offline_reports_it(world: BrokerWorld) -> None:
    disk = world.services.partitions.directory.root.disk
    disk.go_offline("a sync failed")
    found = await move(world, (OWN, {"t": [0], "nobody": [0]}), (NOWHERE, {"t": [1]}))
    disk.offline_reason = None  # so that the broker can be stopped
    assert found == {"t": {0: E.KAFKA_STORAGE_ERROR, 1: E.LOG_DIR_NOT_FOUND}, "nobody": {0: E.KAFKA_STORAGE_ERROR}}
