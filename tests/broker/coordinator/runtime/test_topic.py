"""Groups on the real `__consumer_offsets`: catalogue, partitions and files (in memory), over crashes and power cuts."""

import asyncio
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from barnabas.broker.catalogue import Catalogue
from barnabas.broker.cluster.cluster import Cluster
from barnabas.broker.config import BrokerConfig, log_configs
from barnabas.broker.coordinator import GroupCoordinator
from barnabas.broker.coordinator.group.classic.model import CommitRequest, OffsetToCommit
from barnabas.broker.coordinator.runtime.outcome import Producer
from barnabas.broker.coordinator.runtime.placement import partition_for
from barnabas.broker.partitions.flushing import GroupFlush
from barnabas.broker.partitions.partitions import Partitions
from barnabas.broker.partitions.waiters import Waiters
from barnabas.broker.slices import Slices
from barnabas.broker.workers.workers import Workers
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.records.batch import parse_header
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from barnabas.storage.log_directories import LogDirectories
from barnabas.storage.log_directory import LogDirectory
from tests.support.files.memory_files import MemoryFiles, Survival
from tests.support.virtual_clock import VirtualClock
from tests.support.worlds.group import refusal

_OFFSETS = "__consumer_offsets"


class _Broker:
    """The parts of a broker below its handlers, on one in-memory disk, and a topic `t`."""

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
            directory_id=self.directory.directory_id,
            config=config,
            now_ms=self.clock.now_ms,
            random_bytes=randomness.randbytes,
        )
        upkeep = Slices(self.loop, self.clock.monotonic, rests=False)
        self.partitions = Partitions(
            self.catalogue,
            LogDirectories([self.directory]),
            config,
            Cluster(1, self.catalogue),
            clock=self.clock,
            machine_clock=self.clock,
            upkeep=upkeep,
            workers=Workers(self.loop, upkeep, files),
            waiters=Waiters(self.clock, self.loop),
            flush=GroupFlush(self.loop, self._run),
            random_bytes=randomness.randbytes,
        )
        self.groups = GroupCoordinator.open(
            config,
            catalogue=self.catalogue,
            partitions=self.partitions,
            clock=self.clock,
            machine_clock=self.clock,
            upkeep=upkeep,
            random_bytes=randomness.randbytes,
        )
        if "t" not in self.catalogue.topics:
            self.catalogue.create_topic("t")

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

    def txn_commit(self, offset: int, producer: Producer, topic: str = "t") -> Any:
        topic_id = self.catalogue.topics[topic].topic_id
        request = CommitRequest("g", -1, "", None, (OffsetToCommit(topic, topic_id, 0, offset, -1, ""),))
        return self.groups.commit_offsets_in_transaction(request, producer, missing_group=ErrorCode.GROUP_ID_NOT_FOUND)

    def marker(self, producer: Producer, *, commit: bool, hold: bool = False) -> None:
        marker = EndTxnMarker(commit, producer.producer_id, producer.producer_epoch, 0, 0, self.clock.now_ms())
        self.groups.append_marker(partition_for("g", 50), marker, transaction_version=1, hold=hold)

    def stable_to(self) -> tuple[int, int]:
        """Last stable offset and end of the group's log."""
        log = self.partitions.get(_OFFSETS, partition_for("g", 50))
        return log.last_stable_offset, log.log_end_offset

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
        broker.commit(1)
        opened = [log.partition for log in broker.partitions.open_logs() if log.topic == _OFFSETS]
        assert opened == [partition_for("g", 50)]


def test_commits_outlive_a_kill(files: MemoryFiles) -> None:
    with _broker(files) as broker:
        for offset in range(200):
            assert broker.commit(offset) == (ErrorCode.NONE,)
    files.crash("everything")
    with _broker(files) as broker:
        assert broker.committed() == 199


_PRODUCER = Producer(7, 0)


