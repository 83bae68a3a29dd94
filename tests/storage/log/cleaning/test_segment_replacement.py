"""Compacted segments take the place of others: whoever reads, wherever it is interrupted."""

import errno

import pytest

from barnabas.logfiles.findings import Finding, FindingKind
from barnabas.protocol.files.names import FileKind, FileState, parse_segment_file, segment_file
from barnabas.storage.config import LogConfig
from barnabas.storage.errors import FileRemoved, StorageError
from barnabas.storage.log.cleaning.segment_replacement import Replacer, SegmentsGone, removal_of_cleaned
from tests.support.files.cleaned_segments import clean
from tests.support.files.log_directories import delete_due
from tests.support.files.memory_files import PowerCut, Survival
from tests.support.worlds.log import LogWorld

CONFIG = LogConfig(
    segment_bytes=250, index_interval_bytes=0, cleanup_policy=frozenset({"compact"}), file_delete_delay_ms=60_000
)
KEYS = 3
GROUPS = (3, 2)
Seen = dict[int, tuple[bytes | None, bytes | None]]


def world_of(appends: int = 20, config: LogConfig = CONFIG) -> LogWorld:
    """Several sealed segments of a few keys, on the disk, and the checkpoints say so."""
    world = LogWorld(config=config)
    world.open()
    for number in range(appends):
        world.append(b"value-%d" % number, key=b"key-%d" % (number % KEYS))
    assert world.log.segments_count > sum(GROUPS) + 1
    world.flush()
    world.checkpoint()
    return world


def seen(world: LogWorld) -> Seen:
    return {record.offset: (record.key, record.value) for record in world.records()}


def latest(found: Seen) -> dict[bytes | None, bytes | None]:
    return dict(found[offset] for offset in sorted(found))


def replace(replacer: Replacer) -> None:
    replacer.finish()


def defects(world: LogWorld) -> list[Finding]:
    """Holes between segments are what compaction leaves."""
    return [finding for finding in world.findings() if finding.kind is not FindingKind.HOLE]


def states(world: LogWorld) -> set[FileState]:
    return {file.state for file in map(parse_segment_file, world.names()) if file is not None}


def test_the_log_has_what_is_left_and_goes_on() -> None:
    world = world_of()
    before, end = seen(world), world.log.log_end_offset
    world.log.replacer.begin(clean(world.log, GROUPS), world.now_ms)
    replace(world.log.replacer)
    after = seen(world)
    assert latest(after) == latest(before)
    assert after.items() < before.items()
    assert world.append(b"more").base_offset == end
    assert not states(world) & {FileState.CLEANED, FileState.SWAP}
    assert defects(world) == []
    world.restart("stop")
    assert {offset: found for offset, found in seen(world).items() if offset < end} == after


def test_a_segment_that_is_as_long_as_before_and_has_another_transaction_index_is_not_taken_for_damaged() -> None:
    """An ABORT marker without data stays for another while, and its entry does not."""
    world = LogWorld(config=CONFIG)
    world.open()
    world.append(b"aborted", key=b"again", producer_id=1, epoch=0, sequence=0, transactional=True)
    while world.log.segments_count == 1:
        world.append(b"v", key=b"key-%d" % world.log.log_end_offset)
    world.mark(1, 0, commit=False)
    while world.log.segments_count < 4:
        world.append(b"v", key=b"key-%d" % world.log.log_end_offset)
    world.append(b"committed", key=b"again")
    world.flush()
    world.checkpoint()
    sizes = world.log.extents
    groups = clean(world.log, (1, 1))  # its transaction index is not there
    world.log.replacer.begin(groups, world.now_ms)
    replace(world.log.replacer)
    assert [after == before for after, before in zip(world.log.extents, sizes, strict=True)][:2] == [False, True]
    world.stop()
    assert defects(world) == []
    world.open()
    assert world.log.recovered.segments_reread == 0


def test_a_reader_of_an_old_segment_continues_until_the_delay_is_over() -> None:
    world = world_of()
    slices = [world.log.read(offset, 1 << 20, committed=False, force_first_batch=True).data for offset in (0, 4)]
    content = [each.read_all() for each in slices if each is not None]
    world.log.replacer.begin(clean(world.log, GROUPS), world.now_ms)
    replace(world.log.replacer)
    delete_due(world.home, world.now_ms + CONFIG.file_delete_delay_ms - 1)
    assert [each.read_all() for each in slices if each is not None] == content
    assert delete_due(world.home, world.now_ms + CONFIG.file_delete_delay_ms) is None
    assert FileState.DELETED not in states(world)
    with pytest.raises(FileRemoved):
        slices[0].read_all()  # type: ignore[union-attr]  # there is a first batch


def test_files_of_the_same_name_wait_side_by_side_to_be_removed() -> None:
    world = world_of()
    first = world.log.read(0, 1 << 20, committed=False, force_first_batch=True).data
    assert first is not None
    content = first.read_all()
    for _ in range(2):
        world.log.replacer.begin(clean(world.log, GROUPS[:1]), world.now_ms)
        replace(world.log.replacer)
    first.file.close()
    assert first.read_all() == content
    world.kill()
    world.open()
    assert not [name for name in world.names() if name.endswith(FileState.DELETED.value)]


