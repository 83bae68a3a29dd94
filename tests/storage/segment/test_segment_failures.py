"""A segment on a disk that fails, loses power or damages it, and its deletion."""

import errno

import pytest

from barnabas.protocol.files import time_index as time_format
from barnabas.protocol.files.txn_index import AbortedTxn
from barnabas.storage.errors import CorruptFile, DirectoryOffline, FileRemoved, StorageError
from barnabas.storage.segment.segment import Segment
from tests.support.files.segment_model import BASE, CONFIG, INDEX, ONE, TIME_INDEX, Model, counted
from tests.support.records.batches import batch_sized

TXN_INDEX = f"/d/{BASE:020d}.txnindex"


@pytest.fixture
def model() -> Model:
    """With one batch."""
    return Model(ONE)


# --- a disk that fails ---


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("short", [None, 1, 60])
def test_a_failed_append_leaves_nothing_behind(model: Model, error: int, short: int | None) -> None:
    model.files.fail("pwrite", error, path=".log", short=short)
    with pytest.raises(StorageError):
        model.segment.append(batch_sized(200, base_offset=BASE + 1), BASE + 1, 5)
    assert model.segment.log.size() == model.size
    model.files.heal()
    model.append([2])
    assert model.find(BASE + 1) == model.stored[1]
    assert model.segment.max_timestamp == 2


def test_a_full_disk_takes_no_half_batch_and_works_again_once_there_is_room(model: Model) -> None:
    model.files.capacity = model.files.used() + 100
    with pytest.raises(StorageError, match="No space left"):
        model.segment.append(batch_sized(200, base_offset=BASE + 1), BASE + 1, 5)
    assert model.files.used() == model.size
    model.files.capacity = None
    model.append([2])


def test_a_log_that_half_a_batch_was_cut_off_is_synced_again_and_no_sync_from_before_counts(model: Model) -> None:
    before = model.segment.files_to_sync()
    model.segment.mark_synced(before)
    with model.files.failing("pwrite", path=".log", short=60), pytest.raises(StorageError):
        model.segment.append(batch_sized(200, base_offset=BASE + 1), BASE + 1, 5)
    assert len(model.segment.files_to_sync().files) == 1, "the size is that of the last sync, and the file is not"
    model.segment.mark_synced(before)
    assert len(model.segment.files_to_sync().files) == 1, "that sync may have come before the cut"
    model.segment.mark_synced(model.segment.files_to_sync())
    assert not model.segment.files_to_sync().files


