"""Where two answers differ, field by field."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from tests.support.probes.page import Answer
from tests.support.probes.tree import Node

MISSING = "–"  # not shown: a default, or a missing row
# The fields that identify a row: the first of these that it has.
_IDENTITIES = (
    *("name", "topic", "topic_id", "group_id", "member_id", "api_key", "key", "transactional_id", "producer_id"),
    *("partition_index", "index", "partition", "resource_name", "node_id", "offsets", "cut"),
    *("topic_name", "partition_id", "replica_id", "first_offset"),
)


class Difference(NamedTuple):
    """One field, and what stands there in either answer. `label`: that of the answer."""

    label: int | str | None
    field: str
    kafkas: str
    ours: str


def differences(kafkas: list[Answer], ours: list[Answer]) -> Iterator[Difference]:
    """Of the answers to one step."""
    for theirs, own in _pairs(kafkas, ours):
        found = theirs or own
        label = found.label if found else None
        if theirs and own and isinstance(theirs.content, Node) and isinstance(own.content, Node):
            for field, one, other in _fields(theirs.content, own.content, ""):
                yield Difference(label, field, one, other)
        elif theirs is None or own is None or theirs.content != own.content:
            yield Difference(label, "answer", _sketch(theirs), _sketch(own))


def _pairs(kafkas: list[Answer], ours: list[Answer]) -> Iterator[tuple[Answer | None, Answer | None]]:
    """In their order, or by user."""
    if not any(isinstance(answer.label, str) for answer in (*kafkas, *ours)):
        yield from zip_longest(kafkas, ours)
        return
    theirs, own = ({answer.label: answer for answer in answers} for answers in (kafkas, ours))
    for label in dict.fromkeys([*theirs, *own]):
        yield theirs.get(label), own.get(label)


def _sketch(answer: Answer | None) -> str:
    if answer is None:
        return MISSING
    return answer.content if isinstance(answer.content, str) else answer.content.head() or "an answer"


def _fields(kafkas: Node, ours: Node, prefix: str) -> Iterator[tuple[str, str, str]]:
    code = next((name for name in kafkas.fields if name.endswith("error_code")), "")
    if kafkas.fields.get(code) != ours.fields.get(code):
        yield prefix + code, kafkas.fields[code], ours.fields.get(code, MISSING)
        return  # the rest follows from it
    for name in dict.fromkeys([*kafkas.fields, *ours.fields]):
        one, other = kafkas.fields.get(name, MISSING), ours.fields.get(name, MISSING)
        if one != other:
            yield prefix + name, one, other
    for name in dict.fromkeys(name for name, _ in [*kafkas.rows, *ours.rows]):
        yield from _rows(_named(kafkas, name), _named(ours, name), prefix + name)


def _rows(kafkas: dict[str, Node], ours: dict[str, Node], place: str) -> Iterator[tuple[str, str, str]]:
    """Rows that only one of them has are shown together, and so are rows in another order."""
    lonely = [name for name in kafkas if name not in ours], [name for name in ours if name not in kafkas]
    if any(lonely):
        yield place, ", ".join(lonely[0]) or MISSING, ", ".join(lonely[1]) or MISSING
    elif kafkas == ours and list(kafkas) != list(ours):
        yield place, ", ".join(kafkas), ", ".join(ours)
    for name in [name for name in kafkas if name in ours]:
        yield from _fields(kafkas[name], ours[name], f"{place}[{name}]." if name else f"{place}.")


def _named(node: Node, name: str) -> dict[str, Node]:
    """The rows of one list by their identifying field."""
    found: dict[str, Node] = {}
    for each, row in node.rows:
        if each == name:
            identity = next((row.fields[key] for key in _IDENTITIES if key in row.fields), "")
            while identity in found:
                identity += " again"
            found[identity] = row
    return found
