"""The sink and the source on a cluster, installed or as one file, and over Spark Connect."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.clients import topics
from tests.support.processes.server import ROOT, Server
from tests.support.spark.cluster import QUICK_JVM, bare_environment, standalone, submit
from tests.support.waiting import PATIENCE_S

PROGRAMS = Path(__file__).parent / "programs"
COUNT = 300
TIMEOUT_MS = 900_000  # what the broker allows
EXECUTORS_HAVE = ["pyspark", "py4j", "pyarrow", "numpy", "pandas", "dateutil", "python_dateutil", "pytz", "six"]
EXPECTED = [*range(COUNT), *range(1000, 1100)]


@pytest.fixture
def source(server: Server, request: pytest.FixtureRequest) -> str:
    """A topic of numbers, named after the test; its copy's name ends in -copy."""
    name: str = request.node.name.removeprefix("test_")
    for topic in (name, f"{name}-copy", f"{name}-copy-counts"):
        topics.create(server.address, topic, 3)
    topics.send(server.address, name, (b"%d" % n for n in range(COUNT)))
    return name


def _packed(directory: Path) -> Path:
    target = directory / "barnabas-spark.zip"
    environment = os.environ | {"PYTHON": sys.executable}
    subprocess.run([ROOT / "scripts/package_spark", target], check=True, capture_output=True, env=environment)
    return target


def _copy(server: Server, source: str, tmp_path: Path, master: str, **how: object) -> str:
    arguments = [server.address, source, f"{source}-copy", str(tmp_path / "checkpoint")]
    return submit(PROGRAMS / "copy_numbers.py", *arguments, master=master, **how)  # type: ignore[arg-type]  # because it only passes them on


@pytest.mark.long
def test_over_connect_streams_writes_and_updates_are_exact(server: Server, source: str, tmp_path: Path) -> None:
    command = [sys.executable, str(PROGRAMS / "over_connect.py"), server.address, source, f"{source}-copy"]
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JDK_JAVA_OPTIONS": QUICK_JVM,
    }
    done = subprocess.run(
        [*command, str(tmp_path)], capture_output=True, text=True, timeout=PATIENCE_S, check=False, env=environment
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]
    assert topics.numbers(server.address, f"{source}-copy") == EXPECTED
    assert topics.numbers(server.address, f"{source}-copy-counts") == [100, 100, 100]


def test_spark_needs_none_of_the_brokers_own_packages(server: Server, source: str, tmp_path: Path) -> None:
    codecs = ["crc32c", "cramjam", "xxhash", "zstandard"]
    bare = bare_environment(tmp_path / "bare", [*EXECUTORS_HAVE, *codecs])
    for name in ("uvloop", "prometheus_client", "h11", "re2"):
        assert subprocess.run([bare, "-c", f"import {name}"], capture_output=True, check=False).returncode == 1
    said = _copy(server, source, tmp_path, "local[2]", python=bare, packed=_packed(tmp_path))
    assert topics.numbers(server.address, f"{source}-copy") == EXPECTED
    for line in (  # in the driver's log, without a line of logging in the program
        rf"INFO pyspark_barnabas: query [^:]+ writes under the prefix '(\S+)', ledger __\1\.ledger, .*{TIMEOUT_MS} ms",
        rf"INFO pyspark_barnabas: batch 0 of query \S+: {COUNT} rows, \d+ bytes, 3 partitions; prepare \d+ ms, commit",
        r"INFO pyspark_barnabas: batch 0 of query write:\S+: 100 rows",
    ):
        assert len(re.findall(line, said)) == 1, said


@pytest.mark.long
def test_executors_without_wheels_run_from_one_file(server: Server, source: str, tmp_path: Path) -> None:
    bare = bare_environment(tmp_path / "bare", EXECUTORS_HAVE)
    _copy(server, source, tmp_path, "local-cluster[2,1,1024]", python=bare, packed=_packed(tmp_path))
    assert topics.numbers(server.address, f"{source}-copy") == EXPECTED


@pytest.mark.long
def test_a_standalone_cluster_runs_what_is_installed(server: Server, source: str, tmp_path: Path) -> None:
    with standalone(tmp_path / "work") as master:
        _copy(server, source, tmp_path, master)
    assert topics.numbers(server.address, f"{source}-copy") == EXPECTED


@pytest.mark.long
def test_a_standalone_cluster_runs_from_one_file_and_says_once_what_is_missing(
    server: Server, source: str, tmp_path: Path
) -> None:
    bare = bare_environment(tmp_path / "bare", EXECUTORS_HAVE)
    packed = _packed(tmp_path)
    with standalone(tmp_path / "work") as master:
        _copy(server, source, tmp_path, master, python=bare, packed=packed)
    assert topics.numbers(server.address, f"{source}-copy") == EXPECTED
    said = "".join(path.read_text() for path in (tmp_path / "work").glob("*/*/stderr"))
    assert "crc32c is not installed" in said
    assert said.count("crc32c is not installed") < 10  # the tasks: a worker says it once, however many it runs
