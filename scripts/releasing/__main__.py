"""The program of scripts/release: the files of a release of `barnabas` and `pyspark-barnabas`, each of them tried.

Invariant: the directory appears at the end, and whole: every file in it has passed all checks. Runs in .venv-release.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from scripts.releasing import building, describing, proving
from scripts.releasing.process import ROOT, NoRelease, run
from scripts.releasing.refusing import refuse


def main(arguments: Sequence[str]) -> int:
    """Run the command line."""
    options = _parse(arguments)
    try:
        print(_release(options), end="")
    except NoRelease as reason:
        print(f"barnabas: {reason}", file=sys.stderr)
        return 1
    return 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/release", description="Build and check the files of a release.")
    parser.add_argument("directory", nargs="?", type=Path, help="where they go; default dist/VERSION")
    parser.add_argument("--tag", default="", help="the tag that is released: it must fit the version and the changelog")
    parser.add_argument("--pure", action="store_true", help="no compiled wheel, and so no C compiler")
    return parser.parse_args(arguments)


def _release(options: argparse.Namespace) -> str:
    """Make the release, and return its checksums."""
    version = building.version(ROOT)
    refuse(version, (ROOT / "CHANGELOG.md").read_text("utf-8"), options.tag, run("git", "status", "--porcelain"))
    target = (options.directory or ROOT / "dist" / version).resolve()
    if target.exists():
        raise NoRelease(f"{target} is there already; remove it, or name another directory")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="barnabas-release-") as scratch:
        files = building.build(Path(scratch), compiled=not options.pure)
        proving.check_metadata(files)
        homes = proving.serve(files, Path(scratch))
        describing.write_bills(files, homes)
        checksums = describing.write_checksums(files.directory)
        shutil.move(files.directory, target)
    return checksums


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
