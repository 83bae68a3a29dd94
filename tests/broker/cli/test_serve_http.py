"""`barnabas serve --http` and `--log-format`: on real sockets, from the first line to the last."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import Outcome
from tests.support.source_tree import ROOT

TIMEOUT_S = 30


class Served:
    """`barnabas serve` with HTTP on a port of its own, logging JSON."""

    def __init__(self, *arguments: str, environment: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "barnabas", "serve", *arguments],
            cwd=ROOT,
            env=os.environ | (environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def first_event(self, event: str) -> dict[str, object]:
        """The first line of the log with this event."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            told: dict[str, object] = json.loads(line)
            if told["event"] == event:
                return told
        raise AssertionError(f"the log ended without {event!r}")

    def stop(self) -> Outcome:
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=TIMEOUT_S)
        return Outcome(self.process.returncode, out, err)


def _get(address: str, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(address, timeout=TIMEOUT_S)
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def test_a_broker_tells_how_it_is_and_stops_with_a_page_open(tmp_path: Path) -> None:
    with Served(
        "--port", "0", "--data-dir", str(tmp_path / "d"), "--http", "127.0.0.1:0", "--log-format", "json"
    ) as it:
        address = str(it.first_event("http listening")["address"])
        it.first_event("broker started")
        assert _get(address, "/live") == (200, b"live\n")
        assert _get(address, "/ready") == (200, b"ready\n")
        status, text = _get(address, "/metrics")
        assert status == 200
        assert b"\nkafka_server_kafkaserver_brokerstate 3.0\n" in text
        assert b"\nprocess_resident_memory_bytes " in text
        host, _, port = address.rpartition(":")
        with socket.create_connection((host, int(port)), TIMEOUT_S):
            status, stdout, stderr = it.stop()
        assert status == 0
        assert stdout.startswith("barnabas ready ")
        assert stdout.splitlines()[0].endswith(f" data={tmp_path / 'd'} http={address}")
        assert [json.loads(line)["event"] for line in stderr.splitlines()][-1] == "broker stopped"


def test_nothing_of_http_is_loaded_unless_it_is_asked_for() -> None:
    program = """
import sys
before = set(sys.modules)  # what measures coverage has imported something, too
from barnabas.broker.cli.serve import run
import barnabas.broker.app, barnabas.broker.api.dispatch
wanted = ("h11", "prometheus_client", "barnabas.broker.http", "barnabas.broker.api.metering", "json")
print([name for name in wanted if name in set(sys.modules) - before])
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("--http", "9404"), 2, "--http 9404 is not HOST:PORT"),
        (("--http", "localhost:99999"), 2, "--http localhost:99999 is not HOST:PORT"),
        (("--log-format", "xml"), 2, "--log-format xml is none of text, json"),
        (("--http", "TAKEN"), 1, "is in use by another program (--http picks another port, with port 0 a free one)"),
        (("--port", "TAKEN_PORT"), 1, "another program (--port picks another port, --port 0 a free one)"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(
    tmp_path: Path, arguments: tuple[str, ...], status: int, words: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        given = [word.replace("TAKEN_PORT", port).replace("TAKEN", f"127.0.0.1:{port}") for word in arguments]
        directory = tmp_path / "d"
        command = [sys.executable, "-m", "barnabas", "serve", "--port", "0", "--data-dir", str(directory), *given]
        refused = subprocess.run(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    assert (refused.returncode, refused.stdout, len(refused.stderr.splitlines())) == (status, "", 1)
    assert words in refused.stderr
    assert not directory.exists()


@pytest.mark.parametrize("is_container", [False, True])
def test_the_lines_of_kafkas_images_are_printed_in_the_container_and_nowhere_else(
    tmp_path: Path, is_container: bool
) -> None:
    variables = {"BARNABAS_CONTAINER": "1" if is_container else ""}
    arguments = ("--port", "0", "--data-dir", str(tmp_path / "d"), "--set", "node.id=4", "--log-format", "json")
    with Served(*arguments, environment=variables) as it:
        it.first_event("broker started")
        status, stdout, _ = it.stop()
    assert status == 0
    expected = [
        "[BrokerLifecycleManager id=4] Transitioning from RECOVERY to RUNNING",
        "[KafkaServer id=4] started",
        "Kafka Server started",
    ]
    assert stdout.splitlines()[1:] == (expected if is_container else [])
