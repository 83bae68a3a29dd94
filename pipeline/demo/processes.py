"""The two processes that are killed, the broker and the Spark driver, and the supervisor that restarts them.

Each runs in a separate session: ^C reaches only the demo, and a kill of its process group includes the JVM.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from pipeline.demo.notes import Notes

STOP_TIMEOUT_S = 300.0
_JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # a JVM that lives for a minute has to start fast


def environment() -> dict[str, str]:
    """Return the environment of the demo's programs."""
    return {"JDK_JAVA_OPTIONS": _JVM_OPTIONS, **os.environ}


class Supervised:
    """A program that is restarted whenever it ends, until `finish` is called."""

    def __init__(self, name: str, command: Callable[[], Sequence[str]], notes: Notes, log: Path, ready: str) -> None:
        self._name = name
        self._command = command
        self._notes = notes
        self._log = log.open("a")
        self._ready = ready
        self._is_ready = threading.Event()
        self._finishing = threading.Event()
        self._given_up = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._thread = threading.Thread(target=self._supervise, daemon=True)
        self.ready_line = ""
        self.starts = 0

    def start(self) -> None:
        """Start it; `wait_until_ready` waits until it can be used."""
        self._thread.start()

    def wait_until_ready(self, timeout_s: float) -> bool:
        """Wait until the current run has reported that it is ready; return whether it has."""
        return self._is_ready.wait(timeout_s)

    @property
    def pid(self) -> int | None:
        """The process's id, while there is one."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def kill(self) -> None:
        """Send SIGKILL to it and everything in its process group."""
        if (pid := self.pid) is not None:
            self._is_ready.clear()
            os.killpg(pid, signal.SIGKILL)

    def finish(self, *, by_signal: bool) -> int | None:
        """Let it end, by SIGTERM or by closing its stdin, and wait. Return its exit status, None if it was killed.

        If it fails meanwhile, it is restarted and stopped again.
        """
        self._finishing.set()
        process = self._process
        if process is not None and process.poll() is None:
            if by_signal:
                process.send_signal(signal.SIGTERM)
            elif process.stdin is not None:
                process.stdin.close()
        self._thread.join(STOP_TIMEOUT_S)
        if self._thread.is_alive():
            self.give_up()
            return None
        return self._process.returncode if self._process is not None else None

    def give_up(self) -> None:
        """Kill it if it still runs, and do not restart it."""
        self._given_up.set()
        self.kill()
        if self._thread.is_alive():
            self._thread.join()

    def _supervise(self) -> None:
        while not self._given_up.is_set():
            self._run_once()
            assert self._process is not None
            status = self._process.returncode
            self._notes.write("ended", name=self._name, status=status)
            if self._finishing.is_set() and status == 0:
                return

    def _run_once(self) -> None:
        self.starts += 1
        self._process = subprocess.Popen(
            self._command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=environment(),
            start_new_session=True,
        )
        self._notes.write("started", name=self._name, pid=self._process.pid)
        if self._finishing.is_set() and self._process.stdin is not None:
            self._process.stdin.close()
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._log.write(line)
            if line.startswith(self._ready):
                self.ready_line = line.strip()
                self._notes.write("ready", name=self._name)
                self._is_ready.set()
        self._process.wait()
        self._is_ready.clear()


def broker_command(data: Path, port: int) -> list[str]:
    """Return the command of `barnabas serve`, from the current environment."""
    program = str(Path(sys.executable).with_name("barnabas"))
    settings = ("log.segment.bytes=4194304", "log.retention.ms=-1", "auto.create.topics.enable=false")
    flags = [word for each in settings for word in ("--set", each)]
    return [program, "serve", "--port", str(port), "--data-dir", str(data), *flags]


def port_of(ready_line: str) -> int:
    """Return the port in `barnabas ready 127.0.0.1:9092 data=…`."""
    return int(ready_line.split()[2].rpartition(":")[2])


def python_workers(driver_pid: int) -> list[int]:
    """Return the processes of Spark's Python under a driver: its daemons' children, for tasks, sources and sinks."""
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
    )
    return find_workers(listing.stdout, driver_pid)


def find_workers(listing: str, driver_pid: int) -> list[int]:
    """Return the driver's workers in a listing of `pid ppid command` lines. Pure."""
    parents: dict[int, int] = {}
    commands: dict[int, str] = {}
    for line in listing.splitlines():
        pid, parent, command = [*line.split(None, 2), ""][:3]
        parents[int(pid)], commands[int(pid)] = int(parent), command

    def works(pid: int) -> bool:
        while pid in parents and pid != driver_pid:
            pid = parents[pid]
        return pid == driver_pid

    return sorted(
        pid
        for pid, command in commands.items()
        if "pyspark.daemon" in command and "pyspark.daemon" in commands.get(parents[pid], "") and works(pid)
    )


def kill_workers(driver_pid: int) -> int:
    """Send SIGKILL to all of the driver's Python workers; return their number."""
    killed = 0
    for pid in python_workers(driver_pid):
        try:
            os.kill(pid, signal.SIGKILL)
            killed += 1
        except ProcessLookupError:
            continue  # it has already ended
    return killed
