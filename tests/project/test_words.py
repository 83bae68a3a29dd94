"""How docstrings begin: a function's with a verb, a class's and a property's with what it is.

"Return the log of a partition", "The open partitions of a broker". A sentence that begins with "What", "Those" or "As"
has to be read twice. So has a class whose name means something else in another module. Ruff's D401 finds "Returns" and
"The", but of the words below only a few, and it does not look at classes.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import source_tree as tree

FILES = tree.python_files(*tree.PRODUCT, "pyspark_barnabas", "pipeline", "scripts", "bench")
SCHEMAS = (Path("protocol/messages"), Path("protocol/log_records"))
"""Folders of Kafka's own names: structures of different messages are called the same."""
NEVER_FIRST = re.compile("as|everybody|it|its|nobody|somebody|that|there|these|this|those|what|who|whoever")
NO_VERB = re.compile(
    "after|all|also|and|another|any|are|asked|at|before|between|both|but|by|bytes|done|each|"
    "every|everything|five|for|four|from|given|has|how|if|in|is|just|kept|likewise|made|many|"
    "may|more|most|must|names|no|none|not|nothing|now|of|offsets|on|once|one|only|or|other|"
    "seconds|several|so|such|their|then|they|three|to|told|two|until|up|when|where|whether|which|"
    "whose|why|with|without"
)
PROPERTIES = ("property", "cached_property", "setter", "fixture")


def docstrings(path: Path) -> Iterator[tuple[str, bool, str]]:
    """Yield the place of each docstring, whether it is of a function that is no property, and its first line."""
    for node in ast.walk(tree.syntax(path)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and (
            text := ast.get_docstring(node)
        ):
            decorators = {ast.unparse(each).partition("(")[0].rpartition(".")[2] for each in node.decorator_list}
            is_function = not isinstance(node, ast.ClassDef) and decorators.isdisjoint(PROPERTIES)
            yield f"{path}:{node.lineno} {node.name}", is_function, text.partition("\n")[0]


@pytest.mark.parametrize("path", FILES, ids=str)
def test_a_docstring_begins_with_what_something_does_or_is(path: Path) -> None:
    wrong = []
    for place, is_function, line in docstrings(path):
        first = line.split()[0]
        word = first.strip("`\"'.,:;()").lower()
        is_no_verb = is_function and (NO_VERB.fullmatch(word) or not first[0].isupper())
        if is_no_verb or NEVER_FIRST.fullmatch(word):
            wrong.append(f"{place}: {line}")
    assert not wrong


def test_a_public_class_name_means_one_thing() -> None:
    modules: dict[str, list[str]] = defaultdict(list)
    for path in tree.python_files(*tree.PRODUCT, "pyspark_barnabas", "pipeline"):
        if not any(path.is_relative_to(folder) for folder in SCHEMAS):
            for node in tree.syntax(path).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    modules[node.name].append(str(path))
    assert {name: paths for name, paths in modules.items() if len(paths) > 1} == {}
