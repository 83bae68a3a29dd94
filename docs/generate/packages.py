"""The packages of the repository with one line each, in docs/architecture.md."""

import ast
import re
from pathlib import Path

from docs.generate.tables import replaced
from tests.support.source_tree import syntax, tracked_files

_PACKAGES = (
    "broker",
    "storage",
    "client",
    "logfiles",
    "registry",
    "protocol",
    "barnabas",
    "pyspark_barnabas",
    "pipeline",
)
_HEAD = "| folder | what it is |\n|---|---|\n"


def page(written: str) -> str:
    """Return the page with a row for each package: its folder, and the first sentence of its docstring."""
    inits = [path for path in tracked_files() if path.name == "__init__.py" and path.parts[0] in _PACKAGES]
    inits.sort(key=lambda path: (_PACKAGES.index(path.parts[0]), path.parent.parts))
    return replaced(written, _HEAD, (f"| `{path.parent.as_posix()}/` | {_first_sentence(path)} |" for path in inits))


def _first_sentence(path: Path) -> str:
    text = (ast.get_docstring(syntax(path)) or "").partition("\n\n")[0].replace("\n", " ")
    return re.split(r"(?<=\.) ", text)[0]
