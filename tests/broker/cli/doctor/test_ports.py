"""The listeners a start would open, and whether what is advertised for them leads to them."""

import os
import socket
from collections.abc import Iterator

import pytest

from barnabas.broker.cli.doctor import ports
from barnabas.broker.cli.doctor.finding import CheckResult
from barnabas.broker.config import BrokerConfig, load_config
from barnabas.broker.config.environment import EnvironmentSettings
from barnabas.client.clock import SystemClientClock
from tests.support.ipv6 import speaks_ipv6
from tests.support.ports import unused_port
from tests.support.processes.forwarder import Forwarder

PATIENCE_MS = 30_000
SILENCE_MS = 100  # where nobody answers, so that all of it passes


def config(*settings: str, is_container: bool = False) -> BrokerConfig:
    return load_config(settings=settings, environment=EnvironmentSettings({}, {}, None, is_container)).config


def examine(*settings: str, is_container: bool = False, timeout_ms: int = PATIENCE_MS) -> dict[str, CheckResult]:
    found = ports.examine(config(*settings, is_container=is_container), SystemClientClock(), timeout_ms)
    return {each.check: each for each in found}


@pytest.fixture
def free() -> int:
    """A port nobody has."""
    return unused_port()


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that this process has."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_listener_that_can_be_had_is_fine(free: int) -> None:
    found = examine(f"listeners=PLAINTEXT://127.0.0.1:{free}")
    assert [each.level for each in found.values()] == ["ok", "ok"]
    assert found["listener PLAINTEXT"].text == f"127.0.0.1:{free} is free"
    assert found["advertised PLAINTEXT"].text == "clients get the address that they connected to"
    socket.create_server(("127.0.0.1", free)).close()  # nothing is left of the look


def test_a_port_in_use_is_reported_with_its_owner(taken: int) -> None:
    found = examine(f"listeners=PLAINTEXT://127.0.0.1:{taken}", timeout_ms=SILENCE_MS)["listener PLAINTEXT"]
    assert found.level == "problem"
    assert f"127.0.0.1:{taken} is in use by process {os.getpid()} (" in found.text


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("192.0.2.1", "192.0.2.1:9092 is not an address of this machine"),
        ("no.such.host.invalid", "cannot listen on no.such"),
    ],
)
def test_an_address_that_cannot_be_had_is_reported(host: str, text: str) -> None:
    found = examine(f"listeners=PLAINTEXT://{host}:9092")["listener PLAINTEXT"]
    assert (found.level, text in found.text) == ("problem", True)


def test_an_advertised_address_that_leads_to_the_listener_is_fine_whatever_is_in_between(free: int) -> None:
    with Forwarder("127.0.0.2") as mapped:
        mapped.target = ("127.0.0.1", free)
        told = mapped.address
        found = examine(f"listeners=PLAINTEXT://127.0.0.1:{free}", f"advertised.listeners=PLAINTEXT://{told}")
    assert found["advertised PLAINTEXT"].text == f"{told} leads to this broker"


def test_an_advertised_loopback_is_worth_a_note_where_others_may_come(free: int) -> None:
    settings = f"listeners=PLAINTEXT://0.0.0.0:{free}", f"advertised.listeners=PLAINTEXT://localhost:{free}"
    found = examine(*settings)["advertised PLAINTEXT"]
    assert (found.level, "only for clients on this machine" in found.text) == ("note", True)


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ("no.such.host.invalid:9092", "no.such.host.invalid cannot be resolved"),
        ("127.0.0.1:1", "connection refused"),
        ("a..b:9092", "this cannot be the name of a host"),
    ],
)
def test_an_advertised_address_that_leads_nowhere_is_a_problem_and_in_a_container_to_be_tried_outside(
    free: int, told: str, why: str
) -> None:
    settings = f"listeners=PLAINTEXT://127.0.0.1:{free}", f"advertised.listeners=PLAINTEXT://{told}"
    found = examine(*settings)["advertised PLAINTEXT"]
    assert (found.level, why in found.text) == ("problem", True), found
    found = examine(*settings, is_container=True)["advertised PLAINTEXT"]
    assert (found.level, found.advice) == (
        "note",
        f"if it is for clients on other machines, run there: barnabas doctor --bootstrap-server {told}",
    )


def test_an_advertised_address_where_somebody_else_answers_is_a_problem(free: int, taken: int) -> None:
    ports_tried = f"listeners=PLAINTEXT://127.0.0.1:{free}", f"advertised.listeners=PLAINTEXT://127.0.0.1:{taken}"
    found = examine(*ports_tried, timeout_ms=SILENCE_MS)["advertised PLAINTEXT"]
    assert (found.level, "another broker answers there" in found.text) == ("problem", True)


def test_in_a_container_the_rule_of_mapped_ports_is_reported(free: int) -> None:
    found = examine(f"listeners=PLAINTEXT://:{free}", is_container=True)["advertised PLAINTEXT"]
    assert f"those that connect to a mapped port get localhost:{free}" in found.text
    assert found.advice is not None
    assert "KAFKA_ADVERTISED_LISTENERS" in found.advice


@pytest.mark.skipif(not speaks_ipv6(), reason="this machine's loopback has no IPv6")
def test_another_program_on_the_loopback_of_ipv6_is_reported(free: int) -> None:
    with socket.create_server(("::1", free), family=socket.AF_INET6):  # any port could be in use on 127.0.0.1
        found = ports.examine(config(f"listeners=PLAINTEXT://127.0.0.1:{free}"), SystemClientClock(), PATIENCE_MS)
    assert [each.level for each in found] == ["ok", "warning", "ok"]
    assert f"[::1]:{free} is in use by process {os.getpid()}" in found[1].text


@pytest.mark.parametrize("check", ["http", "registry"])
def test_an_address_for_http_is_looked_at_too(check: str, free: int, taken: int) -> None:
    assert ports.examine_http("127.0.0.1", free, check)[:2] == (check, "ok")
    found = ports.examine_http("127.0.0.1", taken, check)
    assert (found.level, f"127.0.0.1:{taken} is in use by process {os.getpid()}" in found.text) == ("problem", True)
