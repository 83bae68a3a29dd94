"""The catalogue: what it does to topics, epochs and producer ids, over stops and kills, and whom it tells."""

import errno
from collections.abc import Callable

import pytest

from barnabas.broker.config.resources.log_configs import log_config
from barnabas.broker.coordinator.transaction.producer_ids import ProducerIds
from barnabas.broker.metadata.catalogue import CatalogueError, NewPartitions, NewTopic, TopicImage
from barnabas.broker.metadata.catalogue.config_alterations import Alteration
from barnabas.broker.metadata.image.framing import Versioned
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.log_records.catalogue import FeatureLevelRecord
from barnabas.protocol.primitives import uuid_text
from tests.support.worlds.catalogue import CatalogueWorld, state_of
from tests.support.worlds.configs import replace_configs


@pytest.fixture
def world() -> CatalogueWorld:
    return CatalogueWorld()


class Heard:
    """A listener that writes down what it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[object, ...]] = []

    def on_topic_created(self, topic: TopicImage) -> None:
        self.events.append(("created", topic.name, len(topic.partitions)))

    def on_topic_deleted(self, topic: TopicImage) -> None:
        self.events.append(("deleted", topic.name, len(topic.partitions)))

    def on_partitions_added(self, topic: TopicImage, first_new: int) -> None:
        self.events.append(("added", topic.name, first_new))

    def on_configs_changed(self, resource_type: int, resource_name: str) -> None:
        self.events.append(("configs", resource_type, resource_name))


def _refused(code: ErrorCode, change: Callable[[], object]) -> str:
    with pytest.raises(KafkaError) as refusal:
        change()
    assert refusal.value.code == code
    return refusal.value.message


def test_the_latest_names_that_were_deleted_and_are_not_there_again_are_remembered(world: CatalogueWorld) -> None:
    catalogue, names = world.catalogue, [f"t{number}" for number in range(1_001)]
    catalogue.create_topics([NewTopic(name, 1) for name in names])
    catalogue.delete_topics(names)
    assert [name for name in names if not catalogue.was_deleted(name)] == ["t0"]
    catalogue.create_topic("t1")
    assert not catalogue.was_deleted("t1")
    assert not catalogue.was_deleted("never")


@pytest.mark.parametrize("end", ["stop", "kill", "cut_power"])
def test_everything_answered_is_there_after(world: CatalogueWorld, end: str) -> None:
    catalogue = world.catalogue
    catalogue.create_topic("a", 3, {"retention.ms": "5"})
    catalogue.create_topic("b")
    catalogue.alter_configs(2, "b", [Alteration("cleanup.policy", 2, "compact")])
    catalogue.alter_configs(4, "", [Alteration("log.retention.ms", 0, "7")])
    catalogue.create_partitions([NewPartitions("b", 4)])
    catalogue.delete_topics(["a"])
    catalogue.create_topic("a", 1)
    before = state_of(catalogue)
    after = state_of(getattr(world, end)())
    if end == "stop":  # which says that nobody leads any more
        for state in (before, after):
            state["topics"] = {name: (id_, own, len(parts)) for name, (id_, own, parts) in state["topics"].items()}
    assert after == before


def test_a_new_directory_begins_at_the_lowest_level_that_carries_it_and_new_transactions(world: CatalogueWorld) -> None:
    assert world.catalogue.feature_levels == {
        "group.version": 1,
        "metadata.version": 25,
        "share.version": 2,
        "streams.version": 1,
        "transaction.version": 2,
    }
    assert world.catalogue.broker_epoch == 3


def test_a_run_that_changes_nothing_writes_nothing(world: CatalogueWorld) -> None:
    world.catalogue.create_topic("a")
    world.stop()
    calls = len(world.files.calls)
    before = world.log()
    world.stop()
    changing = {"create", "pwrite", "truncate", "sync", "rename", "remove", "mkdir"}
    assert [call for call in world.files.calls[calls:] if call.name in changing - {"mkdir"}] == []
    assert world.log() == before


def test_listeners_are_reported_after_a_change_and_only_of_what_changed(world: CatalogueWorld) -> None:
    heard = Heard()
    catalogue = world.catalogue
    catalogue.subscribe(heard)
    catalogue.create_topics([NewTopic("a", 2), NewTopic("bad name"), NewTopic("b")])
    catalogue.create_topics([NewTopic("c")], validate_only=True)
    catalogue.create_partitions([NewPartitions("a", 3), NewPartitions("nowhere", 3)])
    catalogue.alter_configs(2, "a", [Alteration("retention.ms", 0, "5")])
    catalogue.alter_configs(2, "a", [Alteration("retention.ms", 0, "5")])
    catalogue.alter_configs(4, "1", [Alteration("log.retention.ms", 0, "6")])
    catalogue.delete_topics(["a"])
    assert heard.events == [
        ("created", "a", 2),
        ("created", "b", 1),
        ("added", "a", 2),
        ("configs", 2, "a"),
        ("configs", 4, "1"),
        ("deleted", "a", 3),
    ]


def test_settings_take_effect_at_once(world: CatalogueWorld) -> None:
    topic = world.catalogue.create_topic("a")
    assert log_config(world.config, topic.configs).retention_ms == 604_800_000
    world.catalogue.alter_configs(4, "", [Alteration("log.retention.ms", 0, "7")])
    assert log_config(world.config, topic.configs).retention_ms == 7
    world.catalogue.alter_configs(4, "1", [Alteration("log.retention.ms", 0, "8")])
    assert log_config(world.config, topic.configs).retention_ms == 8
    world.catalogue.alter_configs(2, "a", [Alteration("retention.ms", 0, "9")])
    assert log_config(world.config, topic.configs).retention_ms == 9
    world.kill()
    assert world.config.integer("log.retention.ms") == 8
    replace_configs(world.catalogue, 4, "1", {})
    assert world.config.integer("log.retention.ms") == 7


def test_topic_ids_are_never_printed_with_a_leading_dash() -> None:
    for seed in range(200):
        catalogue = CatalogueWorld(seed).catalogue
        topic_id = catalogue.create_topic("a").topic_id
        assert not uuid_text(topic_id).startswith("-")
        assert topic_id[6] >> 4 == 4


def test_a_deleted_topic_leaves_its_settings_behind_for_no_one(world: CatalogueWorld) -> None:
    first = world.catalogue.create_topic("a", 1, {"retention.ms": "5"}).topic_id
    world.catalogue.delete_topics(["a"])
    again = world.catalogue.create_topic("a")
    assert again.configs == {}
    assert again.topic_id != first
    assert world.kill().topics["a"].configs == {}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("__consumer_offsets", {"compression.type": "producer"}),
        (
            "__transaction_state",
            {"compression.type": "uncompressed", "min.insync.replicas": "1", "unclean.leader.election.enable": "false"},
        ),
    ],
)
def test_internal_topics_are_made_as_by_kafka(world: CatalogueWorld, name: str, expected: dict[str, str]) -> None:
    topic = world.catalogue.create_internal_topic(name)
    assert topic.is_internal
    assert len(topic.partitions) == 50
    assert topic.configs == expected | {"cleanup.policy": "compact", "segment.bytes": "104857600"}
    assert world.catalogue.create_internal_topic(name) is topic


def test_the_topic_of_transactions_is_made_as_the_configuration_says() -> None:
    settings = {"num.partitions": "3", "segment.bytes": "2097152", "min.isr": "2"}
    world = CatalogueWorld(settings={f"transaction.state.log.{key}": value for key, value in settings.items()})
    topic = world.catalogue.create_internal_topic("__transaction_state")
    assert len(topic.partitions) == 3
    assert (topic.configs["segment.bytes"], topic.configs["min.insync.replicas"]) == ("2097152", "2")


def test_producer_ids_are_never_given_twice(world: CatalogueWorld) -> None:
    given: list[int] = []
    for end in (world.stop, world.kill, world.cut_power, world.stop):
        ids = ProducerIds(world.catalogue.allocate_producer_ids)
        given += [ids.next() for _ in range(1500)]
        end()
    assert len(set(given)) == len(given)
    assert min(given) == 0


def test_a_producer_id_block_that_could_not_be_stored_gives_no_id(world: CatalogueWorld) -> None:
    ids = ProducerIds(world.catalogue.allocate_producer_ids)
    world.files.fail("pwrite", errno.ENOSPC)
    _refused(ErrorCode.KAFKA_STORAGE_ERROR, ids.next)
    world.files.heal()
    assert ids.next() == 0


def test_a_full_disk_changes_nothing_and_the_next_change_goes_through(world: CatalogueWorld) -> None:
    world.catalogue.create_topic("a")
    before = state_of(world.catalogue)
    world.files.fail("pwrite", errno.ENOSPC, short=20)
    assert "could not be stored" in _refused(ErrorCode.KAFKA_STORAGE_ERROR, lambda: world.catalogue.create_topic("b"))
    assert state_of(world.catalogue) == before
    world.files.heal()
    world.catalogue.create_topic("c")
    assert set(world.catalogue.topics) == {"a", "c"}
    assert set(world.kill().topics) == {"a", "c"}


def test_a_feature_level_above_ours_is_not_opened(world: CatalogueWorld) -> None:
    world.catalogue.journal._open_epoch()
    future = Versioned(FeatureLevelRecord(name="metadata.version", feature_level=34))
    with pytest.raises(Exception, match="this version knows 7 to 33"):
        world.catalogue.journal.commit([future])
    with pytest.raises(CatalogueError, match=r"offset 9: feature metadata.version is at level 34"):
        world.kill()


def test_a_partition_that_is_not_there_has_no_epoch(world: CatalogueWorld) -> None:
    world.catalogue.create_topic("a")
    for ask in (world.catalogue.leader_epoch, world.catalogue.current_leader_epoch):
        _refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, lambda ask=ask: ask("a", 1))  # type: ignore[misc]  # bound now
        _refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, lambda ask=ask: ask("b", 0))  # type: ignore[misc]  # bound now


def test_a_change_is_one_line_in_the_log_without_values(
    world: CatalogueWorld, caplog: pytest.LogCaptureFixture
) -> None:
    catalogue = world.catalogue
    with caplog.at_level("INFO", logger="barnabas.catalogue"):
        catalogue.create_topic("t", 1)
        catalogue.create_partitions([NewPartitions("t", 3)])
        catalogue.alter_configs(2, "t", [Alteration("retention.ms", 0, "1234")])
        catalogue.delete_topics(["t"])
    assert [record.getMessage() for record in caplog.records] == [
        "topic created topic=t partitions=1",
        "partitions added topic=t partitions=3",
        "configs changed resource=topic name=t keys=retention.ms",
        "topic deleted topic=t",
    ]
