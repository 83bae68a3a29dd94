"""What every group of tests shares.

Property tests that are the same in every run and stay within their budget, and three options: one holds the tests with
real clients against Apache Kafka instead of Barnabas, one writes the golden stories as they now come out.
"""

import functools
import gc
import socket
import sys
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from barnabas import form
from tests.support.native_patches import refuse_native_patches
from tests.support.processes.broker import BrokerProcess
from tests.support.processes.server import Server

settings.register_profile(
    "fast", derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fast")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--against",
        choices=("barnabas", "kafka"),
        default="barnabas",
        help="which broker the tests with real clients talk to",
    )
    parser.addoption(
        "--rewrite",
        action="store_true",
        help="tell the golden stories anew; commit the change only if you understand what caused it",
    )
    parser.addoption(
        "--record",
        choices=("kafka", "apicurio"),
        help="ask Apache Kafka, or Apicurio Registry, all that is in its probe book, and write down what it answers",
    )
    parser.addoption(
        "--seed",
        type=int,
        default=int(time.strftime("%Y%m%d", time.gmtime())),
        help="what the mutated frames are derived from: by default the day",
    )
    parser.addoption("--secured", action="store_true", help="the pipeline's chaos comes in by SASL_SSL, with ACLs")
    parser.addoption("--rounds", type=int, default=3, help="how many seeds the long chaos goes through, from --seed on")


@pytest.hookimpl(trylast=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """Have the folder of a test made before its other fixtures: it is removed after the brokers over it are closed.

    A test has the same name in every process: an address in it would have two workers find other tests.
    """
    if " at 0x" in item.nodeid:
        raise pytest.UsageError(f"give its parameters ids: {item.nodeid}")
    names = item.fixturenames if isinstance(item, pytest.Function) else []
    if "tmp_path" in names:
        names.remove("tmp_path")
        names.insert(0, "tmp_path")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Some tests replace a function or a constant that compiled modules have built in: docs/compiled.md."""
    if form.running() == form.COMPILED:
        refuse_native_patches()
        for item in items:
            if item.get_closest_marker("pure"):
                item.add_marker(pytest.mark.skip(reason="needs the pure form"))


class _ClosedSocket(socket.socket):
    """A socket that closes itself without a warning when it is collected."""

    def __del__(self) -> None:
        self.close()


def pytest_collection_finish() -> None:
    """Spare the garbage collector the tests that were found, and have kafka-python close its sockets.

    Each full collection would traverse thousands of tests: up to a fifth of all processor time. kafka-python leaves a
    socket to the collector if it is closed during a connect.
    """
    gc.collect()
    gc.freeze()
    if "kafka" in sys.modules:
        from kafka.net.inet import KafkaNetSocket

        KafkaNetSocket.socket = lambda _, *arguments: _ClosedSocket(*arguments)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure shows what the server said, too."""
    report = yield
    server = getattr(item, "funcargs", {}).get("server")
    if report.failed and isinstance(server, Server):
        report.sections.append(("What the server said", server.log[-10_000:]))
    return report


@pytest.fixture(scope="session")
def seed(request: pytest.FixtureRequest) -> int:
    """What today's randomness comes from."""
    seed: int = request.config.getoption("--seed")
    return seed


@pytest.fixture(scope="session")
def rounds(request: pytest.FixtureRequest) -> int:
    """How many seeds a long test goes through."""
    rounds: int = request.config.getoption("--rounds")
    return rounds


@pytest.fixture(scope="session")
def new_server(request: pytest.FixtureRequest) -> Callable[[Path, Mapping[str, object]], Server]:
    """new_server(data_dir, settings): a server, not started yet, of the kind that --against names."""
    if request.config.getoption("--against") == "kafka":
        from tests.support.kafka.process import KafkaProcess

        return KafkaProcess
    return BrokerProcess


@pytest.fixture(scope="session")
def new_mortal_server(
    request: pytest.FixtureRequest, new_server: Callable[[Path, Mapping[str, object]], Server]
) -> Callable[[Path, Mapping[str, object]], Server]:
    """The same, to be killed around commits. With --against kafka it is 4.2.0: later ones lose commits."""
    if request.config.getoption("--against") == "kafka":
        from tests.support.kafka.process import KafkaProcess

        return functools.partial(KafkaProcess, version="4.2.0")
    return new_server
