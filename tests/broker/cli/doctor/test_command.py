"""`barnabas doctor` as people and scripts see it: lines, JSON, exit statuses, the flags of serve."""

import json
import os
import socket
from pathlib import Path

import pytest

from barnabas.broker.runtime.clock import wall_ms
from barnabas.broker.server.secure.directory import open_security
from tests.support.command_line import Barnabas
from tests.support.processes.own_broker import OwnBroker


@pytest.fixture
def healthy(tmp_path: Path) -> list[str]:
    """The flags of a set-up that would work."""
    return ["--port", "0", "--data-dir", str(tmp_path / "data")]


def test_a_set_up_that_works_is_told_line_by_line(offline: Barnabas, healthy: list[str], tmp_path: Path) -> None:
    found = offline("doctor", *healthy)
    assert (found.status, found.stderr) == (0, "")
    lines = found.stdout.splitlines()
    assert lines[0] == "ok       configuration         every key and value is known"
    assert lines[-1].startswith("0 problems, ")
    assert list(tmp_path.iterdir()) == []


def test_a_problem_is_an_exit_status_of_1_and_comes_with_advice(offline: Barnabas, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        arguments = ["--port", str(port), "--ephemeral", "--request-timeout-ms", "100"]
        text = offline("doctor", *arguments)
        told = offline("doctor", "--json", *arguments)
    assert (text.status, told.status) == (1, 1)
    assert "-> stop it, or choose another port (0 picks a free one)" in map(str.strip, text.stdout.splitlines())
    assert text.stdout.splitlines()[-1].startswith("1 problem, ")
    answer = json.loads(told.stdout)
    assert answer["fine"] is False
    (finding,) = [each for each in answer["findings"] if each["level"] == "problem"]
    assert finding["check"] == "listener PLAINTEXT"
    assert finding["advice"] == "stop it, or choose another port (0 picks a free one)"


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        ('{"version": 2, "faults": []}', "the plan has version 2, and this broker knows versions up to 1"),
        (
            '{"match": {"point": "transaction.bgun"}, "do": {"crash": true}}',
            "the fault: 'transaction.bgun': did you mean transaction.marked? a point is one of ",
        ),
        (
            '{"match": {"api": "EndTxn"}, "do": {"error": "OFFSET_OUT_OF_RANGE"}}',
            "the fault: EndTxn does not return 'OFFSET_OUT_OF_RANGE', but UNKNOWN_SERVER_ERROR, ",
        ),
        ("not JSON", "this is not JSON: "),
    ],
)
def test_a_plan_of_faults_is_checked_as_serve_would(
    offline: Barnabas, healthy: list[str], tmp_path: Path, plan: str, text: str
) -> None:
    file = tmp_path / "plan.json"
    file.write_text(plan)
    found = offline("doctor", "--json", *healthy, "--faults", str(file))
    assert found.status == 1
    (finding,) = [each for each in json.loads(found.stdout)["findings"] if each["check"] == "faults"]
    assert finding["level"] == "problem"
    assert finding["text"].startswith(f"doctor: --faults {file}: {text}"), finding["text"]


