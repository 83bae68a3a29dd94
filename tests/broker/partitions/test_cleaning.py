"""Logs of a broker that are compacted while it serves them."""

import errno
from collections.abc import Mapping

import pytest

from barnabas.broker.metadata.catalogue.config_alterations import Alteration, AlterConfigOp
from barnabas.broker.metadata.image.image import TOPIC_RESOURCE
from barnabas.broker.partitions.cleaning.backoff import FIRST_MS as PUT_OFF_MS
from barnabas.broker.partitions.cleaning.stats import Cleaned
from barnabas.protocol.files.names import FileState, parse_segment_file
from barnabas.protocol.records.builder import build_batch
from barnabas.storage.log.log import PartitionLog
from barnabas.storage.steps import finish
from tests.support.files.log_directories import flush
from tests.support.files.memory_files import MemoryFiles
from tests.support.records.committed import records
from tests.support.worlds.broker import BrokerWorld, settle, until
from tests.support.worlds.killed_partitions import fetch
from tests.support.worlds.moves import ask, done, elsewhere

COMPACT = {"cleanup.policy": "compact", "segment.ms": "10", "min.cleanable.dirty.ratio": "0.01"}
KEYS = 3
BACKOFF_MS = 15_000


def world_of(
    files: MemoryFiles | None = None, topics: Mapping[str, Mapping[str, str]] | None = None, **more: str
) -> BrokerWorld:
    world = BrokerWorld({name.replace("_", "."): value for name, value in more.items()}, files)
    for name, configs in ({"t": COMPACT} if topics is None else topics).items():
        if name not in world.services.catalogue.topics:
            world.services.catalogue.create_topic(name, 1, dict(configs))
    return world


def append(world: BrokerWorld, count: int = 12, topic: str = "t", value: bytes = b"value-") -> PartitionLog:
    """Batches of one record each, every one in a segment of its own; all but the last are synced."""
    partitions = world.services.partitions
    for number in range(count):
        world.clock.advance(20)
        record = (b"key-%d" % (number % KEYS), b"%b%d" % (value, number), (), world.clock.now_ms())
        partitions.append(topic, 0, bytearray(build_batch([record])))
    log = partitions.get(topic, 0)
    flush(log)
    return log


def names(world: BrokerWorld, path: str = "/data/t-0") -> set[FileState]:
    files = [parse_segment_file(entry.name) for entry in world.files.entries(path)]
    return {file.state for file in files if file is not None}


async def cleaned(world: BrokerWorld, times: int = 1) -> None:
    """Until so many cleanings have ended well."""
    world.services.cleaner.start()
    await until(lambda: world.services.cleaner.figures.cleanings >= times)


@pytest.fixture
async def world() -> BrokerWorld:
    return world_of()


async def test_a_dirty_log_is_cleaned_and_goes_on(world: BrokerWorld) -> None:
    log = append(world)
    before = records(log)
    await cleaned(world)
    after = records(log)
    assert after.items() < before.items()
    assert dict(after.values()) == dict(before.values())
    assert log.log_end_offset == 12
    assert not names(world) & {FileState.CLEANED, FileState.SWAP}
    append(world, 1)
    assert records(log)[12] == (b"key-0", b"value-0")


async def test_cleaning_begins_by_the_clock(world: BrokerWorld) -> None:
    append(world)
    await world.broker.start()
    world.clock.advance(BACKOFF_MS)
    await until(lambda: world.services.cleaner.figures.cleanings)


async def test_nothing_is_cleaned_where_the_cleaner_is_not_enabled() -> None:
    world = world_of(log_cleaner_enable="false")
    log = append(world)
    before = records(log)
    await world.broker.start()
    await world.advance(10 * BACKOFF_MS)
    assert records(log) == before


