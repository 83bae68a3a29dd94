"""Which process has a port, as Linux tells it."""

import os
import socket
import sys

import pytest

from barnabas.broker.cli.doctor.processes import descriptors_of, listening_processes, named
from tests.support.ipv6 import speaks_ipv6
from tests.support.ports import unused_port

needs_ipv6 = pytest.mark.skipif(not speaks_ipv6(), reason="this machine's loopback has no IPv6")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")


@pytest.mark.parametrize(
    ("family", "host", "asked"),
    [
        (socket.AF_INET, "127.0.0.1", "127.0.0.1"),
        (socket.AF_INET, "0.0.0.0", "127.0.0.1"),
        pytest.param(socket.AF_INET6, "::", "::1", marks=needs_ipv6),
        pytest.param(socket.AF_INET6, "::1", "::1", marks=needs_ipv6),
    ],
)
def test_the_process_that_listens_on_an_address_is_found(family: int, host: str, asked: str) -> None:
    port = unused_port()  # any port could be given to another process as soon as it is closed
    with socket.create_server((host, port), family=family):
        assert listening_processes(asked, port) == [os.getpid()]
    assert listening_processes(asked, port) == []


@pytest.mark.parametrize("every_interface", ["", "0.0.0.0"])
def test_every_interface_has_the_processes_of_each(every_interface: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert os.getpid() in listening_processes(every_interface, port)  # others may have the port on other addresses


@pytest.mark.parametrize("asked", ["127.0.0.2", "::1"])
def test_the_same_port_on_another_address_is_not_meant(asked: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert os.getpid() not in listening_processes(asked, server.getsockname()[1])


def test_a_process_is_named_by_its_command_and_one_that_is_gone_by_its_number() -> None:
    assert named(os.getpid()).startswith(f"process {os.getpid()} (")
    assert named(2**22 + 1) == f"process {2**22 + 1}"


def test_the_descriptors_of_a_process_are_counted() -> None:
    found = descriptors_of(os.getpid())
    assert found is not None
    assert 3 <= found.used <= found.limit
    assert descriptors_of(2**22 + 1) is None
