"""`barnabas serve`: the ready line, signals, the ways it refuses to start, and strangers on the real socket."""

import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from barnabas.protocol.errors import ErrorCode
from tests.support.command_line import Barnabas
from tests.support.files.data_directory import open_catalogue
from tests.support.ipv6 import speaks_ipv6
from tests.support.probes.records import batch
from tests.support.probes.wire import Wire
from tests.support.processes.served import Served
from tests.support.requests import produce

Refused = Callable[..., tuple[int, str]]
CONTROL = ("--ephemeral", "--port", "0", "--control", "--http", "127.0.0.1:0")
ADVERTISED = ("--set", "advertised.listeners=PLAINTEXT://h:65535")
TWO_LISTENERS = (
    "--set",
    "listeners=PLAINTEXT://127.0.0.1:1,PLAINTEXT2://127.0.0.1:2",
    "--set",
    "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,PLAINTEXT2:PLAINTEXT",
)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served("--port", "0", "--data-dir", str(tmp_path / "data")) as served:
        yield served


@pytest.fixture
def refused(offline: Barnabas) -> Refused:
    """refused(*arguments): (exit status, the one line on stderr) of a start that does not succeed, in this process."""

    def run(*arguments: str) -> tuple[int, str]:
        status, out, err = offline("serve", "--log-level", "error", *arguments)
        assert (out, err.count("\n"), err.startswith("barnabas: ")) == ("", 1, True), err
        return status, err.strip()

    return run


def test_the_first_line_states_where_and_both_localhosts_answer(served: Served, tmp_path: Path) -> None:
    assert served.ready == f"barnabas ready 127.0.0.1:{served.port} data={tmp_path / 'data'}"
    for host in ("127.0.0.1", "localhost"):
        served.connect(host).close()


@pytest.mark.skipif(not speaks_ipv6(), reason="this machine's loopback has no IPv6")
def test_an_address_of_ipv6_is_reported_in_brackets() -> None:
    served = Served("--port", "0", "--ephemeral", "--host", "::1")
    assert served.ready.startswith(f"barnabas ready [::1]:{served.port} ")
    served.connect("::1").close()
    assert served.stop()[0] == 0


def test_connections_leave_descriptors_for_files() -> None:
    served = Served("--port", "0", "--ephemeral", "--topic", "wide:20", descriptor_limit=96)
    with Wire(served.port) as first, ExitStack() as strangers:
        for _ in range(150):
            last = strangers.enter_context(served.connect())
        assert last.recv(1) == b""  # all before it were accepted or refused
        for partition in range(20):
            answer = first.ask(produce({partition: batch("v")}, "wide", timeout_ms=2000), 11)
            assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
    status, _, log = served.stop()
    assert status == 0
    assert "Traceback" not in log
    assert "the limit of open files (ulimit -n) allows" in log


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_cleanly(served: Served, tmp_path: Path, number: signal.Signals) -> None:
    assert served.stop(number)[0] == 0
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def test_an_ephemeral_broker_leaves_the_catalogue_of_a_file_alone(tmp_path: Path) -> None:
    properties = tmp_path / "server.properties"
    properties.write_text(f"metadata.log.dir={tmp_path / 'meta'}\n")
    served = Served("--port", "0", "--ephemeral", "--config", str(properties))
    assert "data=" in served.ready
    assert served.stop()[0] == 0
    assert not (tmp_path / "meta").exists()


def test_an_ephemeral_directory_is_gone_at_the_end() -> None:
    served = Served("--port", "0", "--ephemeral")
    data = Path(served.ready.rpartition("data=")[2])
    assert data.is_dir()
    assert served.stop()[0] == 0
    assert not data.exists()


def test_it_ends_with_its_stdin_where_that_is_requested(tmp_path: Path) -> None:
    served = Served("--port", "0", "--data-dir", str(tmp_path), "--stop-with-stdin", stdin=subprocess.PIPE)
    assert served.process.stdin is not None
    served.process.stdin.write("a word is no end\n")
    served.process.stdin.flush()
    served.connect().close()
    assert served.end().status == 0  # it closes stdin
    assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_topics_are_created_at_the_start_and_kept(tmp_path: Path) -> None:
    for _ in range(2):
        served = Served("--port", "0", "--data-dir", str(tmp_path), "--topic", "words:3", "--topic=lines")
        assert served.stop()[0] == 0
        catalogue = open_catalogue(tmp_path)
        assert {name: len(topic.partitions) for name, topic in catalogue.topics.items()} == {"words": 3, "lines": 1}
        catalogue.close()


