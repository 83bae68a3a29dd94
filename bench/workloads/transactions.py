"""`scripts/bench --workload txn`: transactions on Barnabas, Apache Kafka and kfake, in alternating rounds of one run.

Raw producers use the older protocol (AddPartitionsToTxn, Produce, EndTxn), which all three support. `synced` brokers
have log.flush.interval.messages=1: a commit is on the disk before it is answered; kfake has no disk. Times of a whole
transaction include retries that a broker requests; times of a commit are those of EndTxn's answer alone, which
Kafka gives before its markers are written. So Kafka answers CONCURRENT_TRANSACTIONS to a client that begins its next
transaction at once, and its rate depends on when the client retries. Raw loads are run both ways, and a ratio is to
the better one.
"""

import json
import socket
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from barnabas import form
from barnabas.client.client import Client
from barnabas.client.transaction_requests import init_producer
from barnabas.protocol.headers import encode_request_header
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.protocol.registry import ApiKey, request_codec
from bench.measuring import report
from bench.measuring.loads import Load
from bench.measuring.rounds import Bench, Measured, Plan
from bench.peers.measure import blast, c_program, rdkafka, run_json
from bench.peers.peer import KAFKAS_OWN_JVM_OPTIONS, SETTINGS, Figures, Peer, barnabas, kafka, kfake
from bench.peers.topics import fresh_topic
from tests.support.kafka.process import KafkaProcess
from tests.support.processes.broker import BrokerProcess

Run = Callable[[Peer, str, float], Figures]


class Retry(NamedTuple):
    """How long a producer waits, in ms: before it retries to begin a transaction, and before any other retry."""

    add_retry: int
    retry: int


CLIENTS = Retry(add_retry=20, retry=100)
"""As the Java client and librdkafka do: 20 ms after the first AddPartitionsToTxn of a transaction was answered with
CONCURRENT_TRANSACTIONS; `retry.backoff.ms` is 100."""
EAGER = Retry(add_retry=1, retry=1)
SYNCED = {"log.flush.interval.messages": 1}
ABORTED = 10_000
IDS = 10_000
_FETCH_VERSION = 12
_READ_COMMITTED = 1
_ID_TIMEOUT_MS = 600_000


# --- the loads ---


def raw(peer: Peer, topic: str, **options: float) -> Figures:
    """Run the C producers."""
    words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", f"{value:g}")]
    command = [str(c_program("txn")), "--port", str(peer.port), "--topic", topic, "--id", topic]
    return run_json([*command, *words])


def partitions(count: int) -> Callable[[Peer], str]:
    def prepare(peer: Peer) -> str:
        return fresh_topic(peer, count)

    return prepare


def producers(connections: int, records: int, *, waits: Retry) -> Run:
    """Run so many raw producers, one partition each, with so many records a transaction."""

    def run(peer: Peer, topic: str, seconds: float) -> Figures:
        options = {"connections": connections, "partitions": connections, "records": records}
        return raw(peer, topic, **options, **waits._asdict(), seconds=seconds)

    return run


def librdkafka(records: int) -> Run:
    """Run one stock producer."""

    def run(peer: Peer, topic: str, seconds: float) -> Figures:
        return rdkafka("transactions", peer.port, topic, count=records, seconds=seconds)

    return run


def wide(*, waits: Retry) -> Run:
    """Write one record to each of 300 partitions in one transaction."""

    def run(peer: Peer, topic: str, seconds: float) -> Figures:
        return raw(peer, topic, spread=300, partitions=300, **waits._asdict(), seconds=seconds)

    return run


