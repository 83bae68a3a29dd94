"""Every method of the Java AdminClient, called with useful arguments: Barnabas answers as Apache Kafka 4.4.0 does.

The methods are found by reflection, so one that a later client adds fails the test until it is called (Sweep.java).
"""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.oracle.admin.differences import KNOWN
from tests.support.clients.java import run_programs
from tests.support.kafka.process import ONE_NODE, KafkaProcess
from tests.support.processes.broker import BrokerProcess
from tests.support.processes.server import Server

SOURCES = sorted(Path(__file__).parent.glob("*.java"))
COORDINATORS = {  # one partition each, so that a broker of Kafka has them at once
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
    "share.coordinator.state.topic.num.partitions": 1,
}
UNCALLED = "uncalled"

Told = dict[str, str]
"""What was heard: by `method | what was asked | where in the answer`."""


def sweep(server: Server) -> Told:
    """Ask a broker everything, and mask what is its own: where it listens, where its data are, its name."""
    with server:
        said = run_programs(SOURCES, "Sweep", server.address)
    meta = dict(line.split("=", 1) for line in (server.data_dir / "meta.properties").read_text().split() if "=" in line)
    for own, word in {
        str(server.data_dir): "<data>",
        meta["cluster.id"]: "<cluster>",
        f":{server.port}": ":<port>",
        f"port={server.port}": "port=<port>",
    }.items():
        said = said.replace(own, word)
    return dict(map(_split, said.splitlines()))


def _split(line: str) -> tuple[str, str]:
    places = 1 if line.startswith(UNCALLED) else 3
    *where, value = line.split(" | ", places)
    return " | ".join(where), value


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> tuple[Told, Told]:
    """What Kafka and Barnabas say; both are asked at the same time."""
    home = tmp_path_factory.mktemp("admin")
    servers = [
        KafkaProcess(home / "kafka" / "data", COORDINATORS),
        BrokerProcess(home / "barnabas" / "data", COORDINATORS | ONE_NODE),
    ]
    with ThreadPoolExecutor() as pool:
        kafka, barnabas = pool.map(sweep, servers)
    return kafka, barnabas


def test_every_method_of_admin_is_called(heard: tuple[Told, Told]) -> None:
    assert [told[UNCALLED] for told in heard] == ["", ""]


def test_barnabas_says_what_kafka_says(heard: tuple[Told, Told]) -> None:
    kafka, barnabas = heard
    differing = sorted(key for key in kafka.keys() | barnabas.keys() if kafka.get(key) != barnabas.get(key))
    unknown = [key for key in differing if not any(re.fullmatch(pattern, key) for pattern in KNOWN)]
    told = [f"{key}\n  Kafka:    {kafka.get(key)}\n  Barnabas: {barnabas.get(key)}" for key in unknown]
    assert not told, "\n".join(told)
    settled = [pattern for pattern in KNOWN if not any(re.fullmatch(pattern, key) for key in differing)]
    assert not settled, "no difference needs these any more"
