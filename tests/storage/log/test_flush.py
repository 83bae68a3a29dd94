"""What is due to be synced, what a plan covers, and what a failed one means."""

import errno

import pytest

from barnabas.protocol.files.checkpoints import decode_offsets
from barnabas.protocol.files.names import SEGMENT_CHECKSUMS
from barnabas.protocol.records.builder import build_batch
from barnabas.storage.errors import DirectoryOffline, StorageError, SyncFailed
from tests.support.worlds.log import PARTITION, START_MS, TOPIC, TOPIC_ID, LogWorld, open_world, synced


def test_by_default_nobody_waits_for_a_sync(world: LogWorld) -> None:
    before = len(world.files.calls)
    world.append(b"a")
    assert not world.log.flush_before_answer
    assert not world.log.flush_due(START_MS + 10**12)
    assert synced(world, before) == []


def test_a_new_log_is_opened_without_a_sync_and_its_first_flush_makes_its_names_durable() -> None:
    world = open_world(flush_messages=1)
    assert "t-0" not in synced(world, 0)
    before = len(world.files.calls)
    world.append(b"a")
    world.flush()
    assert {f"{0:020d}.log", "t-0", world.path.rsplit("/", 2)[-2]} <= set(synced(world, before))


def test_flush_messages_makes_the_answer_wait() -> None:
    world = open_world(flush_messages=3)
    world.append(b"a", b"b")
    assert not world.log.flush_before_answer
    world.append(b"c")
    assert world.log.flush_before_answer
    world.flush()
    assert not world.log.flush_before_answer
    assert world.log.recovery_point == 3


def test_flush_ms_is_counted_from_the_last_flush() -> None:
    world = open_world(flush_ms=1000)
    assert not world.log.flush_due(START_MS)
    world.append(b"a")
    assert not world.log.flush_due(START_MS + 999)
    assert world.log.flush_due(START_MS + 1000)
    world.flush()
    assert not world.log.flush_due(START_MS + 1000)
    world.append(b"b")
    assert not world.log.flush_due(START_MS + 1999)
    assert world.log.flush_due(START_MS + 2000)


def test_a_rolled_segment_is_synced_in_the_background_with_all_that_belongs_to_it() -> None:
    world = open_world(segment_bytes=200, values=[b"a", b"b", b"c"])
    assert world.log.flush_due(START_MS)
    before = len(world.files.calls)

    plan = world.begin_flush(sealed_only=True)
    world.end_flush(plan)

    assert world.log.recovery_point == 2
    assert {
        f"{0:020d}.log",
        f"{0:020d}.index",
        f"{0:020d}.timeindex",
        f"{2:020d}.snapshot",
        "leader-epoch-checkpoint.tmp",
        "t-0",
    } <= set(synced(world, before))
    assert not world.log.flush_due(START_MS)
    assert world.log.begin_flush(sealed_only=True) is None


def test_a_segment_that_was_synced_while_it_was_the_last_has_its_size_written_down_once_it_is_not() -> None:
    world = open_world(segment_bytes=200)
    for value in (b"a", b"b", b"c", b"d", b"e"):
        world.append(value)
        world.flush()
    names = [f"{base:020d}.log" for base in (0, 2)]
    sizes = [len(world.files.peek(f"{world.path}/{name}") or b"") for name in names]
    rows = decode_offsets(world.files.peek(f"{world.path}/{SEGMENT_CHECKSUMS}") or b"")
    assert list(rows) == [("0", sizes[0]), ("2", sizes[1])]
    before = len(world.files.calls)
    world.append(b"f")
    world.flush()
    assert synced(world, before) == [f"{4:020d}.log"], "nothing has to be written down anew"


def test_when_all_is_synced_there_is_no_plan(world: LogWorld) -> None:
    assert world.log.begin_flush() is None
    world.append(b"a")
    world.flush()
    assert world.log.begin_flush() is None


def test_a_plan_covers_what_there_was_and_the_log_may_grow_meanwhile() -> None:
    world = open_world(segment_bytes=200, values=[b"a"])
    plan = world.begin_flush()
    for value in (b"b", b"c", b"d"):
        world.append(value)
    world.end_flush(plan)
    assert world.log.recovery_point == 1
    world.flush()
    assert world.log.recovery_point == 4