async def test_the_cleaned_offset_survives_a_restart(world: BrokerWorld) -> None:
    log = append(world)
    await cleaned(world)
    first_dirty = world.services.partitions.directory.members[0].checkpoints.first_dirty(("t", 0))
    assert first_dirty == log.extents[-1][0]
    after = records(log)
    world.files.crash("nothing")
    again = world_of(world.files)
    assert again.services.partitions.directory.members[0].checkpoints.first_dirty(("t", 0)) == first_dirty
    opened = again.services.partitions.get("t", 0)
    assert {offset: found for offset, found in after.items() if offset < first_dirty} == {
        offset: found for offset, found in records(opened).items() if offset < first_dirty
    }
    assert opened.recovered.segments_dropped == 0


@pytest.mark.parametrize("is_clean", [False, True])
async def test_a_topic_that_is_not_compacted_any_more_is_opened_with_its_short_segments(is_clean: bool) -> None:
    small = COMPACT | {"segment.bytes": str(1 << 20)}
    world = world_of(topics={"t": small})
    log = append(world, value=b"v" * 400_000)
    sizes = dict(log.extents)
    await cleaned(world)
    assert any(size < sizes[base_offset] for base_offset, size in log.extents)
    after = records(log)
    alteration = Alteration("cleanup.policy", AlterConfigOp.SET, "delete")
    world.services.catalogue.alter_configs(TOPIC_RESOURCE, "t", [alteration])
    flush(log)
    if is_clean:
        await world.close()
    else:
        world.files.crash("everything")
    again = world_of(world.files)
    opened = again.services.partitions.get("t", 0)
    assert not opened.config.is_compacted
    assert records(opened) == after


@pytest.mark.parametrize("is_closed", [False, True])
async def test_a_fetch_that_is_read_while_segments_are_swapped_is_answered_from_the_old_ones(is_closed: bool) -> None:
    """Also where the descriptor of the old segment was closed meanwhile, because others needed one."""
    world = world_of(topics={"t": COMPACT | {"segment.bytes": str(1 << 20)}})
    log = append(world, value=b"v" * 400_000)
    bases = [base_offset for base_offset, _ in log.extents]
    peer = world.connect(kernel_bytes=1_000)
    peer.ask(fetch(world, 0))
    before = log.read(0, 1 << 20, committed=False, force_first_batch=True).read_all()
    await cleaned(world)
    assert [base_offset for base_offset, _ in log.extents] != bases
    if is_closed:
        log.directory.disk.descriptors.evict_all()
    (answered,) = (await peer.answer_to_come()).responses[0].partitions
    assert answered.records == before
    assert log.read(0, 1 << 20, committed=False, force_first_batch=True).read_all() != before


async def test_a_partition_that_was_never_opened_is_cleaned_and_closed_again(world: BrokerWorld) -> None:
    append(world)
    await world.close()
    again = world_of(world.files)
    assert not again.services.partitions.is_open("t", 0)
    await cleaned(again)
    await until(lambda: not again.services.partitions.is_open("t", 0))


async def test_the_filthiest_is_cleaned_first_and_the_others_after_it() -> None:
    world = world_of(topics={"clean": COMPACT, "dirty": COMPACT})
    append(world, 30, "clean")
    await cleaned(world)
    append(world, 3, "clean")
    append(world, 30, "dirty")
    await cleaned(world, 2)
    last = world.services.cleaner.figures.last
    assert last is not None
    assert last.topic == "dirty"
    await until(lambda: world.services.cleaner.figures.cleanings >= 3)


@pytest.mark.parametrize("threads", [1, 2])
async def test_so_many_logs_are_cleaned_at_a_time(threads: int) -> None:
    names = ["a", "b", "c"]
    world = world_of(topics=dict.fromkeys(names, COMPACT), log_cleaner_threads=str(threads))
    before = {name: records(append(world, 30, name)) for name in names}
    at_a_time = []

    def is_over() -> bool:
        at_a_time.append(len(world.services.cleaner.rounds))
        return world.services.cleaner.figures.cleanings >= len(names)

    world.services.cleaner.start()
    await until(is_over)
    assert max(at_a_time) == threads
    for name in names:
        after = records(world.services.partitions.get(name, 0))
        assert len(after) < len(before[name])
        assert dict(after.values()) == dict(before[name].values())


