"""Logs walked by the headers of their batches, and aborted transactions found by an offset in them."""

from collections.abc import Iterator

import pytest

from barnabas.storage.errors import StorageError
from barnabas.storage.steps import finish
from tests.support.worlds.log import LogWorld, open_world


@pytest.fixture
def world() -> Iterator[LogWorld]:
    world = open_world(segment_bytes=300)
    yield world
    world.stop()


def txn(world: LogWorld, *values: bytes, producer_id: int = 7, sequence: int = 0) -> None:
    world.append(*values, producer_id=producer_id, epoch=0, sequence=sequence, transactional=True)


def seen(world: LogWorld, offset: int) -> list[tuple[int, int, bool | None]]:
    return [
        (each.header.base_offset, each.header.last_offset, None if each.marker is None else each.marker.commit)
        for each in world.log.batches(offset)
    ]


def test_batches_come_with_their_markers_over_all_segments_from_the_one_with_the_offset_in_it(world: LogWorld) -> None:
    txn(world, b"a", b"b")
    world.append(b"c")
    world.mark(7, 0, commit=True)
    txn(world, b"d", sequence=2)
    world.mark(7, 0, commit=False)
    world.append(b"e" * 200)
    assert world.log.segments_count > 1
    everything = [(0, 1, None), (2, 2, None), (3, 3, True), (4, 4, None), (5, 5, False), (6, 6, None)]
    assert seen(world, 0) == everything
    assert seen(world, 1) == everything, "offset 1 is in the first batch"
    assert seen(world, 4) == everything[3:]
    assert seen(world, 7) == []


def test_an_aborted_transaction_is_found_by_any_offset_in_it_and_a_committed_one_is_not(world: LogWorld) -> None:
    txn(world, b"a")
    txn(world, b"b", producer_id=8)
    world.mark(7, 0, commit=False)
    world.append(b"x" * 200)
    world.mark(8, 0, commit=True)
    aborted = finish(world.log.aborted_around(7, 0))
    assert aborted is not None
    assert (aborted.first_offset, aborted.last_offset) == (0, 2)
    assert finish(world.log.aborted_around(8, 1)) is None
    assert finish(world.log.aborted_around(7, 3)) is None


def test_the_transaction_at_the_last_stable_offset_is_reported(world: LogWorld) -> None:
    assert world.log.first_undecided is None
    world.append(b"a")
    txn(world, b"b")
    txn(world, b"c", producer_id=8)
    assert world.log.first_undecided == (1, 7)
    assert (world.log.transaction_begin(8), world.log.transaction_begin(9)) == (2, None)
    world.mark(7, 0, commit=True, hold=True)
    assert world.log.first_undecided == (1, 7), "its end is not shown yet"
    assert world.log.transaction_begin(7) is None


def test_damage_is_an_error(world: LogWorld) -> None:
    world.append(b"a")
    world.append(b"b")
    file = world.log.files[0]
    file.pwrite(bytes(30), file.size() // 2)
    with pytest.raises(StorageError, match="message format v0"):
        list(world.log.batches(0))
