"""The line of a field in a YAML or JSON document, for an error about it. Reads the document again, so only then.

A path is a sequence of names of fields and of numbers in lists: ("topics", 0, "name").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from barnabas.broker.runtime.garbage_collection import collections_paused

if TYPE_CHECKING:
    import yaml

Path = tuple[str | int, ...]


def path_text(path: Path) -> str:
    """Return the path as in `topics[0].name`."""
    return "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in path).lstrip(".")


def line_of(text: str, path: Path) -> int | None:
    """Return the number of the line, from 1, in which the field begins, or what there is of its path.

    None if the text cannot be read as YAML. JSON can, once its tabs are blanks.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        with collections_paused():
            node = yaml.compose(text.replace("\t", " "), Loader=loader)
    except yaml.YAMLError:
        return None
    *_, line = (0, *_lines(node, path))
    return line + 1


def _lines(node: yaml.Node | None, path: Sequence[str | int]) -> Iterator[int]:
    """Yield the line of each node on the way."""
    if node is None:
        return
    yield node.start_mark.line
    for step in path:
        found = _child(node, step)
        if found is None:
            return
        mark, node = found
        yield mark.line


def _child(node: yaml.Node, step: str | int) -> tuple[yaml.Mark, yaml.Node] | None:
    import yaml

    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        item = node.value[step]
        return item.start_mark, item
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == step:
                return key.start_mark, value
    return None
