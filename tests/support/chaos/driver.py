"""Spark's driver in its own process, with all that it starts: the test's side of `driver_program`."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.chaos.gate import WAIT_S
from tests.support.kafka.jars import spark_connector_libs
from tests.support.processes.server import ROOT, Lines
from tests.support.spark.cluster import QUICK_JVM


@dataclass
class Stream:
    """One query: from `topic_in` to where its options say.

    bootstrap: where the test finds its topics; way_in: Spark's options by which the query comes to the same brokers.
    """

    name: str
    bootstrap: str
    topic_in: str
    topic_out: str
    checkpoint: str
    source: str = "kafka"
    sink: str = "chaos"
    rows_per_batch: int = 100
    is_shuffled: bool = False
    is_atomic: bool = False
    restarts: int = 0
    options: dict[str, str] = field(default_factory=dict)
    way_in: dict[str, str] = field(default_factory=dict)

    @property
    def prefix(self) -> str:
        return f"p-{self.name}"


class SparkProgram:
    """A program that starts Spark, in its own session, by which all its processes are found."""

    def __init__(self, arguments: list[str], cwd: Path, environment: Mapping[str, str] | None = None) -> None:
        self._arguments = arguments
        self._cwd = cwd
        self._environment = environment or {}

    def __enter__(self) -> Self:
        self._cwd.mkdir(parents=True, exist_ok=True)
        environment = {
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(ROOT),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "JDK_JAVA_OPTIONS": QUICK_JVM,
            **self._environment,
        }
        self._process = subprocess.Popen(
            [sys.executable, *self._arguments],
            cwd=self._cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self.stdout, self.stderr = Lines(self._process.stdout), Lines(self._process.stderr)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.kill()
        if error is not None:
            error.add_note(f"The program printed:\n{self.stdout.text()[-6000:]}\n{self.stderr.text()[-6000:]}")

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    def status(self) -> int:
        """Its exit status, once it has ended."""
        return self._process.wait(WAIT_S)

    def freeze(self) -> None:
        """SIGSTOP to all its processes: they stand still until they are thawed."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def kill_jvm(self) -> None:
        """SIGKILL to the driver's JVM alone, as a crash would; the others find out by themselves. Waits for the end."""
        # What the JVM is just starting has its command line, too, until it is another program.
        children = [pid for pid in self.processes() if parents_of(pid)[:1] == [self._process.pid]]
        [jvm] = [pid for pid in children if "org.apache.spark.deploy.SparkSubmit" in command_of(pid)]
        os.kill(jvm, signal.SIGKILL)
        self._process.wait(WAIT_S)
        self.kill()

    def kill(self) -> None:
        """SIGKILL to whatever is left of it."""
        self._signal(signal.SIGKILL)
        self._process.wait()
        self.stdout.join()
        self.stderr.join()

    def executors(self) -> list[int]:
        """The executors' JVMs, where they are processes of their own."""
        return [pid for pid in self.processes() if "CoarseGrainedExecutorBackend" in command_of(pid)]

    def processes(self) -> list[int]:
        """All that live in its session."""
        pids = map(int, filter(str.isdigit, os.listdir("/proc")))
        return [pid for pid in pids if _session_of(pid) == self._process.pid]

    def _signal(self, number: signal.Signals) -> None:
        for pid in self.processes():
            with suppress(ProcessLookupError):  # it ended by itself
                os.kill(pid, number)


class Driver(SparkProgram):
    """`driver_program` with these streams. `work` is a directory for what Spark keeps."""

    def __init__(self, streams: list[Stream], work: Path, *, master: str = "local[4]") -> None:
        conf = {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.local.dir": str(work),
            "spark.sql.warehouse.dir": str(work / "warehouse"),
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.jars": stock_jars(),
            "spark.python.daemon.module": "tests.support.chaos.warm_daemon",
            "spark.ui.showConsoleProgress": "false",
            **({"spark.stage.maxConsecutiveAttempts": "1"} if any(each.is_atomic for each in streams) else {}),
        }
        wanted = {"master": master, "conf": conf, "streams": [asdict(each) for each in streams]}
        super().__init__(["-m", "tests.support.chaos.driver_program", json.dumps(wanted)], work)

    def wait_for(self, event: str, stream: str = "") -> dict[str, Any]:
        """The first such event, of that stream if one is named."""

        def is_wanted(line: str) -> bool:
            report = _read(line)
            return report.get("event") == event and stream in ("", report.get("stream"))

        line = self.stdout.first(is_wanted, WAIT_S)
        assert line is not None, f"no {event} of {stream or 'the driver'}"
        return _read(line)

    def events(self, event: str, stream: str = "") -> list[dict[str, Any]]:
        """All such events so far."""
        reports = (_read(line) for line in self.stdout.text().splitlines())
        return [each for each in reports if each.get("event") == event and stream in ("", each.get("stream"))]

    def wait(self) -> None:
        """Until every stream is over, done or failed."""
        self.wait_for("over")
        assert self.status() == 0


def stock_jars() -> str:
    """The jars of Spark's own Kafka connector, as spark.jars takes them."""
    return ",".join(str(jar) for jar in sorted(spark_connector_libs().glob("*.jar")))


def parents_of(pid: int) -> list[int]:
    """A process's parent, its parent's parent, and so on."""
    found: list[int] = []
    while pid > 1:
        pid = _stat(pid, 1)
        found.append(pid)
    return found


def command_of(pid: int) -> str:
    """A process's command line; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _session_of(pid: int) -> int:
    return _stat(pid, 3)


def _stat(pid: int, field_number: int) -> int:
    """A field of /proc/<pid>/stat after the name, counted from 0; 0 when the process is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[field_number])
    except (OSError, IndexError):
        return 0


def _read(line: str) -> dict[str, Any]:
    try:
        report = json.loads(line)
    except ValueError:
        return {}
    return report if isinstance(report, dict) else {}
