"""`barnabas serve --control`: a real process, over real HTTP, with our own client beside it."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from pathlib import Path
from socket import EAI_NONAME, gaierror
from typing import NoReturn

import pytest

from barnabas.client.client import Client
from barnabas.client.consume.group_consumer import GroupConsumer
from barnabas.client.offsets import LATEST, READ_COMMITTED, list_offsets
from barnabas.client.produce.producer import Producer
from barnabas.protocol.errors import KafkaError
from tests.support.clients.committed import begun
from tests.support.clients.heartbeats import heartbeat
from tests.support.command_line import Barnabas
from tests.support.processes.served import TIMEOUT_S, Running, ask
from tests.support.source_tree import ROOT

DAY_MS = 86_400_000


def test_a_transaction_that_nobody_ends_is_aborted_when_its_time_is_over(running: Running) -> None:
    with Client(running.address) as client:
        tx = begun(client, "tx", b"open", timeout_ms=600_000)
        assert ask(running.http, "POST", {"freeze": True})[0] == 200
        status, state = ask(running.http, "POST", {"advance": "11m"})
        assert (status, state["state"]) == (200, "frozen")
        found = list_offsets(client, {("t", 0): LATEST}, isolation=READ_COMMITTED)
        assert found["t", 0].offset == 2, "behind the record and its marker"
        with pytest.raises(KafkaError):
            tx.commit()


def test_a_member_that_says_nothing_loses_its_partitions_to_the_other(running: Running) -> None:
    with Client(running.address) as silent, Client(running.address) as client:
        heartbeat(silent, "g", "silent", topics=["t"])
        answer = heartbeat(client, "g", "other", topics=["t"])
        ask(running.http, "POST", {"freeze": True})
        ask(running.http, "POST", {"advance": "44s"})
        answer = heartbeat(client, "g", "other", answer.member_epoch)
        ask(running.http, "POST", {"advance": "2s"})
        answer = heartbeat(client, "g", "other", answer.member_epoch)
        assert answer.assignment is not None
        assert [each.partitions for each in answer.assignment.topic_partitions] == [[0, 1]]
        with pytest.raises(KafkaError, match="UNKNOWN_MEMBER_ID"):
            heartbeat(silent, "g", "silent", 1)


def test_a_group_consumer_reads_on_while_the_clock_is_moved(running: Running) -> None:
    with Client(running.address) as client:
        with Producer(client) as producer:
            for number in range(5):
                producer.send("t", b"%d" % number, partition=0)
        with GroupConsumer(client, "readers", ["t"], auto_offset_reset="earliest") as consumer:
            seen: list[bytes | None] = []
            while len(seen) < 5:
                seen += [consumed.record.value for consumed in consumer.poll(timeout_ms=1000)]
            assert ask(running.http, "POST", {"advance": "2s"})[0] == 200
            with Producer(client) as producer:
                producer.send("t", b"later", partition=1)
            while len(seen) < 6:
                seen += [consumed.record.value for consumed in consumer.poll(timeout_ms=1000)]
    assert sorted(seen, key=str) == [b"0", b"1", b"2", b"3", b"4", b"later"]


def test_bodies_are_bounded_and_the_connection_goes_on(running: Running) -> None:
    connection = http.client.HTTPConnection(running.http, timeout=TIMEOUT_S)
    for body, status in ((b'{"freeze": true}', 200), (b"{}", 400), (b'{"run": true}', 200)):
        connection.request("POST", "/control/clock", body)
        answer = connection.getresponse()
        assert (answer.status, answer.getheader("content-type")) == (status, "application/json")
        answer.read()
    connection.request("POST", "/control/clock", iter([b'{"run":', b" true}"]), encode_chunked=True)
    assert json.loads(connection.getresponse().read())["state"] == "running"
    connection.request("HEAD", "/control/clock")
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (200, b"")
    connection.request("POST", "/control/clock", b" " * 70_000)
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())) == (413, {"error": "the body has more than 65536 bytes"})
    connection.close()
    assert ask(running.http, "GET")[0] == 200


def test_a_mapped_port_is_served_and_another_site_is_not(running: Running) -> None:
    assert ask(running.http, "GET", Host="localhost:49153")[0] == 200
    assert ask(running.http, "GET", Host="evil.example")[0] == 403
    assert ask(running.http, "POST", {"freeze": True}, Origin="http://evil.example")[0] == 403


def test_the_token_of_the_variable_or_the_flag_is_needed(tmp_path: Path) -> None:
    with Running(tmp_path / "d", BARNABAS_CONTROL_TOKEN="from-the-variable") as it:
        assert ask(it.http, "GET")[0] == 401
        assert ask(it.http, "GET", Authorization="Bearer from-the-variable")[0] == 200
        assert it.stop().status == 0


def test_each_change_is_a_line_in_the_log_and_the_next_run_is_not_behind(running: Running, tmp_path: Path) -> None:
    ask(running.http, "POST", {"advance": "1d"})
    told = running.first_event("clock advanced")
    assert (told["logger"], told["by_ms"]) == ("control", DAY_MS)
    assert str(told["time"]) < str(told["now"]), "the log goes by the machine's time"
    running.process.kill()
    running.process.wait()
    assert (tmp_path / "d" / "barnabas-clock-ahead").exists()
    with Running(tmp_path / "d") as after:
        state = ask(after.http, "GET")[1]
        assert state["state"] == "running"
        assert DAY_MS - TIMEOUT_S * 1000 < state["ahead_ms"] <= DAY_MS  # less what the move took of the machine's time


def test_without_control_there_is_none(tmp_path: Path, offline: Barnabas) -> None:
    with Running(tmp_path / "d", control=False) as it:
        connection = http.client.HTTPConnection(it.http, timeout=TIMEOUT_S)
        connection.request("POST", "/control/clock", b'{"freeze": true}')
        assert connection.getresponse().status == 405
        connection.close()
        status, _, err = offline("clock", "show", "--http", it.http)
        assert (status, err) == (1, f"barnabas: {it.http}: no broker with --control answers there\n")


def test_nothing_of_it_is_imported_unless_it_is_requested() -> None:
    program = """
