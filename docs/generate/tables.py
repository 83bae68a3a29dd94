"""Puts a generated table into a page that is written by hand."""

import re
from collections.abc import Iterable


def replaced(page: str, head: str, rows: Iterable[str]) -> str:
    """Return the page with these rows in the one table that has the head.

    `head` is the line of the titles and the line below it, each with its end. ValueError if the page has no such table,
    or several.
    """
    table = re.compile(re.escape(head) + r"(?:\|.*\n)*")
    if len(table.findall(page)) != 1:
        raise ValueError(f"the page has no table, or several, with the head {head!r}")
    return table.sub(lambda _: head + "".join(f"{row}\n" for row in rows), page)
