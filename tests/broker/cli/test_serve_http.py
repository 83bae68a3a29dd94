"""`barnabas serve --http` and `--log-format`: on real sockets, from the first line to the last."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes.served import TIMEOUT_S, Running
from tests.support.source_tree import ROOT


def _get(address: str, path: str, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(address, timeout=TIMEOUT_S)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def test_a_broker_tells_how_it_is_and_stops_with_a_page_open(tmp_path: Path) -> None:
    with Running(tmp_path / "d", control=False) as it:
        address = it.http
        it.first_event("broker started")
        assert _get(address, "/live") == (200, b"live\n")
        assert _get(address, "/ready") == (200, b"ready\n")
        status, text = _get(address, "/metrics")
        assert status == 200
        assert b"\nkafka_server_kafkaserver_brokerstate 3.0\n" in text
        assert b"\nprocess_resident_memory_bytes " in text
        host, _, port = address.rpartition(":")
        with socket.create_connection((host, int(port)), TIMEOUT_S):
            status, _, stderr = it.stop()
        assert status == 0
        assert it.ready == f"barnabas ready {it.address} data={tmp_path / 'd'} http={address}"
        assert [json.loads(line)["event"] for line in stderr.splitlines()][-1] == "broker stopped"


def test_nothing_of_http_is_loaded_unless_it_is_requested() -> None:
    program = """
import sys
before = set(sys.modules)  # what measures coverage has imported something, too
from barnabas.broker.cli.serving.serve import run
import barnabas.broker.server.broker, barnabas.broker.api.dispatch
wanted = ("h11", "prometheus_client", "barnabas.broker.http", "barnabas.broker.api.stages.metering", "json")
print([name for name in wanted if name in set(sys.modules) - before])
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("is_container", [False, True])
def test_the_lines_of_kafkas_images_are_printed_in_the_container_and_nowhere_else(
    tmp_path: Path, is_container: bool
) -> None:
    variables = os.environ | {"BARNABAS_CONTAINER": "1" if is_container else ""}
    words = ["serve", "--port", "0", "--data-dir", str(tmp_path / "d"), "--set", "node.id=4", "--stop-with-stdin"]
    command = [sys.executable, "-m", "barnabas", *words]
    done = subprocess.run(command, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    expected = [
        "[BrokerLifecycleManager id=4] Transitioning from RECOVERY to RUNNING",
        "[KafkaServer id=4] started",
        "Kafka Server started",
    ]
    assert done.stdout.splitlines()[1:] == (expected if is_container else [])


def test_a_terminal_shows_the_address_of_the_console(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    words = ["serve", "--port", "0", "--data-dir", str(tmp_path / "d"), "--console", "--log-level", "error"]
    command = [sys.executable, "-m", "barnabas", *words, "--stop-with-stdin"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=theirs, text=True) as serving:
        assert serving.stdout is not None
        assert serving.stdin is not None
        address = serving.stdout.readline().strip().rpartition(" http=")[2]
        assert os.read(ours, 1000).decode().strip() == f"barnabas console: http://{address}/console"
        assert _get(address, "/")[1].startswith(b"/live\n"), "for curl"
        assert _get(address, "/", accept="text/html,*/*;q=0.8") == (303, b"")
        assert b"Three things to try" in _get(address, "/console", accept="text/html")[1]
        assert _get(address, "/control/clock")[0] == 200
        serving.stdin.close()
        assert serving.wait(TIMEOUT_S) == 0
    os.close(ours)
    os.close(theirs)