import sys
sys.argv[1:] = ["serve", "--ephemeral", "--port", "0", "--stop-with-stdin", "--http", "127.0.0.1:0"]
from barnabas.broker.cli import main
main()
print(*sys.modules)
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    loaded = ran.stdout.split()
    assert "barnabas.broker.server.broker" in loaded
    parts = ("starlette", "anyio", "barnabas.broker.http.control", "barnabas.broker.insight.why")
    control = [name for name in loaded if name.startswith(parts)]
    assert not control
    assert "barnabas.broker.control.time_control.movable_clock" not in loaded
    assert "barnabas.broker.insight.history.history" not in loaded
    assert "barnabas.broker.api.stages.tracing" not in loaded
    assert not [name for name in loaded if name.startswith("barnabas.broker.control.faults.")]


# --- barnabas clock --------------------------------------------------------------------------------------------------


def test_the_command_line_moves_the_clock(running: Running, offline: Barnabas) -> None:
    status, out, _ = offline("clock", "freeze", "--http", running.http)
    assert (status, out.split()[1]) == (0, "frozen,")
    state = json.loads(offline("clock", "--json", "advance", "1h30m", "--http", running.http).stdout)
    assert state["state"] == "frozen"
    shown = offline("clock", "show", "--http", running.http).stdout
    assert "ahead of the machine's clock" in shown
    assert shown.split()[0] == state["now"]
    later = str(state["now_ms"] + 1000)
    assert json.loads(offline("clock", "at", later, "--json", "--http", running.http).stdout)["now_ms"] == int(later)
    assert offline("clock", "run", "--http", running.http).stdout.split()[1] == "running,"
    status, _, err = offline("clock", "at", "2020-01-01", "--http", running.http)
    assert (status, err.startswith("barnabas: clock: the clock does not go back; it shows 20")) == (2, True)
    status, _, err = offline("clock", "advance", "soon", "--http", running.http)
    assert (status, "is not a length of time" in err) == (2, True)


