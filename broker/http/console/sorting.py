"""The order of a long table, by the parameter `sort`: a column, with `-` before it from the largest on. Pure.

The headings are links, so it works without scripts. Rows without a value in the column come last in both orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from barnabas.broker.http.console.params import Refused, RequestParams
from barnabas.broker.http.console.rendering import url

T = TypeVar("T")
Keys = Mapping[str, Callable[[T], Any]]
"""Column -> the value by which a row is sorted; None for none."""


class Sorting(NamedTuple):
    """The order of the table at `path`, and the other parameters of the page. column: empty for its usual order."""

    path: str
    query: Mapping[str, str]
    column: str
    is_descending: bool

    @property
    def word(self) -> str:
        """The parameter."""
        return f"-{self.column}" if self.is_descending else self.column

    def href(self, column: str, is_number: bool) -> str:
        """Return the address of the table sorted by a column: numbers the largest first, and again in reverse."""
        descending = not self.is_descending if column == self.column else is_number
        return url(self.path, **self.query, sort=f"-{column}" if descending else column)

    def applied(self, rows: Iterable[T], keys: Keys[T]) -> list[T]:
        """Return the rows in this order; as they are, if no column was chosen."""
        if not self.column:
            return list(rows)
        key = keys[self.column]
        keyed = [(key(row), row) for row in rows]
        present = [each for each in keyed if each[0] is not None]
        present.sort(key=lambda each: each[0], reverse=self.is_descending)
        return [row for _, row in present] + [row for value, row in keyed if value is None]


def sorting_of(params: RequestParams, path: str, columns: Iterable[str], **query: str) -> Sorting:
    """Return the order that the page is opened with. Raise Refused for an unknown column."""
    word = params.word("sort")
    column = word.removeprefix("-")
    known = list(columns)
    if column not in ("", *known):
        raise Refused(f"sort is one of {', '.join(known)}, or one of them with - before it")
    return Sorting(path, query, column, bool(column) and word.startswith("-"))
