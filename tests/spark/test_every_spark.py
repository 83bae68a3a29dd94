"""One program on every Spark that docs/spark-versions.md names, with what each of them can do.

Only `--long` runs it: with the locked release the tests beside this one do all of it, and more. The other releases get
environments of their own, made with pip by exact versions, and the wheel `pyspark-barnabas` as a user installs it.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from pyspark_barnabas.options import OptionError
from pyspark_barnabas.source.readers.stream_reader import StreamReader
from pyspark_barnabas.source.row_schema import row_schema
from tests.spark.programs.every_spark import COUNT, MOMENT, Work, outcomes
from tests.support.clients import topics
from tests.support.missing import python_of
from tests.support.processes.server import ROOT, Server
from tests.support.spark.cluster import QUICK_JVM
from tests.support.waiting import PATIENCE_S

WHOLE = {
    "for_each_batch": COUNT,
    "batch_write": COUNT,
    "batch_read": [[MOMENT, "from", sum(range(COUNT))]],
    "stream_write": COUNT,
    "stream_read": [COUNT, 50, 50],
    "limited_stream_read": [COUNT, True],
    "files": COUNT,
}
NO_LIMITS = {"limited_stream_read": "maxOffsetsPerTrigger and minOffsetsPerTrigger need Spark 4.2"}
ONLY_FOR_EACH_BATCH = dict.fromkeys(WHOLE, "DATA_SOURCE_NOT_FOUND") | {"for_each_batch": COUNT}
CODECS = ("crc32c", "cramjam", "xxhash", "zstandard")


class Release(NamedTuple):
    """A release of Spark, the Python that it is tried with, and what it does not do as the newest does."""

    spark: str
    python: str
    differs: dict[str, Any]
    numpy: str = "numpy"


RELEASES = (
    Release("3.5.9", "3.10", ONLY_FOR_EACH_BATCH, numpy="numpy<2"),
    Release("4.0.5", "3.10", NO_LIMITS),
    Release("4.1.4", "3.10", NO_LIMITS),
    Release("4.2.1", "3.11", {}),
    Release("4.3.0", "3.11", {}),
)


@pytest.mark.parametrize("limit", ["maxOffsetsPerTrigger", "minOffsetsPerTrigger"])
def test_the_reader_for_spark_4_0_refuses_limits(limit: str) -> None:
    options = {"kafka.bootstrap.servers": "127.0.0.1:9092", "subscribe": "numbers", limit: "100"}
    with pytest.raises(OptionError, match=r"need Spark 4\.2"):
        StreamReader(options, row_schema(options))


def test_the_reader_for_spark_4_0_reads_to_where_the_topic_ends(server: Server) -> None:
    topics.create(server.address, "older", 1)
    options = {"kafka.bootstrap.servers": server.address, "subscribe": "older", "startingOffsets": "earliest"}
    reader = StreamReader(options, row_schema(options))
    begin = reader.initialOffset()
    for count in (10, 5):
        topics.send(server.address, "older", (b"%d" % n for n in range(count)))
        end = reader.latestOffset()
        (part,) = reader.partitions(begin, end)
        assert sum(batch.num_rows for batch in reader.read(part)) == count
        begin = end
    reader.stop()


def test_the_reader_for_spark_4_0_begins_at_the_end_that_spark_requests_first(server: Server) -> None:
    topics.create(server.address, "first-end", 1)
    topics.send(server.address, "first-end", (b"%d" % n for n in range(5)))
    options = {"kafka.bootstrap.servers": server.address, "subscribe": "first-end", "startingOffsets": "latest"}
    reader = StreamReader(options, row_schema(options))
    end = reader.latestOffset()
    topics.send(server.address, "first-end", (b"%d" % n for n in range(3)))
    assert reader.partitions(reader.initialOffset(), end) == []
    second = reader.latestOffset()
    (part,) = reader.partitions(end, second)
    assert sum(batch.num_rows for batch in reader.read(part)) == 3
    reader.stop()


def test_the_reader_for_spark_4_0_tells_one_end_while_nothing_comes(server: Server) -> None:
    """Spark compares the texts of ends, and another one would be a batch without records."""
    topics.create(server.address, "one-end", 1)
    options = {"kafka.bootstrap.servers": server.address, "subscribe": "one-end", "startingOffsets": "latest"}
    reader = StreamReader(options, row_schema(options))
    end = reader.latestOffset()
    reader.initialOffset()
    assert reader.latestOffset() == end
    reader.stop()


@pytest.mark.long
def test_the_locked_spark_does_everything(spark: SparkSession, server: Server, tmp_path: Path) -> None:
    assert outcomes(Work(spark, server.address, str(server.data_dir), "locked", tmp_path)) == WHOLE


@pytest.mark.long
@pytest.mark.parametrize("release", RELEASES, ids=lambda each: each.spark)
def test_every_spark_does_what_the_page_says(release: Release, server: Server, tmp_path: Path) -> None:
    python = _environment(release)
    packages = tmp_path / "packages"
    _install(python, "--no-deps", "--target", str(packages), str(ROOT / "pyspark_barnabas"))
    (tmp_path / "work").mkdir()
    program = str(ROOT / "tests/spark/programs/every_spark.py")
    environment = os.environ | {
        "PYTHONPATH": str(packages),
        "PYSPARK_PYTHON": str(python),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JDK_JAVA_OPTIONS": QUICK_JVM,
    }
    environment.pop("SPARK_HOME", None)
    done = subprocess.run(
        [python, program, server.address, str(server.data_dir), release.spark, str(tmp_path / "work")],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr[-8000:]
    found = json.loads(done.stdout.splitlines()[-1])
    for piece, expected in (WHOLE | release.differs).items():
        if piece in release.differs and isinstance(expected, str):
            assert expected in found[piece], piece
        else:
            assert found[piece] == expected, piece


def _environment(release: Release) -> Path:
    """Its interpreter. The directory is kept from run to run; it is whole once its stamp is there."""
    directory = ROOT / f".venv-spark-{release.spark.rpartition('.')[0]}"
    python, stamp = directory / "bin" / "python", directory / f".ready-{release.spark}"
    if not stamp.exists():
        shutil.rmtree(directory, ignore_errors=True)
        subprocess.run([python_of(release.python), "-m", "venv", directory], check=True)
        _install(python, "wheel", "setuptools<80")  # Spark comes as sources
        wanted = [f"pyspark[sql]=={release.spark}", "pandas>=2.2,<3", release.numpy, "pyarrow", *CODECS]
        _install(python, "--no-build-isolation", *wanted)
        stamp.touch()
    return python


def _install(python: Path, *what: str) -> None:
    subprocess.run([python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", *what], check=True)
