"""Faults of the disk in files that are no logs: indexes, snapshots, checkpoints, the catalogue. What the broker does
with each is told in docs/faults.md.
"""

from __future__ import annotations

import pytest

from barnabas.broker.control.faults.faulty_files import place_of
from barnabas.broker.control.faults.matching import DiskPlace
from barnabas.broker.control.faults.model import DiskFileKind
from barnabas.broker.coordinator.group.decisions.classic.model import CommitRequest, OffsetToCommit
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.records.control import EndTxnMarker
from tests.broker.control.faults.conftest import FaultyDisk
from tests.support.inspected_broker import now
from tests.support.requests import fetch, list_offsets, offset_fetch

NONE, REFUSED = ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR
COMMITTED, UNCOMMITTED = 1, 0
A_SEGMENT = 14  # records of a test, the last of which begins the next
AT_A_ROLL = ["index", "timeindex", "txnindex", "snapshot"]
AT_AN_OPENING = ["index", "timeindex", "txnindex", "snapshot", "checkpoint", "log"]
EIO = {"error": "EIO"}


def abort(disk: FaultyDisk, producer_id: int = 5) -> None:
    """A transaction in `a` with one record, aborted."""
    partitions = disk.world.services.partitions
    batch = disk.world.batch(b"aborted", producer=(producer_id, 0, 0), transactional=True)
    partitions.append("a", 0, bytearray(batch))
    marker = EndTxnMarker(False, producer_id, 0, 0, offset=0, timestamp=0)
    partitions.append_marker_to(partitions.get("a", 0), marker, transaction_version=1)


async def segment(disk: FaultyDisk) -> list[ErrorCode]:
    """As many records for `a` as begin the next segment: how each was answered."""
    return [await disk.produce("a") for _ in range(A_SEGMENT)]


async def fetched(disk: FaultyDisk, offset: int, isolation_level: int = UNCOMMITTED) -> tuple[ErrorCode, int]:
    """How it is answered, and how many aborted transactions are told."""
    asked = fetch(topic="a", offset=offset, isolation_level=isolation_level)
    (found,) = (await disk.ask(asked, 11)).responses[0].partitions
    assert found.error_code != NONE or found.records
    return ErrorCode(found.error_code), len(found.aborted_transactions or ())


async def offset_at(disk: FaultyDisk, timestamp_ms: int) -> ErrorCode:
    answer = await disk.ask(list_offsets(topic="a", timestamp=timestamp_ms), 5)
    return ErrorCode(answer.topics[0].partitions[0].error_code)


@pytest.mark.parametrize("file", AT_A_ROLL)
async def test_a_roll_that_cannot_write_a_file_is_done_with_the_next_batch(disk: FaultyDisk, file: str) -> None:
    abort(disk)
    armed = disk.arm("append", EIO, file=file, topic="a")
    told = await segment(disk)
    assert (told.count(NONE), told.count(REFUSED), armed.chances.fired) == (A_SEGMENT - 1, 1, 1)
    assert await segment(disk) == [NONE] * A_SEGMENT
    assert disk.disk.offline_reason is None
    assert await fetched(disk, 0, COMMITTED) == (NONE, 1)
    assert disk.read("a")[2:] == disk.acknowledged["a"], "behind the aborted record and its marker"


@pytest.mark.parametrize("file", AT_A_ROLL)
async def test_a_roll_without_room_for_a_file_makes_the_directory_full(disk: FaultyDisk, file: str) -> None:
    abort(disk)
    disk.arm("append", {"error": "ENOSPC"}, "always", file=file)
    assert REFUSED in await segment(disk)
    await disk.advance(1_000)
    assert disk.is_full
    assert await disk.produce("b") is REFUSED
    disk.registry.reset()
    await disk.finds_room()
    assert await segment(disk) == [NONE] * A_SEGMENT


@pytest.mark.parametrize("file", AT_A_ROLL)
async def test_a_sync_of_any_file_that_fails_takes_the_directory_offline(file: str) -> None:
    disk = await FaultyDisk.begun({"log.flush.interval.messages": "1"})
    abort(disk)
    disk.arm("sync", EIO, file=file)
    assert REFUSED in await segment(disk)
    assert "cannot sync" in (disk.disk.offline_reason or "")
    await disk.stop_offline()


@pytest.mark.parametrize("file", ["txnindex", "checkpoint"])
async def test_a_failed_write_before_a_sync_fails_its_waiters(file: str) -> None:
    disk = await FaultyDisk.begun({"log.flush.interval.messages": "1"})
    abort(disk)
    armed = disk.arm("append", EIO, file=file, topic="a")
    assert await disk.produce("a") is REFUSED
    assert armed.chances.fired == 1
    assert await disk.produce("a") is NONE, "the same batch again"
    assert disk.disk.offline_reason is None
    assert disk.read("a")[2:] == disk.acknowledged["a"], "and it is there once"
    await disk.stop()


@pytest.mark.parametrize("file", AT_AN_OPENING)
async def test_a_partition_whose_files_cannot_be_read_is_refused_and_opened_later(file: str) -> None:
    before = await FaultyDisk.begun()
    abort(before)
    for _ in range(2):
        assert await segment(before) == [NONE] * A_SEGMENT
    abort(before, 6)
    acknowledged = before.acknowledged["a"]
    disk = await before.restarted()
    armed = disk.arm("read", EIO, "always", file=file, topic="a")
    assert (await fetched(disk, 0))[0] is REFUSED
    assert armed.chances.fired > 0
    assert await disk.produce("b") is NONE
    disk.registry.reset()
    await disk.advance(60_000)
    assert await fetched(disk, 0, COMMITTED) == (NONE, 1)
    assert [each for each in disk.read("a") if each in acknowledged] == acknowledged
    await disk.stop()


