"""The tree of `pyspark-barnabas`, and the file for executors: the same bytes from the same sources, and whole."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas import form
from scripts._spark_tree import COPIED, modules, rewritten
from tests.support.processes.server import ROOT

PROGRAM = """
import pkgutil, sys
sys.path.insert(0, sys.argv[1])
assert "pyspark_barnabas" in {each.name for each in pkgutil.iter_modules()}  # as Spark looks for it
import pyspark_barnabas._barnabas.client.produce.producer
import pyspark_barnabas.options, pyspark_barnabas.spark_sink.wheels, pyspark_barnabas.sink.driver
from pyspark_barnabas._barnabas.protocol.records import crc32c
assert not crc32c.IS_NATIVE
assert crc32c.crc32c(b"123456789") == 0xE3069283
for _ in range(2):
    pyspark_barnabas.spark_sink.wheels.say_once_what_is_missing()
assert "barnabas" not in sys.modules
print(pyspark_barnabas.__file__)
"""


def _package(target: Path) -> Path:
    subprocess.run([sys.executable, ROOT / "scripts/_package_spark.py", target], check=True, capture_output=True)
    return target


def test_the_same_sources_give_the_same_file(tmp_path: Path) -> None:
    assert _package(tmp_path / "one.zip").read_bytes() == _package(tmp_path / "two.zip").read_bytes()


def test_it_runs_where_nothing_is_installed_and_says_once_what_is_missing(tmp_path: Path) -> None:
    packed = _package(tmp_path / "barnabas-spark.zip")
    command = [sys.executable, "-I", "-S", "-c", PROGRAM, str(packed)]
    environment = {**os.environ, form.VARIABLE: form.PURE}  # the file has no other
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert str(packed) in done.stdout
    assert done.stderr.count("crc32c is not installed") == 1
    missing = ["snappy", "lz4", *(["zstd"] if sys.version_info < (3, 14) else [])]  # which has zstd itself
    assert f"not installed: {', '.join(missing)}\n" in done.stderr


@pytest.mark.parametrize(
    ("source", "copied"),
    [
        ("from barnabas.client.client import Client", "from pyspark_barnabas._barnabas.client.client import Client"),
        ("import barnabas.protocol.registry as it", "import pyspark_barnabas._barnabas.protocol.registry as it"),
        ('import_module(f"barnabas.protocol.{x}")', 'import_module(f"pyspark_barnabas._barnabas.protocol.{x}")'),
        ('if __name__ != "barnabas.logfiles":', 'if __name__ != "pyspark_barnabas._barnabas.logfiles":'),
        (
            "from pyspark_barnabas.cluster.clients import client_for",
            "from pyspark_barnabas.cluster.clients import client_for",
        ),
        ('"barnabas.kept.property"', '"barnabas.kept.property"'),
        ("from barnabas.clients import x", "from barnabas.clients import x"),
        ("its.barnabas.client", "its.barnabas.client"),
        ('format("barnabas")', 'format("barnabas")'),
    ],
)
def test_names_of_copied_packages_change_and_no_others(source: str, copied: str) -> None:
    assert rewritten(source) == copied
    assert rewritten(copied) == copied


def test_nothing_in_the_tree_requests_a_package_that_is_not_copied() -> None:
    imported = {name for content in modules(ROOT).values() for name in _imported(content.decode())}
    assert "pyspark_barnabas._barnabas.client.client" in imported
    assert not {name for name in imported if name.partition(".")[0] in ("barnabas", "pipeline", *COPIED)}


def _imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            yield node.module or ""
