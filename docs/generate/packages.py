"""The packages of the repository with one line each, as docs/architecture.md shows them.

`python -m docs.generate.packages` writes the table there; a test holds it equal to the packages' docstrings.
"""

import ast
import re
import sys
from pathlib import Path

from tests.support.source_tree import ROOT, syntax, tracked_files

PAGE = ROOT / "docs" / "architecture.md"
PACKAGES = ("broker", "storage", "client", "logfiles", "protocol", "barnabas", "pyspark_barnabas", "pipeline")
_HEAD = "| folder | what it is |\n|---|---|\n"
_TABLE = re.compile(re.escape(_HEAD) + r"(?:\|.*\n)*")


def table() -> str:
    """A row for each package: its folder, and the first sentence of its docstring."""
    inits = [path for path in tracked_files() if path.name == "__init__.py" and path.parts[0] in PACKAGES]
    inits.sort(key=lambda path: (PACKAGES.index(path.parts[0]), path.parent.parts))
    return _HEAD + "".join(f"| `{path.parent.as_posix()}/` | {_first_sentence(path)} |\n" for path in inits)


def written_table() -> str:
    """The table as the page has it."""
    found = _TABLE.search(PAGE.read_text(encoding="utf-8"))
    return "" if found is None else found.group()


def _first_sentence(path: Path) -> str:
    text = (ast.get_docstring(syntax(path)) or "").partition("\n\n")[0].replace("\n", " ")
    return re.split(r"(?<=\.) ", text)[0]


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    sys.exit(None if PAGE.write_text(_TABLE.sub(lambda _: table(), text), encoding="utf-8") else "nothing written")
