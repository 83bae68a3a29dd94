"""Spark as processes on this machine, from the pip package: a standalone master with a worker, and spark-submit."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyspark

from barnabas import form
from tests.support.clients.class_archives import archive, archive_options
from tests.support.processes.server import Lines
from tests.support.waiting import PATIENCE_S

SPARK_HOME = Path(pyspark.__file__).parent
_PACKAGES = SPARK_HOME.parent
_QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
QUICK_JVM = " ".join((*_QUICK, *archive_options(SPARK_HOME / "jars")))
"""JDK_JAVA_OPTIONS of a JVM that starts fast and leaves the machine's few cores to the others."""
_LOCAL = {"SPARK_LOCAL_IP": "127.0.0.1", "JDK_JAVA_OPTIONS": QUICK_JVM}

_A_SESSION = """
from pyspark import SparkContext
from pyspark.sql import SparkSession

session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
assert session.range(9).selectExpr("CAST(id AS STRING)").count() == 9
gateway = SparkContext._gateway
session.stop()
gateway.shutdown()
gateway.proc.stdin.close()
gateway.proc.wait()
"""


def prepare() -> None:
    """Have an archive of the classes that Spark loads."""

    def load(recording: tuple[str, ...]) -> None:
        options = {"JDK_JAVA_OPTIONS": " ".join((*_QUICK, *recording))}
        program = [sys.executable, "-c", _A_SESSION]
        done = subprocess.run(program, env={**_environment(), **options}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    archive(SPARK_HOME / "jars", load)


def bare_environment(directory: Path, packages: Sequence[str]) -> Path:
    """The interpreter of an environment that has these of this one's packages, and no other."""
    venv.create(directory, with_pip=False, symlinks=True)
    (site,) = directory.glob("lib/python*/site-packages")
    for package in packages:
        for found in _PACKAGES.glob(f"{package}*"):
            (site / found.name).symlink_to(found)
    return directory / "bin" / "python"


def submit(
    program: Path,
    *arguments: str,
    master: str,
    python: str | Path = sys.executable,
    packed: Path | None = None,
    timeout_s: float = PATIENCE_S,
) -> str:
    """Run a program through spark-submit with `python` on all sides; returns the output of both.

    packed: a file of modules for the executors, which the driver's own workers get by PYTHONPATH, as docs say. It has
    the pure form, whichever the tests demand.
    """
    conf = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
    }
    named = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    flags = [] if packed is None else ["--py-files", str(packed)]
    environment = {**_environment(), "PYSPARK_PYTHON": str(python)}  # no setting gives it to the planner of sources
    if packed is not None:
        environment |= {"PYTHONPATH": str(packed), form.VARIABLE: form.PURE}
    command = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", master, *named, *flags, str(program), *arguments]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=timeout_s, check=False, cwd=program.parent
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, f"{command} failed:\n{output[:12_000]}\n[…]\n{output[-4_000:]}"
    return output


@contextmanager
def standalone(directory: Path, cores: int = 2) -> Iterator[str]:
    """A master and a worker; gives the master's URL. directory: where the worker keeps what its executors say."""
    master = _Daemon("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    with master:
        url = "spark://127.0.0.1:" + master.line_with("Starting Spark master at spark://").rpartition(":")[2]
        arguments = ["--cores", str(cores), "--memory", "1g", "--webui-port", "0", "--work-dir", str(directory), url]
        with _Daemon("org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", *arguments) as worker:
            worker.line_with("Successfully registered with master")
            yield url


class _Daemon:
    """One of Spark's own processes, ended by its pid."""

    def __init__(self, main_class: str, *arguments: str) -> None:
        self._command = [str(SPARK_HOME / "bin" / "spark-class"), main_class, *arguments]

    def __enter__(self) -> _Daemon:
        self._process = subprocess.Popen(
            self._command,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._process.stderr is not None
        self._lines = Lines(self._process.stderr)
        return self

    def __exit__(self, *raised: object) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE_S)
        self._lines.join()

    def line_with(self, words: str) -> str:
        """The first line with these words, once it is there."""
        line = self._lines.first(lambda each: words in each, PATIENCE_S)
        assert line is not None, f"{self._command} did not print {words!r}:\n{self._lines.text()[-4000:]}"
        return line.strip()


def _environment() -> Mapping[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "PYTHONPATH"))}
    return inherited | _LOCAL | {"SPARK_HOME": str(SPARK_HOME)}
