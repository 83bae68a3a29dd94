"""The program of scripts/package_spark: packs `pyspark-barnabas` as one file that Spark sends to executors.

Nothing else goes in, with one date for all: the same sources give the same bytes. Needs no environment of its own.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # which Python does not do for a program in a folder
from scripts._spark_tree import modules  # noqa: E402  # because the line above has to come first

_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip file can store


def package(target: Path) -> int:
    """Write the file, and return how many modules are in it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    tree = modules(ROOT)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in tree.items():
            entry = zipfile.ZipInfo(path, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return len(tree)


def main() -> int:
    """Run the command line: one argument, the file."""
    target = Path(sys.argv[1])
    count = package(target)
    print(f"{target}: {count} modules, {target.stat().st_size // 1024} KiB. spark-submit --py-files {target} …")
    return 0


if __name__ == "__main__":
    sys.exit(main())
