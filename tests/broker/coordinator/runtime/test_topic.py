"""Groups on the real `__consumer_offsets`: catalogue, partitions and files (in memory), over crashes and power cuts."""

import asyncio
from typing import Any

import pytest

from barnabas.broker.config.resources import log_configs
from barnabas.broker.coordinator.runtime.outcome import TransactionProducer
from barnabas.broker.coordinator.runtime.partition_for import partition_for
from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.records.batch import BatchHeader, parse_header
from barnabas.protocol.records.control import EndTxnMarker
from tests.support.files.memory_files import Survival
from tests.support.worlds.broker import ANSWER_TIMEOUT_S, BrokerWorld, code_of

_OFFSETS = "__consumer_offsets"
_PARTITION = partition_for("g", 50)
_PRODUCER = TransactionProducer(7, 0)


@pytest.fixture
async def world() -> BrokerWorld:
    return BrokerWorld(topics={"t": 1})


def killed(world: BrokerWorld, survival: Survival = "everything") -> BrokerWorld:
    """The next run."""
    world.files.crash(survival)
    return BrokerWorld(dict(world.config.static), world.files)


def log_of(world: BrokerWorld) -> Any:
    return world.services.partitions.get(_OFFSETS, _PARTITION)


def first_batch(world: BrokerWorld) -> BatchHeader:
    return parse_header(log_of(world).read(0, 1_000_000, committed=False, force_first_batch=True).read_all())


def mark(
    world: BrokerWorld, by: TransactionProducer, *, commit: bool, hold: bool = False, partition: int = _PARTITION
) -> None:
    marker = EndTxnMarker(commit, *by, 0, 0, world.clock.now_ms())
    world.services.groups.append_marker(partition, marker, transaction_version=1, hold=hold)


async def test_the_topic_is_created_when_the_first_group_is_looked_for(world: BrokerWorld) -> None:
    assert world.services.groups.groups() == []
    assert _OFFSETS not in world.services.catalogue.topics
    world.services.groups.prepare("g")
    topic = world.services.catalogue.topics[_OFFSETS]
    assert len(topic.partitions) == 50
    assert topic.is_internal
    assert topic.configs["cleanup.policy"] == "compact"
    assert topic.configs["segment.bytes"] == "104857600"


async def test_only_the_partition_that_is_used_is_opened(world: BrokerWorld) -> None:
    world.commit_offset(1)
    opened = [log.partition for log in world.services.partitions.open_logs() if log.topic == _OFFSETS]
    assert opened == [_PARTITION]


async def test_commits_outlive_a_kill(world: BrokerWorld) -> None:
    for offset in range(200):
        assert world.commit_offset(offset) == (E.NONE,)
    assert killed(world).committed() == {0: 199}


@pytest.mark.parametrize("commit", [True, False])
async def test_a_held_marker_holds_back_the_offsets_and_the_log_alike(world: BrokerWorld, commit: bool) -> None:
    def seen() -> tuple[dict[int, int], int, int]:
        return world.committed(), log_of(world).last_stable_offset, log_of(world).log_end_offset

    world.commit_offset(1)
    assert world.commit_offset(5, producer=_PRODUCER) == (E.NONE,)
    mark(world, _PRODUCER, commit=commit, hold=True)
    assert seen() == ({0: 1}, 1, 3)
    world.services.groups.release_marker(_PARTITION, 7, commit)
    assert seen() == ({0: 5 if commit else 1}, 3, 3)
    assert killed(world).committed() == {0: 5 if commit else 1}


async def test_an_old_epoch_neither_commits_nor_ends_a_transaction(world: BrokerWorld) -> None:
    old, new = TransactionProducer(7, 2), TransactionProducer(7, 3)
    world.commit_offset(5, producer=new)
    assert code_of(lambda: world.commit_offset(6, producer=old)) is E.INVALID_PRODUCER_EPOCH
    assert code_of(lambda: mark(world, old, commit=True)) is E.INVALID_PRODUCER_EPOCH
    mark(world, new, commit=True)
    assert world.committed() == {0: 5}


async def test_a_marker_of_a_partition_that_is_not_there_is_refused(world: BrokerWorld) -> None:
    world.services.groups.prepare("g")
    assert code_of(lambda: mark(world, _PRODUCER, commit=True, partition=50)) is E.UNKNOWN_TOPIC_OR_PARTITION
    world.services.groups.release_marker(50, 7, True)


@pytest.mark.parametrize("producer", [None, _PRODUCER], ids=["", "of a transaction"])
@pytest.mark.parametrize("codec", [1, 2, 3, 4])
async def test_batches_are_compressed_as_the_configuration_says(
    codec: int, producer: TransactionProducer | None
) -> None:
    world = BrokerWorld({"offsets.topic.compression.codec": str(codec)}, topics={"t": 1})
    world.commit_offset(5, producer=producer)
    batch = first_batch(world)
    assert (batch.compression, batch.is_transactional) == (codec, producer is not None)
    assert killed(world).committed() == ({} if producer else {0: 5})


@pytest.mark.parametrize("survival", ["nothing", "some"])
async def test_an_answered_commit_outlives_a_power_cut_where_flushing_is_on(survival: Survival) -> None:
    world = BrokerWorld({"log.flush.interval.messages": "1"}, topics={"t": 1})
    assert await asyncio.wait_for(world.commit_offset(5), ANSWER_TIMEOUT_S) == (E.NONE,)
    assert not world.commit_offset(6).done()
    assert killed(world, survival).committed() in ({0: 5}, {0: 6})


async def test_a_full_disk_refuses_the_commit_and_keeps_the_one_before(world: BrokerWorld) -> None:
    world.commit_offset(5)
    world.files.fail("pwrite", 28, times=1)
    assert code_of(lambda: world.commit_offset(6)) is E.NOT_COORDINATOR
    assert world.committed() == {0: 5}
    assert world.commit_offset(7) == (E.NONE,)
    assert killed(world).committed() == {0: 7}


async def test_offsets_go_with_their_topic_also_when_the_group_is_not_loaded(world: BrokerWorld) -> None:
    world.services.catalogue.create_topic("u")
    for topic in ("t", "u"):
        world.commit_offset(5, topic=topic)
    world.services.catalogue.delete_topics(["t"])
    assert (world.committed(topic="t"), world.committed(topic="u")) == ({}, {0: 5})
    world = killed(world)
    world.services.catalogue.delete_topics(["u"])
    world.services.catalogue.create_topic("u")
    assert world.committed(topic="u") == {}


async def test_unreplicated_records_are_loaded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_configs, "REPLICATION_FACTOR", 3)
    world = BrokerWorld({"min.insync.replicas": "2"}, topics={"t": 1})
    world.commit_offset(5)
    world.commit_offset(6)
    assert (log_of(world).high_watermark, log_of(world).log_end_offset) == (0, 2)
    world = killed(world)
    assert world.committed() == {0: 6}
    assert log_of(world).high_watermark == 0


async def test_without_their_topic_there_are_no_groups(world: BrokerWorld) -> None:
    world.commit_offset(5)
    world.services.catalogue.delete_topics([_OFFSETS])
    assert world.committed() == {}
    assert world.commit_offset(6) == (E.NONE,)


async def test_a_refusal_gives_the_reason(world: BrokerWorld) -> None:
    world.services.groups.prepare("g")
    world.files.fail("any", 5, path=_OFFSETS)
    with pytest.raises(KafkaError, match=_OFFSETS):
        world.commit_offset(5)
    world.abandon()
