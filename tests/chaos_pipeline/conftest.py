"""A broker, a gate, and rows on their way: what every test of the pipeline under faults begins with."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.support.chaos.gate import Gate
from tests.support.chaos.ways import SHORT_SESSIONS, USER
from tests.support.kafka.process import KafkaProcess
from tests.support.processes.broker import BrokerProcess
from tests.support.processes.server import Server
from tests.support.security.secured import SASL_SSL, Ways, secured_kind

KAFKA_VERSION = "4.2.0"  # later ones lose commits that they acknowledged, when they are killed
NewBroker = Callable[..., Server]


def pytest_configure(config: pytest.Config) -> None:
    """A process of the sink keeps its clients to its end; a thread that plays one leaves them to the collector."""
    config.addinivalue_line("filterwarnings", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="session")
def new_broker(request: pytest.FixtureRequest) -> NewBroker:
    """new_broker(data_dir, settings): a broker of the kind that --against and --secured name, not started yet.

    is_secured, against: in place of these options; a secured Apache Kafka is 4.4.0. listeners: of a secured one.
    """
    kind, secured = str(request.config.getoption("--against")), bool(request.config.getoption("--secured"))

    def make(
        data_dir: Path,
        settings: Mapping[str, object] | None = None,
        *,
        is_secured: bool = secured,
        against: str = kind,
        listeners: Sequence[str] = (SASL_SSL,),
    ) -> Server:
        if is_secured:
            ways: Ways = {"listeners": listeners, "scram_users": (USER,)}
            return secured_kind(against)(data_dir, {**SHORT_SESSIONS, **(settings or {})}, **ways)
        if against == "kafka":
            return KafkaProcess(data_dir, settings, version=KAFKA_VERSION)
        return BrokerProcess(data_dir, settings)

    return make


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Say something to whoever runs the tests, also when they pass."""
    terminal = request.config.get_terminal_writer()
    return lambda text: terminal.line(f"\n{text}")


@pytest.fixture
def server(new_broker: NewBroker, tmp_path: Path) -> Iterator[Server]:
    with new_broker(tmp_path / "broker") as server:
        yield server


@pytest.fixture
def secured_server(new_broker: NewBroker, tmp_path: Path) -> Iterator[Server]:
    """One that pipelines come to by SASL_SSL, with the rights that are documented and no others."""
    with new_broker(tmp_path / "secured-broker", is_secured=True) as server:
        yield server


@pytest.fixture
def gate() -> Iterator[Gate]:
    with Gate() as gate:
        yield gate


@pytest.fixture
def kafka(tmp_path: Path) -> Iterator[KafkaProcess]:
    """Apache Kafka, whatever --against says."""
    with KafkaProcess(tmp_path / "kafka", version=KAFKA_VERSION) as kafka:
        yield kafka
