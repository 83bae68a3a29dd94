"""`barnabas serve --http --control`: a real process with the console on a port of its own."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

from tests.broker.cli.test_serve_http import Served as Process

_TIMEOUT_S = 30


class Served:
    """The process, and where it is."""

    def __init__(self, data: Path, *arguments: str, control: bool = True) -> None:
        words = ["--port", "0", "--data-dir", str(data), "--http", "127.0.0.1:0", "--log-format", "json"]
        self.process = Process(*words, *(["--control"] if control else []), *arguments)
        self.http = str(self.process.first_event("http listening")["address"])
        assert self.process.process.stdout is not None
        self.address = self.process.process.stdout.readline().split()[2]
        self.console = f"http://{self.http}/console"

    def control(self, path: str, asked: object) -> None:
        """POST it to /control."""
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(f"http://{self.http}/control/{path}", json.dumps(asked).encode(), headers)
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S):
            pass

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.process.kill()
        self.process.process.communicate()
