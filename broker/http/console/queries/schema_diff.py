"""Two versions of a schema side by side: their lines, and what differs in them. Pure, and bounded for any two texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from barnabas.broker.http.console.formatting import CUT, as_json

TEXT_CHARACTERS_MAX = 200_000
LINES_COMPARED_MAX = 1_000
"""Lines of a text that are compared with the other's, without those that both begin or end with."""
ROWS_MAX = 2_000
CONTEXT_LINES = 4
_LINE_CHARACTERS_MAX = 400
EQUAL, CHANGED, REMOVED, ADDED, SKIPPED = "equal", "changed", "removed", "added", "skipped"


class DiffLine(NamedTuple):
    """A line of one of the texts: its number from 1 on, and the part that differs between what is the same."""

    number: int
    before: str
    differing: str = ""
    after: str = ""


class DiffRow(NamedTuple):
    """A line of each text, or of one of them. skipped: how many equal lines stand here."""

    kind: str
    old: DiffLine | None = None
    new: DiffLine | None = None
    skipped: int = 0


class SchemaDiff(NamedTuple):
    """The rows of two texts. left_out: how many rows follow; is_whole: else lines in the middle were not compared."""

    rows: list[DiffRow]
    left_out: int
    is_whole: bool


def readable(text: str, schema_type: str) -> str:
    """Return the text of a schema in lines. A long one is cut."""
    if len(text) > TEXT_CHARACTERS_MAX:
        return text[:TEXT_CHARACTERS_MAX] + CUT
    indented = None if schema_type == "PROTOBUF" else as_json(text.encode("utf-8", "surrogatepass"), 1 << 20)
    return text if indented is None else indented


def side_by_side(old_text: str, new_text: str) -> SchemaDiff:
    """Return the lines of two readable texts beside each other."""
    old, new = old_text.split("\n"), new_text.split("\n")
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    middle = old[head : len(old) - tail], new[head : len(new) - tail]
    is_whole = max(len(each) for each in middle) <= LINES_COMPARED_MAX
    rows = [_equal(index, index, old[index]) for index in range(head)]
    rows += _compared(*middle, head) if is_whole else _replaced(*middle, head, head)
    ends = len(old) - tail, len(new) - tail
    rows += [_equal(ends[0] + index, ends[1] + index, old[ends[0] + index]) for index in range(tail)]
    shown = list(_without_equal_stretches(rows))
    return SchemaDiff(shown[:ROWS_MAX], max(0, len(shown) - ROWS_MAX), is_whole)


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many lines both begin with."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(old), len(new)))


def _compared(old: Sequence[str], new: Sequence[str], first: int) -> Iterator[DiffRow]:
    for kind, old_start, old_end, new_start, new_end in SequenceMatcher(None, old, new).get_opcodes():
        if kind == EQUAL:
            for index in range(old_end - old_start):
                yield _equal(first + old_start + index, first + new_start + index, old[old_start + index])
        else:
            yield from _replaced(old[old_start:old_end], new[new_start:new_end], first + old_start, first + new_start)


def _replaced(old: Sequence[str], new: Sequence[str], old_first: int, new_first: int) -> Iterator[DiffRow]:
    """Yield rows of lines that stand in place of others."""
    for index in range(max(len(old), len(new))):
        if index >= len(new):
            yield DiffRow(REMOVED, old=DiffLine(old_first + index + 1, "", _cut(old[index])))
        elif index >= len(old):
            yield DiffRow(ADDED, new=DiffLine(new_first + index + 1, "", _cut(new[index])))
        else:
            yield _changed(old_first + index + 1, _cut(old[index]), new_first + index + 1, _cut(new[index]))


def _changed(old_number: int, old: str, new_number: int, new: str) -> DiffRow:
    start = next((index for index, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), None)
    start = min(len(old), len(new)) if start is None else start
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return DiffRow(
        CHANGED,
        DiffLine(old_number, old[:start], old[start : len(old) - end], old[len(old) - end :]),
        DiffLine(new_number, new[:start], new[start : len(new) - end], new[len(new) - end :]),
    )


def _equal(old_index: int, new_index: int, line: str) -> DiffRow:
    return DiffRow(EQUAL, DiffLine(old_index + 1, _cut(line)), DiffLine(new_index + 1, _cut(line)))


def _without_equal_stretches(rows: Sequence[DiffRow]) -> Iterator[DiffRow]:
    """Yield the rows that differ with some lines around them, and a row for each stretch of others."""
    near = {
        index + distance
        for index, row in enumerate(rows)
        if row.kind != EQUAL
        for distance in range(-CONTEXT_LINES, CONTEXT_LINES + 1)
    }
    skipped = 0
    for index, row in enumerate(rows):
        if index in near:
            if skipped:
                yield DiffRow(SKIPPED, skipped=skipped)
            skipped = 0
            yield row
        else:
            skipped += 1
    if skipped:
        yield DiffRow(SKIPPED, skipped=skipped)


def _cut(line: str) -> str:
    return line if len(line) <= _LINE_CHARACTERS_MAX else line[:_LINE_CHARACTERS_MAX] + CUT
