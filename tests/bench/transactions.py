"""`scripts/bench --workload txn`: transactions on Barnabas, Apache Kafka and kfake, in alternating rounds of one run.

Raw producers speak the older protocol (AddPartitionsToTxn, Produce, EndTxn), which all three know. `synced` brokers
have log.flush.interval.messages=1: a commit is on the disk before it is answered; kfake has no disk. Times of a whole
transaction include what a broker asks to be tried again; times of a commit are those of EndTxn's answer alone, which
Kafka gives before its markers are written.
"""

from __future__ import annotations

import json
import socket
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from client.client import Client
from client.transactions import init_producer
from protocol.headers import encode_request_header
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.registry import ApiKey, request_codec
from tests.bench.kfake_process import KfakeProcess
from tests.bench.measure import blast, load_generator, rdkafka, run_json
from tests.bench.peers import KAFKAS_OWN_JVM_OPTIONS, Peer
from tests.bench.report import number
from tests.bench.topics import fresh_topic
from tests.support.broker_process import BrokerProcess
from tests.support.kafka_process import KafkaProcess

Figures = dict[str, Any]
Rounds = dict[str, dict[str, list[Figures]]]

SYNCED = {"log.flush.interval.messages": 1}
ABORTED = 10_000
IDS = 10_000
_FETCH_VERSION = 12
_READ_COMMITTED = 1
_ID_TIMEOUT_MS = 600_000


# --- the loads ---


def raw(peer: Peer, topic: str, **options: float) -> Figures:
    """Run the C producers."""
    words = [word for name, value in options.items() for word in (f"--{name}", f"{value:g}")]
    command = [str(load_generator("txn")), "--port", str(peer.port), "--topic", topic, "--id", topic]
    return run_json([*command, *words])


def producers(connections: int, records: int) -> Callable[[Peer, float], Figures]:
    """So many raw producers, one partition each, and so many records a transaction."""

    def run(peer: Peer, scale: float) -> Figures:
        topic = fresh_topic(peer, connections)
        options = {"connections": connections, "partitions": connections, "records": records}
        return raw(peer, topic, **options, seconds=8 * scale)

    return run


def librdkafka(records: int) -> Callable[[Peer, float], Figures]:
    """One stock producer."""

    def run(peer: Peer, scale: float) -> Figures:
        return rdkafka("transactions", peer.port, fresh_topic(peer), count=records, seconds=8 * scale)

    return run


def wide(peer: Peer, scale: float) -> Figures:
    """One record to each of 300 partitions in one transaction."""
    return raw(peer, fresh_topic(peer, 300), spread=300, partitions=300, seconds=8 * scale)


def aborted(peer: Peer, scale: float) -> Figures:
    """The same Fetch over and over, at read_committed, of a megabyte of nothing but aborted transactions."""
    topic = fresh_topic(peer)
    raw(peer, topic, connections=20, count=ABORTED // 20, abort=1, seconds=300)
    with tempfile.NamedTemporaryFile() as frames:
        frames.write(_fetch_and_answer(peer.port, topic))
        frames.flush()
        return blast("repeat", peer.port, topic, frames=frames.name, seconds=4 * scale)


def _fetch_and_answer(port: int, topic: str) -> bytes:
    """What `blast repeat` takes: the request and its answer without the correlation id, each behind its size."""
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        isolation_level=_READ_COMMITTED,
        topics=[FetchTopic(topic=topic, partitions=[partition])],
        forgotten_topics_data=[],
    )
    payload = encode_request_header(ApiKey.FETCH, _FETCH_VERSION, 0, "bench")
    payload += request_codec(ApiKey.FETCH, _FETCH_VERSION).encode(request)
    answer = _exchange(port, payload)[4:]
    return b"".join(len(each).to_bytes(4, "big") + each for each in (payload, answer))


