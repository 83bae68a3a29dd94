"""The brokers that are compared, and the floor, each in a separate process, and the figures read from outside."""

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench.peers.entrances import ENTRANCES, Entrance, rdkafka_option, write_certificate
from bench.peers.floor_process import FloorProcess
from bench.peers.kfake_process import KfakeProcess
from bench.peers.measure import blast, busy_seconds, cpu_seconds, held_mb, own_seconds, rdkafka, rss_mb
from tests.support.kafka.process import KafkaProcess
from tests.support.ports import unused_port
from tests.support.processes.broker import BrokerProcess
from tests.support.processes.server import Server

KAFKAS_OWN_JVM_OPTIONS = (
    "-Xmx1G",
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
)
"""The JVM options of bin/kafka-server-start.sh by default."""

SETTINGS = {"log.segment.delete.delay.ms": 200}
"""Of every broker: topics that were measured are removed from disk and page cache before the next load."""

Figures = dict[str, Any]


class Peer:
    """One broker under measurement. `start_ms` is the time from spawn to its ready line, of the last start."""

    def __init__(self, name: str, server: Server, entrance: Entrance = ENTRANCES["plain"], load_port: int = 0) -> None:
        """Create a peer. `load_port`: the port for a load's clients; 0 for the port on which topics are created."""
        self.name = name
        self.server = server
        self.start_ms = 0.0
        self._entrance = entrance
        self._load_port = load_port

    def start(self) -> None:
        self.server.command()  # formats Kafka's directory, which is no part of a start
        before = time.perf_counter()
        self.server.start()
        self.start_ms = (time.perf_counter() - before) * 1000

    def stop(self) -> None:
        self.server.stop()

    @property
    def port(self) -> int:
        return self.server.port

    def blast(self, program: str, topic: str, **options: float | str) -> Figures:
        """Run the C load generator, by the peer's entrance."""
        return blast(program, self._load_port or self.port, topic, **options, **self._entrance.blast)

    def rdkafka(self, program: str, topic: str, **options: float | str) -> Figures:
        """Run a librdkafka load, by the peer's entrance."""
        return rdkafka(program, self._load_port or self.port, topic, **options, **rdkafka_option(self._entrance))

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.server.pid)

    def rss_mb(self) -> float:
        return rss_mb(self.server.pid)

    def held_mb(self) -> float:
        return held_mb(self.server.pid)

    def measured(self, run: Callable[[], Figures]) -> Figures:
        """Run a load whose set-up is done, and add its cost to the broker and to the clients: processor time for each
        GB, request, transaction or message; the broker's memory after it; and what the machine spent on other
        processes, in percent.
        """
        begun, broker, machine, clients = time.monotonic(), self.cpu_seconds(), busy_seconds(), own_seconds()
        figures = run()
        spent, clients_spent = self.cpu_seconds() - broker, own_seconds() - clients
        other = busy_seconds() - machine - clients_spent - spent
        share = other / (time.monotonic() - begun) / (os.cpu_count() or 1)
        costs = _costs(figures, spent) | _costs(figures, clients_spent, of="clients_")
        return figures | costs | {"rss_mb": self.rss_mb(), "others_percent": max(0.0, share * 100)}


def _costs(figures: Figures, spent_s: float, *, of: str = "") -> Figures:
    """Return the processor time per unit of the load, which is the first of these that it counts."""
    if "megabytes" in figures:
        return {f"{of}cpu_s_per_gb": spent_s / figures["megabytes"] * 1000}
    for counted in ("request", "transaction", "message"):
        if f"{counted}s" in figures:
            return {f"{of}cpu_us_per_{counted}": spent_s / figures[f"{counted}s"] * 1e6}
    return {}


MakePeer = Callable[[Path], Peer]
"""Makes a peer, which is not started, with its files in this directory."""


@contextmanager
def started(makers: Iterable[MakePeer]) -> Iterator[list[Peer]]:
    """Start the peers, in a temporary directory; stop them at the end."""
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as scratch, ExitStack() as stopping:
        peers = [make(Path(scratch) / make.__name__) for make in makers]
        for peer in peers:
            peer.start()
            stopping.callback(peer.stop)
        yield peers


def barnabas(directory: Path, entrance: Entrance = ENTRANCES["plain"]) -> Peer:
    settings, load_port = _settings(directory, entrance, {"PLAINTEXT": 0})
    return Peer("barnabas", BrokerProcess(directory, settings), entrance, load_port)


def kafka(directory: Path, entrance: Entrance = ENTRANCES["plain"]) -> Peer:
    ports = {"PLAINTEXT": unused_port(), "CONTROLLER": unused_port()}
    settings, load_port = _settings(directory, entrance, ports)
    server = KafkaProcess(directory, settings, jvm_options=KAFKAS_OWN_JVM_OPTIONS)
    server.port, server.controller_port = ports["PLAINTEXT"], ports["CONTROLLER"]
    return Peer("kafka", server, entrance, load_port)


def _settings(directory: Path, entrance: Entrance, ports: dict[str, int]) -> tuple[dict[str, object], int]:
    """Return a broker's settings, and the port for loads: 0 for that of the plain listener."""
    if entrance.is_plain:
        return dict(SETTINGS), 0
    certificate = write_certificate(directory.with_name(f"{directory.name}.pem"))
    load_port = unused_port()
    return SETTINGS | entrance.broker_settings(ports | {entrance.protocol: load_port}, certificate), load_port


def kfake(directory: Path) -> Peer:
    """Create kfake: a broker in memory, with its own settings."""
    return Peer("kfake", KfakeProcess(directory))


def floor(directory: Path) -> Peer:
    """Create the floor: no broker, but the system calls of one, for the loads of the raw client."""
    return Peer("floor", FloorProcess(directory))
