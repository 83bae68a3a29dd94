"""Two texts side by side: which lines differ, and how much is shown of any two texts."""

import time

import pytest

from barnabas.broker.http.console.queries.schema_diff import (
    LINES_COMPARED_MAX,
    ROWS_MAX,
    TEXT_CHARACTERS_MAX,
    DiffLine,
    readable,
    side_by_side,
)


@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        ("a", "a", ["skipped"]),
        ("a\nb", "a\nb\nc", ["equal", "equal", "added"]),
        ("a\nb\nc", "a\nc", ["equal", "removed", "equal"]),
        ("a\nb\nc", "a\nx\nc", ["equal", "changed", "equal"]),
        ("", "a", ["changed"]),
        ("1\n2\n3\n4\n5\n6\na", "1\n2\n3\n4\n5\n6\nb", ["skipped", "equal", "equal", "equal", "equal", "changed"]),
    ],
)
def test_lines_that_differ_are_shown_with_some_around_them(old: str, new: str, kinds: list[str]) -> None:
    assert [row.kind for row in side_by_side(old, new).rows] == kinds


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("name: city,", "name: town,", (("name: ", "city", ","), ("name: ", "town", ","))),
        ("aa", "aaa", (("aa", "", ""), ("aa", "a", ""))),
        ("x" * 1_000, "y", (("", "x" * 400 + "…", ""), ("", "y", ""))),
    ],
)
def test_what_differs_in_a_line_is_marked(old: str, new: str, parts: tuple[tuple[str, ...], ...]) -> None:
    (row,) = side_by_side(old, new).rows
    assert (row.old, row.new) == tuple(DiffLine(1, *each) for each in parts)


def test_long_texts_are_cut_and_compared_only_as_far_as_that_is_quick() -> None:
    lines = [f"{number}" for number in range(2 * LINES_COMPARED_MAX)]
    found = side_by_side("\n".join(lines), "\n".join(lines[::-1]))
    assert not found.is_whole
    assert len(found.rows) <= ROWS_MAX
    began = time.process_time()
    repeated = [f"{number % 90}" for number in range(LINES_COMPARED_MAX)]
    assert side_by_side("\n".join(repeated), "\n".join(repeated[::-1])).is_whole
    assert time.process_time() - began < 5
    assert len(readable("x" * 1_000_000, "PROTOBUF")) == TEXT_CHARACTERS_MAX + 1


@pytest.mark.parametrize(
    ("text", "schema_type", "expected"),
    [
        ('{"type":"string"}', "AVRO", '{\n  "type": "string"\n}'),
        ("message M {\n}", "PROTOBUF", "message M {\n}"),
        ("[" * 100_000, "JSON", "[" * 100_000),
    ],
)
def test_json_is_shown_in_lines_and_any_other_text_as_it_is(text: str, schema_type: str, expected: str) -> None:
    assert readable(text, schema_type) == expected
