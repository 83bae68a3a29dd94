"""A broker over several data directories: where partitions are put, and what fails with one."""

from functools import partial

import pytest

from barnabas.broker.metadata.image import features
from barnabas.broker.metadata.image.features import FeatureUpdate, UpgradeType
from barnabas.broker.metadata.image.image import METADATA_VERSION
from barnabas.broker.metadata.image.topic_changes import NewPartitions
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from barnabas.storage.errors import StorageError
from tests.support.files.memory_files import MemoryFiles
from tests.support.worlds.broker import BrokerWorld, code_of

E = ErrorCode
PATHS = "/one,/two,/three"


def world_of(files: MemoryFiles | None = None, paths: str = PATHS, **settings: str) -> BrokerWorld:
    named = {key.replace("_", "."): value for key, value in settings.items()}
    return BrokerWorld({"log.dirs": paths, **named}, files)


def places(world: BrokerWorld) -> dict[str, list[tuple[str, int]]]:
    """Who lies where, or will, by the catalogue."""
    paths = {each.directory_id: each.path for each in world.services.partitions.directory.members}
    found: dict[str, list[tuple[str, int]]] = {}
    for topic in world.services.catalogue.topics.values():
        for number, partition in enumerate(topic.partitions):
            found.setdefault(paths.get(partition.directory_id, "nowhere"), []).append((topic.name, number))
    return found


async def described(world: BrokerWorld) -> dict[str, tuple[ErrorCode, list[tuple[str, int, bool]]]]:
    peer = world.connect()
    await peer.put(DescribeLogDirsRequest(topics=None))
    return {
        each.log_dir: (
            E(each.error_code),
            [
                (topic.name, row.partition_index, row.partition_size > 0)
                for topic in each.topics
                for row in topic.partitions
            ],
        )
        for each in peer.answer().results
    }


async def test_a_new_partition_is_put_where_the_fewest_are() -> None:
    world = world_of()
    catalogue = world.services.catalogue
    catalogue.create_topic("a", 4)
    catalogue.create_topic("b", 1)
    assert places(world) == {"/one": [("a", 0), ("a", 3)], "/two": [("a", 1), ("b", 0)], "/three": [("a", 2)]}
    catalogue.create_partitions([NewPartitions("b", 3)])
    assert {path: len(placed) for path, placed in places(world).items()} == {"/one": 3, "/two": 2, "/three": 2}
    catalogue.delete_topics(["a"])
    catalogue.create_topic("c", 2)
    assert sorted(len(placed) for placed in places(world).values()) == [1, 2, 2]


async def test_a_partition_lies_in_the_directory_of_the_catalogue_and_is_reported_there() -> None:
    world = world_of()
    world.services.catalogue.create_topic("t", 3)
    world.append("t", b"v", partition=1)
    assert await described(world) == {
        "/one": (E.NONE, [("t", 0, False)]),
        "/two": (E.NONE, [("t", 1, True)]),
        "/three": (E.NONE, [("t", 2, False)]),
    }
    assert [entry.name for entry in world.files.entries("/two") if entry.is_directory] == ["t-1"]


async def test_a_start_finds_all_of_it_again() -> None:
    world = world_of()
    world.services.catalogue.create_topic("t", 3)
    for partition in range(3):
        world.append("t", b"v", partition=partition)
    before = places(world)
    await world.close()
    again = world_of(world.files)
    await again.broker.start()
    assert again.services.partitions.directory.was_clean
    assert places(again) == before
    assert [again.append("t", b"v", partition=partition) for partition in range(3)] == [1, 1, 1]


async def test_a_directory_that_fails_takes_its_partitions_and_no_others() -> None:
    world = world_of()
    await world.broker.start()
    world.services.catalogue.create_topic("t", 3)
    for partition in range(3):
        world.append("t", b"v", partition=partition)
    world.services.partitions.directory.members[1].root.disk.go_offline("it broke")
    assert code_of(lambda: world.append("t", b"v", partition=1)) is E.KAFKA_STORAGE_ERROR
    assert [world.append("t", b"v", partition=partition) for partition in (0, 2)] == [1, 1]
    assert world.broker.unready_reason() is None
    assert (await described(world))["/two"] == (E.KAFKA_STORAGE_ERROR, [])
    world.services.catalogue.create_topic("u", 4)
    assert [key for key in places(world)["/two"] if key[0] == "u"] == [], "nothing new is put in it"
    await world.close()
    again = world_of(world.files)
    assert again.append("t", b"v", partition=1) == 1


async def test_partitions_of_a_directory_that_is_gone_are_refused_and_come_back_with_it() -> None:
    world = world_of()
    world.services.catalogue.create_topic("t", 3)
    for partition in range(3):
        world.append("t", b"v", partition=partition)
    await world.close()
    without = world_of(world.files, "/one,/three")
    await without.broker.start()
    assert places(without)["nowhere"] == [("t", 1)]
    for attempt in range(2):
        with pytest.raises(KafkaError) as refused:
            without.append("t", b"v", partition=1)
        assert refused.value.code is E.KAFKA_STORAGE_ERROR, attempt
    assert without.append("t", b"v") == 1
    await without.close()
    alone = world_of(world.files, "/one")
    with pytest.raises(KafkaError):
        alone.append("t", b"v", partition=1)
    await alone.close()
    again = world_of(world.files)
    assert [again.append("t", b"v", partition=partition) for partition in range(3)] == [2, 1, 1]


