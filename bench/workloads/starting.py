"""`scripts/bench --workload start`: the cost of a broker for a test, beside that of Apache Kafka.

From spawn to the ready line and to the first acknowledged record, in an empty directory (Kafka's is formatted before
the clock starts); memory while idle, and the memory that 1,000 silent connections add to it. Kafka is started in two
ways: with the options of its own start script, and with those that start a JVM fastest; a ratio is to the better one.
Then the fixture alone, since Kafka has nothing like it: brokers out of the pool, and a run of pytest with a fresh
broker for each of 200 tests.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from barnabas import Barnabas, form
from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.produce.producer import Producer
from barnabas.embedded import pool
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from bench.measuring.report import number
from bench.peers.measure import ROOT, held_mb, rss_mb
from bench.peers.peer import KAFKAS_OWN_JVM_OPTIONS
from tests.support.kafka.process import KafkaProcess
from tests.support.probes.wire import Wire
from tests.support.processes.broker import BrokerProcess
from tests.support.processes.server import Server

Figures = dict[str, float]
CONNECTIONS = 1_000
FIXTURES = 200
TESTS = 200
_SETTLE_S = 2.0
_TEST = """
import pytest

@pytest.mark.parametrize("number", range({count}))
def test_one_of_many({fixture}number):
    pass
"""
AIMS = {
    "ready_ms": "<= 150, and 0.1 of Kafka's",
    "idle_rss_mb": "<= 45",
    "kb_per_idle_connection": "<= 51 (1 MB per 20)",
    "fixture_ms": "<= 15",
}


def main(*, rounds: int, alone: bool, path: Path, say: Callable[[str], None]) -> int:
    """Measure, print the tables, write all single results."""
    makers: dict[str, Callable[[Path], Server]] = {"barnabas": BrokerProcess}
    if not alone:
        makers["kafka"] = lambda where: KafkaProcess(where, jvm_options=KAFKAS_OWN_JVM_OPTIONS)
        makers["kafka_fast"] = KafkaProcess
    results: dict[str, list[Figures]] = {name: [] for name in makers}
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as scratch:
        for turn in range(rounds + 1):
            for name, make in list(makers.items())[:: -1 if turn % 2 else 1]:
                figures = one_start(make(Path(scratch) / f"{name}-{turn}"))
                say(f"{name}: {in_words(figures)}")
                if turn:  # in the first round files are not in memory yet, nor the client's modules loaded
                    results[name].append(figures)
        fixtures = fixture()
        say(f"fixture: {in_words(fixtures)}")
        run = pytest_run(Path(scratch))
    print(table(results))
    for key, value in (fixtures | run).items():
        print(f"| {key} | {number(value)} {'| ' * len(makers)}| {AIMS.get(key, '')} |")
    path.parent.mkdir(parents=True, exist_ok=True)
    found = {"form": form.running(), "starts": results, "fixture": fixtures, "pytest": run}
    path.write_text(json.dumps(found, indent=1))
    return 0


def one_start(server: Server) -> Figures:
    """Measure a start in an empty directory, its first record, and memory without and with many silent connections."""
    server.command()  # formats Kafka's directory
    begun = time.perf_counter()
    with server:
        ready_ms = _ms_since(begun)
        with Client(server.address) as client, Producer(client) as producer:
            create_topic(client, "first", partitions=1, replication_factor=1)
            producer.send("first", b"v", partition=0)
            producer.flush()
        produced_ms = _ms_since(begun)
        time.sleep(_SETTLE_S)  # noqa: TID251  # nothing tells when memory has settled
        idle_mb, held = rss_mb(server.pid), held_mb(server.pid)
        with ExitStack() as connections:
            for _ in range(CONNECTIONS):
                wire = connections.enter_context(Wire(server.port))
                wire.ask(ApiVersionsRequest(client_software_name="bench", client_software_version="1"), 3)
            time.sleep(_SETTLE_S)  # noqa: TID251  # as above
            held_connected = held_mb(server.pid)
    return {
        "ready_ms": ready_ms,
        "first_produce_ms": produced_ms,
        "idle_rss_mb": idle_mb,
        "kb_per_idle_connection": max(0.0, held_connected - held) * 1024 / CONNECTIONS,
    }


def fixture() -> Figures:
    """Measure brokers out of the pool, one after another: set-up with a topic, tear-down; memory of pool and broker."""
    pool.close()
    begun = time.perf_counter()
    with Barnabas(topics={"orders": 3}):
        first_ms = _ms_since(begun)
        time.sleep(_SETTLE_S)  # noqa: TID251  # until the pool has imported everything
    ups, downs = [], []
    for _ in range(FIXTURES):
        begun = time.perf_counter()
        broker = Barnabas(topics={"orders": 3}).start()
        ups.append(_ms_since(begun))
        begun = time.perf_counter()
        broker.close()
        downs.append(_ms_since(begun))
    with Barnabas(topics={"orders": 3}) as broker:
        time.sleep(_SETTLE_S)  # noqa: TID251  # nothing tells when memory has settled
        held = {"pool_pss_mb": pss_mb(pool.current().pid), "fixture_pss_mb": pss_mb(broker.pid)}
    pool.close()
    return {
        "first_fixture_ms": first_ms,
        "fixture_ms": statistics.median(ups),
        "fixture_p95_ms": statistics.quantiles(ups, n=20)[-1],
        "fixture_down_ms": statistics.median(downs),
        **held,
    }


def pytest_run(scratch: Path) -> Figures:
    """Measure the wall time of a run of pytest with a fresh broker for each test, and of the same tests without."""
    figures = {}
    for key, name in (("pytest_without_s", ""), ("pytest_with_a_broker_each_s", "barnabas, ")):
        (scratch / "test_many.py").write_text(_TEST.format(count=TESTS, fixture=name))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_many.py"]
        begun = time.perf_counter()
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=scratch, env=environment, capture_output=True, check=False)
        figures[key] = _ms_since(begun) / 1000
        if done.returncode:
            raise RuntimeError(done.stdout.decode())
    return figures


def pss_mb(pid: int) -> float:
    """Return the memory of a process, in MB, with shared memory divided among its users."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(pid)


def table(results: dict[str, list[Figures]]) -> str:
    """Return medians, spreads, and the ratio of ours to Kafka's better median, as Markdown. Less is better in all."""
    names = list(results)
    titles = {"barnabas": "Barnabas", "kafka": "Apache Kafka", "kafka_fast": "the same, a JVM that starts fast"}
    lines = ["| | " + " | ".join(titles[name] for name in names) + " | ratio to the better | aim |"]
    lines.append("|---|" + "--:|" * (len(names) + 1) + "---|")
    for key in results["barnabas"][0]:
        values = {name: [figures[key] for figures in results[name]] for name in names}
        medians = {name: statistics.median(each) for name, each in values.items()}
        cells = [f"{number(medians[name])} ({number(min(each))}–{number(max(each))})" for name, each in values.items()]
        better = min((medians[name] for name in names if name != "barnabas"), default=0.0)
        cells.append(f"{medians['barnabas'] / better:.2f}" if better else "")
        lines.append(f"| {key} | {' | '.join(cells)} | {AIMS.get(key, '')} |")
    return "\n".join(lines)


def _ms_since(begun: float) -> float:
    return (time.perf_counter() - begun) * 1000


def in_words(figures: Figures) -> str:
    """Format the figures for the terminal, while it runs."""
    return ", ".join(f"{key} {value:,.1f}" for key, value in figures.items())