def test_a_segment_may_be_deleted_while_a_plan_runs() -> None:
    world = open_world(segment_bytes=200, values=[b"a", b"b", b"c"])
    plan = world.begin_flush()
    world.log.delete_records_before(2)
    assert world.log.apply_retention(START_MS)
    world.end_flush(plan)
    assert world.log.recovery_point == 3


def test_after_a_failed_sync_the_directory_is_offline_and_never_synced_again(world: LogWorld) -> None:
    world.append(b"a")
    world.files.fail("sync", errno.EIO, times=1)

    with pytest.raises(SyncFailed):
        world.flush()

    assert world.log.recovery_point == 0
    before = len(world.files.calls)
    with pytest.raises(DirectoryOffline):
        world.append(b"b")
    with pytest.raises(DirectoryOffline):
        world.append_batch(build_batch([(b"k", b"b", (), START_MS)]))
    with pytest.raises(DirectoryOffline):
        world.log.read(0, 100, committed=False, force_first_batch=True).read_all()
    with pytest.raises(DirectoryOffline):
        world.log.begin_flush()
    world.home.close(clean=True)
    assert synced(world, before) == []
    world.kill()
    assert world.open().log_end_offset == 1


def test_a_full_disk_refuses_an_append_and_takes_the_next_when_there_is_room(world: LogWorld) -> None:
    world.append(b"a" * 100)
    world.files.capacity = world.files.used() + 50
    for _ in range(2):
        with pytest.raises(StorageError):
            world.append(b"b" * 100)
    assert world.values() == [b"a" * 100]
    assert world.log.log_end_offset == 1
    world.files.capacity = None
    assert world.append(b"c" * 100).base_offset == 1
    world.kill()
    assert world.open().recovered.bytes_dropped == 0
    assert world.values() == [b"a" * 100, b"c" * 100]


def test_a_refused_append_leaves_no_trace_of_its_producer(world: LogWorld) -> None:
    world.append(b"a", producer_id=7, epoch=0, sequence=0)
    world.files.fail("pwrite", errno.ENOSPC, short=10)
    for producer_id, sequence in ((7, 1), (8, 0)):
        with pytest.raises(StorageError):
            world.append(b"b", producer_id=producer_id, epoch=0, sequence=sequence)
    world.files.heal()
    assert not world.append(b"b", producer_id=7, epoch=0, sequence=1).is_duplicate
    assert world.log.producers.get(8) is None


@pytest.mark.parametrize("is_syncing", [False, True])
def test_half_a_batch_that_was_cut_off_a_sealed_segment_does_not_come_back_in_a_power_cut(is_syncing: bool) -> None:
    """It would be taken for damage, and the segments behind it dropped, though they were synced."""
    for seed in range(20):
        world = open_world(seed, segment_bytes=200, values=[b"a"])
        plan = world.begin_flush()
        plan.run()
        if not is_syncing:
            world.log.end_flush(plan)
        with world.files.failing("pwrite", errno.ENOSPC, path=".log", short=60), pytest.raises(StorageError):
            world.append(b"b")
        world.append(b"c" * 100)
        if is_syncing:
            world.log.end_flush(plan)
        world.append(b"d" * 100)
        world.flush()

        world.cut_power("some")
        world.open()

        assert world.values() == [b"a", b"c" * 100, b"d" * 100]


def test_half_a_batch_that_cannot_be_cut_off_takes_the_directory_offline(world: LogWorld) -> None:
    world.append(b"a")
    world.files.fail("pwrite", errno.EIO, path=".log", short=20)
    world.files.fail("truncate", errno.EIO)
    with pytest.raises(StorageError):
        world.append(b"b")
    world.files.heal()
    with pytest.raises(DirectoryOffline):
        world.append(b"c")
    world.kill()
    world.open()
    assert world.values() == [b"a"]


