"""The file for executors: the same bytes from the same sources, with all that is imported, and none of it from here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from barnabas import form
from tests.support.processes.server import ROOT

PROGRAM = """
import pkgutil, sys
sys.path.insert(0, sys.argv[1])
assert "pyspark_barnabas" in {each.name for each in pkgutil.iter_modules()}  # as Spark looks for it
import barnabas.client.produce.producer
import pyspark_barnabas.options, pyspark_barnabas.spark_sink.wheels, pyspark_barnabas.sink.driver
from barnabas.protocol.records import crc32c
assert not crc32c.IS_NATIVE
assert crc32c.crc32c(b"123456789") == 0xE3069283
for _ in range(2):
    pyspark_barnabas.spark_sink.wheels.say_once_what_is_missing()
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
    assert "snappy, lz4, zstd" in done.stderr