async def test_partitions_get_a_place_where_a_second_directory_is_added() -> None:
    world = world_of(paths="/one")
    world.services.catalogue.create_topic("t", 2)
    world.append("t", b"v")
    await world.close()
    more = world_of(world.files, "/one,/two")
    await more.broker.start()
    more.services.catalogue.create_topic("u", 2)
    assert places(more) == {"/one": [("t", 0), ("t", 1)], "/two": [("u", 0), ("u", 1)]}
    assert more.append("t", b"v") == 1


async def test_the_disk_is_right_where_the_catalogue_specifies_something_else() -> None:
    world = world_of(paths="/one,/two")
    world.services.catalogue.create_topic("t", 2)
    world.append("t", b"v")
    world.services.catalogue.assign({("t", 0): world.services.partitions.directory.members[1].directory_id})
    await world.close()
    again = world_of(world.files, "/one,/two")
    assert places(again) == {"/two": [("t", 0), ("t", 1)]}
    await again.broker.start()
    assert places(again) == {"/one": [("t", 0)], "/two": [("t", 1)]}
    assert again.append("t", b"v") == 1


async def test_the_broker_is_registered_with_all_its_directories() -> None:
    world = world_of(paths="/one")
    await world.close()
    more = world_of(world.files, "/one,/two")
    members = [each.directory_id for each in more.services.partitions.directory.members]
    registration = more.services.catalogue._image.registration
    assert registration is not None
    assert registration.record.log_dirs == members


async def test_without_the_metadata_directory_the_broker_stops_and_without_another_it_does_not() -> None:
    world = world_of()
    stops: list[str] = []
    world.broker.watch.when_failed = lambda: stops.append("stop")
    await world.broker.start()
    members = world.services.partitions.directory.members
    members[2].root.disk.go_offline("it broke")
    world.clock.advance(1_000)
    assert stops == []
    members[0].root.disk.go_offline("it broke, too")
    world.clock.advance(5_000)
    assert stops == ["stop"]
    with pytest.raises(StorageError):
        await world.close()


async def test_without_any_directory_for_partitions_the_broker_stops() -> None:
    world = world_of(metadata_log_dir="/meta")
    stops: list[str] = []
    world.broker.watch.when_failed = lambda: stops.append("stop")
    await world.broker.start()
    for member in world.services.partitions.directory.members:
        assert stops == []
        member.root.disk.go_offline("it broke")
        world.clock.advance(1_000)
    assert stops == ["stop"]
    assert code_of(lambda: world.services.catalogue.create_topic("t", 1)) is E.KAFKA_STORAGE_ERROR


# --- below metadata.version 17 no record names a directory ---


@pytest.fixture
def older(monkeypatch: pytest.MonkeyPatch) -> None:
    """New directories have the metadata.version of Kafka 3.6."""
    monkeypatch.setitem(features.NEW_LEVELS, METADATA_VERSION, 14)


def lying(world: BrokerWorld) -> dict[str, list[int]]:
    """The partitions of t by the directory that has them on the disk."""
    members = world.services.partitions.directory.members
    return {each.path: sorted(number for topic, number in each.partitions if topic == "t") for each in members}


@pytest.mark.usefixtures("older")
async def test_an_older_level_has_partitions_where_the_fewest_lie_and_keeps_them_there() -> None:
    world = world_of(paths="/one,/two")
    await world.broker.start()
    world.services.catalogue.create_topic("t", 5)
    for number in range(5):
        world.append("t", b"v", partition=number)
    assert places(world) == {"nowhere": [("t", number) for number in range(5)]}
    assert lying(world) == {"/one": [0, 2, 4], "/two": [1, 3]}
    await world.close()
    again = world_of(world.files, paths="/one,/two")
    await again.broker.start()
    assert [again.append("t", b"v", partition=number) for number in range(5)] == [1] * 5
    assert lying(again) == {"/one": [0, 2, 4], "/two": [1, 3]}


@pytest.mark.usefixtures("older")
async def test_an_older_level_makes_no_partition_anew_that_may_lie_in_a_directory_that_is_not_there() -> None:
    world = world_of(paths="/one,/two")
    world.services.catalogue.create_topic("t", 2)
    world.append("t", b"v")
    world.append("t", b"v", partition=1)
    world.services.partitions.directory.members[1].root.disk.go_offline("it broke")
    world.services.catalogue.create_topic("u", 1)
    for topic, number in (("t", 1), ("u", 0)):
        assert code_of(partial(world.append, topic, b"v", partition=number)) is E.KAFKA_STORAGE_ERROR
    assert world.append("t", b"v") == 1


@pytest.mark.usefixtures("older")
async def test_a_start_notes_where_partitions_lie_once_the_level_is_raised(caplog: pytest.LogCaptureFixture) -> None:
    world = world_of(paths="/one,/two")
    await world.broker.start()
    assert [each.levelname for each in caplog.records if "not supported in this metadata.version" in each.message] == [
        "ERROR"
    ]
    world.services.catalogue.create_topic("t", 2)
    world.append("t", b"v")
    world.append("t", b"v", partition=1)
    update = FeatureUpdate(METADATA_VERSION, 25, UpgradeType.UPGRADE)
    world.services.catalogue.update_features([update])
    await world.close()
    caplog.clear()
    again = world_of(world.files, paths="/one,/two")
    await again.broker.start()
    assert places(again) == {"/one": [("t", 0)], "/two": [("t", 1)]}
    assert "not supported in this metadata.version" not in caplog.text
