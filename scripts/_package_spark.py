"""What scripts/package_spark runs: pyspark_barnabas and what it stands on, as one file that Spark sends to executors.

Only modules go in, with one date for all: the same sources always give the same bytes. Needs no environment of its own.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("barnabas/client", "barnabas/logfiles", "barnabas/protocol", "pyspark_barnabas")
_DATE = (1980, 1, 1, 0, 0, 0)  # the first that a zip file can tell


def package(target: Path) -> int:
    """Write the file, and return how many modules are in it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    modules = [each for name in PACKAGES for each in (ROOT / name).rglob("*.py")]
    sources = sorted([ROOT / "barnabas/__init__.py", ROOT / "barnabas/form.py", *modules])
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for source in sources:
            entry = zipfile.ZipInfo(source.relative_to(ROOT).as_posix(), _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, source.read_bytes())
    return len(sources)


def main() -> int:
    """The command line: one argument, the file."""
    target = Path(sys.argv[1])
    count = package(target)
    print(f"{target}: {count} modules, {target.stat().st_size // 1024} KiB. spark-submit --py-files {target} …")
    return 0


if __name__ == "__main__":
    sys.exit(main())
