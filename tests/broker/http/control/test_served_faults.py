"""Faults in a broker that is served: over HTTP, by the command line, from a file; met by clients over sockets."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.runtime.events import KINDS
from barnabas.client.client import Client
from barnabas.client.offsets import LATEST, READ_COMMITTED, list_offsets
from barnabas.protocol.errors import KafkaError
from tests.support.clients.committed import begun
from tests.support.command_line import Barnabas
from tests.support.processes.served import Running, ask

PATH = "/control/faults"


def arm(running: Running, match: dict[str, Any], do: dict[str, Any], **more: Any) -> None:
    status, found = ask(running.http, "POST", {"match": match, "do": do, **more}, PATH)
    assert status == 200, found


def plan(path: Path, *faults: dict[str, Any]) -> str:
    path.write_text(json.dumps({"version": 1, "faults": faults}))
    return str(path)


def committed_end(running: Running, timeout_ms: int = 30_000) -> int:
    with Client(running.address, timeout_ms=timeout_ms) as client:
        return list_offsets(client, {("t", 0): LATEST}, isolation=READ_COMMITTED)["t", 0].offset


def test_a_commit_whose_answer_is_lost_was_made(running: Running) -> None:
    arm(running, {"api": "EndTxn", "transactional_id": "tx"}, {"lose_answer": True}, name="lost")
    with Client(running.address) as client:
        tx = begun(client, "tx", b"x")
        client.timeout_ms = 500
        with pytest.raises(KafkaError, match="did not answer EndTxn in time"):
            tx.commit()
    assert committed_end(running) == 2
    assert ask(running.http, "GET", path=f"{PATH}/lost")[1]["fired"] == 1


def test_a_commit_stands_at_a_pause_until_it_is_released(running: Running) -> None:
    arm(running, {"api": "EndTxn"}, {"pause": True}, name="here")
    with Client(running.address) as client, ThreadPoolExecutor(1) as thread:
        tx = begun(client, "tx", b"x")
        committing = thread.submit(tx.commit)
        assert ask(running.http, "GET", path=f"{PATH}/here?wait_standing=1&timeout=30s")[0] == 200
        assert committed_end(running) == 0
        assert ask(running.http, "POST", {}, f"{PATH}/here/release")[0] == 200
        committing.result(30)
    assert committed_end(running) == 2


def test_a_stop_does_not_wait_for_whoever_is_paused(running: Running) -> None:
    arm(running, {"api": "Metadata"}, {"pause": True}, name="here")
    arm(running, {"api": "FindCoordinator"}, {"drop": True})
    with ThreadPoolExecutor(1) as thread:
        asking = thread.submit(lambda: committed_end(running, 1000))
        assert ask(running.http, "GET", path=f"{PATH}/here?wait_standing=1&timeout=30s")[0] == 200
        begun = time.monotonic()
        running.process.terminate()
        assert running.process.wait(30) == 0
        assert time.monotonic() - begun < 10
        with pytest.raises(KafkaError):
            asking.result(30)


# --- barnabas faults -------------------------------------------------------------------------------------------------

FAULT = {"name": "f", "match": {"api": "Metadata"}, "do": {"error": "REBOOTSTRAP_REQUIRED"}}


def test_the_command_line_arms_waits_and_takes_back(running: Running, offline: Barnabas, tmp_path: Path) -> None:
    at = ("--http", running.http)
    status, out, _ = offline("faults", "arm", plan(tmp_path / "p", FAULT, {**FAULT, "name": "g"}), *at)
    told = 'fired 0 of 1 times, matched 0: {"api": "Metadata"} {"error": "REBOOTSTRAP_REQUIRED"}'
    assert (status, out) == (0, f"f: {told}\ng: {told}\n")
    status, _, err = offline("faults", "wait", "f", "--timeout", "1ms", *at)
    assert (status, "fault f has fired 0 of 1 times in 0.001 s" in err) == (1, True)
    status, out, _ = offline("faults", "list", "--json", *at)
    assert (status, [each["name"] for each in json.loads(out)["faults"]]) == (0, ["f", "g"])
    assert offline("faults", "release", "f", *at)[0] == 0
    assert offline("faults", "disarm", "g", *at)[0] == 0
    status, _, err = offline("faults", "disarm", "g", *at)
    assert (status, "there is no fault 'g': there are f" in err) == (1, True)
    status, _, err = offline("faults", "reset", "--all-fired", *at)
    assert (status, err) == (1, "barnabas: faults: did not fire as often as the plan says: f\n")
    assert offline("faults", "reset", "--all-fired", *at) == (0, "", "")


def test_the_command_line_states_what_is_wrong_with_a_plan(running: Running, offline: Barnabas, tmp_path: Path) -> None:
    bad = plan(tmp_path / "p", {**FAULT, "do": {"error": "NONE"}})
    status, _, err = offline("faults", "arm", bad, "--http", running.http)
    assert status == 2
    assert err.startswith("barnabas: faults: fault f: Metadata does not return 'NONE', but UNKNOWN_SERVER_ERROR")
    status, _, err = offline("faults", "arm", str(tmp_path / "none.json"), "--http", running.http)
    assert (status, "none.json" in err) == (1, True)


def test_the_command_line_lists_the_points(offline: Barnabas) -> None:
    status, out, _ = offline("faults", "points")
    names = [line.split()[0] for line in out.splitlines()]
    assert status == 0
    assert names == [name for name, kind in KINDS.items() if kind.actions]
    assert out.splitlines()[0].endswith("(transactional_id, state, producer_id, producer_epoch)")
    status, out, _ = offline("faults", "points", "--json")
    assert [each["point"] for each in json.loads(out)] == names


# --- barnabas serve --faults -----------------------------------------------------------------------------------------


def test_a_plan_is_armed_from_the_start(tmp_path: Path) -> None:
    first = {"name": "first", "match": {"api": "ApiVersions", "client_id": "barnabas*"}, "do": {"cut": "before"}}
    with Running(tmp_path / "d", "--faults", plan(tmp_path / "p", first)) as running:
        with pytest.raises(KafkaError), Client(running.address, client_id="barnabas-1", timeout_ms=1000) as client:
            list_offsets(client, {("t", 0): LATEST})
        assert ask(running.http, "GET", path=f"{PATH}/first")[1]["fired"] >= 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "this is not JSON"),
        (" " * 70_000, "a plan has at most 65536 bytes"),
        ('{"version": 9, "faults": []}', "the plan has version 9, and this broker knows versions up to 1"),
        ('{"match": {"node": 3}, "do": {"drop": true}}', "there is no node 3, there are 1 and 2"),
    ],
)
def test_a_bad_plan_is_a_usage_error_before_anything_is_listened_on(
    offline: Barnabas, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "p").write_text(text)
    words = ["--ephemeral", "--port", "0", "--brokers", "2", "--faults", str(tmp_path / "p")]
    status, out, err = offline("serve", *words)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