@pytest.mark.parametrize("commit", [True, False])
def test_a_held_marker_holds_back_the_offsets_and_the_log_alike(files: MemoryFiles, commit: bool) -> None:
    with _broker(files) as broker:
        broker.commit(1)
        assert broker.txn_commit(5, _PRODUCER) == (ErrorCode.NONE,)
        broker.marker(_PRODUCER, commit=commit, hold=True)
        assert (broker.committed(), broker.stable_to()) == (1, (1, 3))
        broker.groups.release_marker(partition_for("g", 50), 7, commit)
        assert (broker.committed(), broker.stable_to()) == (5 if commit else 1, (3, 3))
    files.crash("everything")
    with _broker(files) as broker:
        assert broker.committed() == (5 if commit else 1)


def test_an_old_epoch_neither_commits_nor_ends_a_transaction(files: MemoryFiles) -> None:
    with _broker(files) as broker:
        broker.txn_commit(5, Producer(7, 3))
        assert refusal(lambda: broker.txn_commit(6, Producer(7, 2))) is ErrorCode.INVALID_PRODUCER_EPOCH
        assert refusal(lambda: broker.marker(Producer(7, 2), commit=True)) is ErrorCode.INVALID_PRODUCER_EPOCH
        broker.marker(Producer(7, 3), commit=True)
        assert broker.committed() == 5


def test_a_marker_of_a_partition_that_is_not_there_is_refused(files: MemoryFiles) -> None:
    with _broker(files) as broker:
        broker.groups.prepare("g")
        marker = EndTxnMarker(True, 7, 0, 0, 0, broker.clock.now_ms())
        assert (
            refusal(lambda: broker.groups.append_marker(50, marker, transaction_version=1, hold=False))
            is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        )
        broker.groups.release_marker(50, 7, True)


def test_the_offsets_of_a_transaction_are_compressed_too(files: MemoryFiles) -> None:
    with _broker(files, offsets_topic_compression_codec="4") as broker:
        broker.txn_commit(5, _PRODUCER)
        log = broker.partitions.get(_OFFSETS, partition_for("g", 50))
        batch = parse_header(log.read(0, 1_000_000, committed=False, force_first_batch=True).read_all())
        assert (batch.compression, batch.is_transactional, batch.producer_id) == (4, True, 7)


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_batches_are_compressed_as_the_configuration_says(files: MemoryFiles, codec: int) -> None:
    with _broker(files, offsets_topic_compression_codec=str(codec)) as broker:
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
        broker.catalogue.create_topic("u")
        for topic in ("t", "u"):
            broker.commit(5, topic)
        broker.catalogue.delete_topics(["t"])
        assert (broker.committed("t"), broker.committed("u")) == (None, 5)
    files.crash("everything")
    with _broker(files) as broker:
        broker.catalogue.delete_topics(["u"])
        broker.catalogue.create_topic("u")
        assert broker.committed("u") is None


def test_what_no_other_replica_has_yet_is_loaded_all_the_same(
    files: MemoryFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_configs, "REPLICATION_FACTOR", 3)
    with _broker(files, min_insync_replicas="2") as broker:
        broker.commit(5)
        broker.commit(6)
        log = broker.partitions.get(_OFFSETS, partition_for("g", 50))
        assert (log.high_watermark, log.log_end_offset) == (0, 2)
    files.crash("everything")
    with _broker(files, min_insync_replicas="2") as broker:
        assert broker.committed() == 6
        assert broker.partitions.get(_OFFSETS, partition_for("g", 50)).high_watermark == 0


def test_without_their_topic_there_are_no_groups(files: MemoryFiles) -> None:
    with _broker(files) as broker:
        broker.commit(5)
        broker.catalogue.delete_topics([_OFFSETS])
        assert broker.committed() is None
        assert broker.commit(6) == (ErrorCode.NONE,)


def test_a_refusal_says_why(files: MemoryFiles) -> None:
    with _broker(files) as broker:
        broker.groups.prepare("g")
        files.fail("any", 5, path=_OFFSETS)
        with pytest.raises(KafkaError, match=_OFFSETS):
            broker.commit(5)
