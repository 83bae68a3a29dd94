"""`barnabas serve` as a user types it: with any flags, and its output on both streams."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from tests.support.command_line import Outcome
from tests.support.source_tree import ROOT

TIMEOUT_S = 30


class Served:
    """One that is ready, under the Python that runs the tests; as a context manager it is killed at the end."""

    def __init__(
        self,
        *arguments: str,
        environment: dict[str, str] | None = None,
        descriptor_limit: int | None = None,
        stdin: int = subprocess.DEVNULL,
    ) -> None:
        limited = ["sh", "-c", f'ulimit -n {descriptor_limit}; exec "$@"', "sh"] if descriptor_limit else []
        self.process = subprocess.Popen(
            [*limited, sys.executable, "-m", "barnabas", "serve", *arguments],
            cwd=ROOT,
            env=os.environ | (environment or {}),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.ready = self.process.stdout.readline().strip()

    @property
    def port(self) -> int:
        return int(self.ready.split()[2].rpartition(":")[2])

    def connect(self, host: str = "127.0.0.1") -> socket.socket:
        return socket.create_connection((host, self.port), TIMEOUT_S)

    def first_event(self, event: str) -> dict[str, object]:
        """The first line of the log with this event."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            report: dict[str, object] = json.loads(line)
            if report["event"] == event:
                return report
        raise AssertionError(f"the log ended without {event!r}")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> Outcome:
        self.process.send_signal(number)
        return self.end()

    def end(self) -> Outcome:
        out, log = self.process.communicate(timeout=TIMEOUT_S)
        return Outcome(self.process.returncode, out, log)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


class Running(Served):
    """One with HTTP on its own port, its log in JSON, by default with --control; and its addresses."""

    def __init__(self, data: Path, *arguments: str, control: bool = True, **environment: str) -> None:
        words = ["--port", "0", "--data-dir", str(data), "--http", "127.0.0.1:0", "--log-format", "json"]
        super().__init__(*words, *(["--control"] if control else []), *arguments, environment=environment)
        self.http = str(self.first_event("http listening")["address"])
        self.address = self.ready.split()[2]


def ask(
    address: str, method: str, body: Any = None, path: str = "/control/clock", **headers: str
) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection(address, timeout=TIMEOUT_S)
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    found = json.loads(answer.read())
    connection.close()
    return answer.status, found
