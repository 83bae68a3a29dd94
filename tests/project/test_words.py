"""How docstrings begin: a function's with a verb, a class's and a property's with what it is.

"Return the log of a partition", "The open partitions of a broker". A sentence that begins with "What", "Those" or "As"
has to be read twice.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import source_tree as tree

FILES = tree.python_files(*tree.PRODUCT, "pyspark_barnabas", "pipeline", "scripts", "bench")
NEVER_FIRST = frozenset(
    [
        "what",
        "those",
        "as",
        "nobody",
        "who",
        "whoever",
        "it",
        "somebody",
        "these",
        "that",
        "this",
        "everybody",
        "its",
        "there",
    ]
)
NO_VERBS = NEVER_FIRST | frozenset(
    [
        "the",
        "a",
        "an",
        "whether",
        "one",
        "all",
        "every",
        "each",
        "how",
        "where",
        "when",
        "which",
        "if",
        "in",
        "at",
        "for",
        "of",
        "none",
        "both",
        "any",
        "before",
        "after",
        "between",
        "from",
        "to",
        "with",
        "without",
        "no",
        "not",
        "only",
        "many",
        "some",
        "once",
        "true",
        "false",
        "on",
        "by",
        "so",
        "until",
        "why",
        "bytes",
        "offsets",
        "names",
        "seconds",
        "same",
        "their",
        "whose",
        "everything",
        "nothing",
        "more",
        "most",
        "such",
        "two",
        "three",
        "four",
        "five",
        "several",
        "another",
        "other",
        "is",
        "are",
        "has",
        "done",
        "may",
        "must",
        "they",
        "here",
        "then",
        "now",
        "and",
        "or",
        "but",
        "up",
        "just",
        "likewise",
        "also",
        "called",
        "told",
        "given",
        "asked",
        "made",
        "kept",
    ]
)


def told(path: Path) -> Iterator[tuple[str, bool, str]]:
    """Where each docstring stands, whether it is of a function that is no property, and its first line."""
    for node in ast.walk(tree.syntax(path)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and (
            said := ast.get_docstring(node)
        ):
            is_function = not isinstance(node, ast.ClassDef) and not any(map(_makes_a_property, node.decorator_list))
            yield f"{path}:{node.lineno} {node.name}", is_function, said.partition("\n")[0]


def _makes_a_property(decorator: ast.expr) -> bool:
    names = [
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(decorator)
        if hasattr(node, "ctx") and isinstance(node, (ast.Name, ast.Attribute))
    ]
    return any(name in ("property", "cached_property", "setter", "fixture") for name in names)


@pytest.mark.parametrize("path", FILES, ids=str)
def test_a_docstring_begins_with_what_something_does_or_is(path: Path) -> None:
    wrong = []
    for place, is_function, said in told(path):
        first = said.split()[0]
        word = first.strip("`\"'.,:;()").lower()
        if word in (NO_VERBS if is_function else NEVER_FIRST) or (is_function and not first[0].isupper()):
            wrong.append(f"{place}: {said}")
    assert not wrong