def _exchange(port: int, payload: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rb") as answers:
        connection.sendall(len(payload).to_bytes(4, "big") + payload)
        return answers.read(int.from_bytes(answers.read(4), "big"))


class Load(NamedTuple):
    """`figures`: those that are compared; `aims`: the ratio to Kafka's that is asked for."""

    title: str
    run: Callable[[Peer, float], Figures]
    figures: tuple[str, ...]
    aims: dict[str, str]
    is_synced: bool = False


_RATE = ("per_second", "p50_us", "p99_us", "commit_p50_us", "commit_p99_us", "cpu_us_per_transaction")
_P99 = {"p99_us": "<= 0.3"}
LOADS = [
    Load("1 librdkafka producer, 1 record", librdkafka(1), _RATE, {"per_second": ">= 1.8", **_P99}),
    Load("1 librdkafka producer, 100 records", librdkafka(100), _RATE, {}),
    Load("1 raw producer, 1 record", producers(1, 1), _RATE, {"per_second": ">= 4", **_P99}),
    Load("50 raw producers, 1 record", producers(50, 1), _RATE, {"per_second": ">= 2.5", **_P99}),
    Load("50 raw producers, 100 records", producers(50, 100), _RATE, {}),
    Load("50 raw producers, 1 record, synced", producers(50, 1), _RATE, {}, is_synced=True),
    Load("50 raw producers, 100 records, synced", producers(50, 100), _RATE, {}, is_synced=True),
    Load("1 librdkafka producer, 1 record, synced", librdkafka(1), _RATE, {}, is_synced=True),
    Load("300 partitions in a transaction", wide, _RATE, {}),
    Load(f"1 MB of {ABORTED} aborted transactions, read_committed", aborted, ("per_second", "p50_us", "p99_us"), {}),
]


# --- a start with many ids ---


def start_with_ids(make: Callable[[Path], Peer], directory: Path) -> Figures:
    """Memory and starts with IDS transactional ids: after a clean stop and after a kill, to ready and to the first
    answer about an id."""
    peer = make(directory)
    peer.start()
    _make_ids(peer.port, 1)
    before_mb = peer.rss_mb()
    _make_ids(peer.port, IDS)
    figures: Figures = {"bytes_per_id": (peer.rss_mb() - before_mb) * (1 << 20) / IDS}
    for how in ("stop", "kill"):
        getattr(peer.server, how)()
        began = time.perf_counter()
        peer.start()
        _make_ids(peer.port, 1)
        figures[f"after_{how}_ready_ms"] = peer.start_ms
        figures[f"after_{how}_first_init_ms"] = (time.perf_counter() - began) * 1000
    peer.stop()
    return figures


def _make_ids(port: int, count: int) -> None:
    with Client(f"127.0.0.1:{port}", timeout_ms=60_000) as client:
        for index in range(count):
            init_producer(client, f"id-{index}", timeout_ms=_ID_TIMEOUT_MS)


# --- the run ---


def _peers(directory: Path, *, alone: bool) -> dict[bool, list[Peer]]:
    """The brokers, synced (True) and not (False)."""

    def kafka(name: str, settings: dict[str, int]) -> Peer:
        return Peer("kafka", KafkaProcess(directory / name, settings, jvm_options=KAFKAS_OWN_JVM_OPTIONS))

    plain = [Peer("barnabas", BrokerProcess(directory / "barnabas"))]
    synced = [Peer("barnabas", BrokerProcess(directory / "barnabas-synced", SYNCED))]
    if not alone:
        plain += [kafka("kafka", {}), Peer("kfake", KfakeProcess(directory / "kfake"))]
        synced += [kafka("kafka-synced", SYNCED)]
    return {False: plain, True: synced}


def main(*, rounds: int, scale: float, warm_s: float, alone: bool, path: Path, say: Callable[[str], None]) -> int:
    """Measure, print the table, write every result as JSON to `path`."""
    results: Rounds = {}
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as scratch:
        directory = Path(scratch)
        for is_synced, peers in _peers(directory, alone=alone).items():
            results |= _rounds(
                peers, [each for each in LOADS if each.is_synced == is_synced], rounds, scale, warm_s, say
            )
        starts = {"barnabas": start_with_ids(lambda where: Peer("barnabas", BrokerProcess(where)), directory / "ids")}
        if not alone:
            starts["kafka"] = start_with_ids(lambda where: Peer("kafka", KafkaProcess(where)), directory / "kafka-ids")
    print(f"{rounds} rounds, scale {scale}, warmed {warm_s:.0f} s\n\n{table(results)}")
    for name, figures in starts.items():
        print(f"\n{IDS} ids, {name}: " + ", ".join(f"{key} {value:,.0f}" for key, value in figures.items()))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"rounds": results, "start": starts}, indent=1))
    say(f"wrote {path}")
    return 0


def _rounds(
    peers: list[Peer], loads: list[Load], rounds: int, scale: float, warm_s: float, say: Callable[[str], None]
) -> Rounds:
    results: Rounds = {load.title: {peer.name: [] for peer in peers} for load in loads}
    started: list[Peer] = []
    try:
        for peer in peers:
            peer.start()
            started.append(peer)
            _make_ids(peer.port, 1)  # looks for the coordinator, so that Kafka makes its topic
            say(f"warming {peer.name} for {warm_s:.0f} s")
            producers(50, 1)(peer, warm_s / 8)
        for load in loads:
            for turn in range(rounds):
                for peer in peers if turn % 2 == 0 else peers[::-1]:
                    figures = peer.measured(load.run, scale)
                    results[load.title][peer.name].append(figures)
                    told = ", ".join(f"{name} {value:,.0f}" for name, value in figures.items() if name in load.figures)
                    say(f"{load.title}, {peer.name}: {told}")
    finally:
        for peer in started:
            peer.stop()
    return results


def table(results: Rounds) -> str:
    """Medians with their spread, and Barnabas' ratio to the others', as a Markdown table."""
    lines = ["| | figure | barnabas | kafka | kfake | to kafka | to kfake | aim |", "|---|---|--:|--:|--:|--:|--:|---|"]
    for load in LOADS:
        for figure in load.figures:
            values = {
                name: [each[figure] for each in told if figure in each] for name, told in results[load.title].items()
            }
            medians = {name: statistics.median(each) for name, each in values.items() if each}
            cells = [_cell(values.get(name, [])) for name in ("barnabas", "kafka", "kfake")]
            cells += [_ratio(medians, name) for name in ("kafka", "kfake")]
            lines.append(f"| {load.title} | {figure} | {' | '.join(cells)} | {load.aims.get(figure, '')} |")
    return "\n".join(lines)


def _cell(values: list[float]) -> str:
    return f"{number(statistics.median(values))} ({number(min(values))}–{number(max(values))})" if values else ""


def _ratio(medians: dict[str, float], name: str) -> str:
    return f"{medians['barnabas'] / medians[name]:.2f}" if medians.get(name) else ""
