"""The page of a partition over a whole broker in memory."""

import re

import pytest

from barnabas.broker.http.console.queries.partition import Strip
from barnabas.broker.http.console.svg.strip_view import drawn
from barnabas.protocol.records.batch import parse_header
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.storage.log.log_cells import Cell
from tests.support.console.world import Console, seen
from tests.support.inspected_broker import Inspected

MARKUP = "<b>readers</b>"


@pytest.fixture
async def world() -> Inspected:
    return Inspected(topics={"t": 2})


def view(**query: int) -> dict[str, int]:
    return {name.rstrip("_"): value for name, value in query.items()}


async def test_a_log_is_drawn_with_its_marks_and_groups(console: Console, world: Inspected) -> None:
    world.append("t", b"a", b"b")
    world.append("t", b"c")
    await world.commit(MARKUP, "t", 2)
    await world.begin("payments", ("t", 0))
    html = await console.get("/topics/t/0")
    assert re.findall(r'class="cell (\w+)', html) == ["plain", "plain", "open"]
    text = seen(html)
    assert "log start 0 last stable offset 3 high watermark 4" in text
    assert "&lt;b&gt;readers&lt;/b&gt; 2" in html
    assert "<b>" not in html
    assert "held back by transactions 1" in text
    assert "&lt;b&gt;readers&lt;/b&gt; 2 2 1" in text


async def test_a_view_has_an_address_and_leads_to_others(console: Console, world: Inspected) -> None:
    for _ in range(100):
        world.append("t", b"x")
    html = await console.get("/topics/t/0", **view(from_=40, to=60))
    assert html.count('class="cell') == 20
    ways = dict(re.findall(r'href="([^"]*)" data-key="([^"]*)"', html))
    assert {key: href.replace("&amp;", "&").removeprefix("/console/topics/t/0") for href, key in ways.items()} == {
        "0": "?from=0",
        "+": "?from=45&to=55",
        "-": "?from=30&to=70",
        "←": "?from=35&to=55",
        "→": "?from=45&to=65",
        "End": "?from=80&to=100",
    }
    beyond = await console.text("/topics/t/0", **view(from_=5_000, to=1 << 60))
    assert "Offsets 99 to 99" in beyond


async def test_a_cell_tells_its_batch(console: Console, world: Inspected) -> None:
    mine = await world.begin("pay<ments", ("t", 0))
    text = await console.text("/topics/t/0", at=0)
    assert "readers of committed records stop before it" in text
    assert f"Producer {mine.producer_id}, epoch {mine.producer_epoch} Sequence 0 to 0" in text
    assert "Transactional id pay&lt;ments" in text
    await world.end("pay<ments", mine, is_commit=False)
    assert "was aborted: readers of committed records skip it" in await console.text("/topics/t/0", at=0)
    assert "A marker: the transaction of this producer is aborted here." in await console.text("/topics/t/0", at=1)


async def test_a_log_of_many_batches_opens_near_its_end(console: Console, world: Inspected) -> None:
    for _ in range(400):
        world.append("t", b"x", b"y")
    text = await console.text("/topics/t/0")
    assert "Offsets 560 to 799" in text
    assert "represents many batches" not in text
    html = await console.get("/topics/t/0", **view(from_=0))
    assert "Offsets 0 to 799" in seen(html)
    assert "represents many batches" in html
    assert "offsets 0 to 4, about 100 % plain; one batch of them: plain, offsets 0 to 1" in html


def test_the_shares_of_a_cell_are_stacked() -> None:
    header = parse_header(bytes(build_batch([NewRecord(None, b"x", (), 0)])))
    kinds = ("plain", "aborted", "plain", "commit marker", "abort marker", "open")
    cell = Cell(0, 100, header, "plain", is_whole=False, kinds=kinds)
    strip = Strip(0, 100, 0, 100, 100, 100, 1, 1, [cell, cell._replace(is_whole=True, kinds=())], [], [], 0)
    many, one = drawn(strip, "/p", None).cells
    assert [(part.style, part.y, part.height) for part in many.parts] == [
        ("open", 62, 10),
        ("aborted", 72, 10),
        ("plain", 82, 20),
        ("marker", 102, 20),
    ]
    assert many.description.startswith("offsets 0 to 99, about 17 % open, 17 % aborted, 33 % plain, 33 % marker; one")
    assert [(part.style, part.y, part.height) for part in one.parts] == [("plain", 62, 60)]


async def test_a_log_that_is_empty_gives_the_reason(console: Console, world: Inspected) -> None:
    assert "Nothing was written to this partition yet" in await console.text("/topics/t/1")
    world.append("t", b"x")
    world.services.partitions.delete_records_before("t", 0, 1)
    assert "the log starts at offset 1, where it ends" in await console.text("/topics/t/0")


@pytest.mark.parametrize(
    ("path", "query", "status", "why"),
    [
        ("/topics/nowhere/0", {}, 404, "there is no topic nowhere"),
        ("/topics/t/2", {}, 404, "t has 2 partitions"),
        ("/topics/t/x", {}, 400, "the partition is no whole number"),
        ("/topics/t/-1", {}, 400, "the partition is not between 0 and"),
        ("/topics/t/0", {"from": "x"}, 400, "from is no whole number"),
        ("/topics/t/0", {"from": "5", "to": "5"}, 400, "from must be lower than to"),
        ("/topics/t/0", {"to": "9" * 30}, 400, "to is no whole number"),
        ("/topics/t/0", {"at": "3"}, 404, "there is no offset 3: the log has 0 to 0"),
    ],
)
async def test_missing_input_is_one_sentence(
    console: Console, world: Inspected, path: str, query: dict[str, str], status: int, why: str
) -> None:
    world.append("t", b"x")
    assert why in await console.text(path, status, **query)
