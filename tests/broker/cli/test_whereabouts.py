"""Where a broker is may be said by --http or by --bootstrap-server: each leads a command to the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.client.admin.configs import ResourceType, describe_configs
from barnabas.client.client import Client
from tests.broker.http.control.test_secured_http import Secured
from tests.support.command_line import Barnabas
from tests.support.processes.own_broker import OwnBroker
from tests.support.processes.served import Running


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Running(tmp_path_factory.mktemp("one") / "d", "--topic", "t:2", "--brokers", "2") as it:
        yield it


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Whose listener and HTTP are at every interface, so that neither has an address to tell."""
    words = ("--host", "0.0.0.0", "--http", "0.0.0.0:0", "--topic", "t:1")
    with Running(tmp_path_factory.mktemp("every") / "d", *words) as it:
        it.http, it.address = (each.replace("0.0.0.0", "127.0.0.1") for each in (it.http, it.address))
        yield it


COMMANDS = (["topics", "list"], ["txn", "list"], ["why", "hanging"], ["clock", "show"], ["faults", "list"], ["trace"])


@pytest.mark.parametrize("which", ["running", "everywhere"])
def test_either_address_is_enough(which: str, offline: Barnabas, request: pytest.FixtureRequest) -> None:
    it: Running = request.getfixturevalue(which)
    for words in (*COMMANDS, ["log", "clean", "--now"]):
        for where in (["--http", it.http], ["--bootstrap-server", it.address]):
            status, _, err = offline(*words, *where)
            assert (status, err) == (0, ""), (words, where)


def test_settings_of_clients_lead_to_a_secured_http_port(tmp_path: Path, offline: Barnabas) -> None:
    it = Secured(tmp_path)
    with it.served:
        for words in COMMANDS:
            for where in ([], ["--http", it.http]):
                status, _, err = offline(*words, *where, "--command-config", it.properties("admin"))
                assert (status, err) == (0, ""), (words, where)
        status, _, err = offline("topics", "list", "--http", it.http)
        assert (status, "add --command-config" in err) == (1, True), err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["topics", "list", "--http", "{address}"], "{address}: no response: check that this is the address of the "),
        (
            ["topics", "list", "--http", "{http}", "--command-config", "{sasl}"],
            "{http}: clients connect to this broker with PLAINTEXT, not SASL_PLAINTEXT: give --command-config FILE, "
            "a client.properties with security.protocol=PLAINTEXT",
        ),
        (
            ["why", "hanging", "--bootstrap-server", "{plain}"],
            "{plain}: the broker there serves no HTTP: start it with --http HOST:PORT --control",
        ),
        (["why", "hanging", "--bootstrap-server", "127.0.0.1:1"], "cannot connect to 127.0.0.1:1: connection refused"),
        (["why", "hanging", "--http", "a..b:1"], "a..b:1: that cannot be the name of a host"),
    ],
)
def test_a_missing_target_is_reported_in_one_line(
    words: list[str], told: str, running: Running, broker: OwnBroker, offline: Barnabas, tmp_path: Path
) -> None:
    sasl = tmp_path / "client.properties"
    sasl.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config="
        'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";\n'
    )
    at = {"http": running.http, "address": running.address.split(",")[0], "plain": broker.address, "sasl": str(sasl)}
    status, out, err = offline(*(word.format(**at) for word in words))
    assert (status, out, len(err.splitlines())) == (1, "", 1)
    assert err.startswith(f"barnabas: {told.format(**at)}"), err


def test_an_address_that_leads_to_another_cluster_is_not_taken(
    tmp_path: Path, running: Running, broker: OwnBroker, offline: Barnabas
) -> None:
    """As with a mapped port: the other broker has what this one says is its own."""
    elsewhere = f"advertised.listeners=PLAINTEXT://{broker.address}"
    with Running(tmp_path / "d", "--set", elsewhere) as it:
        status, _, err = offline("topics", "list", "--http", it.http)
        other = (
            f"{it.http}: its address for clients leads to another cluster from this machine: give --bootstrap-server"
        )
        assert (status, err) == (1, f"barnabas: {other}\n")


def test_only_the_broker_states_its_http_address(tmp_path: Path) -> None:
    with OwnBroker(tmp_path / "d", {"barnabas.http.address": "127.0.0.1:1"}) as it, Client(it.address) as client:
        assert describe_configs(client, ResourceType.BROKER, "1", ["barnabas.http.address"]) == []