async def test_a_partition_that_cannot_be_cleaned_is_set_aside_and_the_others_are_cleaned() -> None:
    world = world_of(topics={"damaged": COMPACT, "t": COMPACT})
    append(world, 12, "damaged")
    append(world)
    flip(world.files, "/data/damaged-0/00000000000000000002.log")
    await cleaned(world)
    await until(lambda: world.services.cleaner.figures.set_aside)
    ((key, why),) = world.services.cleaner.set_aside()
    assert key == ("damaged", 0)
    assert "00000000000000000002.log" in why.reason
    assert FileState.CLEANED not in names(world, "/data/damaged-0")
    last = world.services.cleaner.figures.last
    assert last is not None
    assert last.topic == "t"
    told = world.files.peek("/data/uncleanable-partitions") or b""
    assert told.startswith(b"damaged-0 /data/damaged-0/00000000000000000002.log")
    world.services.catalogue.delete_topics(["damaged"])
    assert not world.services.cleaner.figures.set_aside
    assert world.files.peek("/data/uncleanable-partitions") is None


def flip(files: MemoryFiles, path: str) -> None:
    file = files.open(path)
    size = file.size()
    last = file.pread(1, size - 1)
    file.pwrite(bytes([last[0] ^ 1]), size - 1)


async def test_nothing_is_begun_while_producers_wait_for_room(world: BrokerWorld) -> None:
    log = append(world)
    log.directory.disk.full_reason = "no room"
    world.services.cleaner.start()
    for _ in range(3):
        await world.advance(BACKOFF_MS)
    assert world.services.cleaner.figures.cleanings == 0
    log.directory.disk.full_reason = None
    world.clock.advance(BACKOFF_MS)
    await cleaned(world)


async def test_a_full_disk_is_waited_for(world: BrokerWorld) -> None:
    log = append(world)
    before = records(log)
    world.files.fail("pwrite", errno.ENOSPC, path=FileState.CLEANED.value)
    world.services.cleaner.start()
    await until(lambda: not world.services.cleaner.rounds and world.services.cleaner.figures.looked_ms)
    assert not world.services.cleaner.figures.set_aside
    assert records(log) == before
    world.files.heal()
    world.clock.advance(BACKOFF_MS)
    await until(lambda: world.services.cleaner.figures.cleanings)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
async def test_a_swap_that_fails_once_keeps_nothing_from_being_cleaned(world: BrokerWorld, error: int) -> None:
    log = append(world)
    before = records(log)
    world.files.fail("rename", error, path=FileState.SWAP.value, times=1)
    world.services.cleaner.start()
    await until(lambda: not world.services.cleaner.rounds and world.services.cleaner.figures.looked_ms)
    assert not world.services.cleaner.figures.set_aside
    assert log.replacer.is_under_way
    world.clock.advance(PUT_OFF_MS)
    await until(lambda: world.services.cleaner.figures.cleanings)
    assert not log.replacer.is_under_way
    assert dict(records(log).values()) == dict(before.values())


async def begun(world: BrokerWorld) -> None:
    """A cleaning is under way."""
    world.services.cleaner.start()
    await until(lambda: world.services.cleaner.rounds)


async def test_a_topic_may_be_deleted_while_it_is_cleaned(world: BrokerWorld) -> None:
    append(world)
    await begun(world)
    world.services.catalogue.delete_topics(["t"])
    assert not world.services.cleaner.rounds
    world.services.catalogue.create_topic("t", 1, COMPACT)
    await settle()
    log = append(world, 2)
    assert len(records(log)) == 2
    assert world.services.partitions.directory.members[0].checkpoints.first_dirty(("t", 0)) is None


async def test_a_cleaning_whose_topic_is_not_compacted_any_more_is_discarded(world: BrokerWorld) -> None:
    log = append(world)
    before = records(log)
    await begun(world)
    log.config = log.config._replace(cleanup_policy=frozenset({"delete"}))
    await until(lambda: not world.services.cleaner.rounds)
    assert records(log) == before
    assert FileState.CLEANED not in names(world)
    assert not world.services.cleaner.figures.set_aside


