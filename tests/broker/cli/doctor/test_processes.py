"""Which process has a port, as Linux tells it."""

import os
import socket
import sys

import pytest

from barnabas.broker.cli.doctor.processes import descriptors_of, listening_processes, named

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::")])
def test_the_process_that_listens_on_a_port_is_found(family: int, host: str) -> None:
    with socket.create_server((host, 0), family=family) as server:
        port = server.getsockname()[1]
        assert listening_processes(port) == [os.getpid()]
    assert listening_processes(port) == []


def test_a_process_is_named_by_its_command_and_one_that_is_gone_by_its_number() -> None:
    assert named(os.getpid()).startswith(f"process {os.getpid()} (")
    assert named(2**22 + 1) == f"process {2**22 + 1}"


def test_the_descriptors_of_a_process_are_counted() -> None:
    found = descriptors_of(os.getpid())
    assert found is not None
    assert 3 <= found.used <= found.limit
    assert descriptors_of(2**22 + 1) is None
