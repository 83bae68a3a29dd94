"""A log as a strip of cells, held against the batches that were appended."""

from collections.abc import AsyncIterator

import pytest

from barnabas.storage.log.log_cells import Cell
from barnabas.storage.steps import finish
from tests.support.inspected_broker import Inspected


@pytest.fixture
async def world() -> AsyncIterator[Inspected]:
    it = Inspected()
    it.services.catalogue.create_topic("t", 1)
    yield it
    await it.close()


def strip_of(world: Inspected, first: int = 0, end: int | None = None, cells_max: int = 100) -> list[Cell]:
    log = world.services.partitions.get("t", 0)
    return finish(log.log_cells(first, log.log_end_offset if end is None else end, cells_max))


async def test_each_batch_is_what_became_of_its_transaction(world: Inspected) -> None:
    world.append("t", b"a", b"b")
    kept = await world.begin("kept", ("t", 0))
    lost = await world.begin("lost", ("t", 0))
    await world.end("lost", lost, is_commit=False)
    await world.end("kept", kept, is_commit=True)
    again = await world.begin("lost", ("t", 0))
    cells = strip_of(world)
    assert [(cell.first_offset, cell.next_offset, cell.kind) for cell in cells] == [
        (0, 2, "plain"),
        (2, 3, "committed"),
        (3, 4, "aborted"),
        (4, 5, "abort marker"),
        (5, 6, "commit marker"),
        (6, 7, "open"),
    ]
    assert cells[-1].header.producer_id == again.producer_id
    assert all(cell.is_whole for cell in cells)


async def test_a_view_is_cut_at_its_bounds(world: Inspected) -> None:
    world.append("t", *[b"x"] * 10)
    world.append("t", *[b"x"] * 10)
    assert [(cell.first_offset, cell.next_offset) for cell in strip_of(world, 4, 12)] == [(4, 10), (10, 12)]
    assert strip_of(world, 20, 21) == []


async def test_where_there_is_more_a_cell_is_a_sample(world: Inspected) -> None:
    for _ in range(200):
        world.append("t", b"x", b"y")
    cells = strip_of(world, cells_max=10)
    assert [(cell.first_offset, cell.next_offset) for cell in cells] == [(at, at + 40) for at in range(0, 400, 40)]
    assert all(cell.header.base_offset <= cell.first_offset < cell.next_offset for cell in cells)
    assert not any(cell.is_whole for cell in cells)


async def test_a_cell_of_many_batches_has_samples_of_them(world: Inspected) -> None:
    for _ in range(90):
        world.append("t", b"x" * 1_000)
    for _ in range(45):
        lost = await world.begin("lost", ("t", 0))
        await world.end("lost", lost, is_commit=False)
    first, middle, last = strip_of(world, cells_max=3)
    assert first.kinds == ("plain",) * 6
    assert middle.kinds[:3] == ("plain",) * 3
    assert {*middle.kinds, *last.kinds} > {"plain"}
    assert [cell.kind for cell in (first, middle)] == ["plain", "plain"]
    assert all(cell.kinds == () for cell in strip_of(world, 0, 30))


async def test_a_batch_that_is_longer_than_a_cell_has_one_cell(world: Inspected) -> None:
    world.append("t", *[b"x"] * 300)
    for _ in range(20):
        world.append("t", b"x")
    cells = strip_of(world, cells_max=16)
    assert (cells[0].first_offset, cells[0].next_offset, cells[0].header.records_count) == (0, 300, 300)
    assert cells[-1].next_offset == 320


async def test_a_segment_that_begins_in_a_cell_is_shown_by_its_first_batch(world: Inspected) -> None:
    log = world.services.partitions.get("t", 0)
    log.config = log.config._replace(segment_bytes=400)
    for _ in range(60):
        world.append("t", b"x")
    bases = [base for base, _ in log.extents]
    assert len(bases) > 8
    cells = strip_of(world, cells_max=6)
    for cell in cells:
        first = next(base for base in bases if cell.first_offset <= base)
        assert cell.header.base_offset == first
    assert [cell.first_offset for cell in cells] == [0, 10, 20, 30, 40, 50]


async def test_the_aborted_transactions_of_a_stretch_are_reported_by_producer(world: Inspected) -> None:
    lost = await world.begin("lost", ("t", 0))
    await world.end("lost", lost, is_commit=False)
    log = world.services.partitions.get("t", 0)
    assert finish(log.aborted_ranges(0, 2)) == {lost.producer_id: [(0, 1)]}
    assert finish(log.aborted_ranges(2, 3)) == {}