async def test_a_partition_on_its_way_to_another_directory_is_not_cleaned_before_it_is_there() -> None:
    world = world_of(log_dirs="/one,/two")
    log = append(world)
    before = records(log)
    home = world.services.partitions.directory.home("t", 0)
    await begun(world)
    await ask(world, elsewhere(world))
    await done(world)
    moved = world.services.partitions.get("t", 0)
    assert dict(records(moved).values()) == dict(before.values())
    world.clock.advance(BACKOFF_MS)
    await until(lambda: world.services.cleaner.figures.cleanings)
    assert dict(records(moved).values()) == dict(before.values())
    assert world.services.partitions.directory.home("t", 0) is not home


async def test_a_moved_partition_is_known_to_be_clean() -> None:
    world = world_of(log_dirs="/one,/two")
    append(world)
    await cleaned(world)
    directory = world.services.partitions.directory
    home = directory.home("t", 0)
    assert home is not None
    first_dirty = home.checkpoints.first_dirty(("t", 0))
    await ask(world, elsewhere(world))
    await done(world)
    moved = directory.home("t", 0)
    assert moved is not None
    assert moved is not home
    assert moved.checkpoints.first_dirty(("t", 0)) == first_dirty
    assert home.checkpoints.first_dirty(("t", 0)) is None


@pytest.mark.parametrize("is_swapped", [False, True])
async def test_the_broker_may_stop_while_a_log_is_cleaned(world: BrokerWorld, is_swapped: bool) -> None:
    before = records(append(world))
    await begun(world)
    await until(lambda: not is_swapped or FileState.SWAP in names(world))
    await world.close()
    again = world_of(world.files)
    assert again.broker.services.partitions.directory.was_clean
    assert dict(records(again.services.partitions.get("t", 0)).values()) == dict(before.values())
    assert not names(again) & {FileState.CLEANED, FileState.SWAP}
    checkpoints = again.services.partitions.directory.members[0].checkpoints
    assert checkpoints.first_dirty(("t", 0)) == (0 if is_swapped else None)  # a log with holes has a row


async def test_retention_waits_for_a_cleaning() -> None:
    world = world_of(topics={"t": COMPACT | {"cleanup.policy": "compact,delete", "retention.bytes": "0"}})
    log = append(world)
    await begun(world)
    assert log.apply_retention(world.clock.now_ms()) == []
    await until(lambda: world.services.cleaner.figures.cleanings)
    assert log.apply_retention(world.clock.now_ms())


async def test_a_log_is_cleaned_by_hand_however_dirty_it_is() -> None:
    world = world_of(topics={"t": COMPACT | {"min.cleanable.dirty.ratio": "1"}})
    log = append(world)
    world.services.cleaner.start()
    await settle()
    assert world.services.cleaner.figures.cleanings == 0
    cleaner = world.services.cleaner
    outcome = await cleaner.clean(("t", 0), finish(cleaner.cleanable(log)))  # type: ignore[arg-type]  # reads in no thread
    assert isinstance(outcome, Cleaned)
    assert (outcome.records_before, outcome.records_after) == (11, 3)


@pytest.mark.parametrize("survival", ["nothing", "some", "everything"])
async def test_a_kill_while_a_log_is_cleaned_loses_no_key(survival: str) -> None:
    step = 0
    while True:
        world = world_of()
        before = records(append(world))
        world.services.cleaner.start()
        start, turns = world.files.changes_made, 0
        while world.files.changes_made < start + step and not world.services.cleaner.figures.cleanings:
            await settle()
            turns += 1
            assert turns < 1_000
        is_over = world.services.cleaner.figures.cleanings > 0
        world.files.crash(survival)  # type: ignore[arg-type]  # one of Survival
        again = world_of(world.files)
        found = records(again.services.partitions.get("t", 0))
        assert dict(found.values()) == dict(before.values())
        assert found.items() <= before.items()
        again.abandon()
        if is_over:
            break
        step += 5