async def test_a_coordinator_whose_log_cannot_be_read_is_there_later_with_all_its_offsets() -> None:
    before = await FaultyDisk.begun()
    wanted = (OffsetToCommit("a", before.world.services.catalogue.topics["a"].topic_id, 0, 7, -1, ""),)
    groups = before.world.services.groups
    await now(
        groups.commit_offsets(CommitRequest("g", -1, "", None, wanted), missing_group=ErrorCode.GROUP_ID_NOT_FOUND)
    )
    disk = await before.restarted()
    disk.arm("read", EIO, file="log", topic="__consumer_offsets")
    asked = offset_fetch("g")
    (group,) = (await disk.ask(asked, 9)).groups
    assert group.error_code == ErrorCode.NOT_COORDINATOR, "it is not told that there are none"
    await disk.advance(30_000)
    (group,) = (await disk.ask(asked, 9)).groups
    assert group.error_code == NONE
    assert group.topics[0].partitions[0].committed_offset == 7
    await disk.stop()


async def test_aborted_records_are_never_told_for_committed_ones() -> None:
    before = await FaultyDisk.begun()
    abort(before)
    assert await segment(before) == [NONE] * A_SEGMENT
    disk = await before.restarted()
    assert (await fetched(disk, A_SEGMENT + 1))[0] is NONE, "the partition is open, and what is sealed is not read yet"
    disk.arm("read", EIO, "always", file="txnindex")
    assert await fetched(disk, 0, COMMITTED) == (REFUSED, 0)
    assert await fetched(disk, 0, UNCOMMITTED) == (NONE, 0)
    disk.registry.reset()
    assert await fetched(disk, 0, COMMITTED) == (NONE, 1)
    await disk.stop()


async def test_an_index_of_a_sealed_segment_that_cannot_be_read_is_told_to_who_needs_it(disk: FaultyDisk) -> None:
    assert await segment(disk) == [NONE] * A_SEGMENT
    disk.disk.indexes.evict_all()
    disk.arm("read", EIO, file="index")
    assert (await fetched(disk, 5))[0] is REFUSED
    assert (await fetched(disk, 5))[0] is NONE
    disk.disk.indexes.evict_all()
    disk.arm("read", EIO, file="timeindex")
    assert await offset_at(disk, 1) is REFUSED
    assert await offset_at(disk, 1) is NONE


async def test_a_checkpoint_that_cannot_be_written_is_written_later(
    disk: FaultyDisk, caplog: pytest.LogCaptureFixture
) -> None:
    assert await disk.produce("a") is NONE
    armed = disk.arm("append", EIO, file="checkpoint")
    while not armed.chances.fired:
        await disk.advance(10_000)
    assert [record.message for record in caplog.records if "checkpoint failed" in record.message]
    assert disk.disk.offline_reason is None
    assert await disk.produce("a") is NONE


async def test_a_change_of_the_catalogue_that_cannot_be_written_is_not_made(disk: FaultyDisk) -> None:
    armed = disk.arm("append", EIO, file="catalogue")
    assert await disk.produce("a") is NONE
    assert await disk.create("new") is REFUSED
    assert "new" not in disk.world.services.catalogue.topics
    assert armed.chances.fired == 1
    assert await disk.create("new") is NONE


async def test_after_a_failed_sync_of_the_catalogue_the_directory_is_offline() -> None:
    disk = await FaultyDisk.begun()
    disk.arm("sync", EIO, file="catalogue")
    assert await disk.create("new") is REFUSED
    assert "__cluster_metadata-0" in (disk.disk.offline_reason or "")
    assert await disk.produce("a") is REFUSED
    await disk.stop_offline()


@pytest.mark.parametrize(
    ("directory", "name", "place"),
    [
        ("a-3", "00000000000000000000.log", DiskPlace(DiskFileKind.LOG, "a", 3)),
        ("a-3", "00000000000000000000.txnindex", DiskPlace(DiskFileKind.TXNINDEX, "a", 3)),
        ("a-3", "00000000000000000000.timeindex.deleted", None),
        ("a-3", "00000000000000000000.index.cleaned", None),
        ("a-3", "leader-epoch-checkpoint", DiskPlace(DiskFileKind.CHECKPOINT, "a", 3)),
        ("a-3", "partition.metadata", None),
        ("data", "recovery-point-offset-checkpoint", DiskPlace(DiskFileKind.CHECKPOINT)),
        ("data", "meta.properties", None),
        ("data-1", "cleaner-offset-checkpoint", DiskPlace(DiskFileKind.CHECKPOINT)),
        ("__cluster_metadata-0", "00000000000000000000.log", DiskPlace(DiskFileKind.CATALOGUE)),
        ("__cluster_metadata-0", "00000000000000000042-0000000001.checkpoint", DiskPlace(DiskFileKind.CATALOGUE)),
        ("__cluster_metadata-0", "quorum-state", DiskPlace(DiskFileKind.CATALOGUE)),
    ],
)
def test_each_file_is_known_by_its_place(directory: str, name: str, place: DiskPlace | None) -> None:
    assert place_of(directory, name) == place