def test_the_command_line_tells_what_happened_last(running: Running, offline: Barnabas, tmp_path: Path) -> None:
    offline("clock", "freeze", "--http", running.http)
    status, out, _ = offline("trace", "--kind", "clock", "--http", running.http)
    assert (status, out.split()[1:3]) == (0, ["clock.changed", "state=frozen"])
    (event,) = map(
        json.loads, offline("trace", "--kind", "clock", "--json", "--http", running.http).stdout.splitlines()
    )
    assert event["facts"]["state"] == "frozen"
    file = tmp_path / "trace.json"
    said = offline("trace", "--perfetto", str(file), "--http", running.http).stdout
    assert said.startswith(f"{file}: ")
    assert any(each["name"] == "clock changed" for each in json.loads(file.read_text())["traceEvents"])
    status, _, err = offline("trace", "--kind", "clocks", "--http", running.http)
    assert (status, err.startswith("barnabas: trace: no kind of event is called 'clocks'")) == (2, True)


def test_the_command_line_follows_what_happens(running: Running) -> None:
    words = ["trace", "--follow", "--kind", "clock", "--http", running.http]
    with subprocess.Popen(
        [sys.executable, "-m", "barnabas", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as it:
        assert it.stdout is not None
        ask(running.http, "POST", {"freeze": True})
        assert "clock.changed state=frozen" in it.stdout.readline()
        ask(running.http, "POST", {"run": True})
        assert "clock.changed state=running" in it.stdout.readline()
        it.terminate()


def test_the_command_line_states_the_token_and_who_is_not_there(
    tmp_path: Path, offline: Barnabas, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Running(tmp_path / "d", "--control-token", "secret") as it:
        assert offline("clock", "show", "--http", it.http, "--token", "secret").status == 0
        status, _, err = offline("clock", "show", "--http", it.http)
        needed = f"barnabas: {it.http}: the broker needs a token: --token TOKEN, or $BARNABAS_CONTROL_TOKEN\n"
        assert (status, err) == (1, needed)
        status, _, err = offline("clock", "show", "--http", it.http, "--token", "Wrong")
        assert (status, err) == (1, needed.replace("needs a token", "does not know this token"))
        monkeypatch.setenv("BARNABAS_CONTROL_TOKEN", "secret")
        assert offline("clock", "show", "--http", it.http).status == 0
        it.stop()
        status, _, err = offline("clock", "show", "--http", it.http)
        assert (status, "is a broker running with --http --control there?" in err) == (1, True)


def test_an_address_where_kafka_clients_connect_is_not_that_of_http(running: Running, offline: Barnabas) -> None:
    status, _, err = offline("clock", "show", "--http", running.address)
    assert (status, err) == (
        1,
        f"barnabas: {running.address}: no response: check that this is the address of the broker's --http "
        "--control. If the broker runs with --secure or --http-secure, add --command-config "
        "data.security/admin.properties\n",
    )


def test_an_address_is_no_url(offline: Barnabas) -> None:
    status, _, err = offline("clock", "show", "--http", "https://localhost:9404")
    assert (status, err) == (2, "barnabas: --http https://localhost:9404: give HOST:PORT, without https://\n")


def test_a_name_that_leads_nowhere_is_named(offline: Barnabas, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> NoReturn:
        raise gaierror(EAI_NONAME, "Name or service not known")

    monkeypatch.setattr("socket.getaddrinfo", unknown)
    status, _, err = offline("clock", "show", "--http", "nowhere:9404")
    assert (status, err) == (1, "barnabas: nowhere:9404: name or service not known\n")
