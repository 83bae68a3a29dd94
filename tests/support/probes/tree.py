"""Messages as text: one line for a struct's plain fields, its nested structs indented beneath.

    error_code=NONE session_id=0
        responses: topic=f
          partitions: partition_index=0 error_code=NONE high_watermark=30

A Node knows no types and no API: names and words only. So what was read from a file and what a server answered are
compared as what a reader sees. A word with blanks, quotes or brackets in it stands in JSON's quotes; `[…]` is a list of
words, `{…}` an expression (records.py), `<…>` the name of something that has another value in every run (names.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

INDENT = "  "
FIRST_INDENT = 2 * INDENT
RUN = 4  # so many that follow each other are shown as "first..last"
NULL = "null"
EMPTY_LIST = "[]"

_WORD = r'"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\{[^}]*\}|<[^>]*>|[^\s"\[{<]\S*'
_FIELD = re.compile(rf"(\w+)=({_WORD})(?:\s+|$)")
_ITEM = re.compile(r'"(?:[^"\\]|\\.)*"|<[^>]*>|[^,\s][^,]*')
_RUN = re.compile(r"(\d+)\.\.(\d+)")
_PLAIN = re.compile(r"[\w./:@*+%~-]+", re.ASCII)
_ROW = re.compile(r"(\s*)(\w+):(?:\s+(.*))?$")


@dataclass
class Node:
    """A struct: its plain fields as words, and the elements of its lists of structs, each with the list's name."""

    fields: dict[str, str] = field(default_factory=dict)
    rows: list[tuple[str, Node]] = field(default_factory=list)

    def lines(self, indent: str = FIRST_INDENT) -> Iterator[str]:
        """The nested structs; the fields are `head()`."""
        for name, row in self.rows:
            yield f"{indent}{name}: {row.head()}".rstrip()
            yield from row.lines(indent + INDENT)

    def head(self) -> str:
        return " ".join(f"{name}={word}" for name, word in self.fields.items())

    def text(self) -> str:
        return "\n".join([self.head(), *self.lines()])


def parse(head: str, lines: Sequence[str]) -> Node:
    """The Node that is written as `head` and, indented, `lines`. ValueError where that is not the notation."""
    root = Node(_fields(head))
    above: list[tuple[int, Node]] = [(-1, root)]
    for line in lines:
        match = _ROW.fullmatch(line)
        if match is None:
            raise ValueError(f"not a row: {line!r}")
        depth = len(match[1])
        while above[-1][0] >= depth:
            above.pop()
        node = Node(_fields(match[3] or ""))
        above[-1][1].rows.append((match[2], node))
        above.append((depth, node))
    return root


def _fields(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    position, text = 0, text.strip()
    while position < len(text):
        match = _FIELD.match(text, position)
        if match is None:
            raise ValueError(f"not a field: {text[position:]!r}")
        found[match[1]] = match[2]
        position = match.end()
    return found


def quoted(text: str) -> str:
    """A string as a word."""
    return text if _PLAIN.fullmatch(text) and text != NULL else json.dumps(text, ensure_ascii=False)


def unquoted(word: str) -> str:
    return json.loads(word) if word.startswith('"') else word


def items(word: str) -> list[str]:
    """The words of a list; `0..3` are four of them."""
    inside = word.removeprefix("[").removesuffix("]").strip()
    found: list[str] = []
    for item in _ITEM.findall(inside):
        run = _RUN.fullmatch(item.strip())
        found += map(str, range(int(run[1]), int(run[2]) + 1)) if run else [item.strip()]
    return found


def listed(words: Sequence[str]) -> str:
    """A list as a word; four or more consecutive numbers are shown by the first and the last."""
    found: list[str] = []
    position = 0
    while position < len(words):
        end = position + 1
        while end < len(words) and words[position].isdigit() and words[end] == str(int(words[end - 1]) + 1):
            end += 1
        run = words[position:end]
        found += [f"{run[0]}..{run[-1]}"] if len(run) >= RUN else run
        position = end
    return f"[{', '.join(found)}]"
