"""Groups on the real `__consumer_offsets`: catalogue, partitions and files (in memory), over crashes and power cuts."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from broker.catalogue import Catalogue
from broker.config import BrokerConfig
from broker.coordinator import GroupCoordinator
from broker.coordinator.group.model import CommitRequest, OffsetToCommit
from broker.coordinator.placement import partition_for
from broker.flushing import GroupFlush
from broker.partitions import Partitions
from broker.waiters import Waiters
from protocol.errors import ErrorCode, KafkaError
from protocol.records.batch import parse_header
from storage.directory import Directory
from storage.disk import Disk
from storage.log_directory import LogDirectory
from tests.support.group_world import refusal
from tests.support.memory_files import MemoryFiles, Survival
from tests.support.virtual_clock import VirtualClock

_OFFSETS = "__consumer_offsets"


class _Broker:
    """The parts of a broker below its handlers, on one in-memory disk."""

    def __init__(self, files: MemoryFiles, settings: dict[str, str]) -> None:
        self.files = files
        self.loop = asyncio.new_event_loop()
        self.clock = VirtualClock()
        config = BrokerConfig(settings)
        randomness = random.Random(7)
        self.directory = LogDirectory.open("/d", files, node_id=1, new_id=lambda: randomness.randbytes(16))
        self.catalogue = Catalogue.open(
            Directory(Disk(files, "/d"), "/d").subdirectory("__cluster_metadata-0"),
            node_id=1,
            directory_id=bytes(16),
            config=config,
            now_ms=self.clock.now_ms,
            random_bytes=randomness.randbytes,
        )
        self.partitions = Partitions(
            self.catalogue,
            self.directory,
            config,
            self.clock,
            Waiters(self.clock, self.loop),
            GroupFlush(self.loop, self._run),
            randomness.randbytes,
        )
        self.groups = GroupCoordinator.open(
            config,
            catalogue=self.catalogue,
            partitions=self.partitions,
            clock=self.clock,
            loop=self.loop,
            random_bytes=randomness.randbytes,
        )

    def _run(self, work: Callable[[], Any]) -> asyncio.Future[Any]:
        future = self.loop.create_future()
        future.set_result(work())
        return future

    def settle(self) -> None:
        for _ in range(5):
            self.loop.call_soon(self.loop.stop)
            self.loop.run_forever()

    def commit(self, offset: int, topic: str = "t") -> Any:
        topic_id = self.catalogue.topics[topic].topic_id
        return self.groups.commit_offsets(
            CommitRequest("g", -1, "", None, (OffsetToCommit(topic, topic_id, 0, offset, -1, ""),)),
            missing_group=ErrorCode.GROUP_ID_NOT_FOUND,
        )

    def committed(self, topic: str = "t") -> int | None:
        found = self.groups.fetch_offsets("g").offsets.get(topic, {}).get(0)
        return None if found is None else found.offset


@contextmanager
def _broker(files: MemoryFiles, **settings: str) -> Iterator[_Broker]:
    broker = _Broker(files, {name.replace("_", "."): value for name, value in settings.items()})
    try:
        yield broker
    finally:
        broker.loop.close()


@pytest.fixture
def files() -> MemoryFiles:
    return MemoryFiles(3)


def test_the_topic_is_created_when_the_first_group_is_looked_for(files: MemoryFiles) -> None:
    with _broker(files) as broker:
        assert _OFFSETS not in broker.catalogue.topics
        assert broker.groups.groups() == []
        broker.groups.prepare("g")
        topic = broker.catalogue.topics[_OFFSETS]
        assert len(topic.partitions) == 50
        assert topic.is_internal
        assert topic.configs["cleanup.policy"] == "compact"
        assert topic.configs["segment.bytes"] == "104857600"


def test_only_the_partition_that_is_used_is_opened(files: MemoryFiles) -> None:
    with _broker(files) as broker:
        broker.catalogue.create_topic("t")
        broker.commit(1)
        opened = [log.partition for log in broker.partitions.open_logs() if log.topic == _OFFSETS]
        assert opened == [partition_for("g", 50)]


def test_commits_outlive_a_kill(files: MemoryFiles) -> None:
    with _broker(files) as broker:
        broker.catalogue.create_topic("t")
        for offset in range(200):
            assert broker.commit(offset) == (ErrorCode.NONE,)
    files.crash("everything")
    with _broker(files) as broker:
        assert broker.committed() == 199


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_batches_are_compressed_as_the_configuration_says(files: MemoryFiles, codec: int) -> None:
    with _broker(files, offsets_topic_compression_codec=str(codec)) as broker:
        broker.catalogue.create_topic("t")
        broker.commit(5)
        log = broker.partitions.get(_OFFSETS, partition_for("g", 50))
        batch = log.read(0, 1_000_000, committed=False, force_first_batch=True).read_all()
        assert parse_header(batch).compression == codec
    files.crash("everything")
    with _broker(files) as broker:
        assert broker.committed() == 5


@pytest.mark.parametrize("survival", ["nothing", "some"])
def test_an_answered_commit_outlives_a_power_cut_where_flushing_is_on(files: MemoryFiles, survival: Survival) -> None:
    with _broker(files, log_flush_interval_messages="1") as broker:
        broker.catalogue.create_topic("t")
        first = broker.commit(5)
        broker.settle()
        assert first.result() == (ErrorCode.NONE,)
        second = broker.commit(6)
        assert not second.done()
    files.crash(survival)
    with _broker(files, log_flush_interval_messages="1") as broker:
        assert broker.committed() in (5, 6)


def test_a_full_disk_refuses_the_commit_and_keeps_the_one_before(files: MemoryFiles) -> None:
    with _broker(files) as broker:
        broker.catalogue.create_topic("t")
        broker.commit(5)
        files.fail("pwrite", 28, times=1)
        assert refusal(lambda: broker.commit(6)) is ErrorCode.NOT_COORDINATOR
        assert broker.committed() == 5
        assert broker.commit(7) == (ErrorCode.NONE,)
    files.crash("everything")
    with _broker(files) as broker:
        assert broker.committed() == 7


def test_offsets_go_with_their_topic_also_when_the_group_is_not_loaded(files: MemoryFiles) -> None:
    with _broker(files) as broker:
        for topic in ("t", "u"):
            broker.catalogue.create_topic(topic)
            broker.commit(5, topic)
        broker.catalogue.delete_topics(["t"])
        assert (broker.committed("t"), broker.committed("u")) == (None, 5)
    files.crash("everything")
    with _broker(files) as broker:
        broker.catalogue.delete_topics(["u"])
        broker.catalogue.create_topic("u")
        assert broker.committed("u") is None


def test_without_their_topic_there_are_no_groups(files: MemoryFiles) -> None:
    with _broker(files) as broker:
        broker.catalogue.create_topic("t")
        broker.commit(5)
        broker.catalogue.delete_topics([_OFFSETS])
        assert broker.committed() is None
        assert broker.commit(6) == (ErrorCode.NONE,)


def test_a_refusal_says_why(files: MemoryFiles) -> None:
    with _broker(files) as broker:
        broker.catalogue.create_topic("t")
        broker.groups.prepare("g")
        files.fail("any", 5, path=_OFFSETS)
        with pytest.raises(KafkaError, match=_OFFSETS):
            broker.commit(5)
