"""The order of the long tables, by a parameter of the address."""

import re
from html import unescape

import pytest

from barnabas.broker.http.console.params import RequestParams
from barnabas.broker.http.console.sorting import sorting_of
from tests.support.console.world import Console
from tests.support.inspected_broker import Inspected

ROWS = [("b", 2), ("a", None), ("c", 3), ("d", 1)]
KEYS = {"name": lambda row: row[0], "count": lambda row: row[1]}


@pytest.mark.parametrize(
    ("word", "expected"),
    [("", "bacd"), ("name", "abcd"), ("-name", "dcba"), ("count", "dbca"), ("-count", "cbda")],
)
def test_rows_without_a_value_come_last(word: str, expected: str) -> None:
    sorting = sorting_of(RequestParams({"sort": word}, {}), "/t", KEYS)
    assert "".join(row[0] for row in sorting.applied(ROWS, KEYS)) == expected
    assert sorting.word == word


def test_a_heading_leads_to_its_order_and_then_to_the_reverse() -> None:
    sorting = sorting_of(RequestParams({"sort": "-count"}, {}), "/t", KEYS, q="x", which="")
    assert sorting.href("count", True) == "/console/t?q=x&sort=count"
    assert sorting.href("name", False) == "/console/t?q=x&sort=name"
    assert sorting_of(RequestParams({}, {}), "/t", KEYS).href("count", True) == "/console/t?sort=-count"


def names(html: str) -> list[str]:
    """The first cell of each row."""
    return [unescape(re.sub("<[^>]*>", "", each)).strip() for each in re.findall(r'<th scope="row".*?</th>', html)]


@pytest.fixture
async def world() -> Inspected:
    """Topics, groups and transactions that are in another order by each column."""
    world = Inspected(topics={"a": 3, "b": 1, "c": 2})
    world.append("a", b"1", b"2")
    world.append("b", b"1", b"2", b"3")
    await world.begin("t-old", ("c", 0), ("c", 1))
    world.clock.advance(5_000)
    await world.begin("t-new", ("b", 0))
    await world.init("t-idle")
    await world.commit("g-far", "a", 0)
    await world.commit("g-near", "b", 3)
    await world.commit("g-none", "c")
    return world


@pytest.mark.parametrize(
    ("path", "sort", "expected"),
    [
        ("/topics", "", ["a", "b", "c"]),
        ("/topics", "-topic", ["c", "b", "a"]),
        ("/topics", "partitions", ["b", "c", "a"]),
        ("/topics", "-offsets", ["b", "a", "c"]),
        ("/topics", "-held_back", ["c", "b", "a"]),
        ("/groups", "-group", ["g-near", "g-far"]),
        ("/groups", "-lag", ["g-far", "g-near"]),
        ("/groups", "committed_lag", ["g-near", "g-far"]),
        ("/transactions", "id", ["t-idle", "t-new", "t-old"]),
        ("/transactions", "-age", ["t-old", "t-new", "t-idle"]),
        ("/transactions", "age", ["t-new", "t-old", "t-idle"]),
        ("/transactions", "timeout", ["t-old", "t-new", "t-idle"]),
        ("/transactions", "-partitions", ["t-old", "t-new", "t-idle"]),
    ],
)
async def test_tables_are_sorted_by_their_columns(console: Console, path: str, sort: str, expected: list[str]) -> None:
    html = await console.get(path, sort=sort)
    assert names(html) == expected
    assert html.count("aria-sort=") == (1 if sort else 0)


async def test_the_clients_are_sorted(console: Console, world: Inspected) -> None:
    for column in ("client", "principal", "library", "from", "listener", "node", "now"):
        await console.get("/clients", sort=column)
    assert "sort is one of client, principal" in await console.text("/clients", 400, sort="age")


async def test_a_search_keeps_the_order_and_the_headings_the_search(console: Console) -> None:
    html = await console.get("/topics", sort="-size", q="a", which="all")
    assert '<input type="hidden" name="sort" value="-size">' in html
    assert 'href="/console/topics?which=all&amp;q=a&amp;sort=size"' in html


@pytest.mark.parametrize("path", ["/topics", "/groups", "/transactions", "/clients"])
async def test_an_unknown_column_is_refused_in_a_sentence(console: Console, path: str) -> None:
    assert "or one of them with - before it" in await console.text(path, 400, sort="colour")