def test_a_feature_has_the_level_that_was_last_requested(tmp_path: Path) -> None:
    for words, level in (
        (["--feature", "transaction.version=1"], 1),
        ([], 1),
        (["--feature=transaction.version=2"], 2),
    ):
        served = Served("--port", "0", "--data-dir", str(tmp_path), *words)
        assert served.stop()[0] == 0
        catalogue = open_catalogue(tmp_path)
        assert catalogue.feature_level("transaction.version") == level
        catalogue.close()


def test_flags_come_before_settings_before_the_environment_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("log.dirs=/nowhere\nnode.id=7\nnum.partitions=4\nlisteners=PLAINTEXT://127.0.0.1:1\n")
    served = Served(
        "--config",
        str(file),
        "--set",
        "log.dirs=/nowhere/else",
        "--data-dir",
        str(tmp_path / "d"),
        "--port",
        "0",
        environment={"KAFKA_NODE_ID": "8", "KAFKA_HEAP_OPTS": "-Xmx1G"},
    )
    assert served.stop()[0] == 0
    assert "node.id=8" in (tmp_path / "d" / "meta.properties").read_text()


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--nonsense"], 2, "--nonsense is not an option"),
        (["extra"], 2, "a word is not an option, nor the value of one"),
        (["--data-dir", ""], 2, "--data-dir needs a value"),
        (["--seed="], 2, "--seed needs a value"),
        (["--add-scram", "SCRAM-SHA-256=[name=a,", "password=secret]"], 2, "a word is not an option"),
        (["--nonsense=secret"], 2, "--nonsense is not an option"),
        (["--port"], 2, "--port needs a value"),
        (["--port", "http"], 2, "--port http is not a port"),
        (["--topic", "t:none"], 2, "--topic 't:none' is not NAME[:PARTITIONS]"),
        (["--feature", "transaction.version"], 2, "--feature 'transaction.version' is not NAME=LEVEL"),
        (["--feature", "transaction.version=3"], 2, "the levels of transaction.version are 0 to 2"),
        (["--feature", "x=1"], 2, "the features are"),
        (["--log-level", "loud"], 2, "--log-level loud is not one of"),
        (["--ephemeral", "--data-dir", "x"], 2, "exclude each other"),
        (["--brokers", ""], 2, "--brokers '' is not a number from 1 to 16"),
        (["--brokers", "0"], 2, "--brokers '0' is not a number from 1 to 16"),
        (["--brokers", "17"], 2, "--brokers '17' is not a number from 1 to 16"),
        (["--brokers", "2", *TWO_LISTENERS], 2, "--brokers 2: 2 nodes need 2 ports"),
        (["--brokers", "3", "--port", "65534"], 2, "there are too few from 127.0.0.1:65534 on"),
        (["--brokers", "2", "--port", "0", *ADVERTISED], 2, "there are too few from h:65535 on"),
        (["--ephemeral=yes"], 2, "takes no value"),
        (["--set", "num.partitions"], 2, "--set needs KEY=VALUE"),
        (["--set", "num.partitions=none"], 1, "num.partitions"),
        (["--set", "listeners=SSL://127.0.0.1:0"], 1, "SSL"),
        (["--config", "/does/not/exist"], 1, "/does/not/exist"),
        (["--http", "9404"], 2, "--http 9404 is not HOST:PORT"),
        (["--http", "localhost:99999"], 2, "--http localhost:99999 is not HOST:PORT"),
        (["--console=9404x"], 2, "--console 9404x is not a port"),
        (["--console=9404", "--http", "127.0.0.1:0"], 2, "--console takes no port together with --http, which has one"),
        (["--console", "9404"], 2, "a word is not an option"),
        (["--log-format", "xml"], 2, "--log-format xml is not one of text, json"),
        (["--control"], 2, "--control needs --http: barnabas serve --control --http 127.0.0.1:9404"),
        (["--control-token", "x"], 2, "--control-token needs --control"),
        ([*CONTROL, "--control-token", ""], 2, "has visible ASCII characters"),
        ([*CONTROL, "--control-token", "a\nb"], 2, "has visible ASCII characters"),
        (["--control=yes", "--http", "127.0.0.1:0"], 2, "--control takes no value"),
    ],
)
def test_a_command_line_that_is_invalid_is_reported_in_one_line(
    refused: Refused, arguments: list[str], status: int, words: str
) -> None:
    assert (status, True) == ((told := refused(*arguments))[0], words in told[1]), told
    assert "secret" not in told[1], "what is not understood may be a password"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--http 127.0.0.1:PORT", "another program (--http picks another port, with port 0 a free one)"),
        ("--console=PORT", "another program (--http picks another port, with port 0 a free one)"),
        ("--port PORT", "another program (--port picks another port, --port 0 a free one)"),
    ],
)
def test_a_port_in_use_is_reported_and_nothing_is_made(refused: Refused, tmp_path: Path, words: str, told: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        given = ["--port", "0", *words.replace("PORT", port).split()]
        status, said = refused("--data-dir", str(tmp_path / "d"), *given)
    assert (status, f"127.0.0.1:{port} is in use by {told}" in said) == (1, True), said
    assert not (tmp_path / "d").exists()


def test_a_directory_in_use_is_reported_with_the_process_that_uses_it(
    served: Served, refused: Refused, tmp_path: Path
) -> None:
    status, said = refused("--port", "0", "--data-dir", str(tmp_path / "data"))
    assert (status, f"process {served.process.pid}" in said) == (1, True), said


def test_a_directory_of_something_else_is_reported(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"x")
    status, said = refused("--port", "0", "--data-dir", str(tmp_path))
    assert (status, str(tmp_path) in said) == (1, True), said


STRANGERS = {
    "a TLS hello": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "TLS"),
    "an HTTP request": (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP"),
    "a negative size": (b"\xff\xff\xff\xff", "reason"),
    "a size that is too large": (b"\x7f\xff\xff\xff", "the limit is"),
    "an unknown API": (b"\x00\x00\x00\x0a\x03\xe7\x00\x00\x00\x00\x00\x01\xff\xff", "999"),
    "a cut request": (b"\x00\x00\x00\x0a\x00\x03\x00\x09\x00\x00\x00\x01\xff\xff", "Metadata"),
    "a claim of two thousand million topics": (
        b"\x00\x00\x00\x0e\x00\x03\x00\x01\x00\x00\x00\x01\xff\xff\x7f\xff\xff\xff",
        "Metadata",
    ),
}


def test_strangers_are_shown_out_with_one_line_each_and_nobody_else_notices(served: Served) -> None:
    kind = served.connect()
    for sent, _ in STRANGERS.values():
        with served.connect() as stranger:
            stranger.sendall(sent)
            assert stranger.recv(100) == b""
    kind.sendall(b"\x00\x00\x00\x0a\x00\x12\x00\x00\x00\x00\x00\x2a\xff\xff")
    assert kind.recv(10_000)[4:10] == b"\x00\x00\x00\x2a\x00\x00"
    kind.close()
    status, _, log = served.stop()
    assert status == 0
    lines = [line for line in log.splitlines() if "connection closed" in line]
    assert [word in line for (_, word), line in zip(STRANGERS.values(), lines, strict=True)] == [True] * len(STRANGERS)
    assert "Traceback" not in log


@pytest.mark.parametrize("is_from_file", [True, False])
def test_a_port_in_use_is_to_be_changed_where_listeners_are_set(
    offline: Barnabas, tmp_path: Path, is_from_file: bool
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listeners = f"listeners=SASL_PLAINTEXT://127.0.0.1:{taken.getsockname()[1]}"
        jaas = 'listener.name.sasl_plaintext.plain.sasl.jaas.config=PlainLoginModule required user_a="b";'
        jaas = jaas.replace("PlainLogin", "org.apache.kafka.common.security.plain.PlainLogin")
        file = tmp_path / "server.properties"
        file.write_text(f"{listeners if is_from_file else ''}\n{jaas}\nsasl.enabled.mechanisms=PLAIN\n")
        more = [] if is_from_file else ["--set", listeners]
        found = offline("serve", "--config", str(file), "--data-dir", str(tmp_path / "data"), *more)
    assert (found.status, found.stdout) == (1, "")
    where = f" in {file}" if is_from_file else ""
    assert found.stderr.endswith(f" is in use by another program (change listeners{where})\n")
