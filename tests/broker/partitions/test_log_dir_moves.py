"""Moves between data directories: what is there afterwards, what clients see meanwhile, and what a crash leaves."""

import asyncio
import contextlib
import errno

import pytest

from barnabas.broker.insight.inspection import logs
from barnabas.broker.metadata.image import features
from barnabas.broker.metadata.image.image import METADATA_VERSION
from barnabas.broker.partitions import log_dir_moves
from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.storage.directories import log_move
from tests.support.files.log_directories import flush
from tests.support.files.memory_files import MemoryFiles, PowerCut, Survival
from tests.support.worlds.broker import BrokerWorld, settle
from tests.support.worlds.moves import append, ask, directories_of, done, filled, held, opened, removed, told, world_of

RECORDS = 20


async def test_append_counts_continue_after_a_move() -> None:
    world = await filled(2, runs=True)
    (before,) = logs.appended(world.services)
    assert await ask(world, "/two") is E.NONE
    await done(world)
    append(world)
    (after,) = logs.appended(world.services)
    records, size = logs.appended_before(world.services)
    assert (before.records, before.size) == (records, size)
    assert after.records == 1


async def test_full_rounds_do_not_end_the_patience_with_a_large_log(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (log_dir_moves, log_move):
        monkeypatch.setattr(module, "ROUND_BYTES", 4_096)
    monkeypatch.setattr(log_dir_moves, "LAST_BYTES", 1_024)
    monkeypatch.setattr(log_dir_moves, "_PATIENCE", 2)
    lasts: list[int] = []
    complete = log_move.Move.complete

    def watched(copy: log_move.Move) -> None:
        lasts.append(copy.round().size)
        complete(copy)

    monkeypatch.setattr(log_move.Move, "complete", watched)
    world = await filled(60, b"v" * 1_000, runs=True)
    assert await ask(world, "/two") is E.NONE
    await done(world)
    assert lasts[0] <= 1_024
    assert world.services.partitions.get("t", 0).log_end_offset == 60


async def test_a_moved_partition_is_all_there_and_goes_on() -> None:
    world = await filled(RECORDS, runs=True)
    world.services.partitions.delete_records_before("t", 0, 3)
    before = world.services.partitions.get("t", 0)
    data = before.read_own(3, 1 << 20)
    assert await ask(world, "/two") is E.NONE
    await done(world)
    after = world.services.partitions.get("t", 0)
    assert after is not before
    assert (after.log_start_offset, after.log_end_offset, after.high_watermark) == (3, RECORDS, RECORDS)
    assert after.read_own(3, 1 << 20) == data
    assert await told(world) == {"/one": [], "/two": [("t", 0, False)]}
    append(world)
    assert directories_of(world, "/two") == ["t-0"]
    assert [name[-7:] for name in directories_of(world, "/one")] == ["-delete"]
    await world.advance(120_000)
    assert directories_of(world, "/one") == []
    await world.close()
    again = world_of(world.files)
    await again.broker.start()
    log = again.services.partitions.get("t", 0)
    assert (log.log_start_offset, log.log_end_offset, log.leader_epoch) == (3, RECORDS + 1, after.leader_epoch + 2)


async def test_a_large_log_is_copied_in_rounds_while_it_grows_and_is_reported_as_a_copy() -> None:
    world = await filled(30, b"x" * 200_000)
    thread = held()
    assert await ask(world, "/two") is E.NONE
    assert world.services.moves.is_copying
    append(world, 5, b"y" * 1_000)
    assert await told(world) == {"/one": [("t", 0, False)], "/two": [("t", 0, True)]}
    data = world.services.partitions.get("t", 0).read_own(0, 1 << 30)
    while world.services.moves.under_way():
        thread.run_all()
        await settle()
    assert world.services.partitions.get("t", 0).read_own(0, 1 << 30) == data
    assert await told(world) == {"/one": [], "/two": [("t", 0, False)]}


async def test_a_partition_that_was_never_used_is_made_where_it_was_moved_to() -> None:
    world = await filled()
    assert await ask(world, "/two") is E.NONE
    append(world)
    assert (directories_of(world, "/one"), directories_of(world, "/two")) == ([], ["t-0"])


async def test_a_move_is_given_up_by_asking_for_where_it_is() -> None:
    world = await filled(30, b"x" * 200_000, runs=True)
    thread = held()
    await ask(world, "/two")
    assert world.services.moves.is_copying
    assert await ask(world, "/one") is E.NONE
    assert await told(world) == {"/one": [("t", 0, False)], "/two": []}
    assert thread.run_all() == 1
    await settle()
    await removed(world, thread)
    assert (directories_of(world, "/one"), directories_of(world, "/two")) == (["t-0"], [])
    append(world)


async def test_a_topic_that_is_deleted_takes_its_move_with_it() -> None:
    world = await filled(30, b"x" * 200_000, runs=True)
    thread = held()
    await ask(world, "/two")
    world.services.catalogue.delete_topics(["t"])
    assert thread.run_all() == 1
    await settle()
    await removed(world, thread)
    assert (directories_of(world, "/one"), directories_of(world, "/two")) == ([], [])


@pytest.mark.parametrize("call", ["mkdir", "create", "pwrite", "sync"])
async def test_a_move_that_fails_leaves_the_partition_where_it_was(call: str) -> None:
    world = await filled(RECORDS)
    world.files.fail(call, errno.EIO, path="/two/t-0")
    assert await ask(world, "/two") is E.NONE
    await done(world)
    append(world)
    log = world.services.partitions.get("t", 0)
    assert (log.log_end_offset, directories_of(world, "/one")) == (RECORDS + 1, ["t-0"])
    world.files.heal()


async def test_a_move_waits_for_a_transaction_that_is_ended_and_not_shown() -> None:
    world = await filled()
    partitions = world.services.partitions
    partitions.append("t", 0, bytearray(world.batch(b"v", producer=(7, 0, 0), transactional=True)))
    partitions.append_marker("t", 0, EndTxnMarker(True, 7, 0, 0, -1, world.clock.now_ms()), hold=True)
    await ask(world, "/two")
    await world.advance(100)
    assert partitions.get("t", 0).last_stable_offset == 0, "a reopened log would show it"
    partitions.release_marker("t", 0, 7)
    await done(world)
    assert partitions.get("t", 0).last_stable_offset == 2
    assert (await told(world))["/two"] == [("t", 0, False)]


async def test_a_producer_goes_on_after_a_move_and_its_retries_are_known() -> None:
    world = await filled()
    partitions = world.services.partitions
    for number in range(3):
        partitions.append("t", 0, bytearray(world.batch(b"v", producer=(7, 0, number))))
    await ask(world, "/two")
    await done(world)
    assert partitions.append("t", 0, bytearray(world.batch(b"v", producer=(7, 0, 1)))).is_duplicate
    assert partitions.append("t", 0, bytearray(world.batch(b"v", producer=(7, 0, 3)))).base_offset == 3


async def test_partitions_move_one_after_another() -> None:
    world = world_of()
    for topic in ("t", "u", "v"):
        world.services.catalogue.create_topic(topic, 1)
        append(world, topic=topic)
        await ask(world, "/two", topic)
    await done(world)
    assert await told(world) == {"/one": [], "/two": [("t", 0, False), ("u", 0, False), ("v", 0, False)]}


async def test_a_partition_that_is_offline_cannot_be_moved() -> None:
    world = world_of()
    world.services.catalogue.create_topic("t", 2)
    world.append("t", b"v", partition=1)
    world.services.partitions.directory.members[1].root.disk.go_offline("it broke")
    assert await ask(world, "/two", partition=1) is E.KAFKA_STORAGE_ERROR
    assert await ask(world, "/one", partition=1) is E.KAFKA_STORAGE_ERROR
    assert await ask(world, "/two", partition=0) is E.KAFKA_STORAGE_ERROR


async def test_a_stop_forgets_a_move_that_is_under_way() -> None:
    world = await filled(30, b"x" * 200_000)
    thread = held()
    await ask(world, "/two")
    closing = asyncio.ensure_future(world.close())
    while not closing.done():
        await settle()
        thread.run_all()
    await closing
    assert [name[-7:] for name in directories_of(world, "/two")] == ["-delete"], "Kafka would keep a copy for good"
    again = world_of(world.files)
    await again.broker.start()
    await removed(again, thread)
    assert (directories_of(again, "/one"), directories_of(again, "/two")) == (["t-0"], [])
    assert again.services.partitions.get("t", 0).log_end_offset == 30


# --- crashes ---


async def moved(world: BrokerWorld) -> None:
    """A filled partition, flushed, and its move from begin to end, in this turn."""
    world.services.catalogue.create_topic("t", 1)
    append(world, RECORDS)
    world.services.partitions.delete_records_before("t", 0, 3)
    flush(world.services.partitions.get("t", 0))
    job = world.services.partitions.directory.begin_checkpoint()
    if job is not None:
        job.run()
        world.services.partitions.directory.end_checkpoint(job)


def move_at_once(world: BrokerWorld) -> None:
    moves = world.services.moves
    moves.ask("t", 0, world.services.partitions.directory.members[1])
    assert moves._current is not None
    moves._go_on(moves._current)


def forget_moves(world: BrokerWorld) -> None:
    """It was killed: what its loop has still to do is never done."""
    for each in world.services.moves._requested.values():
        each.is_given_up, each.copy = True, None


async def changes_of_a_move() -> tuple[int, int]:
    world = world_of()
    await moved(world)
    before = world.files.changes_made
    move_at_once(world)
    after = world.files.changes_made
    assert directories_of(world, "/two") == ["t-0"]
    await world.close()
    return before, after


@pytest.mark.parametrize(("survival", "level"), [("nothing", 25), ("some", 25), ("everything", 25), ("some", 14)])
async def test_the_power_may_be_cut_before_any_change_of_a_move(
    survival: Survival, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(features.NEW_LEVELS, METADATA_VERSION, level)  # at 14 no record names a directory
    before, after = await changes_of_a_move()
    ended_in, images = set(), set()
    for change in range(before, after + 1):
        world = world_of(MemoryFiles(change))
        await moved(world)
        world.files.cut_power_at(change)
        with contextlib.suppress(PowerCut):  # the change may come before the cut
            move_at_once(world)
        forget_moves(world)
        world.files.crash(survival)
        if world.files.image() in images:
            continue  # it goes on as it did from there before
        images.add(world.files.image())
        again = world_of(world.files)
        await again.broker.start()
        log = await opened(again)
        assert (log.log_start_offset, log.log_end_offset) == (3, RECORDS), change
        assert len(log.read_own(3, 1 << 20)) > 0
        append(again)
        await again.advance(120_000)
        live = [path for path in ("/one", "/two") if "t-0" in directories_of(again, path)]
        assert [len(directories_of(again, path)) for path in live] == [1], change
        assert len(live) == 1
        ended_in.add(live[0])
        await again.close()
    assert ended_in == {"/one", "/two"}


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
async def test_any_call_of_a_move_may_fail(error: int) -> None:
    world = world_of()
    await moved(world)
    first = len(world.files.calls)
    move_at_once(world)
    calls = len(world.files.calls) - first
    await world.close()
    for call in range(calls):
        world = world_of()
        await moved(world)
        world.files.fail("any", error, skip=call, times=1)
        move_at_once(world)
        world.files.heal()
        world.files.crash("everything")
        again = world_of(world.files)
        await again.broker.start()
        log = await opened(again)
        assert (log.log_start_offset, log.log_end_offset) == (3, RECORDS), call
        await again.close()