def replaced_until(world: LogWorld, cut_at: int | None) -> bool:
    """Whether the replacement came to its end."""
    groups = clean(world.log, GROUPS)
    if cut_at is not None:
        world.files.cut_power_at(world.files.changes_made + cut_at)
    try:
        world.log.replacer.begin(groups, world.now_ms)
        replace(world.log.replacer)
    except PowerCut:
        return False
    return True


@pytest.mark.parametrize("survival", ["nothing", "some", "everything"])
@pytest.mark.parametrize("is_known_synced", [True, False], ids=["synced", "unsynced"])
def test_a_stop_before_any_change_of_the_disk_is_put_right(survival: Survival, is_known_synced: bool) -> None:
    changes = 0
    while True:
        world = world_of()
        if not is_known_synced:  # the checkpoint is older than the log: all of it is reread
            world.home.checkpoints.forget(("t", 0))
            world.home.checkpoints.write()
        before = seen(world)
        is_over = replaced_until(world, changes)
        world.files.crash(survival)
        world.open()
        after = seen(world)
        assert latest(after) == latest(before), f"stopped before change {changes}"
        assert after.items() <= before.items()
        assert world.log.log_end_offset == 20
        assert not states(world) - {FileState.LIVE}
        assert defects(world) == []
        if is_over:
            break
        changes += 1
    assert changes > 20


def test_closing_the_log_finishes_what_is_half_done() -> None:
    world = world_of()
    before = seen(world)
    world.log.replacer.begin(clean(world.log, GROUPS), world.now_ms)
    world.log.replacer.step()
    assert world.log.replacer.is_under_way
    world.stop()
    assert states(world) == {FileState.LIVE, FileState.DELETED}
    world.open()
    assert latest(seen(world)) == latest(before)


def test_nothing_goes_by_retention_while_segments_are_replaced() -> None:
    world = world_of(config=CONFIG._replace(cleanup_policy=frozenset({"compact", "delete"}), retention_bytes=0))
    groups = clean(world.log, GROUPS)
    world.log.is_being_cleaned = True
    world.log.replacer.begin(groups, world.now_ms)
    world.log.replacer.step()
    assert world.log.apply_retention(world.now_ms) == []
    replace(world.log.replacer)
    world.log.is_being_cleaned = False
    assert world.log.apply_retention(world.now_ms)


def test_segments_removed_from_the_log_are_not_replaced() -> None:
    world = world_of(config=CONFIG._replace(cleanup_policy=frozenset({"compact", "delete"}), retention_bytes=0))
    groups = clean(world.log, GROUPS)
    assert world.log.apply_retention(world.now_ms)
    with pytest.raises(SegmentsGone):
        world.log.replacer.begin(groups, world.now_ms)
    assert not world.log.replacer.is_under_way
    job = removal_of_cleaned(world.log.directory)
    assert job is not None
    job.run_here()
    assert FileState.CLEANED not in states(world)


def test_the_active_segment_is_not_replaced() -> None:
    world = world_of()
    with pytest.raises(SegmentsGone):
        world.log.replacer.begin(clean(world.log, [world.log.segments_count]), world.now_ms)


def test_leftovers_of_an_earlier_cleaning_are_removed_first() -> None:
    world = world_of()
    groups = clean(world.log, GROUPS)
    stray = segment_file(1, FileKind.TXN_INDEX, FileState.CLEANED)
    world.log.directory.open(stray, create=True)
    world.log.replacer.begin(groups, world.now_ms)
    job = world.log.replacer.step()
    assert job is not None
    assert stray in world.names(), "a thread does it"
    job.run_here()
    assert stray not in world.names()
    assert segment_file(groups[0].base_offset, FileKind.LOG, FileState.CLEANED) in world.names()


@pytest.mark.parametrize("who", ["the next step", "retention", "a clean stop"])
def test_a_swap_that_failed_half_way_is_finished_by(who: str) -> None:
    config = CONFIG._replace(cleanup_policy=frozenset({"compact", "delete"}))
    for failing in range(60):
        world = world_of(config=config)
        before = seen(world)
        world.log.replacer.begin(clean(world.log, GROUPS), world.now_ms)
        world.files.fail("rename", errno.ENOSPC, skip=failing, times=1)
        try:
            replace(world.log.replacer)
            break
        except StorageError:
            assert latest(seen(world)) == latest(before)
        if who == "the next step":
            replace(world.log.replacer)
        elif who == "retention":
            assert world.log.apply_retention(world.now_ms) == []
        if who != "a clean stop":
            assert not world.log.replacer.is_under_way
            assert latest(seen(world)) == latest(before)
            delete_due(world.home, world.now_ms + config.file_delete_delay_ms)
            assert states(world) == {FileState.LIVE}, "nothing is forgotten"
        world.stop()
        world.open()
        assert latest(seen(world)) == latest(before), f"rename {failing} failed"
        assert defects(world) == []
    assert failing > 10


def test_after_a_failure_the_log_goes_on_and_the_next_start_finishes() -> None:
    for failing in range(60):
        world = world_of()
        before = seen(world)
        groups = clean(world.log, GROUPS)
        world.files.fail("any", errno.EIO, skip=failing, times=1)
        try:
            world.log.replacer.begin(groups, world.now_ms)
            replace(world.log.replacer)
        except StorageError:
            world.files.heal()
            if world.home.offline_reason is None:
                assert latest(seen(world)) == latest(before)
        else:
            world.files.heal()
        world.kill()
        world.open()
        assert latest(seen(world)) == latest(before), f"call {failing} failed"
        assert defects(world) == []