def aborted_transactions(peer: Peer) -> str:
    """Create a topic with more than a megabyte of nothing but aborted transactions."""
    topic = fresh_topic(peer)
    raw(peer, topic, connections=20, count=ABORTED // 20, abort=1, seconds=300)
    return topic


def fetch_aborted(peer: Peer, topic: str, seconds: float) -> Figures:
    """Repeat the same Fetch, at read_committed, of a megabyte of them."""
    with tempfile.NamedTemporaryFile() as frames:
        frames.write(_fetch_and_answer(peer.port, topic))
        frames.flush()
        return blast("repeat", peer.port, topic, frames=frames.name, seconds=seconds)


def _fetch_and_answer(port: int, topic: str) -> bytes:
    """Return the input of `blast repeat`: the request and its answer without the correlation id, with size prefixes."""
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


_RATE = {"per_second": True, "p50_us": False, "p99_us": False}
_COMMITS = _RATE | {"commit_p50_us": False, "commit_p99_us": False, "retries_per_transaction": False}
_P99 = {"p99_us": "<= 0.3"}


def _load(
    name: str,
    title: str,
    run: Run,
    *,
    count: int = 1,
    aims: dict[str, str] | None = None,
    rivals: str = "",
    without: tuple[str, ...] = (),
) -> Load:
    """Return transactions over a topic of `count` partitions, the same for all rounds: ids and logs stay the same."""
    return Load(
        name, title, run, _COMMITS, aims or {}, partitions(count), keeps_topic=True, rivals=rivals, without=without
    )


def _both_ways(
    name: str, title: str, run: Callable[[Retry], Run], count: int, aims: dict[str, str] | None = None
) -> list[Load]:
    """Return a load whose producers wait as the Java client does, and one whose producers retry after a millisecond.

    The second omits kfake, which never requests a retry.
    """
    eager = f"{title}, retried after 1 ms"
    return [
        _load(name, f"{title}, clients' waits", run(CLIENTS), count=count, aims=aims, rivals=name),
        _load(f"{name}eager", eager, run(EAGER), count=count, rivals=name, without=("kfake",)),
    ]


def _producers(connections: int, records: int) -> Callable[[Retry], Run]:
    return lambda waits: producers(connections, records, waits=waits)


LOADS = [
    _load("T1", "1 librdkafka producer, 1 record", librdkafka(1), aims={"per_second": ">= 2.2", **_P99}),
    _load("T2", "1 librdkafka producer, 100 records", librdkafka(100)),
    *_both_ways("T3", "1 raw producer, 1 record", _producers(1, 1), 1, {"per_second": ">= 6", **_P99}),
    *_both_ways("T4", "50 raw producers, 1 record", _producers(50, 1), 50, {"per_second": ">= 3", **_P99}),
    *_both_ways("T5", "50 raw producers, 100 records", _producers(50, 100), 50),
    *_both_ways("T6", "300 partitions in a transaction", lambda waits: wide(waits=waits), 300),
    Load(
        "T7",
        f"fetches of 1 MB of {ABORTED:,} aborted transactions, read_committed",
        fetch_aborted,
        _RATE,
        {},
        aborted_transactions,
        keeps_topic=True,
    ),
]
SYNCED_LOADS = [
    _load("T1synced", "1 librdkafka producer, 1 record, synced", librdkafka(1)),
    *_both_ways("T4synced", "50 raw producers, 1 record, synced", _producers(50, 1), 50),
]


# --- a start with many ids ---


def start_with_ids(peer: Peer) -> Figures:
    """Measure memory and starts with IDS transactional ids: after a clean stop and after a kill, to ready and to the
    first answer about an id.
    """
    peer.start()
    _make_ids(peer.port, 1)
    before_mb = peer.held_mb()
    _make_ids(peer.port, IDS)
    figures: Figures = {"bytes_per_id": (peer.held_mb() - before_mb) * (1 << 20) / IDS}
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
    """Return the brokers, synced (True) and not (False)."""

    def kafka(name: str, settings: dict[str, int]) -> Peer:
        server = KafkaProcess(directory / name, SETTINGS | settings, jvm_options=KAFKAS_OWN_JVM_OPTIONS)
        return Peer("kafka", server)

    plain = [Peer("barnabas", BrokerProcess(directory / "barnabas", SETTINGS))]
    synced = [Peer("barnabas", BrokerProcess(directory / "barnabas-synced", SETTINGS | SYNCED))]
    if not alone:
        plain += [kafka("kafka", {}), kfake(directory / "kfake")]
        synced += [kafka("kafka-synced", SYNCED)]
    return {False: plain, True: synced}


def main(plan: Plan, *, alone: bool, path: Path, say: Callable[[str], None]) -> int:
    """Measure, print the tables, write every result as JSON to `path`."""
    measured: list[Measured] = []
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as scratch:
        directory = Path(scratch)
        for is_synced, peers in _peers(directory, alone=alone).items():
            with ExitStack() as started:
                for peer in peers:
                    peer.start()
                    started.callback(peer.stop)
                    _make_ids(peer.port, 1)  # finds the coordinator, so that Kafka creates its topic
                bench = Bench(peers, plan, say)
                measured += [bench.measure(load) for load in (SYNCED_LOADS if is_synced else LOADS)]
        starts = {"barnabas": start_with_ids(barnabas(directory / "ids"))}
        if not alone:
            starts["kafka"] = start_with_ids(kafka(directory / "kafka-ids"))
    called = ["barnabas"] if alone else ["barnabas", "kafka", "kfake"]
    print(f"{plan.in_words()}\n\n{report.transactions_table(measured, called)}")
    print("\nAll figures:\n\n" + report.table(measured, called))
    print("\nWarmed before, with the same load:\n\n" + report.warming_table(measured, called))
    for name, figures in starts.items():
        print(f"\n{IDS} ids, {name}: " + ", ".join(f"{key} {value:,.0f}" for key, value in figures.items()))
    path.parent.mkdir(parents=True, exist_ok=True)
    results = {"form": form.running(), "loads": report.for_machines(measured), "start": starts}
    path.write_text(json.dumps(results, indent=1))
    say(f"wrote {path}")
    return 0
