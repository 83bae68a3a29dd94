"""The modules of the distribution `pyspark-barnabas`, and of the one file for executors: scripts/_spark_wheel.py and
scripts/_package_spark.py put this tree into a wheel and a zip.

It is `pyspark_barnabas` with copies of the packages that it needs inside, under a private name. So it needs no
other distribution and shares no file with `barnabas`, of whatever release that is (decision 0161). In the repository
there is one copy, and `pyspark_barnabas` imports `barnabas.client`.
"""

from __future__ import annotations

import re
from pathlib import Path

COPIED = ("client", "logfiles", "protocol")
"""Of `barnabas`; importing any of them imports nothing else of it."""
HOME = "pyspark_barnabas._barnabas"
_HOME_DOCSTRING = (
    '"""Copies of {} of `barnabas`, of the same release, for this package alone: do not import anything here by'
    ' others."""\n'
)
_OURS = re.compile(rf"(?<![\w.])barnabas\.(?=(?:{'|'.join(COPIED)})\b)")


def rewritten(source: str) -> str:
    """Replace every dotted name of a copied package in a module's source by its new one.

    That is in imports, in names that are strings (import_module, __name__), and in prose, which is then true as well.
    """
    return _OURS.sub(f"{HOME}.", source)


def modules(root: Path) -> dict[str, bytes]:
    """Return the content of each file of the tree, by its path in there, sorted. root: of the repository."""
    home = HOME.replace(".", "/")
    sources = {f"{home}/{package}": root / package for package in COPIED} | {
        "pyspark_barnabas": root / "pyspark_barnabas"
    }
    tree = {f"{home}/__init__.py": _HOME_DOCSTRING.format(", ".join(COPIED)).encode()}
    for place, directory in sources.items():
        for file in directory.rglob("*.py"):
            path = f"{place}/{file.relative_to(directory).as_posix()}"
            tree[path] = rewritten(file.read_text(encoding="utf-8")).encode()
    return dict(sorted(tree.items()))
