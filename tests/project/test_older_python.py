"""What runs in Spark's Pythons keeps to Python 3.10: its grammar, and the names that its library has (decision 0161).

A Python 3.10 reads the sources and looks each name up; nothing of ours is imported, so it needs no package.
"""

import subprocess
from pathlib import Path

from tests.support.missing import python_of
from tests.support.source_tree import ROOT

PACKAGES = ("client", "logfiles", "protocol", "pyspark_barnabas")
EXCEPTIONS = {ROOT / "protocol/older_python.py", ROOT / "protocol/records/zstd_frames.py"}  # they ask for the version
LOOK = ROOT / "tests/support/newer_names.py"


def _look(*files: Path) -> list[str]:
    done = subprocess.run([python_of("3.10"), LOOK, *files], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.splitlines()


def test_a_newer_name_and_newer_grammar_are_found(tmp_path: Path) -> None:
    text = "import asyncio\nfrom typing import Self\nimport tomllib\nasyncio.timeout(1)\nasyncio.sleep(1)\n"
    (tmp_path / "newer.py").write_text(text, encoding="utf-8")
    (tmp_path / "grammar.py").write_text("try:\n    pass\nexcept* ValueError:\n    pass\n", encoding="utf-8")
    *names, grammar = _look(tmp_path / "newer.py", tmp_path / "grammar.py")
    assert {line.rpartition(": ")[2] for line in names} == {"asyncio.timeout", "tomllib", "typing.Self"}
    assert grammar.startswith(f"{tmp_path}/grammar.py:3: ")


def test_what_spark_runs_keeps_to_python_3_10() -> None:
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    assert len(files) > 200
    assert _look(*(file for file in files if file not in EXCEPTIONS)) == []