def test_a_plan_of_faults_that_can_be_armed_is_a_note(offline: Barnabas, healthy: list[str], tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text('{"match": {"api": "EndTxn", "node": 2}, "do": {"drop": true}}')
    found = offline("doctor", *healthy, "--brokers", "2", "--faults", str(file))
    assert (found.status, found.stderr) == (0, "")
    told = f"1 fault of {file} would be armed from the start: this is for tests"
    assert [line.split("  ")[-1].strip() for line in found.stdout.splitlines() if " faults " in line] == [told]
    assert offline("doctor", *healthy, "--faults", str(file)).status == 1, "there is no node 2"
    missing = offline("doctor", *healthy, "--faults", str(tmp_path / "none"))
    assert missing.status == 1
    assert f"{tmp_path / 'none'} cannot be read: No such file" in missing.stdout
    assert offline("doctor", *healthy, "--control").status == 2
    assert offline("doctor", *healthy, "--registry=nonsense").status == 2


def test_an_unknown_key_is_a_warning_with_the_key_that_may_be_meant(
    offline: Barnabas, healthy: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_LOG_RETENTION_MSEC", "1000")
    answer = json.loads(offline("doctor", "--json", *healthy, "--set", "no.such.thing=1").stdout)
    found = {each["text"]: each for each in answer["findings"] if each["check"] == "configuration"}
    meant = ": did you mean log.retention.ms?"
    assert found[f"unknown configuration key log.retention.msec: ignored{meant}"]["level"] == "warning"
    assert found["unknown configuration key no.such.thing: ignored"]["level"] == "warning"
    assert found["taken from the environment: KAFKA_LOG_RETENTION_MSEC"]["level"] == "note"
    assert answer["fine"] is True


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--set", "num.partitions=0"], "Invalid value 0 for configuration num.partitions"),
        (["--config", "/does/not/exist"], "/does/not/exist cannot be read"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_a_problem(offline: Barnabas, arguments: list[str], text: str) -> None:
    found = offline("doctor", *arguments)
    assert found.status == 1
    assert found.stdout.startswith("problem ")
    assert text in found.stdout.splitlines()[0]


@pytest.mark.parametrize(
    "arguments",
    [["--nonsense"], ["--bootstrap-server", "["], ["--bootstrap-server", "x", "--request-timeout-ms", "soon"]],
)
def test_a_command_line_that_is_invalid_is_a_usage_error(offline: Barnabas, arguments: list[str]) -> None:
    found = offline("doctor", *arguments)
    assert found.status == 2
    assert found.stderr.startswith("barnabas: doctor: ")


def test_a_running_broker_is_examined_and_known_to_be_in_the_way(offline: Barnabas, broker: OwnBroker) -> None:
    found = offline("doctor", "--bootstrap-server", broker.address)
    assert found.status == 0, found.stdout
    assert f"advertises {broker.address}, the address that was used" in found.stdout
    found = offline("doctor", "--port", str(broker.port), "--data-dir", str(broker.data_dir))
    assert found.status == 1
    assert f"is in use by process {broker.pid} (" in found.stdout
    assert ": a broker of cluster " in found.stdout
    assert f"{broker.data_dir} is locked by process {broker.pid} (" in found.stdout


def told_of(text: str, check: str) -> list[str]:
    """LEVEL and what is said, of each line of this check."""
    found = [line.split(check, 1) for line in text.splitlines() if f" {check} " in line]
    return [f"{level.strip()}: {text.strip()}" for level, text in found]


def test_with_secure_it_looks_at_what_serve_would_find_and_makes_nothing(
    offline: Barnabas, healthy: list[str], tmp_path: Path
) -> None:
    fresh = offline("doctor", "--secure", *healthy)
    assert (fresh.status, fresh.stderr, list(tmp_path.iterdir())) == (0, "", [])
    path = tmp_path / "data.security"
    anew = f"ok: {path} would be created, with an authority, a certificate, and passwords of admin and client"
    assert told_of(fresh.stdout, "security directory") == [anew]
    assert told_of(fresh.stdout, "listener SASL_SSL") == ["ok: 127.0.0.1:0 is free"]
    assert not told_of(fresh.stdout, "TLS of SASL_SSL"), "there is no certificate yet"
    security = open_security(str(path), ["localhost", "127.0.0.1", "::1"], wall_ms(), os.urandom)
    before = contents(path)
    kept = offline("doctor", "--secure", *healthy).stdout
    there = f"ok: {path} has an authority, a certificate, and passwords of admin and client"
    assert told_of(kept, "security directory") == [there]
    (certificate,) = told_of(kept, "TLS of SASL_SSL")
    assert certificate.startswith("ok: its certificate is for 127.0.0.1, ::1, localhost, until ")
    assert not any(password in kept for password in security.passwords.values())
    assert contents(path) == before


@pytest.mark.parametrize(
    ("lost", "told"),
    [
        ("broker.pem", "ok: DIR has an authority and users; a new certificate would be issued"),
        ("users.properties", "note: DIR has no users.properties: admin and client would get new passwords"),
        (
            "authority.key",
            "note: DIR has no authority: a new one would be created, and clients need the new authority.pem",
        ),
    ],
)
def test_missing_files_of_a_security_directory_would_be_created(
    offline: Barnabas, healthy: list[str], tmp_path: Path, lost: str, told: str
) -> None:
    path = tmp_path / "data.security"
    open_security(str(path), ["localhost", "127.0.0.1", "::1"], wall_ms(), os.urandom)
    (path / lost).unlink()
    found = offline("doctor", "--secure", *healthy)
    assert found.status == 0
    assert told_of(found.stdout, "security directory") == [told.replace("DIR", str(path))]
    assert not (path / lost).exists()


def test_with_secure_it_finds_what_serve_would_refuse(offline: Barnabas, healthy: list[str], tmp_path: Path) -> None:
    path = tmp_path / "data.security"
    path.mkdir()
    (path / "users.properties").write_text("admin\n")
    for command in ("doctor", "serve"):
        found = offline(command, "--secure", *healthy)
        assert found.status > 0
        assert (
            f"{path}/users.properties: line 1 has no =, but lines must be NAME=PASSWORD" in found.stdout + found.stderr
        )
    ephemeral = offline("doctor", "--secure", "--ephemeral", "--port", "0")
    assert ephemeral.status == 0
    assert [each.partition(",")[0] for each in told_of(ephemeral.stdout, "security directory")] == [
        "ok: a start creates it next to the temporary data directory"
    ]


def contents(path: Path) -> dict[str, bytes]:
    """Of a directory's files, by name."""
    return {each.name: each.read_bytes() for each in path.iterdir()}
