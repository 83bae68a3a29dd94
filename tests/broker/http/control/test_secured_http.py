"""HTTPS for users: `--http` of a broker that is served with --secure, and `--http-secure`, on real sockets."""

import http.client
import json
import re
import socket
import ssl
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.broker.http.secured import HANDSHAKES_MAX
from tests.support.certificates import Authority
from tests.support.command_line import Barnabas
from tests.support.processes.served import TIMEOUT_S, Served

ADDRESS = ("--port", "0", "--http", "127.0.0.1:0", "--log-format", "json")


class Secured:
    """One that runs, and what it wrote for its clients."""

    def __init__(self, directory: Path) -> None:
        self.served = Served("--secure", "--control", *ADDRESS, "--data-dir", str(directory / "data"))
        self.http = str(self.served.first_event("http listening")["address"])
        self.served.first_event("broker started")
        self.security = directory / "data.security"
        lines = (self.security / "users.properties").read_text().split()
        self.passwords = dict(each.split("=") for each in lines)

    def properties(self, user: str) -> str:
        return str(self.security / f"{user}.properties")

    def get(self, path: str, user: str | None = None, password: str | None = None) -> tuple[int, bytes]:
        context = ssl.create_default_context(cafile=self.security / "authority.pem")
        connection = http.client.HTTPSConnection(self.http, timeout=TIMEOUT_S, context=context)
        said = b64encode(f"{user}:{password or self.passwords.get(user or '')}".encode()).decode()
        connection.request("GET", path, headers={} if user is None else {"Authorization": f"Basic {said}"})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    it = Secured(tmp_path_factory.mktemp("secured"))
    with it.served:
        yield it


def test_health_is_open_and_the_rest_is_for_users(secured: Secured) -> None:
    assert secured.get("/live") == (200, b"live\n")
    assert secured.get("/ready") == (200, b"ready\n")
    assert secured.get("/metrics")[0] == 401
    assert secured.get("/metrics", "admin", "guess")[0] == 401
    assert secured.get("/metrics", "client")[0] == 403
    status, text = secured.get("/metrics", "admin")
    assert (status, b"kafka_server_kafkaserver_brokerstate" in text) == (200, True)
    assert len(text) > 16 << 10  # more than one record of TLS
    assert secured.get("/console/health", "client")[0] == 403
    status, text = secured.get("/console/health", "admin")
    assert (status, b"<!doctype html>" in text.lower()) == (200, True)
    assert json.loads(secured.get("/control/clock", "admin")[1])["state"] == "running"


def test_peers_that_do_not_shake_hands_keep_nobody_out(secured: Secured) -> None:
    host, _, port = secured.http.rpartition(":")
    silent = [socket.create_connection((host, int(port)), TIMEOUT_S) for _ in range(HANDSHAKES_MAX + 8)]
    try:
        assert secured.get("/ready") == (200, b"ready\n")
        for each in silent[:8]:
            each.settimeout(TIMEOUT_S)
            assert was_closed(each)
    finally:
        for each in silent:
            each.close()


def was_closed(sock: socket.socket) -> bool:
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True


def test_commands_take_the_settings_that_kafkas_tools_take(secured: Secured, offline: Barnabas) -> None:
    for words in (["clock", "show"], ["faults", "list"], ["why", "hanging"], ["trace"], ["log", "clean", "--now"]):
        said = offline(*words, "--http", secured.http, "--command-config", secured.properties("admin"))
        assert (said.status, said.stderr) == (0, ""), words
    status, _, err = offline("clock", "show", "--http", secured.http, "--command-config", secured.properties("client"))
    assert status == 1
    assert err == f"barnabas: {secured.http}: User:client is not allowed to do this: it needs Alter on the cluster\n"


def test_a_command_states_what_is_wrong_with_how_it_asks(secured: Secured, offline: Barnabas, tmp_path: Path) -> None:
    asked = ("clock", "show", "--http", secured.http)
    status, _, err = offline(*asked)
    assert (status, "--http-secure, add --command-config data.security/admin.properties" in err) == (1, True)
    written = Path(secured.properties("admin")).read_text()
    config = tmp_path / "client.properties"
    for found, put, told in (
        (r'password="\w+"', 'password="guess"', "unknown user, or wrong password or token"),
        (r"location=.*", f"location={Authority().write(tmp_path / 'other.pem')}", "is not accepted"),
        (r"SASL_SSL", "SASL_PLAINTEXT", "does not set TLS"),
    ):
        config.write_text(re.sub(found, put, written))
        status, _, err = offline(*asked, "--command-config", str(config))
        assert (status > 0, told in err, err.count("\n"), "guess" in err) == (True, True, 1, False), err


def test_a_listener_with_certificates_of_its_own_secures_http_too(tmp_path: Path) -> None:
    authority = Authority()
    store = authority.issue().write_pem(tmp_path / "broker.pem")
    settings = (
        "listeners=SASL_SSL://127.0.0.1:0",
        "ssl.keystore.type=PEM",
        f"ssl.keystore.location={store}",
        "sasl.enabled.mechanisms=SCRAM-SHA-256",
    )
    words = [word for each in settings for word in ("--set", each)]
    words += ["--add-scram", "SCRAM-SHA-256=[name=alice,password=wonderland]", "--data-dir", str(tmp_path / "data")]
    with Served(*words, *ADDRESS[2:], "--http-secure") as it:
        address = str(it.first_event("http listening")["address"])
        it.first_event("broker started")
        context = ssl.create_default_context(cadata=authority.pem)
        for password, status in (("wonderland", 200), ("guess", 401), ("wonderland", 200)):
            connection = http.client.HTTPSConnection(address, timeout=TIMEOUT_S, context=context)
            said = b64encode(f"alice:{password}".encode()).decode()
            connection.request("GET", "/metrics", headers={"Authorization": f"Basic {said}"})
            assert connection.getresponse().status == status
            connection.close()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--http", "127.0.0.1:0", "--http-secure"], "--http-secure: no listener uses TLS"),
        (["--http-secure"], "--http-secure needs --http"),
    ],
)
def test_an_insecure_configuration_does_not_start(
    tmp_path: Path, words: list[str], told: str, offline: Barnabas
) -> None:
    said = offline("serve", "--port", "0", "--data-dir", str(tmp_path / "data"), *words)
    assert (said.status > 0, told in said.stderr) == (True, True), said.stderr
    assert not (tmp_path / "data").exists()


def test_where_nobody_could_come_in_it_does_not_start(tmp_path: Path, offline: Barnabas) -> None:
    store = Authority().issue().write_pem(tmp_path / "broker.pem")
    settings = ("listeners=SSL://127.0.0.1:0", "ssl.keystore.type=PEM", f"ssl.keystore.location={store}")
    words = [word for each in settings for word in ("--set", each)]
    words += ["--data-dir", str(tmp_path / "data"), "--http", "127.0.0.1:0", "--http-secure"]
    said = offline("serve", *words)
    assert (said.status > 0, "no client could authenticate" in said.stderr) == (True, True), said.stderr