def test_a_roll_that_fails_leaves_the_old_segment_in_use() -> None:
    world = open_world(segment_bytes=200, index_interval_bytes=0, values=[b"a", b"b"])
    for call, path in (("create", ""), ("pwrite", ".index")):
        with world.files.failing(call, errno.ENOSPC, times=1, path=path), pytest.raises(StorageError):
            world.append(b"c" * 60)
    assert world.append(b"d" * 60).base_offset == 2
    assert world.restart("kill").recovered.bytes_dropped == 0
    assert world.values() == [b"a", b"b", b"d" * 60]


CLOSES_THAT_FAIL = [("pwrite", ".snapshot"), ("rename", "leader-epoch-checkpoint")]


@pytest.mark.parametrize(("call", "path"), CLOSES_THAT_FAIL)
def test_a_log_that_could_not_be_closed_goes_on_as_before(call: str, path: str) -> None:
    world = open_world(index_interval_bytes=0, values=[b"a"])
    world.append(b"t", producer_id=7, epoch=0, sequence=0, transactional=True)
    with world.files.failing(call, errno.ENOSPC, path=path), pytest.raises(StorageError):
        world.home.close_log(TOPIC, PARTITION)
    assert world.home.open_log(TOPIC, PARTITION, TOPIC_ID, world.config, world.now_ms) is world.log
    world.now_ms += 60_000
    world.append(b"c")
    world.mark(7, 0, commit=False)
    world.flush()
    world.restart("stop")
    assert world.findings() == []
    assert world.values(committed=True) == [b"a", b"c"]


@pytest.mark.parametrize("unread", [".index", ".timeindex", "0.log"])
@pytest.mark.parametrize("is_marker", [False, True])
def test_a_log_that_can_neither_be_closed_nor_read_for_now_is_used_again_later(unread: str, is_marker: bool) -> None:
    world = open_world(index_interval_bytes=0)
    world.append(b"a", producer_id=7, epoch=0, sequence=0, transactional=True)
    world.append(b"b")
    world.files.fail("pwrite", errno.ENOSPC, path=".snapshot")
    with pytest.raises(StorageError, match="No space left"):
        world.home.close_log(TOPIC, PARTITION)
    world.home.root.disk.close()
    world.files.fail("open", errno.EMFILE, path=unread)
    for _ in range(2):
        with pytest.raises(StorageError, match="Too many open files"):
            world.append(b"c")
    world.files.heal()

    assert world.values() == [b"a", b"b"]
    if is_marker:
        world.mark(7, 0, commit=True)
    else:
        world.append(b"c")
    world.append(b"d")
    assert world.log.segments_count == 1
    world.restart("stop")
    assert world.findings() == []
    written = [b"a", b"b", b"d"] if is_marker else [b"a", b"b", b"c", b"d"]
    assert [value for value in world.values() if value is not None] == written


def test_a_log_that_could_not_be_closed_is_closed_later_though_nothing_was_appended(world: LogWorld) -> None:
    world.append(b"a")
    with world.files.failing("pwrite", errno.ENOSPC, path=".snapshot"), pytest.raises(StorageError):
        world.home.close_log(TOPIC, PARTITION)
    world.flush()
    world.home.close_log(TOPIC, PARTITION)
    world.restart("kill")
    assert world.values() == [b"a"]
    assert world.findings() == []


def test_a_log_that_could_not_be_closed_rolls_where_that_is_due() -> None:
    world = open_world(segment_bytes=200, values=[b"a" * 60])
    with world.files.failing("pwrite", errno.ENOSPC, path=".snapshot"), pytest.raises(StorageError):
        world.home.close_log(TOPIC, PARTITION)
    world.append(b"b" * 60)
    assert world.log.segments_count == 2
    world.restart("stop")
    assert world.findings() == []


def test_a_clean_stop_of_a_partition_without_writes_syncs_nothing_of_it(world: LogWorld) -> None:
    world.append(b"a", producer_id=1, epoch=0, sequence=0)
    world.stop()
    world.open()
    world.values()
    before = len(world.files.calls)
    world.stop()
    assert [name for name in synced(world, before) if name not in ("data", ".kafka_cleanshutdown.tmp")] == []
