"""The last turn of a move between data directories: what it does however large a log is, and that it comes."""

from collections import Counter
from typing import Any

import pytest

from barnabas.broker.partitions import log_dir_moves
from barnabas.protocol.errors import ErrorCode as E
from tests.support.files.memory_files import Call
from tests.support.this_thread import HeldThread
from tests.support.worlds.broker import BrokerWorld, settle
from tests.support.worlds.moves import append, ask, directories_of, done, filled, held, removed, told, world_of


async def last_turn_of_a_move(segments: int, monkeypatch: pytest.MonkeyPatch) -> tuple[BrokerWorld, list[Call]]:
    """The calls of the turn in which a log of so many segments is closed and takes its new place."""
    world = await filled(segments, b"x" * 600_000)
    assert len(world.services.partitions.get("t", 0).sizes) == segments
    calls: list[Call] = []
    swap = log_dir_moves.LogDirMoves._swap

    def watched(moves: log_dir_moves.LogDirMoves, *rest: Any) -> None:
        before = len(world.files.calls)
        swap(moves, *rest)
        calls.extend(world.files.calls[before:])

    monkeypatch.setattr(log_dir_moves.LogDirMoves, "_swap", watched)
    assert await ask(world, "/two") is E.NONE
    await done(world)
    monkeypatch.undo()
    return world, calls


async def test_the_last_turn_does_not_grow_with_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = [await last_turn_of_a_move(segments, monkeypatch) for segments in (6, 18)]
    assert Counter(call.name for call in few[1]) == Counter(call.name for call in many[1])
    for world, _ in (few, many):
        await world.close()


async def test_all_of_a_large_log_is_on_the_disk_before_its_last_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    _, calls = await last_turn_of_a_move(8, monkeypatch)
    synced = {call.path for call in calls if call.name == "sync" and call.path.startswith("/one/t-0/")}
    assert {path.rpartition("/")[2][:20] for path in synced} <= {f"{number:020d}" for number in (7, 8)} | {
        "leader-epoch-checkpo"
    }


async def test_a_copy_has_every_file_as_the_log_had_it(monkeypatch: pytest.MonkeyPatch) -> None:
    world, _ = await last_turn_of_a_move(8, monkeypatch)
    (old,) = (f"/one/{name}" for name in directories_of(world, "/one"))
    assert sorted(world.files.peek_names(old)) == sorted(world.files.peek_names("/two/t-0"))
    for name in world.files.peek_names(old):
        assert world.files.peek(f"{old}/{name}") == world.files.peek(f"/two/t-0/{name}"), name


async def test_records_deleted_during_a_move_are_not_in_the_copy() -> None:
    world = await filled(8, b"x" * 600_000, runs=True)
    thread = held()
    await ask(world, "/two")
    thread.run_all()
    world.services.partitions.delete_records_before("t", 0, 5)
    await world.advance(400_000)
    while world.services.moves.under_way():
        thread.run_all()
        await settle()
        world.clock.advance(5)
    copied = [name for name in world.files.peek_names("/two/t-0") if name.endswith(".log")]
    assert [int(name[:20]) for name in copied] == [5, 6, 7]
    await removed(world, thread)


async def test_a_move_ends_though_somebody_always_waits_for_a_sync() -> None:
    world = world_of(log_flush_interval_messages="1")
    world.services.catalogue.create_topic("t", 1)
    flushing = world.broker._flush_thread = HeldThread()
    waiting = []

    def append_and_wait() -> None:
        append(world)
        log = world.services.partitions.get("t", 0)
        waiting.append(world.broker.flush.synced(log, log.log_end_offset))

    append_and_wait()
    await ask(world, "/two")
    for _ in range(200):
        if not world.services.moves.under_way():
            break
        append_and_wait()
        flushing.run_all()
        await settle()
        world.clock.advance(5)
    assert not world.services.moves.under_way()
    await settle()
    assert all(each.done() and each.exception() is None for each in waiting)
    assert world.services.partitions.get("t", 0).log_end_offset == len(waiting)
    assert (await told(world))["/two"] == [("t", 0, False)]