@pytest.mark.parametrize("error", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_an_append_that_could_not_open_the_file_has_nothing_to_undo(model: Model, error: int) -> None:
    model.segment.log.close()
    model.files.fail("open", error, path=".log")
    with pytest.raises(StorageError, match="cannot open"):
        model.segment.append(batch_sized(200, base_offset=BASE + 1), BASE + 1, 5)
    assert model.directory.disk.offline_reason is None
    model.files.heal()
    model.append([2])
    assert model.segment.log.size() == model.size


def test_where_a_failed_append_cannot_be_undone_the_directory_goes_offline(model: Model) -> None:
    model.files.fail("pwrite", path=".log", short=10)
    with model.files.failing("truncate"), pytest.raises(StorageError):
        model.segment.append(batch_sized(200, base_offset=BASE + 1), BASE + 1, 5)
    with pytest.raises(DirectoryOffline, match="cannot undo a failed append"):
        model.segment.append(batch_sized(200, base_offset=BASE + 1), BASE + 1, 5)


def test_a_seal_that_fails_can_be_done_again() -> None:
    model = Model(counted(30))
    for skip in range(2):
        with model.files.failing("pwrite", errno.ENOSPC, path="index", skip=skip), pytest.raises(StorageError):
            model.segment.seal()
        model.append([100 + skip], 100)
    model.segment.seal()
    assert model.directory.read(INDEX) == model.offset_index()


def test_a_closed_segment_survives_a_power_cut_whole() -> None:
    model = Model(counted(30))
    model.segment.add_aborted(AbortedTxn(7, BASE, BASE + 29, BASE + 30))
    model.segment.close()
    model.directory.sync()
    model.files.crash("nothing")
    model.directory = model.files.directory()
    segment = Segment.open(model.directory, BASE, CONFIG, 0)
    segment.activate()
    assert segment.next_offset == BASE + 30
    assert segment.aborted(BASE, BASE + 30) == ([AbortedTxn(7, BASE, BASE + 29, BASE + 30)], True)


def test_unsynced_files_are_listed_until_they_are_synced(model: Model) -> None:
    work = model.segment.files_to_sync()
    assert (len(work.files), work.paths, work.is_sealed) == (1, [], False)
    model.append([2])
    model.segment.mark_synced(work)
    assert len(model.segment.files_to_sync().files) == 1, "a batch came in between"
    model.segment.mark_synced(model.segment.files_to_sync())
    assert not model.segment.files_to_sync().files
    model.segment.add_aborted(AbortedTxn(7, BASE, BASE + 1, BASE + 2))
    work = model.segment.files_to_sync()
    assert work.paths == [TXN_INDEX]
    model.segment.mark_synced(work)
    assert not model.segment.files_to_sync().paths
    model.segment.seal()
    work = model.segment.files_to_sync()
    assert [path.rpartition(".")[2] for path in work.paths] == ["index", "timeindex", "txnindex"]
    model.segment.mark_synced(work)
    assert model.segment.files_to_sync()[:2] == ([], [])


def test_an_abort_that_comes_while_an_earlier_one_is_synced_waits_for_the_next_sync(model: Model) -> None:
    model.segment.add_aborted(AbortedTxn(7, BASE, BASE, BASE + 1))
    work = model.segment.files_to_sync()
    model.segment.add_aborted(AbortedTxn(8, BASE, BASE + 1, BASE + 2))
    model.segment.mark_synced(work)
    assert model.segment.files_to_sync().paths == [TXN_INDEX]


def test_a_time_index_that_was_left_without_its_closing_entry_gets_it() -> None:
    model = Model(counted(30))
    model.segment.close()
    whole = model.directory.read(TIME_INDEX) or b""
    model.directory.write(TIME_INDEX, b"", len(whole) - time_format.ENTRY_SIZE)
    segment = Segment.open(model.directory, BASE, CONFIG, 0, is_durable=True)
    segment.activate()
    segment.close()
    assert model.directory.read(TIME_INDEX) == whole


def test_bytes_behind_the_last_batch_of_a_trusted_segment_are_refused(model: Model) -> None:
    model.segment.close()
    model.segment.log.pwrite(b"half a batch", model.size)
    segment = Segment.open(model.directory, BASE, CONFIG, 0, is_durable=True)
    with pytest.raises(CorruptFile, match="12 bytes behind the last whole batch"):
        segment.activate()


def test_damage_met_while_reading_is_named_with_its_place() -> None:
    model = Model(counted(3, value_bytes=10))
    model.reopen()
    model.segment.log.pwrite(bytes(20), model.stored[1].position)
    with pytest.raises(CorruptFile, match=f"batch at {model.stored[1].position}"):
        model.segment.position_of(BASE + 2)


def test_an_index_that_cannot_be_made_again_leaves_the_segment_sealed_and_as_old_as_it_is() -> None:
    model = Model(counted(30))
    model.segment.close()
    assert model.segment.max_timestamp == 29
    model.directory.remove(INDEX)
    assert model.segment.offset_index.evict()
    model.files.fail("pread", errno.EIO, path=".log")
    with pytest.raises(StorageError):
        model.segment.position_of(BASE + 20)
    assert (model.segment.is_sealed, model.segment.max_timestamp) == (True, 29)
    model.files.heal()
    assert model.segment.position_of(BASE + 20) == model.stored[20].position
    assert model.segment.is_sealed


def test_a_file_left_in_the_way_of_a_new_segment_is_emptied(model: Model) -> None:
    segment = Segment.create(model.directory, BASE, CONFIG, 0)
    assert (segment.size, segment.log.size(), segment.next_offset) == (0, 0, BASE)


def test_a_reader_of_a_closed_segment_leaves_its_files_to_who_opened_it_again() -> None:
    """The index on the disk reaches behind the end that the reader knows: it makes one of its own."""
    model = Model(counted(20))
    old, end = model.segment, model.size
    old.close()
    old.indexes.give_up()
    again = Segment.open(model.directory, BASE, CONFIG, 0, is_durable=True)
    again.activate()
    model.segment = again
    model.fill(counted(40, 20))
    again.close()
    written = [model.directory.read(name) for name in (INDEX, TIME_INDEX)]
    assert old.offset_index.evict()
    assert old.time_index.evict()

    for stored in model.stored[:20]:
        assert old.position_of(stored.last_offset) == stored.position
    assert old.position_of(BASE + 20) == end

    assert [model.directory.read(name) for name in (INDEX, TIME_INDEX)] == written


# --- deletion ---


def test_a_deleted_segment_is_read_on_until_it_is_removed() -> None:
    model = Model(counted(10))
    model.segment.add_aborted(AbortedTxn(7, BASE, BASE + 9, BASE + 10))
    found = model.segment.read(BASE, 1 << 20, model.size, True)
    assert found is not None
    model.segment.close()
    names = sorted(model.segment.mark_deleted())
    assert names == [f"{BASE:020d}.{kind}.deleted" for kind in ("index", "log", "timeindex", "txnindex")]
    assert model.directory.names() == names
    assert found.read_all() == b"".join(stored.data for stored in model.stored)
    model.segment.remove()
    assert model.directory.names() == []
    with pytest.raises(FileRemoved):
        found.read_all()


def test_the_age_of_a_segment_without_timestamps_is_that_of_its_file() -> None:
    model = Model()
    model.files.now_ms = 1_234
    model.append([-1])
    assert (model.segment.max_timestamp, model.segment.largest_timestamp) == (-1, 1_234)
    model.append([99])
    assert model.segment.largest_timestamp == 99
    model.reopen()
    assert model.segment.largest_timestamp == 99
