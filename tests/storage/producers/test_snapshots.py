"""Which snapshot is taken, and what happens to the others."""

import errno

import pytest

from barnabas.protocol.files.producer_snapshot import ProducerEntry, decode, encode
from barnabas.storage.disk.directory import Directory
from barnabas.storage.errors import DirectoryFull
from barnabas.storage.producers.snapshots import ProducerSnapshots
from barnabas.storage.steps import finish
from tests.support.files.memory_files import MemoryFiles

ENTRY = ProducerEntry(4000, 3, 8, 101, 1, 1_700_000_000_005, -1, 100)
EARLY = ENTRY._replace(last_offset=9, current_txn_first_offset=8)


def snapshots(root: Directory) -> ProducerSnapshots:
    return ProducerSnapshots(root, [int(name[:20]) for name in root.names()])


def test_the_newest_at_or_below_an_offset_is_taken(root: Directory) -> None:
    taken = snapshots(root)
    for offset in (10, 30, 20):
        taken.write(offset, encode([EARLY._replace(last_offset=offset - 1)]))
    for found in (taken, snapshots(root)):
        assert found.offsets == [10, 20, 30]
        assert finish(found.newest(25)) == (20, [EARLY._replace(last_offset=19)])
        assert finish(found.newest(30)) == (30, [EARLY._replace(last_offset=29)])
        assert finish(found.newest(9)) is None


def test_the_file_is_kafkas(root: Directory) -> None:
    snapshots(root).write(102, encode([ENTRY]))
    data = root.read(f"{102:020d}.snapshot")
    assert data == bytes.fromhex(
        "0001b0034755000000010000000000000fa00003000000080000000000000065000000010000018bcfe56805ffffffff0000000000000064"
    )
    assert decode(data) == [ENTRY]


def test_one_that_could_not_be_written_whole_leaves_nothing(root: Directory) -> None:
    files = root.disk.files
    assert isinstance(files, MemoryFiles)
    taken = snapshots(root)
    files.fail("pwrite", errno.ENOSPC, short=20)
    with pytest.raises(DirectoryFull):
        taken.write(102, encode([ENTRY]))
    assert (root.names(), taken.offsets) == ([], [])
    files.heal()
    taken.write(102, encode([ENTRY]))
    assert finish(taken.newest(102)) == (102, [ENTRY])


WRONG = [
    [EARLY._replace(last_offset=20)],
    [EARLY._replace(last_offset=1 << 62)],
    [EARLY._replace(offset_delta=10)],
    [EARLY._replace(offset_delta=-1)],
    [EARLY._replace(current_txn_first_offset=20)],
    [EARLY, EARLY._replace(producer_id=4001)],
]


@pytest.mark.parametrize("damage", [b"", b"\0\2", b"\0" * 60, *map(encode, WRONG)])
def test_a_damaged_snapshot_is_removed_and_an_older_one_taken(root: Directory, damage: bytes) -> None:
    taken = snapshots(root)
    taken.write(10, encode([EARLY]))
    root.write(f"{20:020d}.snapshot", damage, 0)
    found = snapshots(root)
    assert finish(found.newest(50)) == (10, [EARLY])
    assert root.names() == [f"{10:020d}.snapshot"]
    assert found.offsets == [10]


def test_a_snapshot_at_the_same_offset_is_not_written_twice(root: Directory) -> None:
    taken = snapshots(root)
    taken.write(10, encode([EARLY]))
    taken.write(10, encode([]))
    assert finish(taken.newest(10)) == (10, [EARLY])


def test_written_bytes_are_unsynced_until_a_sync(root: Directory) -> None:
    taken = snapshots(root)
    taken.write(10, encode([ENTRY]))
    taken.write(20, encode([ENTRY]))
    assert taken.unsynced == {10, 20}
    taken.remove([20])
    assert taken.unsynced == {10}
    assert taken.paths([10]) == [f"/d/{10:020d}.snapshot"]
    assert snapshots(root).unsynced == set()


def test_a_deleted_segments_snapshot_is_renamed(root: Directory) -> None:
    taken = snapshots(root)
    taken.write(10, encode([ENTRY]))
    assert taken.mark_deleted(10) == f"{10:020d}.snapshot.deleted"
    assert taken.mark_deleted(10) is None
    assert root.names() == [f"{10:020d}.snapshot.deleted"]
    assert finish(taken.newest(10)) is None


def test_records_of_a_killed_run_behind_its_recovery_point_may_be_unsynced(root: Directory) -> None:
    written = snapshots(root)
    for offset in (10, 20, 30):
        written.write(offset, encode([ENTRY]))
    found = snapshots(root)
    found.doubt_from(20)
    assert found.unsynced == {20, 30}
